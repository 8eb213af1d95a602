//! The shipped studies, each in its quick variant: all that they expect holds, and their reports are whole.

use crate::support::network::missing;
use crate::support::place::Place;
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// The studies over links that leave the processors idle, the longest first.
const OVER_LINKS: [&str; 10] = [
    "goodput-duplex",
    "starvation",
    "bufferbloat",
    "echo-capacity",
    "policing",
    "echo-rtt",
    "duplex",
    "load-balancing",
    "file-transfer-links",
    "segmentation",
];

/// The studies that keep the processors busy, or measure what late processors spoil.
const BUSY: [&str; 4] = [
    "iperf-options",
    "udp-buffers",
    "file-transfer",
    "path-accuracy",
];

/// The time limit of a study: busy machines repeat trials in which the emulator stalled.
const LIMIT: Duration = Duration::from_secs(900);

/// Studies over links.
pub fn over_links() -> Vec<Trial> {
    trials(&OVER_LINKS)
}

/// The other studies, and that there are no more of them.
pub fn busy() -> Vec<Trial> {
    let mut busy = trials(&BUSY);
    busy.push(trial("all_that_are_shipped_are_tested", None, all_of_them));
    busy
}

fn trials(names: &'static [&'static str]) -> Vec<Trial> {
    names
        .iter()
        .map(|name| {
            let says = format!("what_{}_expects_holds", name.replace('-', "_"));
            trial(&says, missing(&[]), move || holds(name))
        })
        .collect()
}

/// The times that a study is run: a machine on which others take the processors misses expectations on rates, and discards trials. What is
/// wrong with the program is wrong each time.
const TIMES: u32 = 4;

/// Runs a study until everything that it expects has held, each expectation at least once.
fn holds(name: &str) {
    let mut unmet: Option<BTreeSet<String>> = None;
    for _ in 1..TIMES {
        match std::panic::catch_unwind(|| unmet_of_a_run(name)) {
            Ok(of_this_run) => {
                let left = match &unmet {
                    Some(before) => before.intersection(&of_this_run).cloned().collect(),
                    None => of_this_run,
                };
                if left.is_empty() {
                    return;
                }
                println!("{name} did not hold, once more: {left:#?}");
                unmet = Some(left);
            }
            Err(_) => println!("{name} did not end as it should; once more"),
        }
    }
    let last = unmet_of_a_run(name);
    let left: BTreeSet<String> = match unmet {
        Some(before) => before.intersection(&last).cloned().collect(),
        None => last,
    };
    assert!(left.is_empty(), "{name}: {left:#?}");
}

/// Runs a study: the expectations that did not hold, each with its case.
///
/// # Panics
/// When the run or its report is not whole.
fn unmet_of_a_run(name: &str) -> BTreeSet<String> {
    let place = Place::of("study");
    let mut command = place.command(&format!("run {name} --quick --out report"));
    let ended = run(&mut command, LIMIT);
    let read = |file: &str| {
        fs::read_to_string(place.at("report").join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}: {ended:#?}"))
    };
    let findings: Value = serde_json::from_str(&read("findings.json")).unwrap();
    let expectations = findings["expectations"].as_array().unwrap();
    assert!(!expectations.is_empty(), "{name} expects nothing");
    let unmet: BTreeSet<String> = expectations
        .iter()
        .filter(|expectation| expectation["holds"] != true)
        .map(|expectation| {
            println!("{name}: {expectation}");
            format!("{}: {}", expectation["case"], expectation["that"])
        })
        .collect();
    assert_eq!(
        findings["complete"], true,
        "{name}: {}",
        findings["warnings"]
    );
    // Expectations that do not hold are exit code 5.
    let code = if unmet.is_empty() { 0 } else { 5 };
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    let conclusions = findings["conclusions"].as_array().unwrap();
    assert!(!conclusions.is_empty(), "{name} concludes nothing");
    for conclusion in conclusions {
        let text = conclusion["text"].as_str().unwrap();
        assert!(
            !unmet.is_empty() || !text.contains("cannot tell"),
            "{name}: {text}"
        );
    }
    let report = read("report.html");
    let figures = findings["figures"].as_array().unwrap().len();
    let drawn = report.matches("<svg").count();
    assert!(
        figures > 0 && drawn >= figures,
        "{name}: {drawn} pictures for {figures} figures"
    );
    unmet
}

fn all_of_them() {
    let place = Place::of("study");
    let ended = place.says("list");
    let mut tested = OVER_LINKS.iter().chain(&BUSY);
    assert!(tested.all(|name| ended.stdout.contains(name)), "{ended:#?}");
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let written = fs::read_dir(files).unwrap().count();
    assert_eq!(
        written,
        OVER_LINKS.len() + BUSY.len(),
        "a file in studies/ is not shipped"
    );
}
