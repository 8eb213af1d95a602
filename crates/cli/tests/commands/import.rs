//! Logs that the real tools print here, kept by `caudal report import` and held against one another: what a tool
//! prints for people and what it prints for programs must come to the same.

use crate::support::place::Place;
use crate::support::port::real_server;
use crate::support::{SOON, run, trial, uninstalled};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    let three = uninstalled("iperf3");
    vec![
        trial(
            "text_and_json_of_a_server_of_iperf3_come_to_the_same",
            three.clone(),
            servers_of_iperf3,
        ),
        trial(
            "text_of_a_client_of_iperf3_agrees_with_its_server",
            three,
            client_of_iperf3,
        ),
        trial(
            "a_client_and_a_server_of_iperf_2_tell_of_the_same_test",
            uninstalled("iperf"),
            iperf2,
        ),
        trial(
            "a_file_that_is_no_log_costs_the_others_nothing",
            None,
            mixed,
        ),
        trial("what_is_imported_twice_is_kept_once", None, twice),
        trial("two_sides_are_compared_by_their_tags", None, tags),
        trial("one_run_each_is_no_comparison", None, single),
        trial(
            "round_trips_of_ping_stand_beside_those_of_this_program",
            uninstalled("ping"),
            ping,
        ),
    ]
}

/// What a client of another tool prints of a second against such a server.
fn client(program: &str, port: u16, words: &[&str]) -> String {
    let mut command = Command::new(program);
    let port = port.to_string();
    command
        .args(["-c", "127.0.0.1", "-p", &port, "-t", "1", "-i", "0.5"])
        .args(words);
    let ended = run(&mut command, SOON);
    assert_eq!(ended.code, Some(0), "{program} {words:?}: {ended:#?}");
    ended.stdout
}

/// The tests in a text, as they would be kept.
fn imported(text: &str) -> Vec<Value> {
    let runs = caudal_import::read(text.as_bytes(), "log")
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    runs.into_iter()
        .map(|run| serde_json::to_value(run.run).unwrap())
        .collect()
}

/// Whether two numbers are the same as far as three digits go.
#[track_caller]
fn agree(a: &Value, b: &Value, what: &str) {
    let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else {
        panic!("{what}: {a} and {b}");
    };
    assert!(
        (a - b).abs() <= 0.0051 * a.abs().max(b.abs()) + 1e-9,
        "{what}: {a} and {b}"
    );
}

/// Whether what one side counted at its end of a flow is what the other was told of that end, which is handed back.
#[track_caller]
fn agree_on_the_end(counted: &Value, told: &Value, words: &[&str]) -> &'static str {
    let (end, rate) = match counted["counted_by"].as_str().unwrap() {
        "sender" => ("sender", "sent_bps"),
        _ => ("receiver", "goodput_bps"),
    };
    for key in ["bytes", rate] {
        let what = format!("{words:?} {end} {key}");
        agree(&told[end][key], &counted[end][key], &what);
    }
    end
}

fn flows(run: &Value) -> &[Value] {
    run["flows"].as_array().unwrap()
}

const TESTS: [&[&str]; 6] = [
    &["-b", "20M"],
    &["-b", "20M", "-P", "2"],
    &["-b", "20M", "-R"],
    &["-b", "20M", "--bidir"],
    &["-u", "-b", "10M", "-l", "1000"],
    &["-u", "-b", "10M", "-l", "1000", "-R"],
];

