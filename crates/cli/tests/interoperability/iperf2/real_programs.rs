//! Our client and server against the real ones, and what they print.

use super::{serve, still_serves};
use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, caudal, run};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// One of the two programs.
pub(crate) fn program(ours: bool) -> Command {
    if ours {
        let mut command = caudal(["iperf"]);
        command.env("TZ", "UTC");
        command
    } else {
        Command::new("iperf")
    }
}

/// A line of figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) bytes: u64,
    pub(crate) lost: u64,
    pub(crate) total: u64,
    /// Whether it is the other end's report.
    pub(crate) reported: bool,
}

/// The lines of figures of a text with `-f B`, without sums.
pub(crate) fn figures(text: &str) -> Vec<Line> {
    let mut reported = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((id, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
            continue;
        };
        let id = id.trim().to_owned();
        if rest.contains("Server Report:") {
            reported = Some(id);
            continue;
        }
        let Some((_, after)) = rest.split_once(" sec ") else {
            continue;
        };
        let words: Vec<&str> = after.split_whitespace().collect();
        let Some(bytes) = words.first().and_then(|word| word.parse().ok()) else {
            continue;
        };
        if id.starts_with("SUM") || words.get(1) != Some(&"Bytes") {
            continue;
        }
        let loss = words
            .iter()
            .position(|word| *word == "ms")
            .and_then(|at| words.get(at + 1))
            .and_then(|word| word.split_once('/'))
            .and_then(|(lost, total)| Some((lost.parse().ok()?, total.parse().ok()?)));
        let (lost, total) = loss.unwrap_or((0, 0));
        let is_report = reported.as_deref() == Some(id.trim_start_matches('*'));
        if is_report {
            reported = None;
        }
        lines.push(Line {
            id,
            bytes,
            lost,
            total,
            reported: is_report,
        });
    }
    lines
}

struct Pair {
    client: Ended,
    server: String,
}

/// Runs a client against a server of its own.
#[track_caller]
fn pair(our_client: bool, our_server: bool, udp: bool, words: &str) -> Pair {
    let port = free_port();
    let mut server = program(our_server);
    server.args(["-s", "-f", "B", "-p", &port.to_string()]);
    if udp {
        server.arg("-u");
    }
    let mut server = Running::start(&mut server);
    server.line_with("listening");
    // The real one says so a little before it does.
    thread::sleep(Duration::from_millis(if our_server { 0 } else { 150 }));
    let mut client = program(our_client);
    client
        .args(["-c", "127.0.0.1", "-f", "B", "-p", &port.to_string()])
        .args(words.split_whitespace());
    if udp {
        client.arg("-u");
    }
    let client = run(&mut client, Duration::from_secs(20));
    assert_eq!(client.code, Some(0), "{words}: {client:#?}");
    // The server prints when its end has closed, and then ends when told.
    thread::sleep(Duration::from_millis(400));
    server.signal("INT");
    let until = Instant::now() + Duration::from_secs(5);
    while !server.is_over() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(
        server.is_over() || !our_server,
        "the server does not end: {words}"
    );
    let said = server.said();
    if our_server {
        let ended = server.wait(SOON);
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
    }
    Pair {
        client,
        server: said,
    }
}

