//! The echo test's far side: every message goes back whole.
//!
//! One thread for each connection, so that none waits for another. A TCP message is read whole before any
//! of it is sent back; a datagram goes back as it came, with the times of [`caudal_wire::echo`] written
//! in on a schedule.

use crate::carrier::Link;
use crate::counters::{FlowCounters, Orders};
use crate::environment::Meter;
use crate::error::RunError;
use crate::server::ServerEvent;
use crate::session::{Entry, Visit, answer, echo_flow};
use crate::socket::{self, SocketPlan};
use caudal_core::plan::{EchoPlan, EchoSchedule, MAX_DATAGRAM, Plan, PlannedFlow};
use caudal_core::sample::{Counters, FlowEnd};
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_wire::datagram::{OPENING, Opening};
use caudal_wire::echo::{ANNOUNCEMENT, Announcement, stamp_answer};
use caudal_wire::message::{ToClient, ToServer};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK: usize = 64 << 10;
/// The longest a thread sleeps before it looks whether it is to end, ns.
const NAP_NS: u64 = 50_000_000;

/// Serves one echo test.
pub(crate) fn serve(visit: &mut Visit<'_>, plan: &EchoPlan) -> Result<(), RunError> {
    let entry = Entry::new(visit.shared)?;
    let token = entry.token;
    let most_bps = visit
        .shared
        .options
        .max_rate
        .map(|most| (most / u64::from(plan.clients)).max(1000));
    let changed = most_bps.map(|most| {
        let each = BitRate::from_bps(most);
        format!("the server allows {each} a connection: messages beyond that wait there")
    });
    let whole = Plan::Echo(plan.clone());
    visit.conversation.say(&ToClient::Accepted {
        plan: whole.clone(),
        token: token.to_hex(),
        changed: changed.into_iter().collect(),
    })?;
    let flows: Vec<PlannedFlow> = (0..plan.clients).map(echo_flow).collect();
    let links = visit.gather(entry, &SocketPlan::of(&whole), &flows)?;
    let meter = Meter::start(visit.conversation.peer().ip());
    let mut echoes = Echoes::begin(plan, links, most_bps)?;
    visit.conversation.say(&ToClient::Ready)?;
    visit.await_start()?;
    visit.conversation.say(&ToClient::Started)?;
    let began = monotonic_ns();
    visit.shared.tell(ServerEvent::Started {
        client: visit.number,
        plan: Box::new(whole),
    });
    let ended = attend(visit, plan, &echoes);
    let flows = echoes.finish();
    let bytes = flows.iter().map(|flow| match flow.counters {
        Counters::Receiver(counters) => counters.bytes,
        Counters::Sender(counters) => counters.bytes,
    });
    let bytes = bytes.sum();
    let (stopped, error) = match ended {
        Ok(stopped) => (stopped, None),
        Err(error) => (Some(error.to_string()), Some(error)),
    };
    visit.shared.tell(ServerEvent::Finished {
        client: visit.number,
        received: bytes,
        sent: bytes,
        took: Duration::from_nanos(monotonic_ns() - began),
        stopped: stopped.clone(),
    });
    match error {
        Some(error) => Err(error),
        None => visit.finish(flows, meter.read(), stopped),
    }
}

