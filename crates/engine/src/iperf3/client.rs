//! A test with a server of iperf3, seen from the side that asks.

use super::account::{beginning, result};
use super::control::{Control, Heard};
use super::event::{Ending, Iperf3Event, Stream};
use super::server::cpu_percent;
use super::streams::{congestion, describe, dialect, local, plan, set_up};
use crate::carrier::{Carrier, Link, Manner, role};
use crate::client::{Target, interrupted, resolve, wakers};
use crate::environment::Meter;
use crate::error::RunError;
use crate::random::random_bytes;
use crate::socket::{self, CONNECTING, Origin, SocketPlan};
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, MAX_DATAGRAM, Plan, PlannedFlow, Ticks, Transport};
use caudal_core::sample::{Counters, FlowEnd, Role, Sample};
use caudal_sys::clock::{Rusage, monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use caudal_wire::iperf3::datagram::{CLIENT_HELLO, HELLO, is_answer};
use caudal_wire::iperf3::{
    Complaint, Cookie, LONGEST_SERVER_RESULTS, Parameters, Protocol, Results, State,
};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long a server may take for a step that costs it nothing, ns.
const STEP_NS: u64 = 30_000_000_000;
/// How long a server may keep a client waiting for its streams: others may have their turn first, ns.
const TURN_NS: u64 = 900_000_000_000;
/// How long the answer to a hello may take, ns.
const HELLO_NS: u64 = 30_000_000_000;
/// A hello is said again after this at the earliest: iperf3 takes one that comes too often for payload.
const AGAIN_NS: u64 = 1_000_000_000;
/// How often a hello is said at most.
const MOST_HELLOS: u32 = 4;
/// How long sent data may take to be acknowledged after the end, ns.
const DRAIN_NS: u64 = 12_000_000_000;
/// How long a server's program may take to read what is in its kernel, as long as its window does not
/// move, ns.
const TCP_GRACE_NS: u64 = 3_000_000;
/// The same at most, ns.
const TCP_GRACE_MOST_NS: u64 = 100_000_000;
/// The same for datagrams, a full buffer of which takes longer, ns.
const UDP_GRACE_NS: u64 = 10_000_000;
/// How long after the server's last word its data may still be on the way, ns.
const TRAILING_NS: u64 = 1_500_000_000;
/// Without a byte for so long nothing is on the way any more, ns.
const QUIET_NS: u64 = 300_000_000;
/// Without a datagram for so long the rest of an amount counts as lost, ns.
const LOST_NS: u64 = 2_000_000_000;
/// A test without any end of its own ends after this.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// What a client wants of a server of iperf3.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where the server is.
    pub target: Target,
    /// What is to be done; its length counts only where `length` is given.
    pub parameters: Parameters,
    /// Bytes in a block or datagram; `None` for the usual.
    pub length: Option<u32>,
    /// How long the measured part is to take, where that is no whole number of seconds.
    pub time: Option<Duration>,
    /// The first local port of the data connections; the others follow.
    pub client_port: Option<u16>,
    /// How often the streams are read; `None` for the end only.
    pub interval: Option<Duration>,
    /// How long connecting may take.
    pub connect_timeout: Option<Duration>,
    /// How long a test in which only the server sends may go on without a byte.
    pub receive_timeout: Duration,
    /// How long sent data may stay unacknowledged.
    pub send_timeout: Option<Duration>,
    /// What only this end knows of how to carry its flows.
    pub manner: Manner,
}

