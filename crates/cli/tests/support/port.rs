//! Ports of this machine, and other programs' servers on them.

use super::{Running, SOON};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The ports that the tests use: below those that the kernel gives to sockets without one (net.ipv4.ip_local_port_range).
const PORTS: Range<u32> = 15_000..32_000;
/// The distance between two of them: a server of nttcp uses those above its own as well.
const STEP: u32 = 16;

/// A port that no socket of this machine has, TCP or UDP, and that no other call in this process has returned.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let nth = NEXT.fetch_add(STEP, Ordering::Relaxed);
        let nth = nth.wrapping_add(std::process::id().wrapping_mul(97));
        let port = PORTS.start + nth % (PORTS.end - PORTS.start);
        let port = u16::try_from(port).unwrap();
        if TcpListener::bind(("0.0.0.0", port)).is_ok()
            && UdpSocket::bind(("0.0.0.0", port)).is_ok()
        {
            return port;
        }
    }
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
