//! Where a round trip waited: situations built so that the answer is known.

use crate::support::Running;
use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::trial;
use libtest_mimic::Trial;
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// A path on which a program waits for replies nearly all the time.
const PATH: &str = "name = \"link\"\ndelay = \"500us\"";
/// A path on which bbr spreads the segments of a message: on a shorter one it sends them at once.
const PACED_PATH: &str = "delay = \"4ms\"";
/// The time for which a process or the path is held up.
const HELD_UP: Duration = Duration::from_millis(700);

pub fn trials() -> Vec<Trial> {
    let in_lab = |name, test: fn()| trial(name, missing(&[]), test);
    vec![
        in_lab(
            "the_messages_of_a_stopped_client_are_left_out_over_udp",
            || {
                stopped_client("udp");
            },
        ),
        in_lab(
            "the_messages_of_a_stopped_client_are_left_out_over_tcp",
            || {
                stopped_client("tcp");
            },
        ),
        in_lab(
            "the_reply_of_a_stopped_server_is_no_round_trip_over_udp",
            || {
                stopped_server("udp");
            },
        ),
        in_lab("a_message_lost_on_the_path_is_retransmitted", retransmitted),
        in_lab(
            "the_pacing_of_bbr_is_not_this_hosts_own_calls",
            paced_by_bbr,
        ),
    ]
}

/// The summary of a round-trip test during which `hold_up` delays one message.
fn measured(pair: &Pair, words: &str, hold_up: impl FnOnce(&Running)) -> Value {
    measured_run(pair, words, hold_up)["summary"]["sizes"][0]["pooled"].clone()
}

/// The whole run.
fn measured_run(pair: &Pair, words: &str, hold_up: impl FnOnce(&Running)) -> Value {
    let client = Running::start(&mut pair.client(&format!("rtt h2 {words} --json-stream")));
    client.line_with("\"started\"");
    thread::sleep(Duration::from_millis(100));
    hold_up(&client);
    let finished = client.line_with("\"finished\"");
    let event: Value = serde_json::from_str(&finished).unwrap();
    event["run"].clone()
}

/// Checks that the longest round trip is an outlier, which waited at `place`. On a busy machine there may be others.
#[track_caller]
fn assert_waited_at(replies: &Value, place: &str) -> Value {
    let outliers = &replies["outliers"];
    assert!(outliers["n"].as_u64() > Some(0), "{replies:#}");
    let longest = outliers["longest"][0].clone();
    assert_eq!(longest["waited_at"], place, "{replies:#}");
    longest
}

/// Stops a process for a while.
fn stop_for_a_while(process: &Running) {
    process.signal("STOP");
    thread::sleep(HELD_UP);
    process.signal("CONT");
}

fn stopped_server(transport: &str) {
    let pair = Pair::up(PATH);
    let server = pair.serve();
    let words = format!("--proto {transport} -l 64 --count 1000");
    let run = measured_run(&pair, &words, |_| stop_for_a_while(&server));
    assert_left_out(&run, "peer_stopped");
}

fn stopped_client(transport: &str) {
    let pair = Pair::up(PATH);
    let _server = pair.serve();
    let words = format!("--proto {transport} -l 64 --count 1000");
    let run = measured_run(&pair, &words, stop_for_a_while);
    assert_left_out(&run, "program_stopped");
}

/// The stop is told, and what it delayed is no round trip.
fn assert_left_out(run: &Value, kind: &str) {
    let episodes = run["episodes"].as_array().cloned().unwrap_or_default();
    let is_told = episodes.iter().any(|one| one["kind"] == kind);
    assert!(is_told, "{episodes:?}");
    let replies = &run["summary"]["sizes"][0]["pooled"];
    let longest_us = replies["rtt_us"]["max"].as_f64().unwrap();
    assert!(longest_us < HELD_UP.as_micros() as f64, "{replies:#}");
    assert_eq!(replies["lost"], 0, "{replies:#}");
}

fn retransmitted() {
    let pair = Pair::up(PATH);
    let _server = pair.serve();
    let replies = measured(&pair, "--proto tcp -l 64 --count 1000", |_| {
        pair.set("link loss=100% --forward");
        thread::sleep(HELD_UP);
        pair.set("link loss=0% --forward");
    });
    let longest = assert_waited_at(&replies, "retransmission");
    assert!(longest["retransmits"].as_u64() > Some(0), "{longest}");
}

fn paced_by_bbr() {
    let pair = Pair::up(PACED_PATH);
    let _server = pair.serve();
    let parts = |congestion: &str| {
        let words = format!("-C {congestion} -l 16Ki --count 80");
        let replies = measured(&pair, &words, |_| {});
        let part = |name: &str| {
            let p50 = replies["kernel"][name]["p50"].as_f64();
            p50.unwrap_or_else(|| panic!("{name}: {replies:#}"))
        };
        (part("queue_us"), part("host_us"))
    };
    let (queue, host) = parts("bbr");
    assert!(queue > host, "bbr: {queue} µs queued, {host} µs of calls");
    let (queue, _) = parts("cubic");
    assert!(queue < 1000.0, "cubic: {queue} µs queued");
}