/// Why a test with a server of iperf3 failed.
#[derive(Debug, thiserror::Error)]
pub enum Iperf3Error {
    /// The server says what is wrong.
    #[error("the server refused: {}", .0.words())]
    Complaint(Complaint),
    /// The server is busy.
    #[error("the server refused: {}", Complaint::ACCESS_DENIED.words())]
    Denied,
    /// The server is being stopped.
    #[error("the server has been stopped")]
    ServerTerminated,
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// The server has closed the control connection.
    #[error("the server has closed the control connection")]
    Closed,
    /// The server said something no version says.
    #[error("the server says {0}, which is no word of iperf3's protocol")]
    Unknown(u8),
    /// Nothing came from the server for too long.
    #[error("nothing was received for {0} s")]
    Idle(u64),
    /// Anything else.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A test that happened.
#[derive(Debug, Clone)]
pub struct Iperf3Run {
    /// What was done.
    pub parameters: Parameters,
    /// The same as a plan.
    pub plan: Plan,
    /// The streams.
    pub streams: Vec<Stream>,
    /// Every reading of this end, the last one of each stream included.
    pub samples: Vec<Sample>,
    /// The readings at the end of the warm-up.
    pub base: Vec<Sample>,
    /// What both ends have counted.
    pub ending: Ending,
    /// The last word of this end on each flow.
    pub ends: Vec<FlowEnd>,
    /// What this machine used.
    pub usage: Usage,
}

/// A control connection to a server that seems to be iperf3's.
pub struct Iperf3Client {
    control: Control,
    cookie: Cookie,
    request: Request,
    mss: Option<u32>,
    connecting: Duration,
    interrupt: Option<&'static Interrupt>,
    /// The server has asked for the parameters already.
    asked: bool,
}

type Links = Vec<(PlannedFlow, Link)>;

fn new_cookie() -> Result<Cookie, RunError> {
    let mut random = [0; 36];
    for part in random.chunks_mut(16) {
        let bytes = random_bytes().map_err(|cause| RunError::local("naming a test", cause))?;
        part.copy_from_slice(&bytes[..part.len()]);
    }
    Ok(Cookie::from_random(random))
}

impl Iperf3Client {
    /// Connects to the server and names the test.
    ///
    /// # Errors
    /// When the host is unknown or nobody answers there.
    pub fn connect(
        request: Request,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, Iperf3Error> {
        let target = &request.target;
        let timeout = request.connect_timeout.unwrap_or(CONNECTING);
        let mut last = None;
        for peer in resolve(target)? {
            let began = monotonic_ns();
            match socket::connect_within(peer, &target.origin, None, timeout) {
                Ok(stream) => {
                    let connecting = Duration::from_nanos(monotonic_ns() - began);
                    return Ok(Self::greet(stream, peer, request, connecting, interrupt)?);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last
            .unwrap_or_else(|| RunError::Resolve {
                host: target.host.clone(),
                cause: io::Error::new(
                    io::ErrorKind::NotFound,
                    "it has no address of the family asked for",
                ),
            })
            .into())
    }

    fn greet(
        mut stream: TcpStream,
        peer: SocketAddr,
        mut request: Request,
        connecting: Duration,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        let cookie = new_cookie()?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.write_all(cookie.bytes()).map_err(lost)?;
        let mss = tcp::max_segment(&stream).ok();
        request.parameters.length = match (request.length, request.parameters.protocol) {
            (Some(length), _) => length,
            // What fits a packet of the path the control connection takes.
            (None, Protocol::Udp) => mss
                .filter(|mss| (16..=MAX_DATAGRAM).contains(mss))
                .unwrap_or(caudal_wire::iperf3::parameters::UDP_BLOCK),
            (None, _) => caudal_wire::iperf3::parameters::TCP_BLOCK,
        };
        Ok(Self {
            control: Control::over(stream, peer).map_err(lost)?,
            cookie,
            request,
            mss,
            connecting,
            interrupt,
            asked: false,
        })
    }

    /// The server's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.control.peer()
    }

    /// The largest segment of the control connection, bytes.
    #[must_use]
    pub const fn mss(&self) -> Option<u32> {
        self.mss
    }

    /// How long connecting took.
    #[must_use]
    pub const fn connecting(&self) -> Duration {
        self.connecting
    }

    /// The smoothed round-trip time of the control connection, µs.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u32> {
        tcp::tcp_info(self.control.stream())
            .ok()
            .map(|info| info.rtt_us)
    }

    /// The path MTU the kernel knows towards the server, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        caudal_sys::udp::path_mtu(self.control.stream())
    }

    /// Changes what is to be done, before it is done.
    pub fn want(&mut self, parameters: Parameters, time: Option<Duration>, interval: Duration) {
        self.request.length = Some(parameters.length);
        self.request.parameters = parameters;
        self.request.time = time;
        self.request.interval = Some(interval);
    }

    /// Changes how its flows are carried, before they are.
    pub fn carry_as(&mut self, manner: Manner) {
        self.request.manner = manner;
    }

