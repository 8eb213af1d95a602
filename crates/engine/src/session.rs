//! A client's visit to the server: greetings, tests one after another, farewell.

use crate::bell::Bell;
use crate::carrier::{Carrier, Dialect, Link, Manner, Reopen, role};
use crate::conversation::Conversation;
use crate::echo_server;
use crate::environment::{Meter, describe};
use crate::error::RunError;
use crate::random::random_bytes;
use crate::server::{Arrival, Mailbox, ServerEvent, Shared};
use crate::socket::SocketPlan;
use caudal_core::plan::{BulkPlan, Direction, Omit, Plan, PlannedFlow, Rate, TestEnd, Transport};
use caudal_core::sample::{Counters, FlowEnd, Role};
use caudal_core::units::BitRate;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::udp;
use caudal_wire::datagram::{Kind, OPENING, Opening, tag};
use caudal_wire::message::{Refusal, ToClient, ToServer, Usage};
use caudal_wire::preamble::{Answer, Token};
use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a client may take for each step of setting a test up, ns.
pub(crate) const STEP_NS: u64 = 10_000_000_000;
/// How long after a client's last word its data may still be on the way, ns.
const TRAILING_NS: u64 = 3_000_000_000;
/// How long after its planned end a test may go on before it is ended from here, ns.
const GRACE_NS: u64 = 15_000_000_000;

/// Serves one client from its first message to its last.
pub(crate) fn serve(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr, number: u64) {
    let mut visit = match Visit::begin(shared, stream, peer, number) {
        Ok(visit) => visit,
        Err(error) => {
            shared.tell(ServerEvent::Refused {
                peer,
                why: error.to_string(),
            });
            return;
        }
    };
    if let Err(error) = visit.go_on() {
        match error {
            // The client simply went, or was told that the server goes.
            RunError::Lost { .. }
            | RunError::Refused {
                reason: Refusal::Stopping,
                ..
            } => {}
            other => shared.tell(ServerEvent::Refused {
                peer,
                why: other.to_string(),
            }),
        }
    }
    shared.tell(ServerEvent::Left { client: number });
}

/// A test's entry in the server's directory, gone when dropped.
pub(crate) struct Entry<'a> {
    shared: &'a Shared,
    pub(crate) token: Token,
    pub(crate) arrivals: Receiver<Arrival>,
    pub(crate) bell: Bell,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Result<Self, RunError> {
        let wanted = |cause| RunError::local("preparing a test", cause);
        let token = Token(random_bytes().map_err(wanted)?);
        let bell = Bell::new().map_err(wanted)?;
        let (sender, arrivals) = channel();
        let mailbox = Mailbox {
            arrivals: sender,
            bell: bell.ringer().map_err(wanted)?,
        };
        shared.mailboxes().insert(token, mailbox);
        Ok(Self {
            shared,
            token,
            arrivals,
            bell,
        })
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.mailboxes().remove(&self.token);
    }
}

pub(crate) struct Visit<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) conversation: Conversation,
    pub(crate) number: u64,
}

