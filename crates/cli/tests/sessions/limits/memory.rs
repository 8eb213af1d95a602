//! The memory that clients may occupy.

use crate::support::peer::{RawClient, connect_from, plan};
use crate::support::{Ended, Running, SOON, Serve, caudal};
use caudal_wire::echo::{ANNOUNCEMENT_BYTES, Announcement};
use caudal_wire::preamble::{ANSWER_BYTES, Purpose, TestToken};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    announcements_cost_no_memory,
    downloads_that_nobody_reads_keep_to_the_share_of_a_source,
    uploads_that_a_limit_holds_back_keep_to_the_share_of_a_source,
    a_source_leaves_memory_to_the_others,
    a_test_is_ended_with_the_reason_when_the_memory_is_used_up,
    a_test_whose_buffers_find_no_memory_is_refused_with_the_reason,
    a_limit_of_the_process_refuses_tests_and_ends_no_server,
}

/// The largest message, bytes.
const MESSAGE: u32 = 16 << 20;

/// A round-trip test of `clients` connections with messages of 16 MiB that has begun.
fn echo_test(server: &Serve, clients: u32) -> (RawClient, Vec<TcpStream>) {
    let mut hand = RawClient::welcomed(server.port);
    hand.say(&json!({"type": "offer", "plan": {
        "kind": "rtt", "transport": "tcp", "sizes": [MESSAGE], "count": 1,
        "clients": clients, "schedule": "stop_and_wait", "timeout_ns": 30_000_000_000_u64,
        "window": null, "congestion": null, "no_delay": true, "dscp": null}}));
    let accepted = hand.hear_other_than_alive();
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    let token = TestToken::from_hex(accepted["token"].as_str().unwrap()).unwrap();
    let connections = (0..clients).map(|flow| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let hello = Purpose::Data { token, flow }.encode();
        stream.write_all(&hello).unwrap();
        stream.read_exact(&mut [0; ANSWER_BYTES]).unwrap();
        stream
    });
    let connections = connections.collect();
    assert_eq!(hand.hear_other_than_alive()["type"], "ready");
    hand.say(&json!({"type": "start"}));
    assert_eq!(hand.hear_other_than_alive()["type"], "started");
    (hand, connections)
}

/// Announces a message of 16 MiB, which the server confirms.
fn announce(stream: &mut TcpStream) {
    let announcement = Announcement {
        size: MESSAGE,
        count: 1,
    };
    stream.write_all(&announcement.encode()).unwrap();
    stream.read_exact(&mut [0; ANNOUNCEMENT_BYTES]).unwrap();
}

/// The memory of a server, bytes.
fn memory_of(server: &Serve) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/statm", server.running.pid())).unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn announcements_cost_no_memory() {
    let server = Serve::start("");
    let (_hand, mut connections) = echo_test(&server, 64);
    let before = memory_of(&server);
    for stream in &mut connections {
        announce(stream);
        stream.write_all(&[1; 1000]).unwrap();
    }
    // For a server that allocates what is announced, some time to do so.
    thread::sleep(Duration::from_millis(300));
    let grown = memory_of(&server).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for 64 announcements");
}

/// The flows of a test in a direction over TCP, which has begun and of which the client reads nothing.
fn bulk_test(
    server: &Serve,
    source: &str,
    direction: &str,
    flows: u32,
) -> Option<(RawClient, Vec<TcpStream>)> {
    let mut hand = RawClient::welcomed_from(source, server.port);
    let mut plan = plan();
    plan["directions"] = json!(direction);
    plan["parallel"] = json!(flows);
    plan["end"] = json!({"time_ns": 60_000_000_000_u64});
    hand.say(&json!({"type": "offer", "plan": plan}));
    let accepted = hand.hear_other_than_alive();
    let token = TestToken::from_hex(accepted["token"].as_str()?).unwrap();
    let connections = (0..flows).map(|flow| {
        let mut stream = connect_from(source, server.port);
        stream
            .write_all(&Purpose::Data { token, flow }.encode())
            .unwrap();
        stream
    });
    let connections = connections.collect();
    if hand.hear_other_than_alive()["type"] != "ready" {
        return None;
    }
    hand.say(&json!({"type": "start"}));
    assert_eq!(hand.hear_other_than_alive()["type"], "started");
    Some((hand, connections))
}

/// What the kernel keeps to be sent, and to be read, on the connections of a server's port, bytes.
fn kept_by_kernel(port: u16) -> (u64, u64) {
    let table = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap());
    let own = format!(":{port:04X}");
    let mut kept = (0, 0);
    for line in table.iter().flat_map(|table| table.lines().skip(1)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Not the listening socket, whose queue is of connections.
        if words[1].ends_with(&own) && words[3] != "0A" {
            let (sent, received) = words[4].split_once(':').unwrap();
            kept.0 += u64::from_str_radix(sent, 16).unwrap();
            kept.1 += u64::from_str_radix(received, 16).unwrap();
        }
    }
    kept
}