/// Watches over a running test; why it ended early, if it did.
fn attend(
    visit: &mut Visit<'_>,
    plan: &EchoPlan,
    echoes: &Echoes,
) -> Result<Option<String>, RunError> {
    let start = monotonic_ns();
    let options = &visit.shared.options;
    let most = options.max_time.map(|most| start + most.as_nanos() as u64);
    let mut idle = options.idle_timeout;
    if let EchoSchedule::Every { period, .. } = plan.schedule {
        // An exponential gap is longer than 16 of its means once in ten million.
        idle = idle.max(period * 16);
    }
    let idle_ns = idle.as_nanos() as u64;
    let (mut progress, mut progress_at) = (0, start);
    loop {
        let mut until = visit
            .conversation
            .heartbeat_due_ns()
            .min(progress_at + idle_ns);
        until = until.min(most.unwrap_or(u64::MAX));
        match visit.conversation.hear(until, &[visit.shared.stop_fd()])? {
            Some(ToServer::Stop { .. }) => return Ok(None),
            Some(ToServer::Ping { t1 }) => visit.pong(t1)?,
            Some(ToServer::Alive) | None => {}
            Some(_) => return Err(RunError::Protocol("a test is running".to_owned())),
        }
        if visit.shared.is_stopping() {
            return Ok(Some("the server was stopped".to_owned()));
        }
        let now = monotonic_ns();
        if most.is_some_and(|most| now >= most) {
            return Ok(Some("the server's --max-time was reached".to_owned()));
        }
        if echoes.progress() != progress {
            (progress, progress_at) = (echoes.progress(), now);
        } else if now >= progress_at + idle_ns {
            return Ok(Some(format!("nothing was echoed for {} s", idle.as_secs())));
        }
        visit.heartbeat()?;
    }
}

struct Echo {
    flow: PlannedFlow,
    link: Arc<Link>,
    counters: Arc<FlowCounters>,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// The connections of one test, each with its thread; ended when dropped.
struct Echoes(Vec<Echo>);

impl Echoes {
    fn begin(
        plan: &EchoPlan,
        links: Vec<(PlannedFlow, Link)>,
        most_bps: Option<u64>,
    ) -> Result<Self, RunError> {
        let mut echoes = Self(Vec::with_capacity(links.len()));
        let largest = plan.sizes.iter().max().copied().unwrap_or(1);
        let stamps = plan.is_scheduled();
        for (flow, link) in links {
            let echo = Echo {
                flow,
                link: Arc::new(link),
                counters: Arc::new(FlowCounters::default()),
                orders: Arc::new(Orders::default()),
                thread: None,
            };
            let (link, counters, orders) = (
                Arc::clone(&echo.link),
                Arc::clone(&echo.counters),
                Arc::clone(&echo.orders),
            );
            let toll = most_bps.map(|most_bps| Toll {
                most_bps,
                free_at_ns: 0,
            });
            echoes.0.push(echo);
            let thread = thread::Builder::new()
                .name(format!("echo {}", flow.id))
                .stack_size(STACK)
                .spawn(move || {
                    counters.claim();
                    let ended = match &*link {
                        Link::Tcp(stream) => echo_tcp(stream, largest, toll, &counters, &orders),
                        Link::Udp(socket) => echo_udp(socket, stamps, toll, &counters, &orders),
                    };
                    counters.release();
                    ended
                })
                .map_err(|cause| RunError::local("starting a thread", cause))?;
            if let Some(echo) = echoes.0.last_mut() {
                echo.thread = Some(thread);
            }
        }
        Ok(echoes)
    }

    /// Messages echoed so far, over all connections.
    fn progress(&self) -> u64 {
        self.0
            .iter()
            .map(|echo| echo.counters.datagrams.load(Relaxed))
            .sum()
    }

    fn stop(&self) {
        for echo in &self.0 {
            echo.orders.stop.store(true, Relaxed);
            // Wakes a thread that waits in a receive or a send.
            let _ = match &*echo.link {
                Link::Tcp(stream) => stream.shutdown(Shutdown::Both),
                Link::Udp(socket) => socket2::SockRef::from(socket).shutdown(Shutdown::Read),
            };
        }
    }