    /// The name of the test.
    #[must_use]
    pub const fn cookie(&self) -> Cookie {
        self.cookie
    }

    /// What is to be done, its length chosen.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.request.parameters
    }

    /// Waits until the server asks what is to be done: whoever does so speaks iperf3.
    ///
    /// # Errors
    /// When it refuses, is somebody else, or says nothing `within` this time.
    pub fn await_question(&mut self, within: Duration) -> Result<(), Iperf3Error> {
        if !self.asked {
            let within = u64::try_from(within.as_nanos()).unwrap_or(STEP_NS);
            self.await_state(State::ParamExchange, within)?;
            self.asked = true;
        }
        Ok(())
    }

    /// Carries the test out.
    ///
    /// # Errors
    /// When it could not be carried to its end; what was counted until then has been told in events.
    pub fn run(mut self, on_event: &mut dyn FnMut(Iperf3Event)) -> Result<Iperf3Run, Iperf3Error> {
        let within = self.request.connect_timeout.unwrap_or(Duration::ZERO);
        self.await_question(within.max(Duration::from_nanos(STEP_NS)))?;
        let parameters = self.request.parameters.clone();
        self.control.say_json(&parameters.encode())?;
        on_event(Iperf3Event::Agreed {
            peer: self.control.peer(),
            cookie: self.cookie,
            parameters: Box::new(parameters.clone()),
            mss: self.mss,
        });
        self.await_state(State::CreateStreams, TURN_NS)?;
        let interval = self.request.interval.unwrap_or(LONGEST);
        let plan = plan(&parameters, interval, LONGEST);
        let meter = Meter::start(self.control.peer().ip());
        let usage = Rusage::of_process();
        let links = self.open(&parameters, &plan)?;
        let streams = describe(&links, true);
        let used = congestion(&links);
        let spoken = dialect(&parameters, true);
        let mut carrier = Carrier::new(&plan, &spoken, links, true, &self.request.manner)?;
        self.await_state(State::TestStart, STEP_NS)?;
        on_event(Iperf3Event::Opened {
            streams: streams.clone(),
        });
        self.await_state(State::TestRunning, STEP_NS)?;
        carrier.start();
        let mut test = Test {
            total: (parameters.amount().is_none() && parameters.time_s > 0).then(|| {
                let whole = Duration::from_secs(u64::from(parameters.time_s));
                let omitted = Duration::from_secs(u64::from(parameters.omit_s));
                self.request.time.unwrap_or(whole) + omitted
            }),
            ticks: Ticks::new(
                interval,
                Duration::from_secs(u64::from(parameters.omit_s)),
                None,
            ),
            parameters,
            streams,
            congestion: used,
            usage,
            samples: Vec::new(),
            base: Vec::new(),
            tick: 0,
        };
        let outcome = self.carry(&mut test, &mut carrier, on_event);
        let ending = match outcome {
            Ok(ending) => ending,
            Err(error) => {
                carrier.stop_senders();
                on_event(Iperf3Event::Ended(Box::new(Ending {
                    last: carrier.sample(test.tick),
                    complaint: complaint(&error),
                    ..Ending::default()
                })));
                carrier.stop_all();
                return Err(error);
            }
        };
        on_event(Iperf3Event::Ended(Box::new(ending.clone())));
        let said = self.control.say(&[State::IperfDone]);
        carrier.stop_all();
        let ends = carrier.finish();
        let usage = meter.read();
        if said.is_ok() {
            self.control.leave();
        }
        test.samples.extend(ending.last.iter().copied());
        Ok(Iperf3Run {
            parameters: test.parameters,
            plan,
            streams: test.streams,
            samples: test.samples,
            base: test.base,
            ending,
            ends,
            usage,
        })
    }

