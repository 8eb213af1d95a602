//! Results on paths whose properties are known: rates, one-way delays, and damage.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::{run, trial, warnings};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_search_without_a_rate_finds_that_of_the_link",
            missing(&[]),
            rate_found,
        ),
        trial(
            "one_way_delays_of_one_machine_have_no_offset_in_them",
            missing(&[]),
            one_way_delays,
        ),
        trial(
            "damaged_datagrams_are_counted_as_such",
            missing(&[]),
            damaged_datagrams,
        ),
        trial(
            "damaged_segments_are_warned_about",
            missing(&[]),
            damaged_segments,
        ),
    ]
}

/// Runs a client over a link with these keys, to its end.
fn over(link: &str, words: &str) -> Value {
    let pair = Pair::up(link);
    let _server = pair.serve();
    run(&mut pair.client(words), Duration::from_secs(60))
        .done()
        .json()
}

fn rate_found() {
    let run = over(
        "rate = \"12M\"\ndelay = \"1ms\"\nqueue = { frames = 50 }",
        "udp h2 --find-rate 0 -t 0.3 --json",
    );
    let search = &run["search"];
    // 1472 bytes of payload in a frame of 1538 bytes on the wire.
    let link = 12e6 * 1472.0 / 1538.0;
    let trials = search["trials"].as_array().unwrap();
    assert!(
        trials[0]["rate_bps"].as_f64().unwrap() > 2.0 * link,
        "{search}"
    );
    let found = search["rate_bps"].as_f64().unwrap();
    assert!(found < 1.01 * link, "more than the link carries: {search}");
    // A machine too busy to send at a rate says so: then the link was not what was found.
    let was_sent = |trial: &Value| trial["outcome"] != "unreached";
    if trials.iter().all(was_sent) {
        assert!(found > 0.95 * link, "{found}: {search}");
    }
}

fn one_way_delays() {
    let run = over(
        "forward = { delay = \"10ms\" }\nbackward = { delay = \"30ms\" }",
        "rtt h2 --proto udp --every 10ms --count 60 --sizes 64 --json",
    );
    let pooled = &run["summary"]["sizes"][0]["pooled"];
    for (way, ms) in [("up", 10.0), ("down", 30.0)] {
        let p50 = pooled[way]["delay_us"]["p50"].as_f64().unwrap() / 1e3;
        assert!((ms - 0.01..ms + 5.0).contains(&p50), "{way}: {p50} ms");
        assert!(
            pooled[way]["bound_us"].as_f64().unwrap() <= 10.0,
            "{pooled}"
        );
    }
}

fn damaged_datagrams() {
    let run = over(
        "delay = \"1ms\"\nforward = { corrupt_silently = 0.05 }",
        "udp h2 -b 5M -t 1 --json",
    );
    let loss = &run["summary"]["directions"][0]["loss"];
    let damaged = loss["location"]["checksum"].as_u64().unwrap();
    let lost = loss["lost"].as_u64().unwrap();
    // Damage in other headers is noticed elsewhere.
    assert!(damaged > 0 && damaged * 2 >= lost, "{loss}");
    assert_eq!(loss["location"]["receiver_socket"], 0, "{loss}");
    assert!(warnings(&run).contains(&"checksum_errors".to_owned()));
}

fn damaged_segments() {
    let run = over(
        "delay = \"1ms\"\nrate = \"20M\"\nforward = { corrupt_silently = 0.02 }",
        "tcp h2 -t 1 --json",
    );
    assert!(
        warnings(&run).contains(&"checksum_errors".to_owned()),
        "{}",
        run["warnings"]
    );
}
