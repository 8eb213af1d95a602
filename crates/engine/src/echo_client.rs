//! The echo test's near side: every connection its own thread, all at the same size at the same time.

use crate::bell::{Bell, Ringer};
use crate::carrier::Link;
use crate::client::{Client, CutShort, interrupted, unexpected, wakers};
use crate::counters::Orders;
use crate::echo_prober::Prober;
use crate::environment::Meter;
use crate::error::RunError;
use crate::session::echo_flow;
use crate::socket;
use caudal_core::echo::{ClockOffset, ClockOffsetLine, EchoRecord, EchoSeries};
use caudal_core::event::{Agreement, Event};
use caudal_core::plan::{EchoPlan, Plan, PlannedFlow, Transport};
use caudal_core::sample::{FlowEnd, Granted};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::timestamps;
use caudal_wire::datagram::tag;
use caudal_wire::echo::STAMPED;
use caudal_wire::message::{ToClient, ToServer, Usage};
use std::net::Shutdown;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK: usize = 256 << 10;
/// How long the server may take to begin, and to give its last word, ns.
const WORD_NS: u64 = 10_000_000_000;

/// What only the client knows of how to carry an echo test out.
#[derive(Debug, Clone)]
pub struct EchoManner {
    /// Processors to pin the connections' threads to, in turn; empty for none.
    pub affinity: Vec<usize>,
    /// What a random schedule grows from: the same seed, the same schedule.
    pub seed: u64,
    /// Whether some more messages are sent that the kernel stamps.
    pub kernel_stamps: bool,
    /// When the first message is to leave, ns since 1970; at once when that is past, or `None`.
    pub at_ns: Option<u64>,
    /// How long messages are exchanged at most; `None` until all were.
    pub time: Option<Duration>,
}

impl Default for EchoManner {
    fn default() -> Self {
        Self {
            affinity: Vec::new(),
            seed: 0,
            kernel_stamps: true,
            at_ns: None,
            time: None,
        }
    }
}

/// One connection after a test.
#[derive(Debug, Clone)]
pub struct EchoConnection {
    /// Its number, from 0.
    pub client: u32,
    /// How long the TCP handshake took; `None` over UDP.
    pub connecting: Option<Duration>,
    /// What the kernel granted this end.
    pub granted: Granted,
    /// What the server has to say of its end; `None` when it could not report.
    pub server: Option<FlowEnd>,
    /// Why it ended before its time.
    pub failure: Option<String>,
}

/// An echo plan that happened.
#[derive(Debug, Clone)]
pub struct EchoRun {
    /// The plan both sides held.
    pub plan: EchoPlan,
    /// What the server had changed in it.
    pub changed: Vec<String>,
    /// Every connection.
    pub connections: Vec<EchoConnection>,
    /// All that was measured.
    pub record: EchoRecord,
    /// Why no kernel stamps were taken, where they were not.
    pub unstamped: Option<String>,
    /// How long the messages took to exchange.
    pub took: Duration,
    /// What this machine used.
    pub client_usage: Usage,
    /// What the server used; `None` when it could not report.
    pub server_usage: Option<Usage>,
    /// Why the run ended before its plan did.
    pub cut_short: Option<CutShort>,
}

