//! `caudal quality`: its result over loopback and over a link with known queues, bad input, servers of older versions,
//! interrupts, and limits of the server.

use crate::support::network::missing;
use crate::support::pair::Pair;
use crate::support::path_lab::PathLab;
use crate::support::place::Place;
use crate::support::{SOON, Serve, caudal, run, run_caudal, trial, uninstalled, warnings};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Long enough for every phase on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_run_over_loopback_has_every_phase_and_every_probe",
            None,
            over_loopback,
        ),
        trial(
            "the_delay_that_load_adds_is_that_of_the_queues_of_the_link",
            missing(&[]),
            known_queues,
        ),
        trial(
            "a_run_is_recorded_shown_replayed_compared_and_drawn",
            None,
            recorded,
        ),
        trial(
            "a_terminal_shows_three_panels_that_are_rewritten",
            uninstalled("script"),
            panels,
        ),
        trial("what_is_out_of_range_is_one_line", None, bad_input),
        trial(
            "a_server_of_an_older_version_is_refused_with_the_reason",
            None,
            older_server,
        ),
        trial(
            "an_interrupted_run_keeps_the_phases_before",
            None,
            interrupted,
        ),
        trial("the_limits_of_a_server_hold", None, limits),
        trial("no_probe_is_answered_without_a_test", None, no_test),
        trial(
            "a_host_on_the_way_splits_the_delay_that_load_adds",
            missing(&[]),
            via,
        ),
    ]
}

fn phases(run: &Value) -> Vec<&str> {
    let phases = run["quality"]["phases"].as_array().unwrap();
    let names = phases.iter().map(|phase| phase["load"].as_str().unwrap());
    names.collect()
}

fn over_loopback() {
    let run = run_caudal("quality --idle 0.4 -t 0.8 -P 2 --json")
        .done()
        .json();
    assert_eq!(phases(&run), ["idle", "download", "upload", "both"]);
    assert_eq!(run["plan"]["kind"], "quality");
    // Two flows a direction: two, two and four.
    assert_eq!(run["flows"].as_array().unwrap().len(), 8);
    for phase in run["quality"]["phases"].as_array().unwrap() {
        let is_idle = phase["load"] == "idle";
        let probes = phase["probes"].as_array().unwrap();
        let names: Vec<&str> = probes
            .iter()
            .map(|probe| probe["probe"].as_str().unwrap())
            .collect();
        let mut expected = vec!["udp", "tcp", "handshake", "request", "loaded"];
        if is_idle {
            expected.pop();
        }
        assert_eq!(names, expected, "{phase}");
        for load in phase["directions"].as_array().unwrap() {
            assert!(load["goodput_bps"]["mean"].as_f64() > Some(0.0), "{load}");
        }
        // Both ends read one clock.
        assert!(phase["one_way"][0]["p50_us"].is_f64(), "{phase}");
        assert_eq!(phase["responsiveness"]["rpm"].is_f64(), !is_idle);
    }
    // Nothing between both ends is slower than they are: the load fills no path, and says nothing about queues.
    assert!(run["quality"].get("grade").is_none(), "{run}");
    let intervals = run["quality"]["intervals"].as_array().unwrap();
    assert!(intervals.len() > 8, "{intervals:?}");
}

/// The added delay of a direction in a phase, µs.
fn added(run: &Value, load: &str, direction: &str, key: &str) -> f64 {
    let phases = run["quality"]["phases"].as_array().unwrap();
    let phase = phases.iter().find(|phase| phase["load"] == load).unwrap();
    let added = phase["added"].as_array().unwrap();
    let way = added.iter().find(|one| one["direction"] == direction);
    way.unwrap()[key].as_f64().unwrap()
}

fn known_queues() {
    let pair = Pair::up(
        "delay = \"10ms\"\nforward = { rate = \"5M\", queue = { bytes = 100000 } }\n\
         backward = { rate = \"20M\", queue = { bytes = 400000 } }",
    );
    let _server = pair.serve();
    let ended = run(&mut pair.client("quality h2 --idle 0.6 -t 3 --json"), LIMIT);
    let run = ended.done().json();
    // Both queues hold 160 ms: 100000 × 8 / 5M and 400000 × 8 / 20M.
    for (load, direction, other) in [("download", "down", "up"), ("upload", "up", "down")] {
        let max = added(&run, load, direction, "max_us") / 160e3;
        assert!((0.9..1.25).contains(&max), "{load}: {max} of the queue");
        let mean = added(&run, load, direction, "mean_us") / 160e3;
        assert!((0.5..1.1).contains(&mean), "{load}: {mean} of the queue");
        let elsewhere = added(&run, load, other, "p50_us") / 160e3;
        assert!(
            elsewhere < 0.2,
            "{load}: {elsewhere} in the other direction"
        );
    }
    assert_eq!(run["quality"]["grade"]["grade"], "C");
    let advice = run["quality"]["advice"].as_array().unwrap();
    let path: Vec<&Value> = advice
        .iter()
        .filter(|one| one["code"] == "path_queue")
        .collect();
    assert_eq!(path.len(), 2, "{advice:?}");
}

