//! A client of iperf3 on our server: one test, from its cookie to its farewell.

use super::account::{beginning, result};
use super::control::{Control, Heard};
use super::desk::Arrival;
use super::event::{Ending, Iperf3Event, Output, Scribe, Stream};
use super::streams::{congestion, describe, dialect, plan, set_up};
use crate::bell::Bell;
use crate::carrier::{Carrier, Link, Manner};
use crate::error::RunError;
use crate::server::{ServerEvent, Shared};
use caudal_core::plan::{Direction, Plan, PlannedFlow, Rate, TestEnd, Ticks};
use caudal_core::sample::{Counters, Role, Sample};
use caudal_core::units::BitRate;
use caudal_sys::affinity;
use caudal_sys::clock::{Rusage, monotonic_ns, sleep_until};
use caudal_wire::iperf3::{
    Complaint, Cookie, LONGEST_PARAMETERS, LONGEST_RESULTS, Parameters, Protocol, Results, State,
};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a client may take for each step, ns.
const STEP_NS: u64 = 10_000_000_000;
/// How long a client may take to have one more stream open: it waits 30 s for the answer to a hello.
const STREAM_NS: u64 = 30_000_000_000;
/// How long a client's results may take, ns.
const RESULTS_NS: u64 = 30_000_000_000;
/// How long after its planned end a test may go on, ns.
const GRACE_NS: u64 = 40_000_000_000;
/// How long after the client's last word its data may still be on the way, ns.
const TRAILING_NS: u64 = 1_500_000_000;
/// Without a byte for so long nothing is on the way any more, ns.
const QUIET_NS: u64 = 300_000_000;
/// The answer to a login leaves no earlier than this after it came, so that how long decrypting took
/// cannot be seen, ns.
const LOGIN_NS: u64 = 250_000_000;
/// A test without any end of its own ends after this.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// Serves a client whose cookie has been read.
pub(crate) fn serve(
    shared: &Arc<Shared>,
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    cookie: Cookie,
) {
    let refused = |why: String| shared.tell(ServerEvent::Refused { peer, why });
    let control = match Control::over(stream, peer) {
        Ok(control) => control,
        Err(cause) => return refused(cause.to_string()),
    };
    let entry = match Entry::new(shared, cookie) {
        Ok(Some(entry)) => entry,
        Ok(None) => return refused("it repeats the cookie of a running test".to_owned()),
        Err(error) => return refused(error.to_string()),
    };
    let mut visit = Visit {
        shared,
        control,
        entry,
        number,
        scribe: None,
        connected: false,
    };
    match visit.go() {
        Ok(()) => {}
        // It went, or is told that the server goes.
        Err(Trouble::Gone) => {}
        Err(Trouble::Complaint(complaint, why)) => {
            visit.control.complain(complaint);
            refused(why.unwrap_or_else(|| complaint.words()));
        }
        Err(Trouble::Run(error)) => {
            let complaint = match &error {
                RunError::Silent { .. } => Complaint::NO_MESSAGE,
                RunError::Protocol(_) => Complaint::RECEIVE_MESSAGE,
                _ => Complaint::INIT_TEST,
            };
            visit.control.complain(complaint);
            refused(error.to_string());
        }
    }
    let connected = visit.connected;
    visit.finish();
    if connected {
        shared.tell(ServerEvent::Left { client: number });
    }
}

/// Why a visit ended before its test did.
enum Trouble {
    /// The client went.
    Gone,
    /// The client is told a number; the log, more where there is more to tell.
    Complaint(Complaint, Option<String>),
    Run(RunError),
}

impl From<RunError> for Trouble {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Lost { .. } => Self::Gone,
            other => Self::Run(other),
        }
    }
}

impl From<Complaint> for Trouble {
    fn from(complaint: Complaint) -> Self {
        Self::Complaint(complaint, None)
    }
}

/// A test's entry at the desk, gone when dropped.
struct Entry<'a> {
    shared: &'a Shared,
    cookie: Cookie,
    arrivals: Receiver<Arrival>,
    bell: Bell,
}