impl Client {
    /// Carries an echo plan out.
    ///
    /// A run that ended early after replies had come in is an answer, not an error.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn echo(
        &mut self,
        plan: &EchoPlan,
        manner: &EchoManner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<EchoRun, RunError> {
        let (agreed, token, changed) = self.offer(Plan::Echo(plan.clone()))?;
        let Plan::Echo(plan) = agreed.clone() else {
            return Err(RunError::Protocol(
                "another kind of test was accepted".to_owned(),
            ));
        };
        on_event(Event::Agreed(Agreement::new(
            &agreed,
            self.peer(),
            &changed,
        )));
        let flows: Vec<PlannedFlow> = (0..plan.clients).map(echo_flow).collect();
        let (links, connecting) = self.open_timed(&agreed, token, &flows)?;
        let before = if carries_times(&plan) {
            Some(self.read_clock()?)
        } else {
            None
        };
        let mut crew = Crew::muster(&plan, links, tag(token), manner)?;
        self.await_moment(manner.at_ns)?;
        self.conversation.say(&ToServer::Start)?;
        match self.hear(
            Duration::from_nanos(WORD_NS),
            "word that the test has begun",
        )? {
            ToClient::Started => {}
            other => return Err(unexpected(other, "word that the test has begun")),
        }
        let meter = Meter::start(self.peer().ip());
        let start_ns = crew.start();
        on_event(Event::Started { repeat: None });
        let end_ns = manner.time.map(|time| {
            start_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        });
        let watched = self.attend_echo(&mut crew, end_ns, on_event);
        let took = Duration::from_nanos(monotonic_ns() - start_ns);
        crew.stop();
        let mut unstamped = crew.unstamped.clone();
        let worked = crew.join();
        let client_usage = meter.read();
        let mut connections: Vec<EchoConnection> = Vec::with_capacity(worked.len());
        let mut series = Vec::new();
        for (nth, work) in worked.into_iter().enumerate() {
            connections.push(EchoConnection {
                client: nth as u32,
                connecting: connecting.get(nth).copied(),
                granted: work.granted,
                server: None,
                failure: work.failure,
            });
            series.extend(work.series);
        }
        series.retain(|one: &EchoSeries| one.first.is_some());
        // By size in the plan's order, then by client: the connections did the sizes in that order.
        let place = |series: &EchoSeries| plan.sizes.iter().position(|size| *size == series.size);
        series.sort_by_key(|series| (place(series), series.client));
        let measured = series
            .iter()
            .any(|one| one.first.is_some_and(|first| first.ns().is_some()));
        let (mut cut_short, last_word) = match watched {
            Ok(ended) => ended,
            Err(error) if !measured => return Err(error),
            Err(error) => (Some(CutShort::Lost(error.to_string())), None),
        };
        let failure = connections
            .iter()
            .find_map(|connection| connection.failure.clone());
        if !measured {
            return Err(match (cut_short, failure) {
                (Some(CutShort::Interrupted), _) => RunError::Interrupted,
                (Some(CutShort::ByServer(why) | CutShort::Lost(why)), _) | (None, Some(why)) => {
                    RunError::Flows(why)
                }
                (None, None) => RunError::Flows(format!(
                    "no reply came within {} s",
                    plan.timeout.as_secs_f64()
                )),
            });
        }
        if cut_short.is_none()
            && connections
                .iter()
                .all(|connection| connection.failure.is_some())
        {
            cut_short = failure.map(CutShort::Lost);
        }
        if unstamped.is_none() && series.iter().all(|one| one.stamped.is_empty()) {
            unstamped = Some("the kernel stamped none".to_owned());
        }
        let mut server_usage = None;
        if let Some(LastWord {
            flows,
            usage,
            stopped,
        }) = last_word
        {
            server_usage = Some(usage);
            for end in flows {
                if let Some(connection) = connections
                    .iter_mut()
                    .find(|connection| connection.client == end.flow)
                {
                    connection.server = Some(end);
                }
            }
            if let (None, Some(why)) = (&cut_short, stopped) {
                cut_short = Some(CutShort::ByServer(why));
            }
        }
        let clock = before.map(|before| {
            // The clocks may have drifted apart by more than a short way takes.
            let after = if server_usage.is_some() {
                self.read_clock().ok()
            } else {
                None
            };
            let after = after.unwrap_or(before);
            ClockOffsetLine {
                before: since(before, start_ns),
                after: since(after, start_ns),
            }
        });
        Ok(EchoRun {
            plan,
            changed,
            connections,
            record: EchoRecord { series, clock },
            unstamped,
            took,
            client_usage,
            server_usage,
            cut_short,
        })
    }