/// A server's own text comes to the client as well, so one test is there in both forms, and can be compared exactly.
fn servers_of_iperf3() {
    let (_server, port) = real_server("iperf3", "--forceflush -i 0.5");
    for words in TESTS {
        let words = [&["-J", "--get-server-output"][..], words].concat();
        let json = client("iperf3", port, &words);
        let whole: Value = serde_json::from_str(&json).unwrap();
        let text = whole["server_output_text"].as_str().unwrap();
        let (ours, theirs) = (imported(&json), imported(text));
        let (client, server) = (&ours[0], &theirs[0]);
        assert_eq!(
            client["plan"]["directions"], server["plan"]["directions"],
            "{words:?}"
        );
        assert_eq!(client["plan"]["kind"], server["plan"]["kind"], "{words:?}");
        assert_eq!(flows(client).len(), flows(server).len(), "{words:?}");
        for (here, there) in flows(client).iter().zip(flows(server)) {
            assert_eq!(here["direction"], there["direction"]);
            // The server knows its own end of each flow; the client was told of it.
            assert_ne!(here["counted_by"], there["counted_by"]);
            let end = agree_on_the_end(there, here, &words);
            if words.contains(&"-u") && end == "receiver" {
                assert_eq!(here[end]["lost"], there[end]["lost"], "{words:?}");
                assert_eq!(here[end]["datagrams"], there[end]["datagrams"], "{words:?}");
            }
            let rows = there["intervals"].as_array().unwrap().len();
            assert!(rows >= 2, "{words:?}: {text}");
        }
    }
}

fn client_of_iperf3() {
    let (server, port) = real_server("iperf3", "-J --forceflush");
    let mut clients = Vec::new();
    for words in TESTS {
        clients.extend(imported(&client("iperf3", port, words)));
        thread::sleep(Duration::from_millis(300));
    }
    let servers = imported(&server.said());
    assert_eq!((clients.len(), servers.len()), (TESTS.len(), TESTS.len()));
    for ((client, server), words) in clients.iter().zip(&servers).zip(TESTS) {
        assert_eq!(flows(client).len(), flows(server).len(), "{words:?}");
        for (here, there) in flows(client).iter().zip(flows(server)) {
            agree_on_the_end(there, here, words);
        }
    }
}

fn iperf2() {
    let (server, port) = real_server("iperf", "-i 0.5");
    let client = client("iperf", port, &["-b", "20M"]);
    let began = Instant::now();
    let found = loop {
        let text = server.said();
        // The server prints its sum when it has seen the end.
        if text.contains("sec") && text.matches(" sec ").count() >= 3 || began.elapsed() > SOON {
            break imported(&text);
        }
        thread::sleep(Duration::from_millis(50));
    };
    let client = imported(&client);
    assert_eq!((client.len(), found.len()), (1, 1));
    assert_eq!(client[0]["flows"][0]["counted_by"], "sender");
    assert_eq!(found[0]["flows"][0]["counted_by"], "receiver");
    agree(
        &client[0]["flows"][0]["sender"]["bytes"],
        &found[0]["flows"][0]["receiver"]["bytes"],
        "bytes",
    );
    assert!(client[0]["summary"]["goodput_bps"].is_null());
    assert!(found[0]["summary"]["goodput_bps"]["mean"].as_f64().unwrap() > 1e7);
}

/// A server's log of iperf 2 with one flow at so many Mbit/s.
fn log(rate: f64, second: u32) -> String {
    let amount = rate * 1e6 / 8.0 * 10.0 / f64::from(1 << 20);
    format!(
        "Server listening on TCP port 5001\n\
         [  4] local 192.0.2.1 port 5001 connected with 192.0.2.2 port {}\n\
         [ ID] Interval       Transfer     Bandwidth\n\
         [  4]  0.0-10.0 sec  {amount:.1} MBytes  {rate:.1} Mbits/sec\n",
        40_000 + second
    )
}

fn mixed() {
    let place = Place::of("report");
    place.file("a.txt", &log(94.1, 1));
    place.file("b.txt", "PING 192.0.2.1\n");
    let ended = place.says("import b.txt c.txt a.txt");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:#?}");
    assert!(
        ended.stdout.starts_with("saved ")
            && ended
                .stdout
                .ends_with(": iperf, TCP up, 10.0 s, 94.10 Mbit/s\n")
    );
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("b.txt: it is in none of the formats"),
        "{ended:#?}"
    );
    assert!(lines[1].contains("cannot read"), "{ended:#?}");
}