impl<'a> Entry<'a> {
    fn new(shared: &'a Shared, cookie: Cookie) -> Result<Option<Self>, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let bell = Bell::new().map_err(pipe)?;
        let (sender, arrivals) = channel();
        let entered = shared
            .desk
            .enter(cookie, sender, bell.ringer().map_err(pipe)?);
        Ok(entered.then_some(Self {
            shared,
            cookie,
            arrivals,
            bell,
        }))
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.desk.leave(&self.cookie);
    }
}

struct Visit<'a> {
    shared: &'a Arc<Shared>,
    control: Control,
    entry: Entry<'a>,
    number: u64,
    scribe: Option<Box<dyn Scribe>>,
    connected: bool,
}

/// What a running test is watched by.
struct Course {
    /// The readings at the end of the warm-up.
    base: Vec<Sample>,
    tick: u64,
    ticks: Ticks,
}

impl Visit<'_> {
    fn go(&mut self) -> Result<(), Trouble> {
        let parameters = self.agree()?;
        let mut plan = plan(
            &parameters,
            self.shared.options.iperf3.interval.unwrap_or(LONGEST),
            LONGEST,
        );
        self.limit(&parameters, &mut plan)?;
        let whole = plan.clone();
        self.shared.tell(ServerEvent::Connected {
            client: self.number,
            peer: self.control.peer(),
            tool: match &parameters.client_version {
                Some(version) => format!("iperf3 {version}"),
                None => "iperf3".to_owned(),
            },
        });
        self.connected = true;
        if parameters.get_server_output
            && let Some(maker) = &self.shared.options.iperf3.scribes
        {
            self.scribe = Some((maker.0)());
        }
        let mss = caudal_sys::tcp::max_segment(self.control.stream()).ok();
        self.note(&Iperf3Event::Agreed {
            peer: self.control.peer(),
            cookie: self.entry.cookie,
            parameters: Box::new(parameters.clone()),
            mss,
        });
        let links = self.gather(&parameters, &plan)?;
        for (flow, link) in &links {
            let sends = flow.direction == Direction::Down;
            set_up(link, &parameters, sends).map_err(|(complaint, cause)| {
                Trouble::Complaint(complaint, Some(cause.to_string()))
            })?;
        }
        let congestion = congestion(&links);
        let streams = describe(&links, false);
        let manner = Manner {
            affinity: parameters
                .server_affinity
                .map(|cpu| vec![cpu as usize])
                .unwrap_or_default(),
            ..Manner::default()
        };
        if let Some(bulk) = plan.bulk_mut().filter(|bulk| bulk.bytes().is_none()) {
            // The client says when: its clock is the test's.
            bulk.end = TestEnd::Time(LONGEST);
        }
        let spoken = dialect(&parameters, false);
        let mut carrier = Carrier::new(&plan, &spoken, links, false, &manner)?;
        self.note(&Iperf3Event::Opened {
            streams: streams.clone(),
        });
        let began = monotonic_ns();
        let usage = Rusage::of_process();
        self.control.say(&[State::TestStart, State::TestRunning])?;
        carrier.start();
        self.shared.tell(ServerEvent::Started {
            client: self.number,
            plan: Box::new(whole),
        });
        let test = Test {
            parameters: &parameters,
            streams: &streams,
            congestion,
            usage,
        };
        let outcome = self.attend(&test, &mut carrier);
        carrier.stop_all();
        let (received, sent) = moved(&carrier.sample(0));
        let stopped = match &outcome {
            Ok(stopped) => stopped.clone(),
            Err(Trouble::Gone) => Some("the client went".to_owned()),
            Err(Trouble::Complaint(complaint, why)) => {
                Some(why.clone().unwrap_or_else(|| complaint.words()))
            }
            Err(Trouble::Run(error)) => Some(error.to_string()),
        };
        self.shared.tell(ServerEvent::Finished {
            client: self.number,
            received,
            sent,
            took: Duration::from_nanos(monotonic_ns() - began),
            stopped,
        });
        outcome.map(drop)
    }

    fn note(&mut self, event: &Iperf3Event) {
        self.shared.tell(ServerEvent::Iperf3 {
            client: self.number,
            event: Box::new(event.clone()),
        });
        if let Some(scribe) = &mut self.scribe {
            scribe.note(event);
        }
    }

    /// Hears what is asked for, and from whom.
    fn agree(&mut self) -> Result<Parameters, Trouble> {
        self.control.say(&[State::ParamExchange])?;
        let until = monotonic_ns() + STEP_NS;
        let waiting = "the parameters";
        let stop = self.shared.stop_fd();
        let json = self
            .control
            .hear_json(LONGEST_PARAMETERS, until, waiting, &[stop])
            .map_err(|error| match error {
                RunError::Lost { .. } => Trouble::Gone,
                other => Trouble::Complaint(Complaint::RECEIVE_PARAMETERS, Some(other.to_string())),
            })?;
        let parameters = Parameters::decode(&json)?;
        if let Some(gatekeeper) = &self.shared.options.iperf3.gatekeeper {
            let came = monotonic_ns();
            let token = parameters.auth_token.as_deref();
            let known = token.is_some_and(|token| (gatekeeper.0)(token));
            sleep_until(came + LOGIN_NS);
            if !known {
                let why = match token {
                    Some(_) => "its login is not one of those this server answers",
                    None => "it brings no login, and this server wants one",
                };
                return Err(Trouble::Complaint(
                    Complaint::AUTHENTICATION,
                    Some(why.to_owned()),
                ));
            }
        }
        if parameters.protocol == Protocol::Sctp {
            return Err(Complaint::PROTOCOL.into());
        }
        if let Some(cpu) = parameters.server_affinity
            && !affinity::available_cpus().contains(&(cpu as usize))
        {
            return Err(Complaint::AFFINITY.into());
        }
        Ok(parameters)
    }

    /// Holds what is asked for against what this server allows.
    fn limit(&self, parameters: &Parameters, plan: &mut Plan) -> Result<(), Trouble> {
        if let Some(most) = self.shared.options.max_time {
            let asked = u64::from(parameters.time_s) + u64::from(parameters.omit_s);
            if parameters.amount().is_none()
                && (parameters.time_s == 0 || Duration::from_secs(asked) > most)
            {
                return Err(Complaint::MAX_DURATION.into());
            }
        }
        if let Some(most) = self.rate_limit().map(|(most, _)| most) {
            let streams = u64::from(parameters.streams());
            let asked = parameters.rate_bps.max(parameters.fq_rate_bps.unwrap_or(0));
            if asked.saturating_mul(streams) > most {
                return Err(Complaint::TOTAL_RATE.into());
            }
            if let Some(bulk) = plan.bulk_mut().filter(|_| parameters.rate_bps == 0) {
                // Where this end sends, it keeps the limit itself.
                bulk.rate = Rate::Limit(BitRate::from_bps((most / streams).max(1000)));
            }
        }
        Ok(())
    }

    /// The most the streams together may carry, bit/s, and over what time that is averaged.
    fn rate_limit(&self) -> Option<(u64, Duration)> {
        let options = &self.shared.options;
        let own = options.iperf3.rate_limit;
        let general = options.max_rate.map(|most| (most, Duration::from_secs(5)));
        match (own, general) {
            (Some(own), Some(general)) => Some(if own.0 <= general.0 { own } else { general }),
            (own, general) => own.or(general),
        }
    }

    /// What a client may say while nothing is due from it.
    fn interrupted(&mut self, heard: Heard) -> Result<(), Trouble> {
        match heard {
            Heard::Nothing if self.shared.is_stopping() => {
                let _ = self.control.say(&[State::ServerTerminate]);
                Err(Trouble::Gone)
            }
            Heard::Nothing => Ok(()),
            Heard::Closed | Heard::State(State::ClientTerminate | State::IperfDone) => {
                Err(Trouble::Gone)
            }
            Heard::State(_) | Heard::Unknown(_) => Err(Complaint::MESSAGE.into()),
        }
    }

    /// Waits until every stream has its data connection.
    fn gather(
        &mut self,
        parameters: &Parameters,
        plan: &Plan,
    ) -> Result<Vec<(PlannedFlow, Link)>, Trouble> {
        let flows = plan.flows();
        let (shared, cookie) = (self.shared, self.entry.cookie);
        let address = self.control.peer().ip();
        let mut turn = None;
        if parameters.protocol == Protocol::Udp {
            let bell = self.entry.bell.ringer();
            let bell = bell.map_err(|cause| RunError::local("opening a pipe", cause))?;
            let place = shared.desk.queue(address, self.number, bell);
            while !place.has_come() {
                let wakers = [shared.stop_fd(), self.entry.bell.fd()];
                let heard = self.control.hear(monotonic_ns() + STEP_NS, &wakers)?;
                self.interrupted(heard)?;
                let _ = self.entry.bell.was_rung();
            }
            turn = Some(place);
        }
        let udp_from: Option<IpAddr> = turn.as_ref().map(|_| address);
        shared.desk.open(&cookie, true, udp_from);
        self.control.say(&[State::CreateStreams])?;
        let gathered = self.collect(flows.len());
        shared.desk.open(&cookie, false, None);
        drop(turn);
        let links = gathered?;
        Ok(flows.into_iter().zip(links).collect())
    }

    fn collect(&mut self, wanted: usize) -> Result<Vec<Link>, Trouble> {
        let mut tcp: Vec<(u64, Link)> = Vec::new();
        let mut udp: Vec<(SocketAddr, Link)> = Vec::new();
        let mut until = monotonic_ns() + STREAM_NS;
        while tcp.len() + udp.len() < wanted {
            let wakers = [self.shared.stop_fd(), self.entry.bell.fd()];
            let heard = self.control.hear(until, &wakers)?;
            let _ = self.entry.bell.was_rung();
            while let Ok(arrival) = self.entry.arrivals.try_recv() {
                if tcp.len() + udp.len() == wanted {
                    break;
                }
                until = monotonic_ns() + STREAM_NS;
                match arrival {
                    Arrival::Tcp(serial, stream) => tcp.push((serial, Link::Tcp(stream))),
                    Arrival::Udp(peer, socket, answer) => {
                        let known = udp.iter().find(|(known, _)| *known == peer);
                        if let Some((_, Link::Udp(known))) = known {
                            // The same hello again: its answer was lost.
                            let _ = known.send(&answer);
                            continue;
                        }
                        if socket.set_nonblocking(false).is_ok() && socket.send(&answer).is_ok() {
                            udp.push((peer, Link::Udp(socket)));
                        }
                    }
                }
            }
            if tcp.len() + udp.len() < wanted {
                self.interrupted(heard)?;
                if monotonic_ns() >= until {
                    let why = format!(
                        "{} of {wanted} data connections arrived within {} s",
                        tcp.len() + udp.len(),
                        STREAM_NS / 1_000_000_000
                    );
                    return Err(Trouble::Complaint(Complaint::STREAM_ACCEPT, Some(why)));
                }
            }
        }
        // The order in which they were accepted is what both ends number them by.
        tcp.sort_by_key(|(serial, _)| *serial);
        let tcp = tcp.into_iter().map(|(_, link)| link);
        Ok(tcp.chain(udp.into_iter().map(|(_, link)| link)).collect())
    }

    /// Watches over a running test and exchanges results; why it ended early, if it did.
    fn attend(
        &mut self,
        test: &Test<'_>,
        carrier: &mut Carrier,
    ) -> Result<Option<String>, Trouble> {
        let parameters = test.parameters;
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let omit = seconds(parameters.omit_s);
        let mut course = Course {
            base: beginning(carrier),
            tick: 1,
            ticks: Ticks::new(
                self.shared.options.iperf3.interval.unwrap_or(LONGEST),
                omit,
                None,
            ),
        };
        self.note(&Iperf3Event::Sampled {
            samples: course.base.clone(),
            omitted: parameters.omit_s > 0,
        });
        match self.run(test, carrier, &mut course)? {
            Over::End => {}
            Over::Terminated(complaint) => {
                carrier.stop_senders();
                let last = carrier.sample(course.tick);
                self.note(&Iperf3Event::Ended(Box::new(Ending {
                    last,
                    complaint: Some(complaint),
                    ..Ending::default()
                })));
                return Ok(Some(complaint.words()));
            }
        }
        self.exchange(test, carrier, &course)?;
        Ok(None)
    }

    /// Lets the test run until its client says that it is over.
    fn run(
        &mut self,
        test: &Test<'_>,
        carrier: &mut Carrier,
        course: &mut Course,
    ) -> Result<Over, Trouble> {
        let parameters = test.parameters;
        let start = carrier.start_ns();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
        let planned = u64::from(parameters.time_s) + u64::from(parameters.omit_s);
        let by_time = parameters.amount().is_none() && parameters.time_s > 0;
        let expiry = by_time.then(|| start + planned * 1_000_000_000 + GRACE_NS);
        let most = self.shared.options.max_time.map(|most| start + ns(most));
        // A client is given its grace when the server's limit is on the time it may ask for.
        let most = most.filter(|_| !by_time);
        let patience = ns(self.shared.options.iperf3.receive_timeout);
        let receives = test.streams.iter().any(|stream| !stream.sends);
        let limit = self.rate_limit();
        let mut window = (start, 0_u64);
        let (mut progress, mut progress_at) = (0, start);
        loop {
            let due = |course: &Course| course.ticks.at(course.tick).map(|at| start + ns(at));
            let mut until = monotonic_ns() + 500_000_000;
            for moment in [due(course), expiry, most].into_iter().flatten() {
                until = until.min(moment);
            }
            let wakers = [self.shared.stop_fd()];
            match self.control.hear(until, &wakers)? {
                Heard::State(State::TestEnd) => return Ok(Over::End),
                Heard::State(State::ClientTerminate) => {
                    return Ok(Over::Terminated(Complaint::CLIENT_TERMINATED));
                }
                Heard::Closed => return Ok(Over::Terminated(Complaint::CONTROL_CLOSED)),
                Heard::State(_) | Heard::Unknown(_) => return Err(Complaint::MESSAGE.into()),
                Heard::Nothing => {}
            }
            if self.shared.is_stopping() {
                let _ = self.control.say(&[State::ServerTerminate]);
                return Ok(Over::Terminated(Complaint::SERVER_TERMINATED));
            }
            let now = monotonic_ns();
            if due(course).is_some_and(|at| now >= at) {
                let samples = carrier.sample(course.tick);
                let warm = course.ticks.first_measured();
                if course.tick == warm {
                    course.base.clone_from(&samples);
                }
                self.note(&Iperf3Event::Sampled {
                    samples,
                    omitted: course.tick <= warm,
                });
                course.tick += 1;
            }
            if [expiry, most].into_iter().flatten().any(|at| now >= at) {
                return Err(Complaint::DURATION_EXPIRED.into());
            }
            let moved = carrier.progress();
            if moved != progress {
                (progress, progress_at) = (moved, now);
            } else if receives && now >= progress_at + patience {
                return Err(Complaint::NO_MESSAGE.into());
            }
            if let Some((bps, over)) = limit
                && now >= window.0 + ns(over)
            {
                let bits = u128::from(moved - window.1) * 8 * 1_000_000_000;
                // A part more is what a schedule and a full socket buffer may add.
                if bits / u128::from(now - window.0) > u128::from(bps) * 11 / 10 {
                    return Err(Complaint::TOTAL_RATE.into());
                }
                window = (now, moved);
            }
        }
    }

    /// Ends the streams and exchanges results with the client.
    fn exchange(
        &mut self,
        test: &Test<'_>,
        carrier: &mut Carrier,
        course: &Course,
    ) -> Result<(), Trouble> {
        let ended_ns = monotonic_ns().saturating_sub(carrier.start_ns());
        carrier.stop_senders();
        await_senders(carrier);
        carrier.close_senders();
        self.control.say(&[State::ExchangeResults])?;
        let until = monotonic_ns() + RESULTS_NS;
        let json = self
            .control
            .hear_json(LONGEST_RESULTS, until, "the client's results", &[])?;
        let theirs = Results::decode(&json).map_err(|error| {
            Trouble::Complaint(Complaint::RECEIVE_RESULTS, Some(error.to_string()))
        })?;
        await_rest(test, carrier, &theirs);
        let mut last = carrier.sample(course.tick);
        for sample in &mut last {
            // Waiting for what is on the way is not of the test, what came of it is.
            sample.at_ns = match sample.counters {
                Counters::Receiver(received) => ended_ns.max(received.last_ns),
                Counters::Sender(_) => ended_ns,
            };
        }
        let streams = test
            .streams
            .iter()
            .filter_map(|stream| {
                let base = course
                    .base
                    .iter()
                    .find(|sample| sample.flow == stream.flow)?;
                let last = last.iter().find(|sample| sample.flow == stream.flow)?;
                // The client's clock ends the test; what came later is still of it.
                let sent = theirs.stream(stream.id).map(|told| told.packets);
                Some(result(stream.id, base, last, sent))
            })
            .collect();
        let sends = test.streams.iter().any(|stream| stream.sends);
        let is_tcp = test.parameters.protocol == Protocol::Tcp;
        let mut ours = Results {
            cpu_percent: cpu_percent(test.usage, monotonic_ns() - carrier.start_ns()),
            has_retransmits: sends.then_some(is_tcp),
            congestion: test.congestion.clone(),
            streams,
            ..Results::default()
        };
        self.note(&Iperf3Event::Ended(Box::new(Ending {
            last,
            ours: ours.clone(),
            theirs: Some(theirs),
            complaint: None,
        })));
        match self.scribe.as_ref().map(|scribe| scribe.output()) {
            Some(Output::Text(text)) => ours.output_text = Some(text),
            Some(Output::Json(value)) => ours.output_json = Some(value),
            None => {}
        }
        carrier.stop_all();
        self.control.say_json(&ours.encode())?;
        self.control.say(&[State::DisplayResults])?;
        // 16 or the end; anything else is no concern of anybody's any more.
        let _ = self
            .control
            .hear(monotonic_ns() + STEP_NS, &[self.shared.stop_fd()]);
        Ok(())
    }

    fn finish(self) {
        let Self { control, entry, .. } = self;
        drop(entry);
        control.leave();
    }
}