    /// Measures the far clock anew; its time is that of our monotonic clock.
    fn read_clock(&mut self) -> Result<ClockOffset, RunError> {
        let earlier = std::mem::take(&mut self.clock);
        let began = monotonic_ns();
        let measured = self.measure_clock();
        let at_ns = began.midpoint(monotonic_ns()) as i64;
        let found = self.clock.offset_ns().zip(self.clock.bound_ns());
        if found.is_none() {
            self.clock = earlier;
        }
        measured?;
        let (offset_ns, bound_ns) =
            found.ok_or_else(|| RunError::Protocol("its clock runs backwards".to_owned()))?;
        Ok(ClockOffset {
            at_ns,
            offset_ns,
            bound_ns,
        })
    }

    /// Watches over a running test until it has ended on both sides; why it ended early, if it did.
    fn attend_echo(
        &mut self,
        crew: &mut Crew,
        mut end_ns: Option<u64>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(Option<CutShort>, Option<LastWord>), RunError> {
        let mut cut_short = None;
        let mut deadline = None;
        loop {
            let until = self
                .conversation
                .heartbeat_due_ns()
                .min(deadline.unwrap_or(u64::MAX))
                .min(end_ns.unwrap_or(u64::MAX));
            let heard = {
                let mut waiting = wakers(self.interrupt.filter(|_| cut_short.is_none()));
                waiting.push(crew.bell.fd());
                self.conversation.hear(until, &waiting)
            };
            let _ = crew.bell.was_rung();
            for event in crew.news.try_iter() {
                on_event(event);
            }
            match heard {
                Ok(Some(ToClient::Finished {
                    flows,
                    usage,
                    stopped,
                })) => {
                    return Ok((
                        cut_short,
                        Some(LastWord {
                            flows,
                            usage,
                            stopped,
                        }),
                    ));
                }
                Ok(Some(ToClient::Refused { message, .. })) => {
                    return Ok((Some(CutShort::ByServer(message)), None));
                }
                Ok(Some(ToClient::Alive | ToClient::Pong { .. }) | None) => {}
                Ok(Some(other)) => return Err(unexpected(other, "the test's end")),
                // All replies may be in already: then only the server's last word is missing.
                Err(_) if deadline.is_some() => return Ok((cut_short, None)),
                Err(error) => return Ok((Some(CutShort::Lost(error.to_string())), None)),
            }
            if interrupted(self.interrupt) && cut_short.is_none() {
                cut_short = Some(CutShort::Interrupted);
                crew.stop();
            }
            let now = monotonic_ns();
            if end_ns.is_some_and(|end| now >= end) {
                // The time is over, as was asked for: nothing is cut short.
                end_ns = None;
                crew.stop();
            }
            if deadline.is_none() && crew.is_over() {
                on_event(Event::Ending);
                let stop = ToServer::Stop {
                    now: cut_short.is_some(),
                    sent: Vec::new(),
                };
                if self.conversation.say(&stop).is_err() {
                    return Ok((cut_short, None));
                }
                deadline = Some(now + WORD_NS);
            }
            let impatient = self
                .interrupt
                .is_some_and(|interrupt| interrupt.count() > 1);
            if impatient || deadline.is_some_and(|deadline| now >= deadline) {
                return Ok((cut_short, None));
            }
            if self.conversation.owes_heartbeat() {
                // A peer that is gone is noticed when it is listened to.
                let _ = self.conversation.say(&ToServer::Alive);
            }
        }
    }
}

/// Whether messages carry times, so that each way can be told apart.
fn carries_times(plan: &EchoPlan) -> bool {
    plan.transport == Transport::Udp
        && plan.is_scheduled()
        && plan.sizes.iter().any(|size| *size as usize >= STAMPED)
}

fn since(point: ClockOffset, start_ns: u64) -> ClockOffset {
    ClockOffset {
        at_ns: point.at_ns - start_ns as i64,
        ..point
    }
}

/// What the server says last.
struct LastWord {
    flows: Vec<FlowEnd>,
    usage: Usage,
    stopped: Option<String>,
}

/// What one connection's thread leaves behind.
#[derive(Default)]
struct Work {
    series: Vec<EchoSeries>,
    granted: Granted,
    failure: Option<String>,
}

struct Hand {
    link: Arc<Link>,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<(Vec<EchoSeries>, Option<String>)>>,
}

/// The threads of a test, one for each connection.
struct Crew {
    hands: Vec<Hand>,
    rounds: Arc<Rounds>,
    start_ns: Arc<AtomicU64>,
    started: bool,
    /// Rings when a connection has done a size, or has ended.
    bell: Bell,
    news: Receiver<Event>,
    unstamped: Option<String>,
}

impl Crew {
    /// A thread on each connection, all waiting for the start.
    fn muster(
        plan: &EchoPlan,
        links: Vec<(PlannedFlow, Link)>,
        tag: u32,
        manner: &EchoManner,
    ) -> Result<Self, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let bell = Bell::new().map_err(pipe)?;
        let (tell, news) = channel();
        let unstamped = stamping(plan, &links, manner).err();
        let mut crew = Self {
            hands: Vec::with_capacity(links.len()),
            rounds: Arc::new(Rounds::new(links.len() as u32 + 1)),
            start_ns: Arc::default(),
            started: false,
            bell,
            news,
            unstamped,
        };
        let plan = Arc::new(plan.clone());
        for (flow, link) in links {
            let hand = Hand {
                link: Arc::new(link),
                orders: Arc::default(),
                thread: None,
            };
            let place = Place {
                rounds: Arc::clone(&crew.rounds),
                ringer: crew.bell.ringer().map_err(pipe)?,
            };
            let mut prober = Prober::new(
                flow.id,
                Arc::clone(&plan),
                Arc::clone(&hand.link),
                Arc::clone(&hand.orders),
                tag,
                manner.seed,
            );
            prober.stamps = crew.unstamped.is_none();
            let cpu = manner
                .affinity
                .get(flow.id as usize % manner.affinity.len().max(1))
                .copied();
            let (tell, start_ns) = (tell.clone(), Arc::clone(&crew.start_ns));
            crew.hands.push(hand);
            let thread = thread::Builder::new()
                .name(format!("echo {}", flow.id))
                .stack_size(STACK)
                .spawn(move || {
                    let mut place = place;
                    if let Some(cpu) = cpu {
                        // A processor that is not there was refused when the plan was made.
                        let _ = caudal_sys::affinity::pin_this_thread(cpu);
                    }
                    let failure = loop {
                        place.rounds.arrive();
                        match prober.next_size(start_ns.load(Relaxed)) {
                            Ok(Some(event)) => {
                                // The test's end does not hang on somebody watching it.
                                let _ = tell.send(event);
                                place.ringer.ring();
                            }
                            Ok(None) => break None,
                            Err(why) => break Some(why),
                        }
                    };
                    (prober.series, failure)
                })
                .map_err(|cause| RunError::local("starting a thread", cause))?;
            if let Some(hand) = crew.hands.last_mut() {
                hand.thread = Some(thread);
            }
        }
        Ok(crew)
    }