fn twice() {
    let place = Place::of("report");
    place.file("a.txt", &log(94.1, 1));
    let first = place.says("import a.txt").done().stdout;
    let again = place.says("import a.txt").done().stdout;
    assert_eq!(again, first.replacen("saved", "already saved", 1));
}

fn import(place: &Place, tag: &str, rates: &[f64]) {
    for (nth, rate) in rates.iter().enumerate() {
        let nth = u32::try_from(nth).unwrap();
        let file = place.file(&format!("{tag}{nth}.txt"), &log(*rate, nth));
        place.says(&format!("import {file} --tag {tag}")).done();
    }
}

fn tags() {
    let place = Place::of("report");
    import(&place, "before", &[941.2, 938.7, 940.1, 942.3, 939.9]);
    import(&place, "after", &[925.0, 930.2, 928.8, 934.1, 927.5]);
    let text = place.says("compare tag:before tag:after").done().stdout;
    let verdict = "goodput: B is 11.32 Mbit/s (1.2 %) slower: 95 % CI 7.195–15.45 Mbit/s";
    assert!(text.replace("\n  ", " ").contains(verdict), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json = place
        .says("compare tag:before tag:after --json --margin 5%")
        .done()
        .json();
    assert_eq!(json["schema"], "caudal.comparison/1");
    let cell = &json["cells"][0];
    assert_eq!(
        (&cell["metric"], &cell["result"]["differs"]),
        (&"goodput".into(), &true.into())
    );
    assert_eq!(cell["result"]["equivalence"]["holds"], true);
    place
        .says("compare tag:before tag:after --svg a.svg")
        .done();
    assert!(
        fs::read_to_string(place.at("a.svg"))
            .unwrap()
            .starts_with("<svg")
    );
    let same = place
        .says("compare tag:before tag:before --margin 5%")
        .done()
        .stdout;
    assert!(
        same.contains("no difference that matters: within 5 % of A"),
        "{same}"
    );
    assert!(same.contains("the same runs are on both sides"), "{same}");
    place
        .says("compare tag:before tag:never")
        .failed(2, &["nothing is recorded as", "tag:never"]);
}

fn single() {
    let place = Place::of("report");
    import(&place, "a", &[94.1]);
    import(&place, "b", &[80.3]);
    let text = place.says("compare tag:a tag:b").done().stdout;
    assert!(
        text.contains("cannot tell: one run each (A 94.10 Mbit/s, B 80.30 Mbit/s)"),
        "{text}"
    );
    assert!(
        text.contains("94.10 Mbit/s → 80.30 Mbit/s  ↓ −14.7 %, −13.80 Mbit/s"),
        "{text}"
    );
    assert!(!text.contains("interval"), "{text}");
    place
        .says("compare tag:a tag:b --svg a.svg")
        .failed(1, &["no interval to draw"]);
    place
        .says("compare tag:a tag:b --metric rtt")
        .failed(2, &["neither side has the metric rtt"]);
}

fn ping() {
    let place = Place::new();
    let mut command = Command::new("ping");
    command.args(["-c", "5", "-i", "0.2", "127.0.0.1"]);
    let ended = run(&mut command, SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    place.file("ping.txt", &ended.stdout);
    place.says("report import ping.txt --tag ping").done();
    place.says("rtt --count 20 --tag own").done();
    let json = place.says("report list --json").done().stdout;
    let list: Value = serde_json::from_str(&json).unwrap();
    let kinds: Vec<&Value> = list["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["kind"])
        .collect();
    assert_eq!(kinds, ["rtt", "rtt"]);
    let text = place.says("report compare tag:ping tag:own").done().stdout;
    assert!(
        text.contains("messages of 56 B in A, of 64 B in B"),
        "{text}"
    );
    assert!(text.contains("rtt  "), "{text}");
}
