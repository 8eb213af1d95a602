//! Text of peers and of files in what the program prints: escaped, on one line, of bounded length.

use crate::support::peer::{Fake, RawClient};
use crate::support::place::Place;
use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, Serve, caudal, run};
use caudal_wire::preamble::{PREAMBLE_BYTES, PreambleAnswer, Purpose};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

trials! {
    what_a_native_server_says_does_not_reach_the_terminal_raw,
    what_native_clients_say_does_not_reach_the_log_raw,
    what_an_iperf3_client_says_does_not_reach_its_server_or_come_back_raw,
    what_an_imported_log_says_is_shown_and_exported_escaped,
    a_full_disk_is_named,
    a_store_that_is_no_file_is_one_line_and_no_wait,
}

/// Maximum number of characters in a line: that of a diagnostic, each of them escaped.
const MAX_LINE_CHARS: usize = 30_000;

/// Text that sets a title, clears the screen, rewrites a line and reverses what follows, `len` bytes long.
fn hostile(len: usize) -> String {
    let start = "\x1b]0;owned\x07\r\u{9b}2J\u{202e}\u{2066}\u{200f}\u{2028}\n\x7f";
    format!("={start}{}", "A".repeat(len - start.len() - 1))
}

#[track_caller]
fn assert_printable(text: &str) {
    let is_unsafe = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found = text.char_indices().find(|(_, c)| is_unsafe(*c));
    let near = found.map(|(at, _)| text[at..].chars().take(40).collect::<String>());
    assert_eq!(near, None);
}

#[track_caller]
fn assert_clean(text: &str) {
    assert_printable(text);
    for line in text.lines() {
        let len = line.chars().count();
        assert!(len <= MAX_LINE_CHARS, "{len}: {}", &line[..60]);
    }
}

#[track_caller]
fn assert_clean_end(ended: &Ended) {
    assert_clean(&ended.stdout);
    assert_clean(&ended.stderr);
    assert!(!ended.stdout.is_empty() || !ended.stderr.is_empty());
}

/// A native server whose every text is hostile, and that refuses the plan or ends the test.
fn hostile_server(mut stream: TcpStream, refuses: bool) {
    let text = hostile(1 << 20);
    let mut preamble = [0; PREAMBLE_BYTES];
    if stream.read_exact(&mut preamble).is_err() {
        return;
    }
    let mut hand = RawClient::over(stream);
    if let Ok(Purpose::Data { .. }) = Purpose::decode(&preamble) {
        let _ = hand.stream.write_all(&PreambleAnswer::Attached.encode());
        hand.until_gone();
        return;
    }
    let _ = hand.stream.write_all(&PreambleAnswer::Welcome.encode());
    while let Some(message) = hand.hear() {
        match message["type"].as_str() {
            Some("hello") => {
                let short = hostile(100);
                let host = json!({"tool": text, "name": text, "kernel": text, "cpu": short, "cpus": 1, "boot_id": short,
                    "interface": short, "driver": short, "qdisc": short, "offloads": [short],
                    "sysctls": {short.clone(): short.clone()}, "congestion_control": short});
                hand.say(&json!({"type": "welcome", "host": host, "features": [short]}));
            }
            Some("ping") => {
                let t1 = &message["t1"];
                hand.say(&json!({"type": "pong", "t1": t1, "t2": t1, "t3": t1}));
            }
            Some("offer") if refuses => {
                hand.say(&json!({"type": "refused", "reason": "limit", "message": text}));
            }
            Some("offer") => {
                hand.say(
                    &json!({"type": "accepted", "plan": message["plan"], "token": "ab".repeat(16),
                    "changed": [text]}),
                );
                hand.say(&json!({"type": "ready"}));
            }
            Some("start") => {
                hand.say(&json!({"type": "started"}));
                let end = json!({"flow": 0, "granted": {"local": hostile(100), "peer": hostile(100),
                    "congestion": text}, "failure": text, "counters": {"receiver": {"bytes": 9}}});
                hand.say(
                    &json!({"type": "finished", "usage": {"cpu_ns": 1, "wall_ns": 1}, "flows": [end],
                    "stopped": text}),
                );
            }
            _ => {}
        }
    }
}

fn what_a_native_server_says_does_not_reach_the_terminal_raw() {
    for refuses in [true, false] {
        let server = Fake::start(move |stream| hostile_server(stream, refuses));
        for form in ["", "--json", "--json-stream", "--csv"] {
            let mut command = caudal(["tcp", "127.0.0.1", "-t", "0.3", "-i", "0.1", "-p"]);
            command.arg(server.port.to_string());
            command.args(form.split_whitespace());
            let ended = run(&mut command, SOON);
            assert_printable(&ended.stdout);
            assert_clean(&ended.stderr);
            if form.is_empty() {
                assert_clean_end(&ended);
                assert!(
                    ended.stderr.contains("\\u001b]0;owned") || !refuses,
                    "{}",
                    ended.stderr
                );
            }
        }
    }
}

