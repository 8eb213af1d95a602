//! The side that asks: connects, agrees on a plan, carries its half out, and gathers both halves' counts.

use crate::carrier::{Carrier, Dialect, Link, Manner, role};
use crate::conversation::Conversation;
use crate::environment::{Meter, describe};
use crate::error::RunError;
use crate::socket::{self, Origin, SocketPlan};
use caudal_core::event::{Agreement, Event};
use caudal_core::plan::{BulkPlan, Direction, Plan, PlannedFlow, Transport};
use caudal_core::sample::{Counters, FlowEnd, FlowRecord, Role, Sample};
use caudal_stats::ClockEstimate;
use caudal_sys::clock::{monotonic_ns, realtime_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use caudal_sys::udp;
use caudal_wire::datagram::{Kind, OPENING, Opening, tag};
use caudal_wire::message::{Host, Refusal, ToClient, ToServer, Usage};
use caudal_wire::preamble::{ANSWER, Answer, PROTOCOL, PreambleError, Purpose, Token};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long each step of setting a test up may take.
const STEP: Duration = Duration::from_secs(10);
/// How long the opening dialogue over UDP may take: less than the server waits, so that it is said here
/// what did not come.
const PROVING: Duration = Duration::from_secs(8);
/// How long the first answer may take: something that is not ours often says nothing.
const GREETING: Duration = Duration::from_secs(5);
/// How long the reason for a connection that was cut may take.
const REASON: Duration = Duration::from_secs(1);
/// How long after the end of a test its last data may take to arrive, ns.
const TRAILING_NS: u64 = 1_500_000_000;
/// How often a test that is being ended looks for a second interrupt, ns.
const LOOK_NS: u64 = 50_000_000;
/// How long before the moment to start waiting becomes exact, ns.
const EARLY_NS: u64 = 3_000_000;
/// How often a datagram of the opening dialogue is sent again, ns.
const AGAIN_NS: u64 = 100_000_000;

/// An address family asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The data sockets of a plan.
pub(crate) type Links = Vec<(PlannedFlow, Link)>;

/// Where the server is.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The family to use; `None` for whichever answers.
    pub family: Option<Family>,
    /// Where to leave from.
    pub origin: Origin,
}

/// A connection to a server that has been greeted.
pub struct Client {
    pub(crate) conversation: Conversation,
    origin: Origin,
    /// What the server says of itself.
    pub server: Host,
    /// What this machine says of itself.
    pub here: Host,
    /// How long connecting took.
    pub connecting: Duration,
    /// Clock offset and idle round-trip time over the control connection.
    pub clock: ClockEstimate,
    pub(crate) interrupt: Option<&'static Interrupt>,
    /// Whether the server has said that all flows are open before this end knew it of each.
    all_open: bool,
}

/// A plan that happened.
#[derive(Debug, Clone)]
pub struct TrafficRun {
    /// The plan both sides held.
    pub plan: Plan,
    /// What the server had changed in it.
    pub changed: Vec<String>,
    /// Every flow.
    pub flows: Vec<FlowRecord>,
    /// Every reading, of both ends.
    pub samples: Vec<Sample>,
    /// What this machine used.
    pub client_usage: Usage,
    /// What the server used; `None` when it could not report.
    pub server_usage: Option<Usage>,
    /// Why the run ended before its plan did.
    pub cut_short: Option<CutShort>,
}

/// Why a run ended before its plan did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutShort {
    /// The user ended it.
    Interrupted,
    /// The server ended it, for this reason.
    ByServer(String),
    /// The peer was lost, in this way.
    Lost(String),
}

