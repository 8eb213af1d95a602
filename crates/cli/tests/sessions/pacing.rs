//! The pacing of UDP senders: both ways send every datagram, at the rate that was asked for, and say how they paced.

use crate::support::Serve;
use serde_json::Value;

trials! {
    precise_pacing_sends_every_datagram_at_the_rate,
    balanced_pacing_sends_every_datagram_at_the_rate,
    the_closing_block_says_how_a_sender_paced_and_what_that_cost,
}

/// The datagrams of each direction.
const DATAGRAMS: u64 = 2000;
/// Payload bytes in a datagram.
const LENGTH: u64 = 1250;
/// The rate of each direction, bit/s.
const RATE: f64 = 20e6;
/// The attempts at the rate: a machine that is busy with something else may hold a sender up.
const ATTEMPTS: u32 = 5;

/// Runs a test of both directions at once, and checks what has to hold however busy the machine is.
fn paced(server: &Serve, pacing: &str) -> Value {
    let bytes = DATAGRAMS * LENGTH;
    let words = format!("udp -n {bytes} -b 20M -l {LENGTH} --bidir --pacing {pacing} --json");
    let run = server.serves(&words).json();
    assert_eq!(run["plan"]["pacing"], pacing, "{run}");
    for flow in run["flows"].as_array().unwrap() {
        let sender = &flow["sender"];
        assert_eq!(sender["datagrams"], DATAGRAMS, "{flow}");
        let receiver = &flow["receiver"];
        let seen = receiver["datagrams"].as_u64().unwrap() + receiver["lost"].as_u64().unwrap();
        assert_eq!(seen, DATAGRAMS, "{flow}");
        let spacing = &sender["spacing"];
        assert_eq!(spacing["pacing"], pacing, "{flow}");
        let departures = spacing["departures"].as_f64().unwrap();
        let each = spacing["datagrams_per_departure"].as_f64().unwrap();
        assert!((departures * each - DATAGRAMS as f64).abs() < 0.5, "{flow}");
    }
    run
}

/// The error of each direction's rate.
fn rate_errors(run: &Value) -> Vec<f64> {
    let directions = run["summary"]["directions"].as_array().unwrap();
    let error = |direction: &Value| {
        let goodput = direction["goodput_bps"]["mean"].as_f64().unwrap();
        (goodput / RATE - 1.0).abs()
    };
    directions.iter().map(error).collect()
}

#[track_caller]
fn keeps_count_and_rate(pacing: &str) {
    let server = Serve::start("-B 127.0.0.1");
    let mut tried = Vec::new();
    for _ in 0..ATTEMPTS {
        let errors = rate_errors(&paced(&server, pacing));
        assert_eq!(errors.len(), 2);
        if errors.iter().all(|error| *error <= 0.005) {
            return;
        }
        tried.push(errors);
    }
    panic!("{pacing}: no attempt was within 0.5 % of the rate: {tried:?}");
}

fn precise_pacing_sends_every_datagram_at_the_rate() {
    keeps_count_and_rate("precise");
}

fn balanced_pacing_sends_every_datagram_at_the_rate() {
    keeps_count_and_rate("balanced");
}

fn the_closing_block_says_how_a_sender_paced_and_what_that_cost() {
    let server = Serve::start("-B 127.0.0.1");
    for (flag, pacing) in [("", "balanced"), ("--pacing precise", "precise")] {
        let ended = server.serves(&format!("udp -t 0.3 -b 5M -v {flag}"));
        let line = ended
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with("pacing: "))
            .unwrap_or_else(|| panic!("{ended:#?}"));
        assert!(line.contains(pacing), "{line}");
        assert!(
            line.contains("sending thread ") && line.contains(" % of one processor"),
            "{line}"
        );
    }
}