fn what_native_clients_say_does_not_reach_the_log_raw() {
    let server = Serve::start("");
    let text = hostile(20_000);
    let mut hand = RawClient::greeted(server.port);
    hand.say(&json!({"type": "hello", "host": {"tool": text}}));
    assert_eq!(hand.hear_other_than_alive()["type"], "welcome");
    hand.say(&json!({"type": text}));
    hand.until_gone();
    let mut hand = RawClient::greeted(server.port);
    hand.say(&json!({"type": "hello", "host": {"tool": text}, "required": [text]}));
    let refused = hand.hear_other_than_alive();
    assert_eq!(refused["type"], "refused");
    server.running.line_with("does not know the feature");
    let said = server.running.said();
    assert!(said.contains("owned"), "{said}");
    assert_clean(&said);
}

fn what_an_iperf3_client_says_does_not_reach_its_server_or_come_back_raw() {
    let port = free_port().to_string();
    let server = Running::start(&mut caudal(["iperf3", "-s", "-1", "-p", &port]));
    server.line_with("Server listening");
    let title = hostile(3000).replace('\0', "");
    let mut client = caudal(["iperf3", "-c", "127.0.0.1", "-t", "1", "-p", &port]);
    client.args(["--get-server-output", "-T", &title, "--extra-data", &title]);
    assert_clean_end(&run(&mut client, SOON));
    assert_clean_end(&server.wait(SOON));
}

/// The document with every text replaced, but for those that tell what kind of test it was.
fn with_hostile_texts(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if !["protocol", "time"].contains(&key) => {
            let start = if key == "version" { "iperf 3.12" } else { "" };
            *text = format!("{start}{}", hostile(5000));
        }
        Value::Array(list) => list.iter_mut().for_each(|one| with_hostile_texts(one, key)),
        Value::Object(map) => map
            .iter_mut()
            .for_each(|(key, one)| with_hostile_texts(one, key)),
        _ => {}
    }
}

/// A log of iperf3 of one second, as its `-J` prints it.
fn log() -> Value {
    let count = json!({"socket": 5, "start": 0, "end": 1.0, "seconds": 1.0, "bytes": 125_000_000_u64,
        "bits_per_second": 1e9, "omitted": false, "sender": true});
    json!({
        "start": {
            "connected": [{"socket": 5, "local_host": "127.0.0.1", "local_port": 50000, "remote_host": "127.0.0.1",
                "remote_port": 5201}],
            "version": "iperf 3.12", "system_info": "Linux",
            "timestamp": {"time": "Thu, 01 Jan 2026 00:00:00 GMT", "timesecs": 1_767_225_600},
            "connecting_to": {"host": "127.0.0.1", "port": 5201},
            "cookie": "abcdefghijklmnopqrstuvwxyz0123456789",
            "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131_072, "omit": 0, "duration": 1,
                "bytes": 0, "blocks": 0, "reverse": 0, "tos": 0}
        },
        "intervals": [{"streams": [count], "sum": count}],
        "end": {
            "streams": [{"sender": count, "receiver": count}], "sum_sent": count, "sum_received": count,
            "sender_tcp_congestion": "cubic", "receiver_tcp_congestion": "cubic"
        },
        "title": "a title", "extra_data": "more"
    })
}

fn what_an_imported_log_says_is_shown_and_exported_escaped() {
    let place = Place::new();
    let mut document = log();
    with_hostile_texts(&mut document, "");
    let file = "log\u{202e}\u{1b}[2J.json";
    place.file(file, &document.to_string());
    let imported = place.says(&format!("report import {file}"));
    assert_eq!(imported.code, Some(0), "{imported:#?}");
    assert_clean_end(&imported);
    for words in [
        "report list",
        "report list --csv",
        "report show last",
        "report replay last --speed 0",
    ] {
        assert_clean_end(&place.says(words));
    }
    for words in ["report list --json", "report show last --json"] {
        let ended = place.says(words);
        assert_printable(&ended.stdout);
        assert!(ended.json().to_string().contains("owned"), "{words}");
    }
    for form in ["--html", "--md", "--csv", "--json", "--svg"] {
        let ended = place.says(&format!("report export last {form}"));
        assert_printable(&ended.stdout);
        assert_clean(&ended.stderr);
    }
    let list = place.says("report list --csv").done().stdout;
    assert!(!list.contains(",=") && !list.contains("\"="), "{list}");
    let tag = place.command("report tag last");
    assert_refused(tag, "\u{202e}bidi");
}

#[track_caller]
fn assert_refused(mut command: Command, argument: &str) {
    let ended = run(command.arg(argument), SOON);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_clean_end(&ended);
}

fn a_full_disk_is_named() {
    let mut command = caudal(["tcp", "-n", "100K", "--json", "-o", "/dev/full"]);
    let ended = run(&mut command, SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(
        ended.stderr.contains("/dev/full: the disk is full"),
        "{}",
        ended.stderr
    );
}

fn a_store_that_is_no_file_is_one_line_and_no_wait() {
    let place = Place::new();
    let fifo = place.at("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let places = [fifo.as_path(), "/dev/null".as_ref(), place.path()];
    for at in places {
        let mut command = caudal(["report", "list", "--store"]);
        let ended = run(command.arg(at), SOON);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    }
}