    /// The next thing the server says that is no refusal; `None` when the time is over.
    fn hear(&mut self, until_ns: u64) -> Result<Option<State>, Iperf3Error> {
        match self.control.hear(until_ns, &wakers(self.interrupt))? {
            Heard::Nothing if interrupted(self.interrupt) => {
                let _ = self.control.say(&[State::ClientTerminate]);
                Err(Iperf3Error::Interrupted)
            }
            Heard::Nothing => Ok(None),
            Heard::State(State::AccessDenied) => Err(Iperf3Error::Denied),
            Heard::State(State::ServerTerminate) => Err(Iperf3Error::ServerTerminated),
            Heard::State(State::ServerError) => {
                // Some versions send one number only, and then close.
                let numbers = self.control.hear_bytes(8, monotonic_ns() + 2_000_000_000);
                Err(Iperf3Error::Complaint(Complaint::decode(&numbers)))
            }
            Heard::State(state) => Ok(Some(state)),
            Heard::Unknown(byte) => Err(Iperf3Error::Unknown(byte)),
            Heard::Closed => Err(Iperf3Error::Closed),
        }
    }

    fn await_state(&mut self, due: State, most_ns: u64) -> Result<(), Iperf3Error> {
        let until = monotonic_ns() + most_ns;
        loop {
            match self.hear(until)? {
                Some(state) if state == due => return Ok(()),
                Some(state) => return Err(Iperf3Error::Unknown(state.byte())),
                None if monotonic_ns() >= until => {
                    return Err(Iperf3Error::Run(RunError::Silent {
                        waiting_for: "the server's next word",
                        seconds: most_ns / 1_000_000_000,
                    }));
                }
                None => {}
            }
        }
    }

    /// Opens the data connections, one after another.
    fn open(&mut self, parameters: &Parameters, plan: &Plan) -> Result<Links, Iperf3Error> {
        let peer = self.control.peer();
        let sockets = SocketPlan {
            dscp: None,
            ..SocketPlan::of(plan)
        };
        let flows = plan.flows();
        let mut links: Links = Vec::with_capacity(flows.len());
        for (flow, nth) in flows.into_iter().zip(0_u16..) {
            let origin = Origin {
                port: self
                    .request
                    .client_port
                    .map(|port| port.saturating_add(nth)),
                ..self.request.target.origin.clone()
            };
            let sockets = sockets.for_role(role(flow.direction, true));
            let link = match plan.transport() {
                Transport::Tcp => {
                    let mut stream = socket::connect(peer, &origin, Some(&sockets))?;
                    stream
                        .write_all(self.cookie.bytes())
                        .map_err(|cause| RunError::Lost {
                            doing: "opening a data connection",
                            cause,
                        })?;
                    if let Some(timeout) = self.request.send_timeout {
                        socket2::SockRef::from(&stream)
                            .set_tcp_user_timeout(Some(timeout))
                            .map_err(|cause| RunError::local("setting --snd-timeout", cause))?;
                    }
                    Link::Tcp(stream)
                }
                Transport::Udp => {
                    let socket = socket::connect_udp(peer, &origin, &sockets)?;
                    self.say_hello(&socket)?;
                    Link::Udp(socket)
                }
            };
            set_up(&link, parameters, flow.direction == Direction::Up).map_err(local)?;
            links.push((flow, link));
        }
        Ok(links)
    }

    /// Says hello over UDP until it is answered, rarely enough for iperf3.
    fn say_hello(&mut self, socket: &UdpSocket) -> Result<(), Iperf3Error> {
        let rtt_ns = u64::from(self.rtt_us().unwrap_or(0)) * 1000;
        let until = monotonic_ns() + HELLO_NS;
        let mut said = 0;
        let mut again = 0;
        loop {
            let now = monotonic_ns();
            if now >= again && said < MOST_HELLOS {
                // A port that is closed shows in the answer that does not come.
                let _ = socket.send(&CLIENT_HELLO);
                said += 1;
                again = now + AGAIN_NS.max(4 * rtt_ns);
            }
            let wait = if said < MOST_HELLOS {
                again.min(until)
            } else {
                until
            };
            let mut waiting = vec![socket.as_fd(), self.control.stream().as_fd()];
            waiting.extend(wakers(self.interrupt));
            let left = Duration::from_nanos(wait.saturating_sub(now));
            let ready = poll_readable(&waiting, Some(left)).unwrap_or_default();
            if ready.first() == Some(&true) {
                let mut datagram = [0; HELLO + 1];
                match socket.recv(&mut datagram) {
                    Ok(size) if is_answer(&datagram[..size]) => return Ok(()),
                    // Payload that has overtaken the answer, or word of a closed port.
                    Ok(_) | Err(_) => {}
                }
            }
            if ready.iter().skip(1).any(|woken| *woken) {
                // Nothing good is said to a client that opens its streams.
                if let Some(state) = self.hear(now)? {
                    return Err(Iperf3Error::Unknown(state.byte()));
                }
            }
            if monotonic_ns() >= until {
                return Err(Iperf3Error::Run(RunError::Silent {
                    waiting_for: "an answer over UDP (does a firewall let UDP through?)",
                    seconds: HELLO_NS / 1_000_000_000,
                }));
            }
        }
    }