impl Client {
    /// Connects to a server, greets it and measures its clock and the idle round-trip time.
    ///
    /// # Errors
    /// When the host is unknown, nobody or somebody else answers, or the server refuses.
    pub fn connect(
        target: &Target,
        tool: &str,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let addresses = resolve(target)?;
        let mut last = None;
        for peer in addresses {
            let began = monotonic_ns();
            match socket::connect(peer, &target.origin, None) {
                Ok(stream) => {
                    let connecting = Duration::from_nanos(monotonic_ns() - began);
                    return Self::greet(stream, peer, target, tool, connecting, interrupt);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| RunError::Resolve {
            host: target.host.clone(),
            cause: io::Error::new(
                io::ErrorKind::NotFound,
                "it has no address of the family asked for",
            ),
        }))
    }

    fn greet(
        mut stream: TcpStream,
        peer: SocketAddr,
        target: &Target,
        tool: &str,
        connecting: Duration,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        stream.set_nodelay(true).map_err(lost)?;
        stream.write_all(&Purpose::Control.encode()).map_err(lost)?;
        let here = describe(tool, Some(peer.ip()));
        let answer = read_answer(&mut stream, peer, interrupt)?;
        let mut conversation =
            Conversation::over(stream, peer, caudal_wire::frame::LONGEST_MESSAGE).map_err(lost)?;
        if answer == Answer::Refused {
            return Err(refusal(&mut conversation));
        }
        conversation.say(&ToServer::Hello {
            host: here.clone(),
            required: Vec::new(),
        })?;
        let server =
            match conversation.hear(monotonic_ns() + STEP.as_nanos() as u64, &wakers(interrupt))? {
                Some(ToClient::Welcome { host, .. }) => host,
                Some(ToClient::Refused { reason, message }) => {
                    return Err(RunError::Refused { reason, message });
                }
                Some(_) => return Err(RunError::Protocol("a welcome was due".to_owned())),
                None if interrupted(interrupt) => return Err(RunError::Interrupted),
                None => {
                    return Err(RunError::Silent {
                        waiting_for: "a welcome",
                        seconds: STEP.as_secs(),
                    });
                }
            };
        let mut client = Self {
            conversation,
            origin: target.origin.clone(),
            server,
            here,
            connecting,
            clock: ClockEstimate::default(),
            interrupt,
            all_open: false,
        };
        client.measure_clock()?;
        Ok(client)
    }

    /// The server's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.conversation.peer()
    }