impl<'a> Visit<'a> {
    fn begin(
        shared: &'a Arc<Shared>,
        mut stream: TcpStream,
        peer: SocketAddr,
        number: u64,
    ) -> Result<Self, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        stream.set_nonblocking(false).map_err(lost)?;
        stream.write_all(&Answer::Welcome.encode()).map_err(lost)?;
        let mut conversation =
            Conversation::over(stream, peer, caudal_wire::frame::LONGEST_TO_SERVER)
                .map_err(lost)?;
        match conversation.hear(monotonic_ns() + STEP_NS, &[shared.stop_fd()])? {
            Some(ToServer::Hello { host, required }) => {
                if let Some(feature) = required.first() {
                    let message = format!("this server does not know the feature {feature:?}");
                    return Err(refuse(&mut conversation, Refusal::Feature, message));
                }
                let here = describe(&shared.options.tool, Some(peer.ip()));
                conversation.say(&ToClient::Welcome {
                    host: here,
                    features: Vec::new(),
                })?;
                shared.tell(ServerEvent::Connected {
                    client: number,
                    peer,
                    tool: host.tool,
                });
                Ok(Self {
                    shared,
                    conversation,
                    number,
                })
            }
            Some(_) => {
                let message = "a conversation begins with a hello".to_owned();
                Err(refuse(&mut conversation, Refusal::Protocol, message))
            }
            None if shared.is_stopping() => {
                let message = "the server is being stopped".to_owned();
                Err(refuse(&mut conversation, Refusal::Stopping, message))
            }
            None => Err(RunError::Silent {
                waiting_for: "a hello",
                seconds: STEP_NS / 1_000_000_000,
            }),
        }
    }

    fn go_on(&mut self) -> Result<(), RunError> {
        let idle = self.shared.options.idle_timeout.as_nanos() as u64;
        let mut since = monotonic_ns();
        loop {
            if self.shared.is_stopping() {
                let message = "the server is being stopped".to_owned();
                return Err(refuse(&mut self.conversation, Refusal::Stopping, message));
            }
            let until = (since + idle).min(self.conversation.heartbeat_due_ns());
            let heard = match self.conversation.hear(until, &[self.shared.stop_fd()]) {
                Ok(heard) => heard,
                Err(RunError::Protocol(message)) => {
                    return Err(refuse(&mut self.conversation, Refusal::Protocol, message));
                }
                Err(error) => return Err(error),
            };
            match heard {
                Some(ToServer::Ping { t1 }) => self.pong(t1)?,
                Some(ToServer::Offer { plan }) => {
                    self.test(plan)?;
                    since = monotonic_ns();
                }
                Some(ToServer::Alive | ToServer::Stop { .. }) => {}
                Some(ToServer::Hello { .. } | ToServer::Start) => {
                    let message = "nothing was offered that could start".to_owned();
                    return Err(refuse(&mut self.conversation, Refusal::Protocol, message));
                }
                None => {}
            }
            if monotonic_ns() >= since + idle {
                let message = format!("no test was asked for within {} s", idle / 1_000_000_000);
                return Err(refuse(&mut self.conversation, Refusal::Limit, message));
            }
            self.heartbeat()?;
        }
    }

    pub(crate) fn pong(&mut self, t1: i64) -> Result<(), RunError> {
        let t2 = monotonic_ns() as i64;
        self.conversation.say(&ToClient::Pong {
            t1,
            t2,
            t3: monotonic_ns() as i64,
        })
    }

    pub(crate) fn heartbeat(&mut self) -> Result<(), RunError> {
        if self.conversation.owes_heartbeat() {
            self.conversation.say(&ToClient::Alive)?;
        }
        Ok(())
    }

    fn test(&mut self, plan: Plan) -> Result<(), RunError> {
        if let Err(error) = plan.check() {
            return Err(refuse(
                &mut self.conversation,
                Refusal::Plan,
                error.to_string(),
            ));
        }
        let outcome = match plan {
            Plan::Tcp(_) | Plan::Udp(_) => self.traffic(plan),
            Plan::Echo(plan) => echo_server::serve(self, &plan),
        };
        match outcome {
            // Said by us already, or there is nobody to say it to.
            Err(error @ (RunError::Refused { .. } | RunError::Lost { .. })) => Err(error),
            Err(error @ RunError::Silent { .. }) => Err(error),
            Err(RunError::Protocol(message)) => {
                Err(refuse(&mut self.conversation, Refusal::Protocol, message))
            }
            Err(error) => Err(refuse(
                &mut self.conversation,
                Refusal::Host,
                error.to_string(),
            )),
            Ok(()) => Ok(()),
        }
    }

    fn traffic(&mut self, mut plan: Plan) -> Result<(), RunError> {
        let Some(bulk) = plan.bulk_mut() else {
            return Err(RunError::Protocol("no bulk transfer".to_owned()));
        };
        let changed = limit(bulk, self.shared);
        let bulk = bulk.clone();
        let entry = Entry::new(self.shared)?;
        let token = entry.token;
        self.conversation.say(&ToClient::Accepted {
            plan: plan.clone(),
            token: token.to_hex(),
            changed,
        })?;
        let flows = plan.flows();
        let links = self.gather(entry, &SocketPlan::of(&plan), &flows)?;
        let peer = self.conversation.peer();
        let meter = Meter::start(peer.ip());
        let manner = Manner::default();
        let reopen: Reopen =
            Arc::new(|socket: &UdpSocket, opening: &Opening| answer(socket, opening));
        let dialect = Dialect::Native {
            tag: tag(token),
            reopen: Some(reopen),
        };
        let mut carrier = Carrier::new(&plan, &dialect, links, false, &manner)?;
        self.conversation.say(&ToClient::Ready)?;
        self.await_start()?;
        carrier.start();
        self.conversation.say(&ToClient::Started)?;
        let began = monotonic_ns();
        self.shared.tell(ServerEvent::Started {
            client: self.number,
            plan: Box::new(plan.clone()),
        });
        let stopped = self.attend(plan.transport(), &bulk, &mut carrier);
        carrier.stop_all();
        let flows = carrier.finish();
        let usage = meter.read();
        let (received, sent) = moved(&flows);
        let (stopped, error) = match stopped {
            Ok(stopped) => (stopped, None),
            Err(error) => (Some(error.to_string()), Some(error)),
        };
        self.shared.tell(ServerEvent::Finished {
            client: self.number,
            received,
            sent,
            took: Duration::from_nanos(monotonic_ns() - began),
            stopped: stopped.clone(),
        });
        match error {
            Some(error) => Err(error),
            None => self.finish(flows, usage, stopped),
        }
    }

    pub(crate) fn finish(
        &mut self,
        flows: Vec<FlowEnd>,
        usage: Usage,
        stopped: Option<String>,
    ) -> Result<(), RunError> {
        self.conversation.say(&ToClient::Finished {
            flows,
            usage,
            stopped,
        })
    }

    pub(crate) fn await_start(&mut self) -> Result<(), RunError> {
        let until = monotonic_ns() + STEP_NS;
        loop {
            match self.conversation.hear(until, &[self.shared.stop_fd()])? {
                Some(ToServer::Start) => return Ok(()),
                Some(ToServer::Ping { t1 }) => self.pong(t1)?,
                Some(ToServer::Alive) | None => {}
                Some(_) => return Err(RunError::Protocol("a start was due".to_owned())),
            }
            if self.shared.is_stopping() {
                let message = "the server is being stopped".to_owned();
                return Err(refuse(&mut self.conversation, Refusal::Stopping, message));
            }
            if monotonic_ns() >= until {
                return Err(RunError::Silent {
                    waiting_for: "the word to start",
                    seconds: STEP_NS / 1_000_000_000,
                });
            }
        }
    }

    /// Waits until every flow of the plan has a data socket that belongs to it.
    pub(crate) fn gather(
        &mut self,
        mut entry: Entry<'_>,
        sockets: &SocketPlan<'_>,
        flows: &[PlannedFlow],
    ) -> Result<Vec<(PlannedFlow, Link)>, RunError> {
        let mut until = monotonic_ns() + STEP_NS;
        let mut links: Vec<(PlannedFlow, Link)> = Vec::with_capacity(flows.len());
        let mut half_open: Vec<HalfOpen> = Vec::new();
        while links.len() < flows.len() {
            let mut wakers: Vec<BorrowedFd<'_>> = vec![self.shared.stop_fd(), entry.bell.fd()];
            wakers.extend(half_open.iter().map(|half| half.socket.as_fd()));
            let soonest = until.min(self.conversation.heartbeat_due_ns());
            match self.conversation.hear::<ToServer>(soonest, &wakers)? {
                Some(ToServer::Ping { t1 }) => self.pong(t1)?,
                Some(ToServer::Stop { .. }) => {
                    return Err(RunError::Lost {
                        doing: "setting the test up",
                        cause: std::io::ErrorKind::ConnectionAborted.into(),
                    });
                }
                Some(ToServer::Alive) | None => {}
                Some(_) => return Err(RunError::Protocol("data connections were due".to_owned())),
            }
            if self.shared.is_stopping() {
                let message = "the server is being stopped".to_owned();
                return Err(refuse(&mut self.conversation, Refusal::Stopping, message));
            }
            if monotonic_ns() >= until {
                let message = format!(
                    "{} of {} data connections arrived within 10 s; does a firewall let them through?",
                    links.len(),
                    flows.len()
                );
                return Err(refuse(&mut self.conversation, Refusal::Protocol, message));
            }
            self.heartbeat()?;
            let _ = entry.bell.was_rung();
            while let Ok(arrival) = entry.arrivals.try_recv() {
                let id = match &arrival {
                    Arrival::Tcp(id, _) | Arrival::Udp(id, _, _) => *id,
                };
                let Some(flow) = flows.iter().find(|flow| flow.id == id).copied() else {
                    continue;
                };
                if links.iter().any(|(taken, _)| taken.id == id) {
                    continue;
                }
                match (arrival, sockets.transport) {
                    (Arrival::Tcp(_, mut stream), Transport::Tcp) => {
                        let lost = |cause| RunError::Lost {
                            doing: "taking a data connection in",
                            cause,
                        };
                        stream.set_nonblocking(false).map_err(lost)?;
                        sockets
                            .for_role(role(flow.direction, false))
                            .apply(&stream)?;
                        stream.write_all(&Answer::Attached.encode()).map_err(lost)?;
                        links.push((flow, Link::Tcp(stream)));
                        // They come one after another: on a long path many flows take their time.
                        until = monotonic_ns() + STEP_NS;
                    }
                    (Arrival::Udp(_, socket, peer), Transport::Udp) => {
                        // The same client again, because an answer was lost; or another address.
                        half_open.retain(|half| half.flow.id != id || half.peer != peer);
                        if half_open.len() >= 4 * flows.len() {
                            half_open.remove(0);
                        }
                        if let Some(half) =
                            HalfOpen::challenge(flow, socket, peer, entry.token, sockets)?
                        {
                            half_open.push(half);
                        }
                    }
                    _ => {}
                }
            }
            let mut nth = 0;
            while nth < half_open.len() {
                if half_open[nth].is_proven() {
                    let half = half_open.swap_remove(nth);
                    if !links.iter().any(|(taken, _)| taken.id == half.flow.id) {
                        links.push((half.flow, Link::Udp(half.socket)));
                    }
                } else {
                    nth += 1;
                }
            }
        }
        links.sort_by_key(|(flow, _)| flow.id);
        Ok(links)
    }

    /// Watches over a running test; why it ended early, if it did.
    fn attend(
        &mut self,
        transport: Transport,
        bulk: &BulkPlan,
        carrier: &mut Carrier,
    ) -> Result<Option<String>, RunError> {
        let ticks = bulk.ticks();
        let start = carrier.start_ns();
        let at = |tick| ticks.at(tick).map(|at| start + at.as_nanos() as u64);
        // A plan that ends by time has been held within the limit already.
        let most = self
            .shared
            .options
            .max_time
            .filter(|_| bulk.bytes().is_some());
        let most = most.map(|most| start + most.as_nanos() as u64);
        let end = ticks
            .total()
            .map(|total| start + total.as_nanos() as u64 + GRACE_NS);
        let idle = self.shared.options.idle_timeout.as_nanos() as u64;
        let (mut progress, mut progress_at) = (0, start);
        self.conversation.say(&ToClient::Samples {
            samples: carrier.sample(0),
        })?;
        let mut tick = 1;
        let mut said_sent = false;
        let mut trailing_until = None;
        loop {
            let mut until = self.conversation.heartbeat_due_ns().min(progress_at + idle);
            for moment in [at(tick), most, end, trailing_until].into_iter().flatten() {
                until = until.min(moment);
            }
            let wakers = [self.shared.stop_fd(), carrier.ended().fd()];
            match self.conversation.hear(until, &wakers)? {
                Some(ToServer::Stop { now, sent }) => {
                    for (flow, datagrams) in sent {
                        carrier.expect(flow, datagrams);
                    }
                    if now {
                        carrier.stop_senders();
                    }
                    trailing_until.get_or_insert(monotonic_ns() + TRAILING_NS);
                }
                Some(ToServer::Ping { t1 }) => self.pong(t1)?,
                Some(ToServer::Alive) | None => {}
                Some(_) => return Err(RunError::Protocol("a test is running".to_owned())),
            }
            let _ = carrier.ended().was_rung();
            let now = monotonic_ns();
            if at(tick).is_some_and(|due| now >= due) {
                let samples = carrier.sample(tick);
                tick += 1;
                if at(tick).is_none() {
                    carrier.stop_senders();
                }
                self.conversation.say(&ToClient::Samples { samples })?;
            }
            let senders_over = carrier.is_over(Role::Sender);
            if senders_over && !said_sent && transport == Transport::Udp {
                self.conversation.say(&ToClient::Sent {
                    sent: carrier.sent(),
                })?;
                said_sent = true;
            }
            if trailing_until.is_some() && senders_over && carrier.is_over(Role::Receiver) {
                return Ok(None);
            }
            if trailing_until.is_some_and(|until| now >= until) {
                return Ok(None);
            }
            if self.shared.is_stopping() {
                self.conversation.say(&ToClient::Samples {
                    samples: carrier.sample(tick),
                })?;
                return Ok(Some("the server was stopped".to_owned()));
            }
            if most.is_some_and(|most| now >= most) {
                return Ok(Some("the server's --max-time was reached".to_owned()));
            }
            if end.is_some_and(|end| now >= end) {
                return Ok(Some("the client did not end the test in time".to_owned()));
            }
            if carrier.progress() != progress {
                (progress, progress_at) = (carrier.progress(), now);
            } else if now >= progress_at + idle {
                return Ok(Some(format!(
                    "nothing was moved for {} s",
                    idle / 1_000_000_000
                )));
            }
            self.heartbeat()?;
        }
    }
}