    /// Ends all connections; the last word on each.
    fn finish(&mut self) -> Vec<FlowEnd> {
        let granted: Vec<_> = self
            .0
            .iter()
            .map(|echo| match &*echo.link {
                Link::Tcp(stream) => socket::granted_tcp(stream, false),
                Link::Udp(socket) => socket::granted_single_udp(socket),
            })
            .collect();
        self.stop();
        self.0
            .drain(..)
            .zip(granted)
            .map(|(mut echo, granted)| {
                let failure = match echo.thread.take().map(JoinHandle::join) {
                    Some(Ok(Ok(()))) | None => None,
                    Some(Ok(Err(cause))) => Some(cause.to_string()),
                    Some(Err(_)) => Some("its thread ended in an error of the program".to_owned()),
                };
                FlowEnd {
                    flow: echo.flow.id,
                    counters: Counters::Receiver(echo.counters.receiver(0)),
                    granted,
                    spacing: None,
                    sequence: None,
                    delay: None,
                    failure,
                }
            })
            .collect()
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        self.stop();
        for echo in &mut self.0 {
            if let Some(thread) = echo.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

/// What holds a connection to the rate the server allows.
struct Toll {
    most_bps: u64,
    free_at_ns: u64,
}

impl Toll {
    /// Waits until `bytes` may go; `false` when the connection is to end meanwhile.
    fn pay(&mut self, bytes: usize, orders: &Orders) -> bool {
        while monotonic_ns() < self.free_at_ns {
            if orders.stopped() {
                return false;
            }
            sleep_until(self.free_at_ns.min(monotonic_ns() + NAP_NS));
        }
        let takes = bytes as u128 * 8_000_000_000 / u128::from(self.most_bps.max(1));
        let takes = u64::try_from(takes).unwrap_or(u64::MAX);
        self.free_at_ns = self.free_at_ns.max(monotonic_ns()).saturating_add(takes);
        true
    }
}

/// Echoes messages as announced until the client closes.
fn echo_tcp(
    mut stream: &TcpStream,
    largest: u32,
    mut toll: Option<Toll>,
    counters: &FlowCounters,
    orders: &Orders,
) -> io::Result<()> {
    let mut room = Vec::new();
    let mut announced = [0; ANNOUNCEMENT];
    while !is_over(stream.read_exact(&mut announced), orders)? {
        let Some(Announcement { size, count }) = Announcement::decode(&announced, largest) else {
            let _ = stream.shutdown(Shutdown::Both);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it announced no messages of the plan",
            ));
        };
        // Sent back, it tells the client that the next bytes are taken for messages.
        if is_over(stream.write_all(&announced), orders)? {
            break;
        }
        room.resize(size as usize, 0);
        for _ in 0..count {
            if is_over(stream.read_exact(&mut room), orders)?
                || toll
                    .as_mut()
                    .is_some_and(|toll| !toll.pay(room.len(), orders))
                || is_over(stream.write_all(&room), orders)?
            {
                return Ok(());
            }
            counters.bytes.fetch_add(u64::from(size), Relaxed);
            counters.datagrams.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// Whether a connection has come to its end, by either side.
fn is_over(done: io::Result<()>, orders: &Orders) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(false),
        Err(_) if orders.stopped() => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(cause) => Err(cause),
    }
}

/// Echoes datagrams to the address that has proven itself until told to end.
fn echo_udp(
    socket: &UdpSocket,
    stamps: bool,
    mut toll: Option<Toll>,
    counters: &FlowCounters,
    orders: &Orders,
) -> io::Result<()> {
    let mut room = vec![0; MAX_DATAGRAM as usize];
    while !orders.stopped() {
        let size = match socket.recv(&mut room) {
            Ok(size) => size,
            // The client has closed its socket, or a router had something to say: it may come back.
            Err(cause) if is_passing(&cause) => continue,
            Err(cause) => return Err(cause),
        };
        let message = &mut room[..size];
        if size == OPENING
            && let Some(opening) = Opening::decode(message)
        {
            answer(socket, &opening);
            continue;
        }
        if message.is_empty() {
            continue;
        }
        if stamps {
            let received_ns = monotonic_ns();
            stamp_answer(message, received_ns, monotonic_ns());
        }
        if toll.as_mut().is_some_and(|toll| !toll.pay(size, orders)) {
            return Ok(());
        }
        if socket.send(message).is_ok() {
            counters.bytes.fetch_add(size as u64, Relaxed);
            counters.datagrams.fetch_add(1, Relaxed);
        } else {
            counters.send_errors.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

fn is_passing(cause: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable};
    matches!(
        cause.kind(),
        ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable
    )
}