    /// Lets all connections go at once; the moment, ns of the monotonic clock.
    fn start(&mut self) -> u64 {
        let start_ns = monotonic_ns();
        self.start_ns.store(start_ns, Relaxed);
        self.started = true;
        self.rounds.leave();
        start_ns
    }

    fn stop(&mut self) {
        for hand in &self.hands {
            hand.orders.stop.store(true, Relaxed);
            // Wakes a thread that waits in a receive or a send.
            let _ = match &*hand.link {
                Link::Tcp(stream) => stream.shutdown(Shutdown::Both),
                Link::Udp(socket) => socket2::SockRef::from(socket).shutdown(Shutdown::Read),
            };
        }
        if !self.started {
            self.started = true;
            self.rounds.leave();
        }
    }

    fn is_over(&self) -> bool {
        self.rounds.members() == 0
    }

    /// Waits for all threads, which must have been told to end, and gives what each has measured.
    fn join(mut self) -> Vec<Work> {
        self.hands.drain(..).map(Hand::join).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop();
        for hand in self.hands.drain(..) {
            hand.join();
        }
    }
}

impl Hand {
    fn join(mut self) -> Work {
        let granted = match &*self.link {
            Link::Tcp(stream) => socket::granted_tcp(stream, false),
            Link::Udp(socket) => socket::granted_single_udp(socket),
        };
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok((series, failure))) => Work {
                series,
                granted,
                failure,
            },
            Some(Err(_)) => Work {
                granted,
                failure: Some("its thread ended in an error of the program".to_owned()),
                ..Work::default()
            },
            None => Work {
                granted,
                ..Work::default()
            },
        }
    }
}