    /// Lets the test run and exchanges results.
    fn carry(
        &mut self,
        test: &mut Test,
        carrier: &mut Carrier,
        on_event: &mut dyn FnMut(Iperf3Event),
    ) -> Result<Ending, Iperf3Error> {
        test.read(carrier, on_event);
        self.watch(test, carrier, on_event)?;
        let ended_ns = monotonic_ns().saturating_sub(carrier.start_ns());
        carrier.stop_senders();
        self.await_sent(test, carrier);
        self.control.say(&[State::TestEnd])?;
        self.await_state(State::ExchangeResults, STEP_NS)?;
        test.await_rest(carrier, None);
        let last = test.last(carrier, ended_ns);
        let ours = test.results(&last, carrier, None);
        self.control.say_json(&ours.encode())?;
        let until = monotonic_ns() + 2 * STEP_NS;
        let waiting = "the server's results";
        let json = self.control.hear_json(
            LONGEST_SERVER_RESULTS,
            until,
            waiting,
            &wakers(self.interrupt),
        )?;
        let theirs =
            Results::decode(&json).map_err(|error| RunError::Protocol(error.to_string()))?;
        test.await_rest(carrier, Some(&theirs));
        self.await_state(State::DisplayResults, STEP_NS)?;
        let last = test.last(carrier, ended_ns);
        let ours = test.results(&last, carrier, Some(&theirs));
        Ok(Ending {
            last,
            ours,
            theirs: Some(theirs),
            complaint: None,
        })
    }

    /// Waits for the end of the test, reading the streams when it is due.
    fn watch(
        &mut self,
        test: &mut Test,
        carrier: &mut Carrier,
        on_event: &mut dyn FnMut(Iperf3Event),
    ) -> Result<(), Iperf3Error> {
        let start = carrier.start_ns();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
        let end = test.total.map(|total| start + ns(total));
        let amount = test.parameters.amount();
        let sends = test.streams.iter().any(|stream| stream.sends);
        let receives = test.streams.iter().any(|stream| !stream.sends);
        let patience = self.request.receive_timeout;
        let (mut progress, mut progress_at) = (0, start);
        loop {
            let due = test.ticks.at(test.tick).map(|at| start + ns(at));
            let mut until = monotonic_ns() + 250_000_000;
            for moment in [due, end].into_iter().flatten() {
                until = until.min(moment);
            }
            if amount.is_some() && receives {
                // An amount is noticed by looking.
                until = until.min(monotonic_ns() + 2_000_000);
            }
            let heard = {
                let mut waiting = wakers(self.interrupt);
                waiting.push(carrier.ended().fd());
                self.control.hear(until, &waiting)?
            };
            let _ = carrier.ended().was_rung();
            match heard {
                Heard::Nothing => {
                    if interrupted(self.interrupt) {
                        let _ = self.control.say(&[State::ClientTerminate]);
                        return Err(Iperf3Error::Interrupted);
                    }
                }
                Heard::State(State::AccessDenied) => return Err(Iperf3Error::Denied),
                Heard::State(State::ServerTerminate) => return Err(Iperf3Error::ServerTerminated),
                Heard::State(State::ServerError) => {
                    let numbers = self.control.hear_bytes(8, monotonic_ns() + 2_000_000_000);
                    return Err(Iperf3Error::Complaint(Complaint::decode(&numbers)));
                }
                Heard::State(state) => return Err(Iperf3Error::Unknown(state.byte())),
                Heard::Unknown(byte) => return Err(Iperf3Error::Unknown(byte)),
                Heard::Closed => return Err(Iperf3Error::Closed),
            }
            let now = monotonic_ns();
            if due.is_some_and(|at| now >= at) {
                test.read(carrier, on_event);
            }
            if end.is_some_and(|end| now >= end) || self.request.manner.quit.load(Relaxed) {
                test.read_end(carrier, on_event, now - start);
                return Ok(());
            }
            let moved = carrier.progress();
            if moved != progress {
                (progress, progress_at) = (moved, now);
            }
            let silent = now.saturating_sub(progress_at);
            let sent = !sends || carrier.is_over(Role::Sender);
            let received = match amount {
                Some(amount) if receives => {
                    let quiet = silent >= LOST_NS.max(3 * test.gap_ns());
                    let is_udp = test.parameters.protocol == Protocol::Udp;
                    test.received(carrier) >= amount || is_udp && progress > 0 && quiet
                }
                // Where no amount ends it, only the end of what is sent (a file) can.
                _ => !receives,
            };
            if sent && received {
                test.read_end(carrier, on_event, now - start);
                return Ok(());
            }
            if receives && !sends && silent >= ns(patience) {
                return Err(Iperf3Error::Idle(patience.as_secs()));
            }
        }
    }

