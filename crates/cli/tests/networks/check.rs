//! `caudal check`: its verdict over links that are known, against other servers and none, and what it prints.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::{Running, caudal, run, run_caudal, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// Long enough for every test of a check on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A test: its name, the programs it needs, its function.
type CheckCase = (&'static str, &'static [&'static str], fn());

pub fn trials() -> Vec<Trial> {
    let cases: [CheckCase; 7] = [
        ("a_link_with_short_queues_is_healthy", &[], healthy),
        ("a_link_with_a_long_queue_and_loss_is_not", &[], unhealthy),
        (
            "a_window_that_is_too_small_is_what_is_wrong",
            &[],
            small_window,
        ),
        (
            "a_server_of_iperf3_is_checked_as_far_as_that_goes",
            &["iperf3"],
            iperf3,
        ),
        ("a_host_without_a_server_cannot_be_checked", &[], no_server),
        ("a_budget_of_bytes_is_kept_to", &[], budget),
        (
            "a_check_is_recorded_with_its_parts_and_shown_again",
            &[],
            recorded,
        ),
    ];
    let trials = cases.map(|(name, programs, test)| trial(name, missing(programs), test));
    trials.into()
}

/// The exit code and the document of a check over this link.
fn check(pair: &Pair, words: &str) -> (Option<i32>, Value) {
    let ended = run(&mut pair.client(&format!("check h2 --json {words}")), LIMIT);
    let code = ended.code;
    assert!(matches!(code, Some(0 | 5 | 6)), "{ended:#?}");
    (code, ended.json())
}

fn codes<'a>(run: &'a Value, weight: &str) -> Vec<&'a str> {
    let findings = run["check"]["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["weight"] == weight)
        .filter_map(|finding| finding["code"].as_str())
        .collect()
}

fn mean(value: &Value) -> f64 {
    value["mean"]
        .as_f64()
        .unwrap_or_else(|| panic!("no estimate: {value}"))
}

fn healthy() {
    let pair = Pair::up("rate = \"20M\"\ndelay = \"10ms\"\nqueue = { bytes = 50000 }");
    let _server = pair.serve();
    let (code, run) = check(&pair, "-4");
    let report = &run["check"];
    assert_eq!(codes(&run, "problem"), [""; 0], "{report}");
    // On a machine that is busy with other tests it cannot tell, and says so.
    let is_busy = report["findings"].to_string().contains("host_busy");
    if !is_busy {
        assert_eq!(
            (&report["verdict"], code),
            (&"healthy".into(), Some(0)),
            "{report}"
        );
    }
    let rtt_us = mean(&report["round_trips"]["mean_us"]);
    assert!((20_000.0..26_000.0).contains(&rtt_us), "{report}");
    assert_eq!(report["path"]["hops"], 1, "{report}");
    assert_eq!(report["path"]["mtu_bytes"], 1500, "{report}");
    // 1448 of 1538 bytes on the wire are payload, over IPv4.
    let link = 20e6 * 1448.0 / 1538.0;
    for tcp in report["tcp"].as_array().unwrap() {
        let several = mean(&tcp["several_bps"]);
        assert!(several > 0.85 * link && several < 1.01 * link, "{tcp}");
    }
    assert_eq!(report["tcp"].as_array().unwrap().len(), 2);
    assert_eq!(report["udp"].as_array().unwrap().len(), 2);
    assert_eq!(report["runs"].as_array().unwrap().len(), 9, "{report}");
    assert_eq!(report["uses"][1]["suitability"], "suited", "{report}");
}

fn unhealthy() {
    // Of some 190 datagrams of a quick check 10 are lost: of 2 % it would now and then be one, which is no evidence.
    let pair = Pair::up(
        "rate = \"10M\"\ndelay = \"10ms\"\nqueue = { bytes = 400000 }\nforward = { loss = \"5%\" }",
    );
    let _server = pair.serve();
    let (code, run) = check(&pair, "-4 --quick");
    let problems = codes(&run, "problem");
    assert!(problems.contains(&"loss"), "{}", run["check"]);
    if !run["check"]["findings"].to_string().contains("host_busy") {
        assert_eq!(
            (&run["check"]["verdict"], code),
            (&"unhealthy".into(), Some(5))
        );
    }
    let finding = run["check"]["findings"].as_array().unwrap().iter();
    let loss = finding
        .clone()
        .find(|finding| finding["code"] == "loss")
        .unwrap();
    assert_eq!(loss["direction"], "up", "{loss}");
    assert!(
        run["check"]["path"].is_null(),
        "a quick check probes no path"
    );
}

fn small_window() {
    let pair = Pair::up("rate = \"50M\"\ndelay = \"20ms\"\nqueue = { bytes = 100000 }");
    let script = format!(
        "sysctl -q -w net.ipv4.tcp_rmem='4096 32768 32768'\nexec {} serve\n",
        env!("CARGO_BIN_EXE_caudal")
    );
    let file = std::env::temp_dir().join(format!("caudal-check-{}.sh", std::process::id()));
    std::fs::write(&file, script).unwrap();
    let server = Running::start(&mut pair.on("h2", &format!("sh {}", file.display())));
    server.line_with("listening on ");
    let (_, run) = check(&pair, "-4");
    let _ = std::fs::remove_file(&file);
    let up = run["check"]["tcp"].as_array().unwrap().iter();
    let up = up.clone().find(|tcp| tcp["direction"] == "up").unwrap();
    assert_eq!(up["one_limited_by"]["limit"], "receiver_window", "{up}");
    assert!(up["gain"].as_f64().unwrap() > 2.0, "{up}");
    assert!(
        codes(&run, "problem").contains(&"single_flow"),
        "{}",
        run["check"]
    );
}

fn iperf3() {
    let pair = Pair::up("rate = \"20M\"\ndelay = \"2ms\"");
    let _server = Running::start(&mut pair.on("h2", "iperf3 -s -p 5201"));
    std::thread::sleep(Duration::from_millis(500));
    let (code, run) = check(&pair, "-4 --quick");
    let report = &run["check"];
    assert_eq!(
        (&report["verdict"], code),
        (&"undecided".into(), Some(6)),
        "{report}"
    );
    for tcp in report["tcp"].as_array().unwrap() {
        assert!(mean(&tcp["one_bps"]) > 10e6, "{tcp}");
    }
    let missing = report["not_measured"].as_array().unwrap().iter();
    let missing: Vec<&str> = missing.filter_map(|one| one["part"].as_str()).collect();
    assert!(
        missing.contains(&"round_trips") && missing.contains(&"under_load"),
        "{missing:?}"
    );
}

fn no_server() {
    let pair = Pair::up("rate = \"20M\"\ndelay = \"2ms\"");
    // The path is there, and nothing else can be told.
    let (code, run) = check(&pair, "-4");
    let report = &run["check"];
    assert_eq!(
        (&report["verdict"], code),
        (&"undecided".into(), Some(6)),
        "{report}"
    );
    assert_eq!(report["path"]["hops"], 1, "{report}");
    let said = report["findings"].to_string();
    assert!(said.contains("not measured"), "{said}");
    // Without the path there is nothing.
    let ended = run_client(&pair, "check h2 -4 --quick");
    assert_eq!(ended.0, Some(3), "{}", ended.1);
    assert_eq!(ended.1.lines().count(), 1, "{}", ended.1);
}

fn run_client(pair: &Pair, words: &str) -> (Option<i32>, String) {
    let ended = run(&mut pair.client(words), LIMIT);
    (ended.code, ended.stderr)
}

fn budget() {
    let pair = Pair::up("rate = \"100M\"\ndelay = \"2ms\"");
    let _server = pair.serve();
    let before = sent(&pair);
    let (_, run) = check(&pair, "-4 --quick --max-bytes 4M");
    let moved = sent(&pair) - before;
    assert!(moved < 5_000_000, "{moved}");
    let missing = run["check"]["not_measured"].to_string();
    assert!(missing.contains("under_load"), "{missing}");
    for (words, about) in [("--max-bytes 10", "at least 1 MB"), ("-P 1", "2..=256")] {
        let ended = run_client(&pair, &format!("check h2 {words}"));
        assert!(
            ended.0 == Some(2) && ended.1.contains(about),
            "{words}: {}",
            ended.1
        );
    }
}

/// The bytes that the link carried, both ways.
fn sent(pair: &Pair) -> u64 {
    let stats = pair.stats();
    let link = &stats["links"][0];
    let bytes = |key: &str| link[key]["delivered"]["bytes"].as_u64().unwrap();
    bytes("forward") + bytes("backward")
}

fn recorded() {
    let store = std::env::temp_dir().join(format!("caudal-check-{}.db", std::process::id()));
    let at = store.display().to_string();
    let words = format!("check --quick --store {at}");
    let shown = run(&mut caudal(words.split(' ')), LIMIT);
    assert!(matches!(shown.code, Some(0 | 5 | 6)), "{}", shown.stderr);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines.len() <= 24, "one screen:\n{}", shown.stdout);
    for name in [
        "round trip ",
        "download ",
        "upload ",
        "UDP down ",
        "UDP up ",
        "under load ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(name)),
            "{name}:\n{}",
            shown.stdout
        );
    }
    let again = run_caudal(&format!("report show last --store {at}"))
        .done()
        .stdout;
    assert!(again.contains("good for "), "{again}");
    let page = run_caudal(&format!("report export --html last --store {at}"))
        .done()
        .stdout;
    assert!(
        page.contains("What it is good for") && page.contains("caudal quality"),
        "{page}"
    );
    let csv = run_caudal(&format!("report export --csv last --store {at}"))
        .done()
        .stdout;
    assert!(csv.contains("goodput of several flows"), "{csv}");
    let _ = std::fs::remove_file(&store);
}