/// Tells the client why not, and gives the same as an error.
pub(crate) fn refuse(
    conversation: &mut Conversation,
    reason: Refusal,
    message: String,
) -> RunError {
    let _ = conversation.say(&ToClient::Refused {
        reason,
        message: message.clone(),
    });
    let _ = conversation.stream().shutdown(std::net::Shutdown::Write);
    // Reading what the client had already said lets it read this instead of a reset.
    let until = monotonic_ns() + 200_000_000;
    while monotonic_ns() < until && matches!(conversation.hear::<ToServer>(until, &[]), Ok(Some(_)))
    {
    }
    RunError::Refused { reason, message }
}

/// Holds a plan within the server's limits; what was changed, in words.
fn limit(plan: &mut BulkPlan, shared: &Shared) -> Vec<String> {
    let mut changed = Vec::new();
    if let Some(most) = shared.options.max_rate {
        let each = (most / u64::from(plan.parallel)).max(1000);
        let asked = plan
            .rate
            .limit()
            .map_or(u64::MAX, caudal_core::units::BitRate::bps);
        if asked > each {
            let each = BitRate::from_bps(each);
            plan.rate = Rate::Limit(each);
            changed.push(format!("the server allows {each} a flow"));
        }
    }
    if let (Some(most), TestEnd::Time(time)) = (shared.options.max_time, plan.end) {
        let omitted = plan.omitted();
        if time + omitted > most {
            let mut change = format!("the server allows {} s a test", most.as_secs_f64());
            if omitted < most {
                plan.end = TestEnd::Time(most - omitted);
            } else {
                plan.omit = Omit::Nothing;
                plan.end = TestEnd::Time(most);
                change += ", so that no warm-up is left out";
            }
            changed.push(change);
        }
    }
    changed
}

