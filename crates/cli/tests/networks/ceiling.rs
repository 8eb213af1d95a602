//! No goodput is above what a known link can carry: what waited behind a loss counts when it arrived.

use crate::support::network::missing;
use crate::support::path_lab::PathLab;
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// Long enough for every command on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A link of 20 Mbit/s with 120 ms and a queue of a quarter of its bandwidth-delay product, which overflows.
const SHALLOW: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
    link = [{ between = [\"h1\", \"h2\"], rate = \"20M\", delay = \"60ms\", queue = { frames = 50 } }]\n";
/// What it carries: payload of UDP in frames of 1538 bytes on the wire, as over IPv4; TCP and IPv6 have larger headers.
const CEILING_BPS: f64 = 20e6 * 1472.0 / 1538.0;
/// Maximum ratio of the goodput of an interval of a second or half of one to that: a receiver gets segments in groups.
const GROUPED: f64 = 1.02;
/// Maximum ratio of the goodput of a test to that: clocks of both ends.
const CLOCKS: f64 = 1.002;

pub fn trials() -> Vec<Trial> {
    let producers: [(&str, &[&str]); 4] = [
        (
            "tcp",
            &[
                "tcp h2 -C cubic -t 6 -i 0.5",
                "tcp h2 -C cubic -t 5 -i 0.5 -R --omit 1.3",
                "tcp h2 -C bbr -t 5 -P 3 --bidir",
                "tcp h2 -C cubic -t 2 --repeat 2",
                "tcp h2 -C cubic -n 4M",
            ],
        ),
        ("udp", &["udp h2 -b 40M -t 4", "udp h2 -b 40M -t 3 -R"]),
        ("quality", &["quality h2 --idle 1 -t 4"]),
        ("file", &["file h2 --sizes 4M --via tcp,tls,rbt,quic"]),
    ];
    producers
        .into_iter()
        .map(|(name, commands)| {
            let name = format!("no_goodput_of_{name}_is_above_the_wire");
            trial(&name, missing(&["chrt"]), move || {
                let lab = PathLab::up(SHALLOW);
                let _server = lab.serve("");
                for command in commands {
                    holds(&lab, command);
                }
            })
        })
        .collect()
}

#[track_caller]
fn holds(lab: &PathLab, command: &str) {
    let words = format!("{} {command} --json", env!("CARGO_BIN_EXE_caudal"));
    let run = run(&mut lab.on("h1", &words), LIMIT).done().json();
    let mut goodputs = Vec::new();
    collect(&run, "", &mut goodputs);
    assert!(!goodputs.is_empty(), "{command}: {run}");
    for (place, value) in goodputs {
        let mean = match value {
            Value::Object(estimate) => estimate["mean"].as_f64(),
            number => number.as_f64(),
        };
        let Some(mean) = mean else {
            continue;
        };
        let max = match place.contains("intervals") {
            true => GROUPED,
            false => CLOCKS,
        };
        assert!(
            mean <= CEILING_BPS * max,
            "{command}: {place} is {mean} bit/s of {CEILING_BPS}"
        );
    }
}

/// Every goodput of a document, with its place.
fn collect<'a>(value: &'a Value, place: &str, goodputs: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{place}/{key}");
                // Of predictions and ceilings it is what could be.
                if key == "goodput_bps" && !place.contains("/ceiling/") {
                    goodputs.push((place, value));
                } else {
                    collect(value, &place, goodputs);
                }
            }
        }
        Value::Array(values) => {
            for (nth, value) in values.iter().enumerate() {
                collect(value, &format!("{place}/{nth}"), goodputs);
            }
        }
        _ => {}
    }
}