fn recorded() {
    let place = Place::of("quality");
    let store = place.at("runs.db");
    let quality = |words: &str| {
        let mut command = caudal(["quality"]);
        command
            .args(words.split_whitespace())
            .env("CAUDAL_STORE", &store);
        run(&mut command, LIMIT).done()
    };
    let report = |words: &str| {
        let mut command = caudal(["report"]);
        command
            .args(words.split_whitespace())
            .env("CAUDAL_STORE", &store);
        command.current_dir(place.path());
        run(&mut command, LIMIT).done().stdout
    };
    let file = place.at("events.jsonl");
    let words = format!("--idle 0.3 -t 0.5 -P 1 --json-stream -o {}", file.display());
    let live = quality(&words).stdout;
    assert!(live.contains("grade"), "{live}");
    let events = fs::read_to_string(&file).unwrap();
    assert!(
        events
            .lines()
            .any(|line| line.contains(r#""event":"quality""#)),
        "{events}"
    );
    let again = quality("--idle 0.3 -t 0.5 -P 1 -q").stdout;
    assert!(
        again.contains("both ") && !again.contains("interval"),
        "{again}"
    );
    assert!(report("list").contains("quality"));
    assert!(report("list --kind quality --json").contains("\"quality\""));
    let shown = report("show last");
    for words in ["grade", "responsiveness, both", "UDP echo", "TCP handshake"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let replayed = report("replay last");
    assert!(
        replayed.contains("interval s") && replayed.contains("grade"),
        "{replayed}"
    );
    let compared = report("compare last last");
    assert!(compared.contains("rtt_added both"), "{compared}");
    report("export last --html -o page.html");
    let page = fs::read_to_string(place.at("page.html")).unwrap();
    assert_eq!(page.matches("<figcaption>").count(), 3, "three panels");
    for title in ["Throughput", "Latency", "Loss"] {
        assert!(page.contains(title), "{title}");
    }
}

fn panels() {
    let binary = env!("CARGO_BIN_EXE_caudal");
    let words = format!("stty cols 80; {binary} quality --idle 0.3 -t 0.5 -P 1");
    let mut command = Command::new("script");
    command
        .args(["-qec", &words, "/dev/null"])
        .env("TERM", "xterm");
    let shown = run(&mut command, LIMIT).done().stdout;
    // Each time the region is removed and written once more.
    assert!(shown.matches("\u{1b}[16A\u{1b}[J").count() > 3, "{shown:?}");
    let last = shown.rsplit("\u{1b}[J").next().unwrap();
    for title in ["throughput", "latency", "loss"] {
        assert!(last.contains(title), "{last}");
    }
    assert!(last.contains("idle") && last.contains("grade"), "{last}");
    // The line after the panels begins with what clears the rest of its place.
    let width = |line: &str| line.replace("\u{1b}[K", "").trim_end().chars().count();
    assert!(last.lines().all(|line| width(line) <= 80), "{last}");
}

fn bad_input() {
    run_caudal("quality -P 0").failed(2, &["--parallel", "between 1 and"]);
    run_caudal("quality -t 0").failed(2, &["--time", "between 200ms"]);
    run_caudal("quality --idle 0").failed(2, &["--idle", "between 200ms"]);
    run_caudal("quality -t 1 --omit 1").failed(2, &["--omit"]);
    run_caudal("quality --dscp 64").failed(2, &["--dscp"]);
    run_caudal("quality -C warp").failed(4, &["warp"]);
    run_caudal("quality 127.0.0.1 -p 1").failed(3, &["cannot connect", "caudal serve"]);
    run_caudal("quality no-such-host.invalid").failed(3, &["no-such-host.invalid"]);
}

/// A server of the first version: it answers as that did, without the feature.
fn older_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut preamble = [0; 32];
        stream.read_exact(&mut preamble).unwrap();
        stream.write_all(b"CAUDAL\x02W").unwrap();
        read_frame(&mut stream);
        let welcome =
            r#"{"type":"welcome","host":{"tool":"caudal 0.0.9","name":"old"},"features":[]}"#;
        write_frame(&mut stream, welcome);
        // The clock is asked for before any plan; then the client closes.
        while let Some(message) = read_frame(&mut stream) {
            let message: Value = serde_json::from_slice(&message).unwrap();
            assert_eq!(message["type"], "ping", "nothing is offered");
            let t1 = message["t1"].as_i64().unwrap();
            write_frame(
                &mut stream,
                &format!(r#"{{"type":"pong","t1":{t1},"t2":5,"t3":6}}"#),
            );
        }
    });
    run_caudal(&format!("quality 127.0.0.1 -p {port}")).failed(
        3,
        &["caudal 0.0.9", "latency under load", "update the server"],
    );
    server.join().unwrap();
}

fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

fn write_frame(stream: &mut TcpStream, text: &str) {
    stream
        .write_all(&(text.len() as u32).to_be_bytes())
        .unwrap();
    stream.write_all(text.as_bytes()).unwrap();
}

fn interrupted() {
    let place = Place::of("quality");
    let file = place.at("run.json");
    let mut command = caudal([
        "quality", "--idle", "0.3", "-t", "20", "-P", "1", "--json", "-o",
    ]);
    let running = crate::support::Running::start(command.arg(&file));
    // A row of the phase, not the line that announces it.
    running.line_with(" download  ");
    running.signal("INT");
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let text = fs::read_to_string(&file).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(phases(&run), ["idle", "download"]);
    assert!(
        warnings(&run).contains(&"cut_short".to_owned()),
        "{ended:#?}"
    );
    let idle = &run["quality"]["phases"][0]["probes"][0];
    assert!(idle["p50_us"].as_f64() > Some(0.0), "{idle}");
}

fn limits() {
    let server = Serve::start("--max-rate 20M --max-time 0.5");
    let ended = server.serves("quality --idle 0.3 -t 5 -P 2 --json").done();
    let run = ended.json();
    assert!(warnings(&run).contains(&"server_changed_plan".to_owned()));
    for phase in run["quality"]["phases"].as_array().unwrap() {
        assert!(phase["duration_s"].as_f64() <= Some(0.5), "{phase}");
        for load in phase["directions"].as_array().unwrap() {
            // What a flow reads at once comes on top of the rate in so short a time.
            let bps = load["goodput_bps"]["mean"].as_f64().unwrap();
            assert!(bps < 40e6, "{bps}");
        }
    }
    server.still_serves();
}

/// A request beside no test is refused, as is one that names a test of others: its token is a secret.
fn no_test() {
    let server = Serve::start("");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut preamble = [0; 32];
    preamble[..8].copy_from_slice(b"CAUDAL\x02P");
    stream.write_all(&preamble).unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"CAUDAL\x02R");
    server.still_serves();
}