    /// Waits until what was sent has had its time to arrive: a server of iperf3 counts nothing that comes
    /// after the word that the test is over.
    fn await_sent(&self, test: &Test, carrier: &Carrier) {
        if !test.streams.iter().any(|stream| stream.sends) {
            return;
        }
        let rtt_ns = u64::from(self.rtt_us().unwrap_or(0)) * 1000;
        if test.parameters.protocol == Protocol::Udp {
            // A sender that sleeps until its next departure has nothing on the way.
            sleep_until(monotonic_ns() + (UDP_GRACE_NS + 2 * rtt_ns).min(500_000_000));
            return;
        }
        let until = monotonic_ns() + DRAIN_NS;
        while !carrier.is_over(Role::Sender) && monotonic_ns() < until {
            sleep_until(monotonic_ns() + 500_000);
        }
        // Acknowledged is in the kernel there; its program still has to read it, which opens the window.
        let until = monotonic_ns() + TCP_GRACE_MOST_NS;
        let mut quiet_since = monotonic_ns();
        let mut windows = windows(carrier);
        while monotonic_ns() < until && monotonic_ns() < quiet_since + TCP_GRACE_NS {
            sleep_until(monotonic_ns() + 500_000);
            let now = self::windows(carrier);
            if now != windows {
                (windows, quiet_since) = (now, monotonic_ns());
            }
        }
    }
}

/// What the receivers of this end's TCP streams say they can take.
fn windows(carrier: &Carrier) -> Vec<u64> {
    carrier
        .sample(0)
        .iter()
        .filter_map(|sample| match sample.counters {
            Counters::Sender(sender) => sender.tcp?.receiver_window_bytes,
            Counters::Receiver(_) => None,
        })
        .collect()
}

/// iperf3's number for what went wrong.
fn complaint(error: &Iperf3Error) -> Option<Complaint> {
    Some(match error {
        Iperf3Error::Complaint(complaint) => *complaint,
        Iperf3Error::Denied => Complaint::ACCESS_DENIED,
        Iperf3Error::ServerTerminated => Complaint::SERVER_TERMINATED,
        Iperf3Error::Interrupted => Complaint::CLIENT_TERMINATED,
        Iperf3Error::Closed => Complaint::CONTROL_CLOSED,
        Iperf3Error::Unknown(_) => Complaint::MESSAGE,
        Iperf3Error::Idle(_) => Complaint::NO_MESSAGE,
        Iperf3Error::Run(_) => return None,
    })
}

/// A running test.
struct Test {
    parameters: Parameters,
    streams: Vec<Stream>,
    congestion: Option<String>,
    usage: Option<Rusage>,
    total: Option<Duration>,
    ticks: Ticks,
    samples: Vec<Sample>,
    base: Vec<Sample>,
    tick: u64,
}

