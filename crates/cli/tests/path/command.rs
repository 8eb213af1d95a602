//! `caudal path` as a command: what ends it, what it refuses, and what it leaves.

use super::hops::{LIMIT, RATES, chain, codes, hops};
use crate::support::network::missing;
use crate::support::path_lab::PathLab;
use crate::support::{Running, caudal, run, run_caudal, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    [
        ("an_interrupt_reports_what_is_known", interrupted as fn()),
        ("a_path_is_watched_until_the_user_ends_it", watched),
        ("what_cannot_be_probed_is_one_line", refused),
        ("a_path_is_stored_shown_and_played_back", stored),
    ]
    .into_iter()
    .map(|(name, test)| trial(name, missing(&[]), test))
    .collect()
}

fn interrupted() {
    let lab = PathLab::up(&chain(RATES, ""));
    let running = Running::start(&mut lab.path_command("h2 --json-stream"));
    running.line_with("\"phase\":\"capacity\"");
    lab.interrupt(&running);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let last = ended.stdout.lines().last().unwrap();
    let finished: Value = serde_json::from_str(last).unwrap();
    let run = &finished["run"];
    assert_eq!(hops(run).len(), 3, "{run:#}");
    assert_eq!(codes(run)[0], "cut_short");
}

fn watched() {
    let lab = PathLab::up(&chain(RATES, ""));
    let running = Running::start(&mut lab.path_command("h2 --watch -i 100ms --json-stream"));
    running.line_with("\"phase\":\"watch\"");
    std::thread::sleep(Duration::from_secs(2));
    lab.interrupt(&running);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let last = ended.stdout.lines().last().unwrap();
    let finished: Value = serde_json::from_str(last).unwrap();
    let run = &finished["run"];
    assert_eq!(hops(run).len(), 3, "{run:#}");
    for hop in hops(run) {
        assert!(hop["probes"].as_u64() >= Some(5), "{hop:#}");
        assert!(hop["rtt_ms"]["mean"].is_f64() && hop["reported_rtt_ms"].is_null());
    }
    assert!(run["path"]["cut_short"].is_null(), "{run:#}");
    let text = run_of(&mut lab.path_command("h2 --watch -t 2s"));
    assert!(text.contains("h2: 3 hops, RTT "), "{text}");
}

/// What a command prints in the end.
#[track_caller]
fn run_of(command: &mut std::process::Command) -> String {
    run(command, LIMIT).done().stdout
}

fn refused() {
    run_caudal("path h2 --watch --peer").failed(2, &["--watch"]);
    run_caudal("path h2 -i 5s").failed(2, &["--watch"]);
    run_caudal("path 127.0.0.1").failed(2, &["this machine", "nothing", "no link"][..1]);
    run_caudal("path ::1").failed(2, &["is this machine"]);
    run_caudal("path").failed(2, &["HOST"]);
    run_caudal("path h2:80").failed(2, &["port"]);
    run_caudal("path h2 --max-ttl 0").failed(2, &["max-ttl"]);
    run_caudal("path h2 -t 0").failed(2, &["between 1 s and 1 h"]);
    run_caudal("path h2 --accuracy 90%").failed(2, &["between 0.5% and 50%"]);
    run_caudal("path no.such.host.invalid").failed(3, &["no.such.host.invalid"]);
    let program = env!("CARGO_BIN_EXE_caudal");
    let mut unrouted = std::process::Command::new("unshare");
    unrouted.args(["-n", program, "path", "192.0.2.1"]);
    run(&mut unrouted, LIMIT).failed(3, &["no route to 192.0.2.1"]);
}

fn stored() {
    let lab = PathLab::up(&chain(RATES, ""));
    let store = lab.place.store();
    let mut command = lab.path_command("h2 -t 2s --no-routes");
    command.env("CAUDAL_STORE", &store);
    let ended = run(&mut command, LIMIT).done();
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("10.") || ended.stdout.contains("9."),
        "{}",
        ended.stdout
    );
    let report = |words: &str| {
        let mut command = caudal(format!("report {words}").split(' '));
        command.env("CAUDAL_STORE", &store);
        run(&mut command, LIMIT).done().stdout
    };
    assert!(report("list --kind path").contains("path"));
    assert!(report("show").contains("narrow link"));
    assert!(report("replay last --speed 1000").contains("narrow link"));
}