fn moved(flows: &[FlowEnd]) -> (u64, u64) {
    flows
        .iter()
        .fold((0, 0), |(received, sent), flow| match flow.counters {
            Counters::Receiver(counters) => (received + counters.bytes, sent),
            Counters::Sender(counters) => (received, sent + counters.bytes),
        })
}

/// A UDP socket towards an address that has not yet proven that it receives.
struct HalfOpen {
    flow: PlannedFlow,
    socket: UdpSocket,
    peer: SocketAddr,
    expected: Opening,
}

impl HalfOpen {
    fn challenge(
        flow: PlannedFlow,
        socket: UdpSocket,
        peer: SocketAddr,
        token: Token,
        plan: &SocketPlan<'_>,
    ) -> Result<Option<Self>, RunError> {
        plan.apply(&socket)?;
        let challenge =
            random_bytes().map_err(|cause| RunError::local("preparing a test", cause))?;
        let question = Opening {
            kind: Kind::Challenge,
            flow: flow.id,
            token,
            challenge,
        };
        let expected = Opening {
            kind: Kind::Proof,
            ..question
        };
        if socket.set_nonblocking(true).is_err() || socket.send(&question.encode()).is_err() {
            return Ok(None);
        }
        Ok(Some(Self {
            flow,
            socket,
            peer,
            expected,
        }))
    }

    /// Reads what has come in; whether the address has proven itself.
    fn is_proven(&self) -> bool {
        let mut datagram = [0; OPENING + 1];
        while let Ok(size) = self.socket.recv(&mut datagram) {
            match Opening::decode(&datagram[..size]) {
                Some(opening) if opening == self.expected => {
                    answer(&self.socket, &opening);
                    return self.socket.set_nonblocking(false).is_ok();
                }
                Some(opening) if opening.kind == Kind::Hello => {
                    let question = Opening {
                        kind: Kind::Challenge,
                        ..self.expected
                    };
                    let _ = self.socket.send(&question.encode());
                }
                _ => {}
            }
        }
        false
    }
}

/// Answers a proof, also one that comes again because the answer was lost.
pub(crate) fn answer(socket: &UdpSocket, opening: &Opening) {
    if opening.kind == Kind::Proof {
        let _ = udp::send_segments(
            socket,
            &Opening {
                kind: Kind::Ready,
                ..*opening
            }
            .encode(),
            OPENING as u16,
        );
    }
}

/// The direction a flow has when the client is the one that sends.
pub(crate) const fn echo_flow(id: u32) -> PlannedFlow {
    PlannedFlow {
        id,
        direction: Direction::Up,
    }
}
