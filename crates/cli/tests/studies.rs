//! The shipped studies, each in its quick variant: all that they expect holds, and their reports are whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;
use support::network::missing;
use support::{run, trial};

/// The studies that come with the program.
const SHIPPED: [&str; 8] = [
    "starvation",
    "goodput-duplex",
    "echo-rtt",
    "echo-capacity",
    "iperf-options",
    "policing",
    "load-balancing",
    "udp-buffers",
];

/// How long one may take: busy machines repeat trials in which they stood still.
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

/// A place for a study's labs, store and report; gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("caudal-{name}-{}", std::process::id()));
        let labs = path.join("labs");
        fs::create_dir_all(&labs).unwrap();
        let owned = Command::new("chmod").arg("700").arg(labs).status();
        assert!(owned.unwrap().success());
        Self(path)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
        command
            .arg("study")
            .args(words.split_whitespace())
            .env("CAUDAL_LAB_DIR", self.0.join("labs"))
            .env("CAUDAL_STORE", self.0.join("store.db"))
            .env("XDG_DATA_HOME", self.0.join("data"));
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn holds(name: &str) {
    let place = Place::new(name);
    let out = place.0.join("report");
    let mut command = place.command(&format!("run {name} --quick --out"));
    let ended = run(command.arg(&out), LIMIT);
    let read = |file: &str| {
        fs::read_to_string(out.join(file))
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
    let place = Place::new("list");
    let ended = run(&mut place.command("list"), Duration::from_secs(30));
    let listed = |name: &&str| ended.stdout.contains(*name);
    assert!(SHIPPED.iter().all(listed), "{ended:#?}");
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let written = fs::read_dir(files).unwrap().count();
    assert_eq!(written, SHIPPED.len(), "a file in studies/ is not shipped");
}