    /// The path MTU the kernel knows towards the server, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        udp::path_mtu(self.conversation.stream())
    }

    /// Whether the server is reached over this machine's own loopback.
    ///
    /// Two namespaces of one machine are two ends of a network, which need not be a perfect one.
    #[must_use]
    pub fn is_same_machine(&self) -> bool {
        self.here.boot_id.is_some()
            && self.here.boot_id == self.server.boot_id
            && self.here.interface.as_deref() == Some("lo")
    }

    /// Asks the server for its clock a few times: more often where answers are quick.
    ///
    /// # Errors
    /// When the server is lost.
    pub fn measure_clock(&mut self) -> Result<(), RunError> {
        let began = monotonic_ns();
        for nth in 0..20 {
            if nth >= 3 && monotonic_ns() - began > 200_000_000 {
                break;
            }
            self.conversation.say(&ToServer::Ping {
                t1: monotonic_ns() as i64,
            })?;
            match self.hear(STEP, "an answer to a ping")? {
                ToClient::Pong { t1, t2, t3 } => self.clock.push(t1, t2, t3, monotonic_ns() as i64),
                other => return Err(unexpected(other, "an answer to a ping")),
            }
        }
        Ok(())
    }

    /// The next message that says something, within `most`.
    pub(crate) fn hear(&mut self, most: Duration, due: &'static str) -> Result<ToClient, RunError> {
        let until = monotonic_ns() + most.as_nanos() as u64;
        loop {
            let wakers = wakers(self.interrupt);
            match self.conversation.hear(until, &wakers)? {
                Some(ToClient::Alive) if monotonic_ns() < until => {}
                Some(ToClient::Alive) | None if interrupted(self.interrupt) => {
                    return Err(RunError::Interrupted);
                }
                Some(ToClient::Alive) | None => {
                    return Err(RunError::Silent {
                        waiting_for: due,
                        seconds: most.as_secs(),
                    });
                }
                Some(message) => return Ok(message),
            }
        }
    }

    /// Waits until a moment of the wall clock, ns since 1970, with everything open: the word to start is next.
    ///
    /// The server waits for that word for ten seconds.
    pub(crate) fn await_moment(&mut self, at_ns: Option<u64>) -> Result<(), RunError> {
        let Some(at_ns) = at_ns else { return Ok(()) };
        let due = monotonic_ns() + at_ns.saturating_sub(realtime_ns());
        // The conversation's own waiting is to the millisecond.
        let roughly = due.saturating_sub(EARLY_NS);
        while monotonic_ns() < roughly {
            let wakers = wakers(self.interrupt);
            match self.conversation.hear(roughly, &wakers)? {
                Some(ToClient::Alive) => {}
                None if interrupted(self.interrupt) => return Err(RunError::Interrupted),
                None => {}
                Some(other) => return Err(unexpected(other, "the moment to start")),
            }
        }
        sleep_until(due);
        Ok(())
    }

    /// Shows the server that this side is alive; to be called every few seconds between tests.
    ///
    /// # Errors
    /// When the server is lost.
    pub fn keep_alive(&mut self) -> Result<(), RunError> {
        if self.conversation.owes_heartbeat() {
            self.conversation.say(&ToServer::Alive)?;
        }
        Ok(())
    }

    /// Proposes a plan; the plan both sides then hold, the test's token, and what the server changed.
    pub(crate) fn offer(&mut self, plan: Plan) -> Result<(Plan, Token, Vec<String>), RunError> {
        plan.check()?;
        self.conversation.say(&ToServer::Offer { plan })?;
        match self.hear(STEP, "an answer to the plan")? {
            ToClient::Accepted {
                plan,
                token,
                changed,
            } => {
                plan.check().map_err(|error| {
                    RunError::Protocol(format!("it accepted a plan in which {error}"))
                })?;
                let token = Token::from_hex(&token)
                    .ok_or_else(|| RunError::Protocol("a token of another form".to_owned()))?;
                Ok((plan, token, changed))
            }
            other => Err(unexpected(other, "an answer to the plan")),
        }
    }

    /// Opens the data sockets of a plan and waits until the server has them all.
    pub(crate) fn open(
        &mut self,
        plan: &Plan,
        token: Token,
        flows: &[PlannedFlow],
    ) -> Result<Vec<(PlannedFlow, Link)>, RunError> {
        self.open_timed(plan, token, flows).map(|(links, _)| links)
    }

    /// As [`open`](Self::open), and how long each TCP connection took to connect.
    pub(crate) fn open_timed(
        &mut self,
        plan: &Plan,
        token: Token,
        flows: &[PlannedFlow],
    ) -> Result<(Links, Vec<Duration>), RunError> {
        let sockets = SocketPlan::of(plan);
        let peer = self.peer();
        let mut links = Vec::with_capacity(flows.len());
        let mut connecting = Vec::new();
        for flow in flows {
            let sockets = sockets.for_role(role(flow.direction, true));
            // On a long path many flows take their time.
            self.keep_alive()?;
            links.push((
                *flow,
                match sockets.transport {
                    Transport::Tcp => {
                        let (stream, took) = self.open_tcp(peer, token, flow.id, &sockets)?;
                        connecting.push(took);
                        Link::Tcp(stream)
                    }
                    Transport::Udp => Link::Udp(socket::connect_udp(peer, &self.origin, &sockets)?),
                },
            ));
        }
        self.prove(&mut links, token)?;
        Ok((links, connecting))
    }

    fn open_tcp(
        &mut self,
        peer: SocketAddr,
        token: Token,
        flow: u32,
        sockets: &SocketPlan<'_>,
    ) -> Result<(TcpStream, Duration), RunError> {
        let began = monotonic_ns();
        let mut stream = socket::connect(peer, &self.origin, Some(sockets))?;
        let connecting = Duration::from_nanos(monotonic_ns() - began);
        let lost = |cause| RunError::Lost {
            doing: "opening a data connection",
            cause,
        };
        stream
            .write_all(&Purpose::Data { token, flow }.encode())
            .map_err(lost)?;
        let mut answer = [0; ANSWER];
        let stream_fd = stream.as_fd();
        // The server's refusal of the whole test comes over the control connection. So do signs of life, and word that all flows
        // are open, which overtakes this answer where packets are lost or take different ways.
        let until = monotonic_ns() + STEP.as_nanos() as u64;
        loop {
            let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
            let ready = if self.all_open {
                wait_readable(&[stream_fd], left, self.interrupt)?
            } else {
                let control = self.conversation.stream().as_fd();
                wait_readable(&[stream_fd, control], left, self.interrupt)?
            };
            if ready.first() == Some(&true) {
                break;
            }
            if ready.get(1) != Some(&true) {
                return Err(RunError::Silent {
                    waiting_for: "an answer on a data connection",
                    seconds: STEP.as_secs(),
                });
            }
            let mut waiting = vec![stream_fd];
            waiting.extend(wakers(self.interrupt));
            match self.conversation.hear(until, &waiting)? {
                Some(ToClient::Alive) | None => {}
                Some(ToClient::Ready) => self.all_open = true,
                Some(other) => return Err(unexpected(other, "a data connection")),
            }
        }
        stream.set_read_timeout(Some(STEP)).map_err(lost)?;
        if let Err(cause) = stream.read_exact(&mut answer) {
            // A server that ends the test cuts its connections and says why over the control connection.
            return Err(match self.hear(REASON, "a reason") {
                Ok(message @ ToClient::Refused { .. }) => unexpected(message, "a data connection"),
                _ => lost(cause),
            });
        }
        stream.set_read_timeout(None).map_err(lost)?;
        match Answer::decode(&answer) {
            Ok(Answer::Attached) => Ok((stream, connecting)),
            _ => Err(RunError::Protocol(
                "a data connection was not taken in".to_owned(),
            )),
        }
    }

    /// Goes through the opening dialogue on every UDP socket until the server has them all.
    fn prove(&mut self, links: &mut [(PlannedFlow, Link)], token: Token) -> Result<(), RunError> {
        // Datagrams have been proven before the server says so: then it was said of connections alone.
        if std::mem::take(&mut self.all_open) {
            return Ok(());
        }
        let until = monotonic_ns() + PROVING.as_nanos() as u64;
        let mut words: Vec<(PlannedFlow, &UdpSocket, Opening)> = links
            .iter()
            .filter_map(|(flow, link)| match link {
                Link::Udp(socket) => {
                    let hello = Opening {
                        kind: Kind::Hello,
                        flow: flow.id,
                        token,
                        challenge: [0; 16],
                    };
                    Some((*flow, socket, hello))
                }
                Link::Tcp(_) => None,
            })
            .collect();
        let mut again_ns = 0;
        loop {
            let now = monotonic_ns();
            if now >= again_ns {
                for (_, socket, word) in &words {
                    let _ = socket.send(&word.encode());
                }
                again_ns = now + AGAIN_NS;
            }
            let mut waiting = wakers(self.interrupt);
            waiting.extend(words.iter().map(|(_, socket, _)| socket.as_fd()));
            match self.conversation.hear(again_ns.min(until), &waiting)? {
                Some(ToClient::Ready) => break,
                Some(ToClient::Alive) | None if interrupted(self.interrupt) => {
                    return Err(RunError::Interrupted);
                }
                Some(ToClient::Alive) | None => {}
                Some(other) => return Err(unexpected(other, "word that the flows are open")),
            }
            if monotonic_ns() >= until {
                return Err(RunError::Silent {
                    waiting_for: if words.is_empty() {
                        "word that the flows are open"
                    } else {
                        "an answer over UDP (does a firewall let UDP through?)"
                    },
                    seconds: PROVING.as_secs(),
                });
            }
            for (flow, socket, word) in &mut words {
                while let Some(opening) = next_opening(socket) {
                    if opening.kind == Kind::Challenge
                        && opening.flow == flow.id
                        && opening.token == token
                    {
                        *word = Opening {
                            kind: Kind::Proof,
                            ..opening
                        };
                        let _ = socket.send(&word.encode());
                    }
                }
            }
        }
        for (_, link) in links {
            if let Link::Udp(socket) = link {
                while next_opening(socket).is_some() {}
            }
        }
        Ok(())
    }

    /// Carries a throughput plan out.
    ///
    /// A run that ended early after payload had begun to flow is an answer, not an error.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn run(
        &mut self,
        plan: &Plan,
        manner: &Manner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<TrafficRun, RunError> {
        let (agreed, token, changed) = self.offer(plan.clone())?;
        let same_kind = std::mem::discriminant(&agreed) == std::mem::discriminant(plan);
        let (true, Some(bulk)) = (same_kind, agreed.bulk().cloned()) else {
            return Err(RunError::Protocol(
                "another kind of test was accepted".to_owned(),
            ));
        };
        let plan = agreed.clone();
        on_event(Event::Agreed(Agreement::new(
            &agreed,
            self.peer(),
            &changed,
        )));
        let flows = plan.flows();
        let links = self.open(&agreed, token, &flows)?;
        let meter = Meter::start(self.peer().ip());
        let (up, down): (Vec<_>, Vec<_>) = links
            .into_iter()
            .partition(|(flow, _)| flow.direction == Direction::Up);
        let mut halves = Vec::new();
        for half in [up, down] {
            if !half.is_empty() {
                let sends = half[0].0.direction == Direction::Up;
                let dialect = Dialect::Native {
                    tag: tag(token),
                    reopen: None,
                };
                let carrier = Carrier::new(&plan, &dialect, half, true, manner)?;
                halves.push(Half {
                    carrier,
                    sends,
                    started: false,
                    tick: 0,
                });
            }
        }
        self.await_moment(manner.at_ns)?;
        self.conversation.say(&ToServer::Start)?;
        let mut test = Test {
            plan,
            bulk,
            flows,
            halves,
            samples: Vec::new(),
            server: None,
            quit: Arc::clone(&manner.quit),
        };
        let ended = self.attend(&mut test, on_event);
        let finished = test.server.take();
        let mut ends: Vec<(FlowEnd, bool)> = Vec::new();
        for half in test.halves {
            half.carrier.stop_all();
            ends.extend(half.carrier.finish().into_iter().map(|end| (end, true)));
        }
        let client_usage = meter.read();
        let mut cut_short = ended?;
        let mut server_usage = None;
        if let Some((flows, usage, stopped)) = finished {
            ends.extend(flows.into_iter().map(|end| (end, false)));
            server_usage = Some(usage);
            if let (None, Some(why)) = (&cut_short, stopped) {
                cut_short = Some(CutShort::ByServer(why));
            }
        }
        let flows: Vec<FlowRecord> = test
            .flows
            .iter()
            .map(|flow| {
                let of = |role: Role| {
                    ends.iter().map(|(end, _)| end).find(|end| {
                        end.flow == flow.id
                            && matches!(
                                (end.counters, role),
                                (Counters::Sender(_), Role::Sender)
                                    | (Counters::Receiver(_), Role::Receiver)
                            )
                    })
                };
                FlowRecord {
                    flow: *flow,
                    sender: of(Role::Sender).cloned(),
                    receiver: of(Role::Receiver).cloned(),
                }
            })
            .collect();
        Ok(TrafficRun {
            plan: test.plan,
            changed,
            flows,
            samples: test.samples,
            client_usage,
            server_usage,
            cut_short,
        })
    }

    /// Watches over a running test until both halves are over; why it ended early, if it did.
    fn attend(
        &mut self,
        test: &mut Test,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Option<CutShort>, RunError> {
        let ticks = test.bulk.ticks();
        let mut cut_short = None;
        let mut said_stop = false;
        let mut deadline: Option<u64> = None;
        let mut give_up = ticks
            .total()
            .map(|total| monotonic_ns() + total.as_nanos() as u64 + self.slack_ns());
        // Upload begins with the word to start: data arrives right behind it.
        for half in test.halves.iter_mut().filter(|half| half.sends) {
            half.start(&mut test.samples, on_event);
        }
        let uploads = test.halves.iter().all(|half| half.sends);
        if uploads {
            on_event(Event::Started { repeat: None });
        }
        loop {
            let mut until = self.conversation.heartbeat_due_ns();
            for moment in [deadline, give_up].into_iter().flatten() {
                until = until.min(moment);
            }
            if cut_short.is_some() {
                // The first interrupt stays readable; a second is seen by looking.
                until = until.min(monotonic_ns() + LOOK_NS);
            }
            for half in &test.halves {
                until = until.min(half.due_ns(&ticks).unwrap_or(u64::MAX));
            }
            let heard = {
                let mut waiting = wakers(self.interrupt.filter(|_| cut_short.is_none()));
                waiting.extend(test.halves.iter_mut().map(|half| half.carrier.ended().fd()));
                self.conversation.hear(until, &waiting)
            };
            match heard {
                Ok(Some(message)) => match message {
                    ToClient::Started => {
                        for half in test.halves.iter_mut().filter(|half| !half.started) {
                            half.start(&mut test.samples, on_event);
                        }
                        if !uploads {
                            on_event(Event::Started { repeat: None });
                        }
                    }
                    ToClient::Samples { samples } => {
                        for sample in samples {
                            // A peer's word is taken for flows of the plan only.
                            if test.flows.iter().any(|flow| flow.id == sample.flow) {
                                test.samples.push(sample);
                                on_event(Event::Sampled(sample));
                            }
                        }
                    }
                    ToClient::Sent { sent } => {
                        for (flow, datagrams) in sent {
                            for half in test.halves.iter().filter(|half| !half.sends) {
                                half.carrier.expect(flow, datagrams);
                            }
                        }
                    }
                    ToClient::Finished {
                        flows,
                        usage,
                        stopped,
                    } => {
                        test.server = Some((flows, usage, stopped));
                        return Ok(cut_short);
                    }
                    ToClient::Refused { reason, message } => {
                        if test.has_moved() {
                            return Ok(Some(CutShort::ByServer(message)));
                        }
                        return Err(RunError::Refused { reason, message });
                    }
                    ToClient::Alive | ToClient::Pong { .. } => {}
                    other => return Err(unexpected(other, "the test's end")),
                },
                Ok(None) => {}
                Err(error) => {
                    if test.has_moved() {
                        return Ok(Some(cut_short.unwrap_or(CutShort::Lost(error.to_string()))));
                    }
                    return Err(error);
                }
            }
            let now = monotonic_ns();
            for half in &mut test.halves {
                let _ = half.carrier.ended().was_rung();
                half.tick_if_due(now, &ticks, &mut test.samples, on_event);
            }
            let told_to_end = interrupted(self.interrupt) || test.quit.load(Relaxed);
            if told_to_end && cut_short.is_none() {
                cut_short = Some(CutShort::Interrupted);
                for half in &test.halves {
                    half.carrier.stop_senders();
                }
                // A peer that is gone is noticed when it is listened to; what was measured stands.
                let _ = self.conversation.say(&ToServer::Stop {
                    now: true,
                    sent: test.sent(),
                });
                deadline = Some(now + 2 * TRAILING_NS);
            }
            if self
                .interrupt
                .is_some_and(|interrupt| interrupt.count() > 1)
            {
                return Ok(cut_short);
            }
            let over = test.halves.iter().all(Half::is_over);
            if over && !said_stop {
                said_stop = true;
                on_event(Event::Ending);
                if cut_short.is_none() || test.plan.transport() == Transport::Udp {
                    let now = cut_short.is_some();
                    let _ = self.conversation.say(&ToServer::Stop {
                        now,
                        sent: test.sent(),
                    });
                }
                deadline = Some(now + 2 * TRAILING_NS + STEP.as_nanos() as u64);
            }
            if !said_stop && give_up.is_some_and(|moment| now >= moment) {
                // What has not arrived by now is given up; the counts at the end of the time stand.
                for half in test.halves.iter().filter(|half| !half.is_over()) {
                    half.carrier.stop_all();
                }
                deadline.get_or_insert(now + 2 * TRAILING_NS);
                give_up = None;
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                if test.has_moved() {
                    let why = "the peer's last counts did not come in time".to_owned();
                    return Ok(Some(cut_short.unwrap_or(CutShort::Lost(why))));
                }
                return Err(RunError::Silent {
                    waiting_for: "the peer's last counts",
                    seconds: 2 * TRAILING_NS / 1_000_000_000,
                });
            }
            if self.conversation.owes_heartbeat() {
                // A peer that is gone is noticed when it is listened to.
                let _ = self.conversation.say(&ToServer::Alive);
            }
        }
    }

    /// How long after its end a test's data may trail, on top of what the path itself takes.
    fn slack_ns(&self) -> u64 {
        TRAILING_NS + self.clock.min_rtt_ns().map_or(0, i64::unsigned_abs) * 4
    }
}