/// The narrow link lies before the router, or beyond it.
fn via() {
    let program = env!("CARGO_BIN_EXE_caudal");
    let link = |ends: &str, rate: &str| {
        format!(
            "[[link]]\nbetween = [{ends}]\nrate = \"{rate}\"\ndelay = \"2ms\"\nqueue = {{ bytes = 150000 }}\n"
        )
    };
    for (first, second, is_before) in [("10M", "100M", true), ("100M", "10M", false)] {
        let hosts = "[[host]]\nname = \"h1\"\n[[router]]\nname = \"r1\"\n[[host]]\nname = \"h2\"\n";
        let links = link("\"h1\", \"r1\"", first) + &link("\"r1\", \"h2\"", second);
        let lab = PathLab::up(&format!("{hosts}{links}"));
        let _server = lab.serve("");
        let words = format!("{program} quality h2 --via r1 --idle 1s -t 2s -C cubic --json");
        let run: Value = serde_json::from_str(&lab.does("h1", &words)).unwrap();
        let quality = &run["quality"];
        let echoes = quality["via"]["phases"].as_array().unwrap();
        assert_eq!(echoes.len(), 4, "{quality}");
        for (phase, echo) in quality["phases"].as_array().unwrap().iter().zip(echoes) {
            assert!(echo["sent"].as_u64() > Some(20), "{echo}");
            if phase["load"] == "idle" {
                let rtt_us = echo["rtt_us"]["p50"].as_f64().unwrap();
                assert!((4000.0..6000.0).contains(&rtt_us), "{echo}");
                continue;
            }
            let (part, whole) = (
                echo["added_us"].as_f64().unwrap(),
                phase["added_rtt"]["mean_us"].as_f64().unwrap(),
            );
            assert!(whole > 30_000.0, "{phase}");
            let share = part / whole;
            match is_before {
                true => assert!((0.7..1.3).contains(&share), "{share}: {echo}"),
                false => assert!(share.abs() < 0.1, "{share}: {echo}"),
            }
        }
        if is_before {
            // Nobody is there: the test goes on without.
            let words = format!("{program} quality h2 -4 --via 10.0.0.77 --idle 500ms -t 500ms");
            let text = lab.does("h1", &words);
            assert!(text.contains("no echo came back"), "{text}");
        }
    }
}
