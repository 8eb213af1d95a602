//! The shipped studies, each in its quick variant: all that they expect holds, and their reports are whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;
use support::network::missing;
use support::place::Place;
use support::{run, trial};

/// The studies that come with the program.
const SHIPPED: [&str; 9] = [
    "starvation",
    "goodput-duplex",
    "echo-rtt",
    "echo-capacity",
    "iperf-options",
    "policing",
    "load-balancing",
    "udp-buffers",
    "bufferbloat",
];

/// The time limit of a study: busy machines repeat trials in which the emulator stalled.
const LIMIT: Duration = Duration::from_secs(900);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They measure: one after another.
    arguments.test_threads = Some(1);
    let mut trials: Vec<Trial> = SHIPPED
        .into_iter()
        .map(|name| {
            let says = format!("what_{}_expects_holds", name.replace('-', "_"));
            trial(&says, missing(&[]), move || holds(name))
        })
        .collect();
    trials.push(trial("all_that_are_shipped_are_tested", None, all_of_them));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn holds(name: &str) {
    let place = Place::of("study");
    let mut command = place.command(&format!("run {name} --quick --out report"));
    let ended = run(&mut command, LIMIT);
    let read = |file: &str| {
        fs::read_to_string(place.at("report").join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}: {ended:#?}"))
    };
    let findings: Value = serde_json::from_str(&read("findings.json")).unwrap();
    let expectations = findings["expectations"].as_array().unwrap();
    let unmet: Vec<&Value> = expectations
        .iter()
        .filter(|expectation| expectation["holds"] != true)
        .collect();
    assert!(unmet.is_empty(), "{name}: {unmet:#?}");
    assert!(!expectations.is_empty(), "{name} expects nothing");
    assert_eq!(
        findings["complete"], true,
        "{name}: {}",
        findings["warnings"]
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let conclusions = findings["conclusions"].as_array().unwrap();
    assert!(!conclusions.is_empty(), "{name} concludes nothing");
    for conclusion in conclusions {
        let text = conclusion["text"].as_str().unwrap();
        assert!(!text.contains("cannot tell"), "{name}: {text}");
    }
    let report = read("report.html");
    let figures = findings["figures"].as_array().unwrap().len();
    let drawn = report.matches("<svg").count();
    assert!(
        figures > 0 && drawn >= figures,
        "{name}: {drawn} pictures for {figures} figures"
    );
}

fn all_of_them() {
    let place = Place::of("study");
    let ended = place.says("list");
    let listed = |name: &&str| ended.stdout.contains(*name);
    assert!(SHIPPED.iter().all(listed), "{ended:#?}");
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let written = fs::read_dir(files).unwrap().count();
    assert_eq!(written, SHIPPED.len(), "a file in studies/ is not shipped");
}