impl Test {
    /// Reads the streams and tells of it.
    fn read(&mut self, carrier: &Carrier, on_event: &mut dyn FnMut(Iperf3Event)) {
        let samples = match self.tick {
            0 => beginning(carrier),
            tick => carrier.sample(tick),
        };
        let warm = self.ticks.first_measured();
        if self.tick == warm {
            self.base.clone_from(&samples);
        }
        self.samples.extend(samples.iter().copied());
        on_event(Iperf3Event::Sampled {
            samples,
            omitted: self.tick <= warm && warm > 0,
        });
        self.tick += 1;
    }

    /// Reads the streams at the end, unless that was just done.
    fn read_end(
        &mut self,
        carrier: &Carrier,
        on_event: &mut dyn FnMut(Iperf3Event),
        elapsed_ns: u64,
    ) {
        let before = self.samples.last().map_or(0, |sample| sample.at_ns);
        if elapsed_ns > before + 1_000_000 {
            self.read(carrier, on_event);
        }
        if self.base.is_empty() {
            self.base = beginning(carrier);
        }
    }

    /// Payload received, over all streams; where datagrams were lost, what they would have carried too.
    fn received(&self, carrier: &Carrier) -> u64 {
        let length = u64::from(self.parameters.length);
        carrier
            .sample(0)
            .iter()
            .map(|sample| match sample.counters {
                Counters::Receiver(received) if self.parameters.protocol == Protocol::Udp => {
                    (received.datagrams + received.lost) * length
                }
                Counters::Receiver(received) => received.bytes,
                Counters::Sender(_) => 0,
            })
            .sum()
    }

    /// The time between datagrams, ns.
    fn gap_ns(&self) -> u64 {
        match self.parameters.rate_bps {
            0 => 0,
            rate => u64::from(self.parameters.length) * 8_000_000_000 / rate,
        }
    }

    /// Waits for what the server has sent, as long as it is on the way.
    fn await_rest(&self, carrier: &Carrier, theirs: Option<&Results>) {
        let receiving: Vec<&Stream> = self.streams.iter().filter(|one| !one.sends).collect();
        if receiving.is_empty() {
            return;
        }
        let is_udp = self.parameters.protocol == Protocol::Udp;
        if let (true, Some(theirs)) = (is_udp, theirs) {
            for stream in &receiving {
                if let Some(told) = theirs.stream(stream.id) {
                    carrier.expect(stream.flow, told.packets);
                }
            }
        }
        if is_udp && theirs.is_none() {
            // What was sent before the server stopped needs its time; how much, the results will say.
            sleep_until(monotonic_ns() + 5_000_000);
            return;
        }
        let now = monotonic_ns();
        let (mut progress, mut progress_at) = (carrier.progress(), now);
        let until = now + TRAILING_NS;
        loop {
            let now = monotonic_ns();
            if carrier.is_over(Role::Receiver) || now >= until {
                return;
            }
            if carrier.progress() != progress {
                (progress, progress_at) = (carrier.progress(), now);
            } else if !is_udp && now >= progress_at + QUIET_NS {
                return;
            }
            sleep_until(now + 1_000_000);
        }
    }

    /// The last readings, at the end of the test or with the last byte that came after it.
    fn last(&self, carrier: &Carrier, ended_ns: u64) -> Vec<Sample> {
        let mut last = carrier.sample(self.tick);
        for sample in &mut last {
            sample.at_ns = match sample.counters {
                Counters::Receiver(received) => ended_ns.max(received.last_ns),
                Counters::Sender(_) => ended_ns,
            };
        }
        last
    }

    fn results(&self, last: &[Sample], carrier: &Carrier, theirs: Option<&Results>) -> Results {
        let streams = self
            .streams
            .iter()
            .filter_map(|stream| {
                let base = self.base.iter().find(|sample| sample.flow == stream.flow)?;
                let last = last.iter().find(|sample| sample.flow == stream.flow)?;
                let told = theirs.and_then(|theirs| theirs.stream(stream.id));
                let sent = told.filter(|_| !stream.sends).map(|told| told.packets);
                Some(result(stream.id, base, last, sent))
            })
            .collect();
        let sends = self.streams.iter().any(|stream| stream.sends);
        Results {
            cpu_percent: cpu_percent(self.usage, monotonic_ns() - carrier.start_ns()),
            has_retransmits: sends.then_some(self.parameters.protocol == Protocol::Tcp),
            congestion: self.congestion.clone(),
            streams,
            ..Results::default()
        }
    }
}
