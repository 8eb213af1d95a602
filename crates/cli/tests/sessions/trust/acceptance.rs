//! A server that accepts something else than it was asked for.

use super::PEER;
use crate::support::peer::{Fake, RawClient};
use crate::support::{SOON, caudal, run};
use caudal_wire::preamble::{PREAMBLE_BYTES, PreambleAnswer};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

trials! {
    a_server_that_accepts_more_than_was_asked_is_refused,
    a_server_that_accepts_another_test_than_was_asked_is_refused,
}

/// Goes along up to the offer, and accepts it with `changes`; `null` takes a key away.
fn accept_changed(mut stream: TcpStream, changes: &Value) {
    let mut preamble = [0; PREAMBLE_BYTES];
    if stream.read_exact(&mut preamble).is_err() {
        return;
    }
    let mut server = RawClient::over(stream);
    let welcome = PreambleAnswer::Welcome.encode();
    let _ = server.stream.write_all(&welcome);
    while let Some(mut message) = server.hear() {
        match message["type"].as_str() {
            Some("hello") => server.say(&json!({"type": "welcome", "host": {"tool": "by hand"}})),
            Some("ping") => {
                let t1 = &message["t1"];
                server.say(&json!({"type": "pong", "t1": t1, "t2": t1, "t3": t1}));
            }
            Some("offer") => {
                let plan = message["plan"].as_object_mut().unwrap();
                for (key, value) in changes.as_object().unwrap() {
                    plan.insert(key.clone(), value.clone());
                }
                let token = "ab".repeat(16);
                server.say(&json!({"type": "accepted", "plan": plan, "token": token}));
                server.until_gone();
                return;
            }
            _ => {}
        }
    }
}

#[track_caller]
fn refused(words: &str, changes: Value, reason: &str) {
    let server = Fake::start(move |stream| accept_changed(stream, &changes));
    let mut words = words.split_whitespace();
    let mut command = caudal(words.next());
    command
        .args(["127.0.0.1", "-p", &server.port.to_string()])
        .args(words);
    run(&mut command, SOON).failed(PEER, &["the server changed the plan", reason]);
}

fn a_server_that_accepts_more_than_was_asked_is_refused() {
    let minute = json!({"end": {"time_ns": 60_000_000_000_u64}});
    refused("tcp -t 1", minute.clone(), "the duration was offered as 1s");
    refused("udp -t 1", minute, "the duration");
    let rate = json!({"rate": {"limit": 1_000_000_000}});
    refused("udp -t 1 -b 1M", rate, "the rate was offered as 1");
    refused("tcp -t 1 -b 1M", json!({"rate": "max"}), "no limit");
    let bytes = json!({"end": {"bytes": 100_001}});
    refused("tcp -n 100K", bytes, "the number of bytes");
}

fn a_server_that_accepts_another_test_than_was_asked_is_refused() {
    refused("tcp -t 1", json!({"parallel": 4}), "number of flows");
    refused("udp -t 1", json!({"transport": "tcp"}), "kind of test");
    refused("tcp -t 1", json!({"directions": "both"}), "direction");
    refused("tcp -t 1", json!({"end": {"bytes": 5}}), "end of the test");
    refused(
        "rtt --count 5 -l 64",
        json!({"count": 500_000}),
        "number of messages",
    );
    refused(
        "rtt --count 5 -l 64",
        json!({"clients": 9}),
        "number of clients",
    );
}