/// Whether the kernel stamps on these connections; why not, where it will not.
fn stamping(
    plan: &EchoPlan,
    links: &[(PlannedFlow, Link)],
    manner: &EchoManner,
) -> Result<(), String> {
    if !manner.kernel_stamps {
        return Err("not asked for".to_owned());
    }
    if plan.is_scheduled() {
        return Err("taken without a schedule only".to_owned());
    }
    for (_, link) in links {
        match link {
            Link::Tcp(stream) => {
                timestamps::enable(stream).and_then(|()| timestamps::disable(stream))
            }
            Link::Udp(socket) => {
                timestamps::enable(socket).and_then(|()| timestamps::disable(socket))
            }
        }
        .map_err(|cause| format!("this kernel does not stamp: {cause}"))?;
    }
    Ok(())
}

/// Where all connections wait for one another before each size.
struct Rounds {
    state: Mutex<Round>,
    turned: Condvar,
}

struct Round {
    members: u32,
    arrived: u32,
    number: u64,
}

impl Rounds {
    fn new(members: u32) -> Self {
        Self {
            state: Mutex::new(Round {
                members,
                arrived: 0,
                number: 0,
            }),
            turned: Condvar::new(),
        }
    }

    /// Waits until all others have arrived or left.
    fn arrive(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = state.number;
        state.arrived += 1;
        self.turn_if_complete(&mut state);
        while state.number == mine {
            state = self
                .turned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One member less to wait for.
    fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.members = state.members.saturating_sub(1);
        self.turn_if_complete(&mut state);
    }

    fn turn_if_complete(&self, state: &mut Round) {
        if state.arrived >= state.members {
            state.arrived = 0;
            state.number += 1;
            self.turned.notify_all();
        }
    }

    fn members(&self) -> u32 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .members
    }
}

/// A connection's place among the others, given up when dropped, however its thread ended.
struct Place {
    rounds: Arc<Rounds>,
    ringer: Ringer,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rounds.leave();
        self.ringer.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_begins_a_round_before_all_have_arrived_or_left() {
        let rounds = Arc::new(Rounds::new(4));
        let count = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..3)
            .map(|nth| {
                let (rounds, count) = (Arc::clone(&rounds), Arc::clone(&count));
                thread::spawn(move || {
                    for round in 0..100 {
                        if nth == 0 && round == 50 {
                            break;
                        }
                        rounds.arrive();
                        // Three a round, then two: nobody is ahead of the slowest by more than one round.
                        let before = count.fetch_add(1, Relaxed);
                        let least = if round <= 50 {
                            round * 3
                        } else {
                            150 + (round - 50) * 2
                        };
                        assert!(before >= least, "round {round} began after {before}");
                    }
                    rounds.leave();
                })
            })
            .collect();
        assert_eq!(count.load(Relaxed), 0);
        rounds.leave();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((rounds.members(), count.load(Relaxed)), (0, 250));
    }
}
