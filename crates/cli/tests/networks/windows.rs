//! Windows on a path whose need is known: the one advised fills it, and what keeps it too small is named with the line that mends it.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::reference::{Reference, disagreements};
use crate::support::{Running, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// 100 Mbit/s and a round trip of 50 ms.
const LINK: &str = "rate = \"100M\"\ndelay = \"25ms\"";
/// Their product, bytes.
const BDP: f64 = 625_000.0;
/// A receive buffer of which a window of less than 90 000 bytes is advertised.
const SMALL_BUFFER: &str = "net.ipv4.tcp_rmem=4096 131072 131072";
const LIMIT: Duration = Duration::from_secs(60);
/// The times that a test is carried out in a lab whose emulator stalls.
const TIMES: u32 = 4;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "the_window_advised_fills_the_path_and_half_of_it_does_not",
            missing(&[]),
            || in_lab(advised_window),
        ),
        trial(
            "a_small_receive_buffer_comes_with_the_line_that_mends_it",
            missing(&["sysctl", "sh"]),
            || in_lab(small_receive_buffer),
        ),
        trial(
            "a_server_that_reports_no_settings_leaves_more_flows",
            missing(&["sysctl", "iperf3"]),
            || in_lab(foreign_server),
        ),
    ]
}

/// Carries a test out in a lab of its own, and once more where it does not hold in one whose emulator stalled.
fn in_lab(test: fn(&Pair) -> Result<(), String>) {
    for time in 1..=TIMES {
        let pair = Pair::up(LINK);
        let Err(reason) = test(&pair) else {
            return;
        };
        let stalled = pair.stats()["emulator"]["whole"]["must_repeat"] == true;
        assert!(stalled && time < TIMES, "{reason}");
        println!("once more, as the emulator stalled: {reason}");
    }
}

/// `Ok` where this holds.
fn holds(is_so: bool, otherwise: &Value) -> Result<(), String> {
    if is_so {
        Ok(())
    } else {
        Err(format!("{otherwise:#}"))
    }
}

#[track_caller]
fn json(pair: &Pair, words: &str) -> Value {
    run(&mut pair.client(words), LIMIT).done().json()
}

/// The only direction of a throughput test.
fn direction(run: &Value) -> &Value {
    &run["summary"]["directions"][0]
}

fn share(run: &Value) -> f64 {
    direction(run)["ceiling"]["share"].as_f64().unwrap_or(0.0)
}

fn advised_window(pair: &Pair) -> Result<(), String> {
    let _server = pair.serve();
    let trips = json(pair, "rtt h2 --count 5 --json");
    let window = &trips["summary"]["window_up"];
    let advised = window["needed_bytes"].as_f64().unwrap_or(0.0);
    let is_near = (advised / (1.25 * BDP) - 1.0).abs() < 0.03;
    holds(is_near && window["sufficiency"] == "sufficient", window)?;
    let with_window = |window: f64| {
        let words = format!("tcp h2 -C cubic --omit 1s -t 2 -w {window:.0} --json");
        json(pair, &words)
    };
    let whole = with_window(advised);
    let half = with_window(advised / 2.0);
    println!("{advised}: {:.4}, half: {:.4}", share(&whole), share(&half));
    holds(share(&whole) >= 0.95, direction(&whole))?;
    let is_full = matches!(
        direction(&whole)["next_step"]["remedy"].as_str(),
        Some("nothing" | "measure_queue")
    );
    holds(is_full, direction(&whole))?;
    holds(share(&half) < 0.9, direction(&half))?;
    let half = direction(&half);
    holds(half["limited_by"]["limit"] == "receiver_window", half)?;
    let step = &half["next_step"];
    let asked = step["window_bytes"].as_f64().unwrap_or(0.0);
    holds(
        step["remedy"] == "set_window" && (asked / advised - 1.0).abs() < 0.05,
        half,
    )
}

fn small_receive_buffer(pair: &Pair) -> Result<(), String> {
    set(pair, SMALL_BUFFER);
    let _server = pair.serve();
    let trips = json(pair, "rtt h2 --count 5 --json");
    let command = trips["summary"]["next_step_up"]["command"].clone();
    holds(
        trips["summary"]["next_step_up"]["end"] == "receiver",
        &trips,
    )?;
    let small = json(pair, "tcp h2 -C cubic -t 1.5 --json");
    let found = direction(&small);
    for (key, expected) in [
        ("/limited_by/limit", "receiver_window"),
        ("/window/sufficiency", "receiver_too_small"),
        ("/window/rate_source", "lab"),
        ("/next_step/end", "receiver"),
    ] {
        let is_so = found.pointer(key).is_some_and(|value| value == expected);
        holds(is_so, found)?;
    }
    let flows = found["window"]["flows_needed"].as_u64();
    holds((6..=10).contains(&flows.unwrap_or(0)), found)?;
    let step = found["next_step"]["command"].as_str().unwrap();
    let begins = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 15";
    holds(step.starts_with(begins), found)?;
    holds(command.as_str().unwrap().starts_with(begins), &trips)?;
    documented(&small, &trips);
    run(pair.on("h2", "sh -c").arg(step), LIMIT).done();
    let mended = json(pair, "tcp h2 -C cubic --omit 1s -t 1.5 --json");
    println!("{:.4}, mended: {:.4}", share(&small), share(&mended));
    let found = direction(&mended);
    holds(found["window"]["sufficiency"] == "sufficient", found)?;
    holds(share(&small) < 0.2 && share(&mended) >= 0.95, found)
}

/// Sets a setting of the kernel of h2.
#[track_caller]
fn set(pair: &Pair, setting: &str) {
    run(pair.on("h2", "sysctl -q -w").arg(setting), LIMIT).done();
}

/// What these runs say of windows is as the reference says: over a loopback nothing is said.
#[track_caller]
fn documented(throughput: &Value, round_trips: &Value) {
    let reference = Reference::read("json.md");
    let rows = reference.expand("run");
    let tcp: &[&str] = &["always", "native", "traffic", "measured", "tcp"];
    let rtt: &[&str] = &["always", "native", "rtt", "tcp"];
    for (run, words) in [(throughput, tcp), (round_trips, rtt)] {
        let wrong = disagreements(run, &rows, words, &[]);
        let of_windows = |line: &&String| line.contains("window") || line.contains("next_step");
        let wrong: Vec<&String> = wrong.iter().filter(of_windows).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn foreign_server(pair: &Pair) -> Result<(), String> {
    set(pair, SMALL_BUFFER);
    let server = Running::start(&mut pair.on("h2", "iperf3 -s --forceflush"));
    server.line_with("Server listening");
    let found = json(
        pair,
        "tcp h2 --as iperf3 -C cubic -t 1.5 --link-rate 100M --json",
    );
    let found = direction(&found);
    let window = &found["window"];
    holds(found["limited_by"]["limit"] == "receiver_window", found)?;
    let settings = window["settings"].as_array().unwrap();
    let of_receiver = |setting: &&Value| setting["end"] == "receiver";
    let is_unknown = |setting: &Value| setting.get("suffices").is_none();
    holds(settings.iter().filter(of_receiver).all(is_unknown), window)?;
    let step = &found["next_step"];
    holds(
        step["remedy"] == "more_flows" && step["flows"].as_u64() >= Some(6),
        found,
    )
}
