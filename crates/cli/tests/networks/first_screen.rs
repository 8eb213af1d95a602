//! What a first test shows: the number with an interval to rely on, and true explanations.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// A link of 10 Mbit/s and a round trip of 50 ms.
const LINK: &str = "rate = \"10M\"\ndelay = \"25ms\"";

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_plain_test_of_a_steady_link_has_an_interval_to_rely_on",
            missing(&[]),
            plain_test,
        ),
        trial(
            "the_closing_block_has_the_number_its_queue_and_its_limit",
            missing(&[]),
            closing_block,
        ),
        trial("quiet_text_is_a_line_a_direction", missing(&[]), quiet_text),
        trial(
            "runs_are_rows_and_their_result_comes_last",
            missing(&[]),
            several_runs,
        ),
        trial(
            "an_overload_is_the_rate_of_the_link_and_as_predicted",
            missing(&[]),
            overload,
        ),
        trial(
            "the_rate_of_a_lab_s_link_is_known_as_it_changes",
            missing(&[]),
            known_rate,
        ),
    ]
}

/// The text of a client over a link with these keys, in a pipe whose width nobody gives.
fn text_over(link: &str, words: &str) -> String {
    let pair = Pair::up(link);
    let _server = pair.serve();
    let mut client = pair.client(words);
    client.env_remove("COLUMNS");
    run(&mut client, Duration::from_secs(60)).done().stdout
}

/// The run of a client over a link with these keys.
fn run_over(link: &str, words: &str) -> Value {
    let pair = Pair::up(link);
    let _server = pair.serve();
    run(&mut pair.client(words), Duration::from_secs(60))
        .done()
        .json()
}

/// The line that begins with these words.
#[track_caller]
fn line<'t>(text: &'t str, beginning: &str) -> &'t str {
    let found = text.lines().find(|line| line.starts_with(beginning));
    found.unwrap_or_else(|| panic!("{beginning:?} is missing:\n{text}"))
}

fn plain_test() {
    let run = run_over(LINK, "tcp h2 -C cubic -t 6 --json");
    let summary = &run["summary"]["directions"][0];
    let goodput = &summary["goodput_bps"];
    assert_eq!(summary["goodput_trusted"], true, "{summary}");
    let bound = |key: &str| goodput[key].as_f64().unwrap();
    // 1428 of 1538 bytes on the wire are payload, over IPv6.
    let link: f64 = 10e6 * 1428.0 / 1538.0;
    assert!(bound("low") <= bound("mean") && bound("mean") <= bound("high"));
    assert!(
        bound("high") <= link.max(bound("mean")) * 1.000_001,
        "{goodput}"
    );
    assert!(bound("low") > 0.9 * link, "{goodput}");
    assert!(goodput["n"].as_u64().unwrap() > 40, "{goodput}");
}

fn closing_block() {
    let text = text_over(LINK, "tcp h2 -C cubic -t 4");
    let number = line(&text, "upload: 9.");
    assert!(number.contains("% of the link"), "{text}");
    assert!(number.contains(" retransmitted"), "{text}");
    let rtt = line(&text, "  rtt: 50.");
    assert!(
        rtt.contains("ms idle, ") && rtt.contains("; bufferbloat: "),
        "{text}"
    );
    assert!(rtt.ends_with(" kB"), "the queue in bytes: {text}");
    let limit = line(&text, "  limited by: the network (the rate of a link");
    assert!(limit.ends_with("with bufferbloat)"), "{text}");
    for detail in ["granted:", "cpu:", "ceiling:", "within"] {
        assert!(!text.contains(detail), "{detail} is for -v:\n{text}");
    }
}

fn quiet_text() {
    let text = text_over(LINK, "tcp h2 -t 1 --bidir -q");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("upload: ") && lines[1].starts_with("download: "));
}

fn several_runs() {
    let text = text_over(LINK, "tcp h2 -t 0.5 --repeat 3");
    for row in ["1 of 3", "2 of 3", "3 of 3"] {
        assert!(text.contains(row), "{row}:\n{text}");
    }
    assert!(
        !text.contains("interval  flow"),
        "rows of runs only:\n{text}"
    );
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("upload over 3 runs: "), "{text}");
    assert!(last.contains("(min ") && last.contains(", max "), "{text}");
    assert!(!last.contains('±') && !last.contains("CI"), "{text}");
}

fn overload() {
    let run = run_over(LINK, "udp h2 -b 20M -t 2 --json");
    let limit = &run["summary"]["directions"][0]["limited_by"];
    assert_eq!(
        (&limit["limit"], &limit["cause"]),
        (&"network".into(), &"link_rate".into())
    );
    let predictions = run["predictions"].as_array().unwrap();
    let loss = predictions.iter().find(|one| one["name"] == "loss_up");
    // The queue of the link holds what fills it: that is not lost.
    assert_eq!(loss.unwrap()["holds"], true, "{loss:?}");
}

fn known_rate() {
    let pair = Pair::up(LINK);
    let _server = pair.serve();
    let rate = || {
        let run = run(
            &mut pair.client("tcp h2 -t 0.3 --json"),
            Duration::from_secs(60),
        );
        let run = run.done().json();
        let ceiling = &run["summary"]["directions"][0]["ceiling"];
        ceiling["goodput_bps"].as_f64().unwrap() * 1538.0 / 1428.0
    };
    assert!((rate() - 10e6).abs() < 1e5, "{}", rate());
    pair.set("h1-h2 rate=4M");
    assert!((rate() - 4e6).abs() < 1e5, "{}", rate());
}
