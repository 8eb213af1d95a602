//! `caudal connect`: its result over loopback and over paths of known round-trip times, what stands in the way of connections, any
//! server's port, bad input, and limits.

use crate::support::network::{Network, inside, missing};
use crate::support::pair::Pair;
use crate::support::place::Place;
use crate::support::{Running, SOON, Serve, caudal, run, run_caudal, trial, warnings};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// Long enough for a test of some seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_run_over_loopback_has_every_step", None, over_loopback),
        trial(
            "the_rate_over_a_long_path_is_that_of_its_round_trips",
            missing(&[]),
            round_trips,
        ),
        trial(
            "connections_that_are_refused_or_dropped_are_counted_apart",
            missing(&["nft"]),
            refused_and_dropped,
        ),
        trial(
            "ports_that_run_out_are_named_as_the_limit",
            missing(&[]),
            ports_run_out,
        ),
        trial("any_server_s_port_will_do", None, any_server),
        trial(
            "a_run_is_recorded_shown_replayed_compared_and_drawn",
            None,
            recorded,
        ),
        trial("what_is_out_of_range_is_one_line", None, bad_input),
        trial("the_limits_of_a_server_hold", None, limits),
        trial(
            "an_interrupted_run_keeps_what_was_measured",
            None,
            interrupted,
        ),
    ]
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

fn over_loopback() {
    for (words, has_tls) in [("", false), (" --tls", true)] {
        let run = run_caudal(&format!("connect -t 1 -P 2{words} --json"))
            .done()
            .json();
        assert_eq!(run["plan"]["kind"], "connect");
        let report = &run["connect"];
        assert_eq!(report["server"], "caudal");
        assert_eq!(report["attempts"], report["completed"], "{report}");
        assert!(number(&report["completed"]) > 20.0, "{report}");
        assert!(report["answered"].as_u64() >= report["completed"].as_u64());
        for step in ["connect", "first_byte"] {
            assert_eq!(report[step]["n"], report["completed"], "{report}");
        }
        assert_eq!(report["handshake"].is_object(), has_tls, "{report}");
        let rows = report["intervals"].as_array().unwrap();
        let completed: f64 = rows.iter().map(|row| number(&row["completed"])).sum();
        assert!((completed - number(&report["completed"])).abs() < 0.5);
    }
}

/// On paths of 10, 40 and 150 ms, one after another and eight at once.
fn round_trips() {
    for (delay_ms, parallel) in [(5, 1), (20, 8), (75, 8)] {
        let pair = Pair::up(&format!("rate = \"100M\"\ndelay = \"{delay_ms}ms\""));
        let _server = pair.serve();
        for (words, trips) in [("", 2.0), (" --tls", 3.0)] {
            let words = format!("connect h2 -t 3 -P {parallel}{words} --json");
            let run = run(&mut pair.client(&words), LIMIT).done().json();
            let report = &run["connect"];
            let rtt_s = 2.0 * f64::from(delay_ms) / 1e3;
            // The work of both hosts comes on top of the round trips, and the last connections were not completed.
            let most = f64::from(parallel) / (trips * rtt_s);
            let per_s = number(&report["per_s"]["mean"]);
            assert!((0.3..1.02).contains(&(per_s / most)), "{words}: {report}");
            let connect_s = number(&report["connect"]["p50_us"]) / 1e6;
            assert!(
                (1.0..2.0).contains(&(connect_s / rtt_s)),
                "{words}: {report}"
            );
            let limit = &report["limit"]["limit"];
            assert!(
                limit == "round_trips" || per_s < 0.8 * most,
                "{words}: {report}"
            );
            assert_eq!(report["failures"]["timed_out"], 0, "{words}: {report}");
        }
    }
}

fn refused_and_dropped() {
    for (rule, failure) in [("reject with tcp reset", "refused"), ("drop", "timed_out")] {
        let network = Network::build();
        let _server = network.serve("");
        let mut client = network.client("connect -t 5 -i 0.2 -P 2 --timeout 300ms");
        let client = Running::start(&mut client);
        client.two_intervals();
        let rule = format!("tcp flags & (syn | ack) == syn {rule}");
        Network::rules(&network.server, &[&rule]);
        let ended = client.wait(LIMIT).done();
        let text = failure.replace("_", " ");
        let line = ended
            .stdout
            .lines()
            .find(|line| line.starts_with("failed: "));
        let line = line.unwrap_or_else(|| panic!("{ended:#?}"));
        assert!(line.ends_with(&text), "{failure}: {line}");
        if failure == "timed_out" {
            assert!(ended.stdout.contains("packets are lost"), "{ended:#?}");
        }
    }
}