enum Over {
    /// The client has met its end condition.
    End,
    /// One of both ends was ended.
    Terminated(Complaint),
}

struct Test<'a> {
    parameters: &'a Parameters,
    streams: &'a [Stream],
    congestion: Option<String>,
    usage: Option<Rusage>,
}

/// Waits until the senders, which have been told to end, have counted their last.
fn await_senders(carrier: &Carrier) {
    let until = monotonic_ns() + 200_000_000;
    while !carrier.is_over(Role::Sender) && monotonic_ns() < until {
        sleep_until(monotonic_ns() + 1_000_000);
    }
}

/// Waits for what the client says it has sent, as long as it is on the way.
fn await_rest(test: &Test<'_>, carrier: &Carrier, theirs: &Results) {
    let receiving: Vec<&Stream> = test.streams.iter().filter(|stream| !stream.sends).collect();
    if receiving.is_empty() {
        return;
    }
    let is_udp = test.parameters.protocol == Protocol::Udp;
    for stream in &receiving {
        if let (true, Some(told)) = (is_udp, theirs.stream(stream.id)) {
            carrier.expect(stream.flow, told.packets);
        }
    }
    let has_all = |samples: &[Sample]| {
        receiving.iter().all(|stream| {
            let told = theirs.stream(stream.id).map_or(0, |told| told.bytes);
            let sample = samples.iter().find(|sample| sample.flow == stream.flow);
            // The client does not tell what it has sent in its warm-up.
            let omitted = test.parameters.omit_s > 0;
            matches!(sample.map(|sample| sample.counters),
                     Some(Counters::Receiver(received)) if !omitted && received.bytes >= told)
        })
    };
    let now = monotonic_ns();
    let (mut progress, mut progress_at) = (carrier.progress(), now);
    let until = now + TRAILING_NS;
    loop {
        let now = monotonic_ns();
        let over = if is_udp {
            carrier.is_over(Role::Receiver)
        } else {
            has_all(&carrier.sample(0))
        };
        if over || now >= until {
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

fn moved(samples: &[Sample]) -> (u64, u64) {
    samples
        .iter()
        .fold((0, 0), |(received, sent), sample| match sample.counters {
            Counters::Receiver(counters) => (received + counters.bytes, sent),
            Counters::Sender(counters) => (received, sent + counters.bytes),
        })
}

/// CPU time of this program since `before`, in all, in user space and in the kernel, % of `elapsed_ns`.
pub(super) fn cpu_percent(before: Option<Rusage>, elapsed_ns: u64) -> [f64; 3] {
    let (Some(before), Some(now)) = (before, Rusage::of_process()) else {
        return [0.0; 3];
    };
    let percent = |now: Duration, before: Duration| {
        now.saturating_sub(before).as_nanos() as f64 * 100.0 / elapsed_ns.max(1) as f64
    };
    let (user, system) = (
        percent(now.user, before.user),
        percent(now.system, before.system),
    );
    [user + system, user, system]
}