fn downloads_that_nobody_reads_keep_to_the_share_of_a_source() {
    let server = Serve::start("--max-memory 128Mi");
    let tests: Vec<_> = (0..4)
        .filter_map(|_| bulk_test(&server, "127.0.0.2", "down", 64))
        .collect();
    assert!(!tests.is_empty());
    thread::sleep(Duration::from_secs(2));
    let (kept, _) = kept_by_kernel(server.port);
    assert!(
        (1 << 20..32 << 20).contains(&kept),
        "{kept} bytes kept to be sent"
    );
    server.still_serves();
}

fn uploads_that_a_limit_holds_back_keep_to_the_share_of_a_source() {
    let server = Serve::start("--max-memory 128Mi --max-rate 10M");
    let mut tests: Vec<_> = (0..4)
        .filter_map(|_| bulk_test(&server, "127.0.0.2", "up", 64))
        .collect();
    assert!(!tests.is_empty());
    let until = Instant::now() + Duration::from_secs(3);
    for (_, connections) in &tests {
        for stream in connections {
            stream.set_nonblocking(true).unwrap();
        }
    }
    let payload = vec![1; 256 << 10];
    while Instant::now() < until {
        for stream in tests.iter_mut().flat_map(|(_, connections)| connections) {
            let _ = stream.write(&payload);
        }
    }
    let (_, kept) = kept_by_kernel(server.port);
    assert!(
        (1 << 20..32 << 20).contains(&kept),
        "{kept} bytes kept to be read"
    );
}

/// Tests of one address until no more are accepted, beside those of another.
fn a_source_leaves_memory_to_the_others() {
    let server = Serve::start("--max-memory 32Mi");
    let greedy: Vec<_> = (0..60)
        .map_while(|_| bulk_test(&server, "127.0.0.2", "down", 16))
        .collect();
    assert!((1..60).contains(&greedy.len()), "{}", greedy.len());
    let honest: Vec<_> = (0..3)
        .filter_map(|_| bulk_test(&server, "127.0.0.3", "up", 1))
        .collect();
    assert_eq!(honest.len(), 3);
}

fn a_test_is_ended_with_the_reason_when_the_memory_is_used_up() {
    let server = Serve::start("--max-memory 8Mi");
    let (mut hand, mut connections) = echo_test(&server, 1);
    announce(&mut connections[0]);
    let _ = connections[0].write_all(&vec![1; MESSAGE as usize]);
    let finished = hand.hear_other_than_alive();
    let reason = finished["stopped"].as_str().unwrap_or_default();
    assert!(
        reason.contains("the memory for one source of clients is used up"),
        "{finished}"
    );
    server.still_serves();
}

fn a_test_whose_buffers_find_no_memory_is_refused_with_the_reason() {
    let server = Serve::start("--max-memory 8Mi");
    let mut hand = RawClient::welcomed(server.port);
    let mut plan = plan();
    plan["parallel"] = json!(65);
    hand.say(&json!({"type": "offer", "plan": plan}));
    let accepted = hand.hear_other_than_alive();
    let token = TestToken::from_hex(accepted["token"].as_str().unwrap()).unwrap();
    let mut connections = Vec::new();
    for flow in 0..65 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream
            .write_all(&Purpose::Data { token, flow }.encode())
            .unwrap();
        connections.push(stream);
    }
    let refused: Value = hand.hear_other_than_alive();
    assert_eq!(refused["type"], "refused", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("the memory for one source of clients is used up"),
        "{message}"
    );
    drop(connections);
    server.still_serves();
}

/// Under `ulimit -v` an allocation that fails would end the server with all its clients.
fn a_limit_of_the_process_refuses_tests_and_ends_no_server() {
    let binary = caudal(["serve"])
        .get_program()
        .to_string_lossy()
        .into_owned();
    let mut command = Command::new("sh");
    // More is allowed to clients than the process may have.
    let words = "serve -p 0 --max-memory 2Gi --max-memory-per-source 2Gi";
    command.args(["-c", &format!("ulimit -v 200000; exec {binary} {words}")]);
    let server = Serve::of(&mut command);
    // Each needs 64 MB in buffers, and as many threads.
    let greedy: Vec<_> = (0..8)
        .map(|_| Running::start(&mut server.client("tcp -R -P 64 -l 1M -t 4 -q")))
        .collect();
    let ended: Vec<_> = greedy.into_iter().map(|one| one.wait(SOON)).collect();
    let refused = |ended: &&Ended| ended.code == Some(3) && ended.stderr.contains("ulimit -v");
    assert!(ended.iter().any(|one| refused(&one)), "{ended:#?}");
    server.still_serves();
}