pub(crate) fn many_at_once() {
    let (server, port) = serve("");
    let port = port.to_string();
    let theirs = [
        "-n 250K",
        "-n 250K -R",
        "-u -n 200K -b 2m",
        "-t 0.5 -b 1m -l 10K",
        "-u -t 0.5 -b 1m -R",
    ];
    let ours = [
        "udp -n 250K -b 2M -l 1000 --json",
        "tcp -n 250K --json",
        "tcp -n 250K -R --json",
        "udp -n 250K -b 2M -l 1000 -R --json",
    ];
    let clients: Vec<(&str, Running)> = (0..20)
        .map(|nth| {
            let words = theirs[nth % theirs.len()];
            let mut client = program(false);
            client
                .args(["-c", "127.0.0.1", "-f", "B", "-p", &port])
                .args(words.split_whitespace());
            (words, Running::start(&mut client))
        })
        .collect();
    let natives: Vec<(&str, Running)> = (0..20)
        .map(|nth| {
            let words = ours[nth % ours.len()];
            (words, Running::start(&mut server.client(words)))
        })
        .collect();
    for (words, client) in clients {
        let ended = client.wait(Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
        let lines = figures(&ended.stdout);
        assert!(
            lines.iter().all(|line| line.bytes > 0),
            "{words}: {ended:#?}"
        );
        if words == "-n 250K" || words == "-n 250K -R" {
            assert_eq!(lines[0].bytes, 256_000, "{words}: {ended:#?}");
        }
        if words.contains("-u -n") {
            let report = lines.iter().find(|line| line.reported);
            assert_eq!(report.map(|line| line.lost), Some(0), "{words}: {ended:#?}");
        }
    }
    for (words, client) in natives {
        let run = client.wait(Duration::from_secs(60)).done().json();
        for flow in run["flows"].as_array().unwrap() {
            assert_eq!(flow["receiver"]["bytes"], 250_000, "{words}: {flow}");
        }
    }
    still_serves(&server, port.parse().unwrap());
}

pub(crate) fn variants() {
    for (our_client, our_server) in [(true, false), (false, true), (true, true)] {
        for (udp, words) in [
            (false, "-n 200K --trip-times"),
            (false, "-n 200K -X"),
            (false, "-n 200K -C"),
            (true, "-t 0.3 -b 1m --trip-times"),
            (true, "-t 0.3 -b 1m -C"),
            (true, "-t 0.3 -b 1m -l 60"),
        ] {
            let pair = pair(our_client, our_server, udp, words);
            let bytes = |text: &str| -> u64 {
                figures(text)
                    .iter()
                    .filter(|line| !line.reported)
                    .map(|line| line.bytes)
                    .sum()
            };
            let (client, server) = (bytes(&pair.client.stdout), bytes(&pair.server));
            // The real client counts a datagram it does not send when it is told to send no header.
            // The real server does not count the word it looks at when there is no header.
            let slack = match (udp, our_client, our_server) {
                (true, false, _) => 2 * 1470,
                (false, _, false) => 4,
                _ => 0,
            };
            assert!(
                client > 0 && client.abs_diff(server) <= slack,
                "{words}: {:#?} {}",
                pair.client,
                pair.server
            );
        }
    }
}

pub(crate) fn csv() {
    let port = free_port().to_string();
    let server = Running::start(program(true).args(["-s", "-u", "-y", "C", "-p", &port]));
    // Nothing is printed but values, so that it listens is seen by trying.
    let mut client = program(true);
    client.args([
        "-c",
        "127.0.0.1",
        "-u",
        "-t",
        "0.4",
        "-i",
        "0.2",
        "-y",
        "C",
        "-p",
        &port,
    ]);
    let mut ended = run(&mut client, SOON);
    for _ in 0..20 {
        if ended.stdout.lines().count() >= 4 {
            break;
        }
        client.args(["-t", "0.4"]);
        ended = run(&mut client, SOON);
    }
    let lines: Vec<Vec<&str>> = ended
        .stdout
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(
        lines.len(),
        4,
        "two intervals, the whole, the server's report: {ended:#?}"
    );
    for columns in &lines {
        assert_eq!(columns.len(), 14, "{columns:?}");
        assert_eq!(columns[0].len(), 14, "YYYYMMDDhhmmss: {columns:?}");
        assert!(columns[0].starts_with("20"), "{columns:?}");
        assert_eq!(
            (columns[1], columns[3], columns[4]),
            ("127.0.0.1", "127.0.0.1", port.as_str())
        );
        assert_eq!(columns[5], "1");
    }
    assert_eq!(
        (lines[0][6], lines[1][6], lines[2][6]),
        ("0.0-0.2", "0.2-0.4", "0.0-0.4")
    );
    assert_eq!(
        lines[2][11], lines[3][11],
        "what was sent is what the report counts"
    );
    drop(server);
    let (_server, port) = serve("");
    let mut client = program(true);
    client.args([
        "-c",
        "127.0.0.1",
        "-n",
        "100K",
        "-P",
        "2",
        "-y",
        "C",
        "-p",
        &port.to_string(),
    ]);
    let ended = run(&mut client, SOON).done();
    let lines: Vec<Vec<&str>> = ended
        .stdout
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert!(lines.iter().all(|columns| columns.len() == 9), "{ended:#?}");
    assert_eq!(lines.len(), 3, "{ended:#?}");
    assert_eq!((lines[2][5], lines[2][7]), ("-1", "204800"), "the sum");
}
