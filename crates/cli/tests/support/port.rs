//! Ports of this machine, and other programs' servers on them.

use super::{Running, SOON};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The first of the ports that the tests use: all are below those that the kernel gives to sockets without one
/// (net.ipv4.ip_local_port_range).
const FIRST: u32 = 10_000;
/// The distance between two of them: a server of nttcp uses those above its own as well.
const STEP: u32 = 16;
/// The number of ranges that test programs at the same time divide among themselves.
const RANGES: u32 = 8;
/// The number of ports in a range.
const RANGE_PORTS: u32 = 175;

/// Ranges of ports that this process has for itself as long as it runs. A port comes again as late as possible.
struct Ports {
    /// The first port of each range, with the listener that claims it.
    ranges: Vec<(u32, Option<UnixListener>)>,
    /// The number of ports that were returned since the first one was.
    returned: u32,
}

static PORTS: Mutex<Ports> = Mutex::new(Ports {
    ranges: Vec::new(),
    returned: 0,
});

impl Ports {
    fn next(&mut self) -> u32 {
        if self.returned as usize == self.ranges.len() * RANGE_PORTS as usize && !self.claim() {
            self.returned = 0;
        }
        let (range, nth) = (self.returned / RANGE_PORTS, self.returned % RANGE_PORTS);
        self.returned += 1;
        self.ranges[range as usize].0 + nth * STEP
    }

    /// Claims a range that no process has; whether there was one. The first is shared where there is none.
    fn claim(&mut self) -> bool {
        let first = |range: u32| FIRST + range * RANGE_PORTS * STEP;
        let claim = |range: u32| {
            let name = format!("caudal-test-ports-{range}");
            let address = SocketAddr::from_abstract_name(name).ok()?;
            Some((first(range), Some(UnixListener::bind_addr(&address).ok()?)))
        };
        let shared = || {
            self.ranges
                .is_empty()
                .then(|| (first(std::process::id() % RANGES), None))
        };
        let claimed = (0..RANGES).find_map(claim).or_else(shared);
        self.ranges.extend(claimed);
        (self.ranges.len() * RANGE_PORTS as usize) > self.returned as usize
    }
}

/// A port that no socket of this machine has, TCP or UDP, and that no other call has returned for as long as possible.
pub fn free_port() -> u16 {
    loop {
        let port = PORTS.lock().unwrap().next();
        let port = u16::try_from(port).unwrap();
        if !is_taken(port) {
            return port;
        }
    }
}

/// Whether a socket has this port. Binding one to find out would keep it from others until programs that are being started have closed theirs.
fn is_taken(port: u16) -> bool {
    let port = format!(":{port:04X}");
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let table = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let mut sockets = table.lines().skip(1);
        sockets.any(|line| {
            line.split_whitespace()
                .nth(1)
                .is_some_and(|local| local.ends_with(&port))
        })
    })
}

/// A server of another tool with these words, once it listens over TCP, and its port.
#[track_caller]
pub fn real_server(program: &str, words: &str) -> (Running, u16) {
    let port = free_port();
    let mut command = Command::new(program);
    command
        .args(["-s", "-p", &port.to_string()])
        .args(words.split_whitespace());
    let server = Running::start(&mut command);
    await_listener(port, Listener::Tcp);
    (server, port)
}

/// What a server waits with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    Tcp,
    Udp,
}

/// Waits until a server listens at a port. Connecting to find out would be a test to it.
#[track_caller]
pub fn await_listener(port: u16, listener: Listener) {
    let until = Instant::now() + SOON;
    while !is_listened_on(port, listener) {
        assert!(Instant::now() < until, "nobody listens at port {port}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn is_listened_on(port: u16, listener: Listener) -> bool {
    let port = format!(":{port:04X}");
    // The states are those of include/net/tcp_states.h; an unconnected UDP socket has that of a closed one.
    let (tables, state) = match listener {
        Listener::Tcp => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
        Listener::Udp => (["/proc/net/udp", "/proc/net/udp6"], "07"),
    };
    tables.iter().any(|table| {
        let table = fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 3 && words[1].ends_with(&port) && words[3] == state
        })
    })
}