struct Half {
    carrier: Carrier,
    sends: bool,
    started: bool,
    tick: u64,
}

impl Half {
    fn start(&mut self, samples: &mut Vec<Sample>, on_event: &mut dyn FnMut(Event)) {
        self.carrier.start();
        self.started = true;
        self.take(samples, on_event);
    }

    fn take(&mut self, samples: &mut Vec<Sample>, on_event: &mut dyn FnMut(Event)) {
        for sample in self.carrier.sample(self.tick) {
            samples.push(sample);
            on_event(Event::Sampled(sample));
        }
        self.tick += 1;
    }

    fn due_ns(&self, ticks: &caudal_core::plan::Ticks) -> Option<u64> {
        let at = ticks.at(self.tick).filter(|_| self.started)?;
        Some(self.carrier.start_ns() + at.as_nanos() as u64)
    }

    fn tick_if_due(
        &mut self,
        now: u64,
        ticks: &caudal_core::plan::Ticks,
        samples: &mut Vec<Sample>,
        on_event: &mut dyn FnMut(Event),
    ) {
        if self.due_ns(ticks).is_some_and(|due| now >= due) {
            self.take(samples, on_event);
            if ticks.at(self.tick).is_none() {
                self.carrier.stop_senders();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.started
            && self.carrier.is_over(if self.sends {
                Role::Sender
            } else {
                Role::Receiver
            })
    }
}

struct Test {
    plan: Plan,
    bulk: BulkPlan,
    flows: Vec<PlannedFlow>,
    halves: Vec<Half>,
    samples: Vec<Sample>,
    server: Option<(Vec<FlowEnd>, Usage, Option<String>)>,
    quit: Arc<AtomicBool>,
}

impl Test {
    fn sent(&self) -> Vec<(u32, u64)> {
        self.halves
            .iter()
            .flat_map(|half| half.carrier.sent())
            .collect()
    }

    fn has_moved(&self) -> bool {
        self.halves.iter().any(|half| half.carrier.progress() > 0)
    }
}

pub(crate) fn resolve(target: &Target) -> Result<Vec<SocketAddr>, RunError> {
    let host = target.host.as_str();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let addresses = (bare, target.port)
        .to_socket_addrs()
        .map_err(|cause| RunError::Resolve {
            host: host.to_owned(),
            cause,
        })?;
    let wanted = |address: &SocketAddr| match target.family {
        Some(Family::V4) => address.is_ipv4(),
        Some(Family::V6) => address.is_ipv6(),
        None => target
            .origin
            .address
            .is_none_or(|from: IpAddr| from.is_ipv4() == address.is_ipv4()),
    };
    Ok(addresses.filter(wanted).collect())
}

pub(crate) fn wakers(interrupt: Option<&'static Interrupt>) -> Vec<BorrowedFd<'static>> {
    interrupt.map(Interrupt::fd).into_iter().collect()
}

pub(crate) fn interrupted(interrupt: Option<&'static Interrupt>) -> bool {
    interrupt.is_some_and(|interrupt| interrupt.count() > 0)
}

fn wait_readable(
    fds: &[BorrowedFd<'_>],
    most: Duration,
    interrupt: Option<&'static Interrupt>,
) -> Result<Vec<bool>, RunError> {
    let until = monotonic_ns() + most.as_nanos() as u64;
    loop {
        let mut waiting = fds.to_vec();
        waiting.extend(wakers(interrupt));
        let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
        match poll_readable(&waiting, Some(left)) {
            Ok(ready) if interrupted(interrupt) && !ready[..fds.len()].contains(&true) => {
                return Err(RunError::Interrupted);
            }
            Ok(ready) => return Ok(ready[..fds.len()].to_vec()),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => {
                return Err(RunError::Lost {
                    doing: "waiting",
                    cause,
                });
            }
        }
    }
}

fn next_opening(socket: &UdpSocket) -> Option<Opening> {
    let ready = poll_readable(&[socket.as_fd()], Some(Duration::ZERO)).ok()?;
    if !ready.contains(&true) {
        return None;
    }
    let mut datagram = [0; OPENING + 1];
    let size = socket.recv(&mut datagram).ok()?;
    Opening::decode(&datagram[..size])
}

fn read_answer(
    stream: &mut TcpStream,
    peer: SocketAddr,
    interrupt: Option<&'static Interrupt>,
) -> Result<Answer, RunError> {
    let mut said = Vec::new();
    let until = monotonic_ns() + GREETING.as_nanos() as u64;
    while said.len() < ANSWER {
        let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
        let ready = wait_readable(&[stream.as_fd()], left, interrupt)?;
        if !ready.contains(&true) {
            let found = format!(
                "it said nothing for {} s (is it another program?)",
                GREETING.as_secs()
            );
            return Err(RunError::Foreign { peer, found });
        }
        let mut chunk = [0; ANSWER];
        let room = ANSWER - said.len();
        match stream.read(&mut chunk[..room]) {
            Ok(0) => break,
            Ok(count) => said.extend_from_slice(&chunk[..count]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if said.is_empty() => {
                let found = format!("it cut the connection ({cause})");
                return Err(RunError::Foreign { peer, found });
            }
            Err(_) => break,
        }
        if said[..] != caudal_wire::preamble::MAGIC[..said.len().min(6)] && said.len() <= 6 {
            break;
        }
    }
    match <&[u8; ANSWER]>::try_from(said.as_slice()).map(Answer::decode) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(PreambleError::Version(theirs))) => Err(RunError::Version {
            ours: PROTOCOL,
            theirs,
        }),
        _ => Err(RunError::Foreign {
            peer,
            found: recognise(&said),
        }),
    }
}

/// What a peer that is not ours seems to be, by the first bytes it said.
fn recognise(said: &[u8]) -> String {
    match said {
        [] => "it closed the connection without a word".to_owned(),
        [9, ..] | [0xff, ..] | [0xfe, ..] => "it answers like iperf3".to_owned(),
        _ if said.starts_with(b"HTTP") => "it answers like a web server".to_owned(),
        _ if said.starts_with(b"SSH-") => "it answers like an SSH server".to_owned(),
        _ => {
            let shown: String = said
                .iter()
                .flat_map(|b| std::ascii::escape_default(*b))
                .map(char::from)
                .collect();
            format!("it answers \"{shown}\"")
        }
    }
}

fn refusal(conversation: &mut Conversation) -> RunError {
    match conversation.hear(monotonic_ns() + STEP.as_nanos() as u64, &[]) {
        Ok(Some(ToClient::Refused { reason, message })) => RunError::Refused { reason, message },
        Ok(_) => RunError::Refused {
            reason: Refusal::Other,
            message: "it gave no reason".to_owned(),
        },
        Err(error) => error,
    }
}

pub(crate) fn unexpected(message: ToClient, due: &'static str) -> RunError {
    match message {
        ToClient::Refused { reason, message } => RunError::Refused { reason, message },
        ToClient::Finished {
            stopped: Some(why), ..
        } => RunError::Refused {
            reason: Refusal::Stopping,
            message: why,
        },
        _ => RunError::Protocol(format!("{due} was due")),
    }
}
