//! Where a round trip waited: situations built so that the answer is known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use support::Running;
use support::network::missing;
use support::pair::Pair;
use support::trial;

/// A path on which a program waits for replies nearly all the time.
const PATH: &str = "name = \"link\"\ndelay = \"500us\"";
/// A path on which bbr spreads the segments of a message: on a shorter one it sends them at once.
const PACED_PATH: &str = "delay = \"4ms\"";
/// The time for which a process or the path is held up.
const HELD_UP: Duration = Duration::from_millis(700);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let in_lab = |name, test: fn()| trial(name, missing(&[]), test);
    let trials: Vec<Trial> = vec![
        in_lab("a_stopped_client_was_late_itself_over_udp", || {
            stopped("udp", Stopped::Client, "own_socket");
        }),
        in_lab("a_stopped_client_was_late_itself_over_tcp", || {
            stopped("tcp", Stopped::Client, "own_socket");
        }),
        in_lab(
            "the_reply_of_a_stopped_server_arrives_late_over_udp",
            || {
                stopped("udp", Stopped::Server, "before_arrival");
            },
        ),
        in_lab("a_message_lost_on_the_path_is_retransmitted", retransmitted),
        in_lab(
            "the_pacing_of_bbr_is_not_this_hosts_own_calls",
            paced_by_bbr,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The end that is stopped for a while.
#[derive(Clone, Copy)]
enum Stopped {
    Client,
    Server,
}

/// The summary of a round-trip test during which `hold_up` delays one message.
fn measured(pair: &Pair, words: &str, hold_up: impl FnOnce(&Running)) -> Value {
    let client = Running::start(&mut pair.client(&format!("rtt h2 {words} --json-stream")));
    client.line_with("\"started\"");
    thread::sleep(Duration::from_millis(100));
    hold_up(&client);
    let finished = client.line_with("\"finished\"");
    let event: Value = serde_json::from_str(&finished).unwrap();
    event["run"]["summary"]["sizes"][0]["pooled"].clone()
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

fn stopped(transport: &str, which: Stopped, place: &str) {
    let pair = Pair::up(PATH);
    let server = pair.serve();
    let words = format!("--proto {transport} -l 64 --count 1000");
    let replies = measured(&pair, &words, |client| {
        let process = match which {
            Stopped::Client => client,
            Stopped::Server => &server,
        };
        process.signal("STOP");
        thread::sleep(HELD_UP);
        process.signal("CONT");
    });
    let longest = assert_waited_at(&replies, place);
    let (rtt, unread) = (
        longest["rtt_us"].as_f64().unwrap(),
        longest["unread_us"].as_f64().unwrap(),
    );
    assert_eq!(unread > rtt / 2.0, place == "own_socket", "{longest}");
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
