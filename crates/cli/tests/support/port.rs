//! Ports of this machine, and other programs' servers on them.

use super::{Running, SOON};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A port nobody listens on at this moment, TCP and UDP.
pub fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        if UdpSocket::bind(("0.0.0.0", port)).is_ok() {
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
    let until = Instant::now() + SOON;
    // Connecting to find out would be a test to it.
    while !is_listened_on(port) {
        assert!(Instant::now() < until, "{program} does not listen");
        thread::sleep(Duration::from_millis(10));
    }
    (server, port)
}

fn is_listened_on(port: u16) -> bool {
    let port = format!(":{port:04X}");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
        let table = fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 3 && words[1].ends_with(&port) && words[3] == "0A"
        })
    })
}