/// Twenty local ports, each kept in TIME_WAIT after its connection.
fn ports_run_out() {
    let network = Network::build();
    let _server = network.serve("");
    for setting in [
        "net.ipv4.ip_local_port_range=40000 40019",
        "net.ipv4.tcp_tw_reuse=0",
    ] {
        let mut set = inside(&network.client, "sysctl");
        let done = set.args(["-q", "-w", setting]).status().unwrap();
        assert!(done.success(), "{setting}");
    }
    let words = "connect -p 5201 --any-server --my-server -t 2 --json";
    let run = network.run_client(words).done().json();
    let report = &run["connect"];
    assert_eq!(report["server"], "tcp_port");
    // One connection was made before the test.
    assert_eq!(report["completed"], 19, "{report}");
    assert!(
        number(&report["failures"]["no_local_port"]) > 0.0,
        "{report}"
    );
    assert_eq!(report["limit"]["limit"], "ephemeral_ports", "{report}");
    let reason = report["limit"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("of 20") && reason.contains("TIME_WAIT"),
        "{reason}"
    );
}

fn any_server() {
    // A server that says something first, as those of SSH and mail do.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = std::io::Write::write_all(&mut stream, b"220 example\r\n");
            thread::spawn(move || stream.read(&mut [0; 100]));
        }
    });
    let ended = run_caudal(&format!("connect 127.0.0.1:{port} -t 1 --count 50 --json")).done();
    let report = &ended.json()["connect"];
    assert_eq!(report["server"], "tcp_port");
    assert_eq!(report["completed"], 50, "{report}");
    assert!(report.get("first_byte").is_none(), "{report}");
    // It makes no TLS handshake.
    let words = format!("connect 127.0.0.1:{port} -t 5 --count 20 --tls");
    let ended = run_caudal(&words);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(ended.stdout.contains("20 failed in the TLS handshake"));
}

fn recorded() {
    let place = Place::of("report");
    for _ in 0..2 {
        let store = place.store();
        let mut command = caudal(["connect", "-t", "1", "-i", "0.2"]);
        command.env("CAUDAL_STORE", &store);
        run(&mut command, SOON).done();
    }
    let list = place.says("list --kind connect --json").done().json();
    let ids: Vec<String> = list["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "{list}");
    let shown = place.says(&format!("show {}", ids[0])).done().stdout;
    assert!(
        shown.contains("connections/s") && shown.contains("time to connect"),
        "{shown}"
    );
    let replayed = place.says(&format!("replay {}", ids[0])).done().stdout;
    assert!(replayed.matches(" s  ").count() >= 5, "{replayed}");
    let compared = place.says(&format!("compare {} {}", ids[0], ids[1]));
    assert!(compared.stdout.contains("connections"), "{compared:#?}");
    let page = place.at("page.html");
    let words = format!("export {} --html -o {}", ids[0], page.display());
    place.says(&words).done();
    let page = fs::read_to_string(&page).unwrap();
    for part in ["Connection rate", "Times", "time to connect", "<svg"] {
        assert!(page.contains(part), "no {part}");
    }
}

fn bad_input() {
    run_caudal("connect -P 0").failed(2, &["--parallel", "between 1 and"]);
    run_caudal("connect -t 0").failed(2, &["--time"]);
    run_caudal("connect -i 0").failed(2, &["--interval"]);
    run_caudal("connect --count 0").failed(2, &["--count"]);
    run_caudal("connect -b 0").failed(2, &["--rate", "must lie between"]);
    run_caudal("connect --timeout 0").failed(2, &["--timeout"]);
    run_caudal("connect --dscp 64").failed(2, &["--dscp"]);
    run_caudal("connect --any-server").failed(2, &["HOST"]);
    run_caudal("connect 192.0.2.1:443 -b 2").failed(2, &["one connection a second", "--my-server"]);
    run_caudal("connect 127.0.0.1:1").failed(3, &["cannot connect"]);
    run_caudal("connect no-such-host.invalid").failed(3, &["no-such-host.invalid"]);
}

fn limits() {
    let server = Serve::start("--max-rate 1M --max-time 1");
    let ended = server.serves("connect -t 5 -P 2 --json").done();
    let run = ended.json();
    assert!(warnings(&run).contains(&"server_changed_plan".to_owned()));
    let report = &run["connect"];
    // 250 connections of 500 bytes a second.
    assert!(number(&report["elapsed_s"]) < 1.5, "{report}");
    assert!(number(&report["completed"]) <= 260.0, "{report}");
    assert_eq!(report["limit"]["limit"], "schedule", "{report}");
    server.still_serves();
}

fn interrupted() {
    let place = Place::of("connect");
    let file = place.at("run.json");
    let mut command = caudal(["connect", "-t", "30", "-i", "0.2", "--json", "-o"]);
    let running = Running::start(command.arg(&file));
    running.two_intervals();
    running.signal("INT");
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let text = fs::read_to_string(&file).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert!(warnings(&run).contains(&"cut_short".to_owned()), "{text}");
    assert!(number(&run["connect"]["completed"]) > 0.0, "{text}");
}
