//! Options of iperf 2 at either end, against the real one at the other.

use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use std::process::Command;
use std::thread;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let iperf = || uninstalled("iperf");
    vec![
        trial("datagrams_keep_their_gap", iperf(), gap),
        trial("a_rate_may_vary", iperf(), varying_rate),
        trial("one_way_times_have_histograms", iperf(), histograms),
        trial("bursts_keep_their_period", iperf(), bursts),
        trial("connections_go_to_a_range_of_ports", iperf(), port_range),
        trial(
            "a_server_serves_those_who_know_its_key",
            iperf(),
            permit_key,
        ),
    ]
}

/// The end of a test that is this program; the other one is the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ours {
    Client,
    Server,
    Both,
}

fn program(is_ours: bool) -> Command {
    if is_ours {
        caudal(["iperf"])
    } else {
        Command::new("iperf")
    }
}

/// A server with these words, on a port of its own.
fn server(ours: Ours, port: &str, words: &str) -> Running {
    let mut command = program(ours != Ours::Client);
    command
        .args(["-s", "-p", port])
        .args(words.split_whitespace());
    let server = Running::start(&mut command);
    server.line_with("listening");
    // The real one says so a little before it does.
    let wait_ms = if ours == Ours::Client { 150 } else { 0 };
    thread::sleep(Duration::from_millis(wait_ms));
    server
}

fn client(ours: Ours, port: &str, words: &str) -> Ended {
    let mut command = program(ours != Ours::Server);
    command.args(["-c", "127.0.0.1", "-p", port]);
    run(command.args(words.split_whitespace()), SOON)
}

/// The number between two marks of a text.
#[track_caller]
fn number(text: &str, before: &str, after: &str) -> f64 {
    let rest = text
        .split_once(before)
        .unwrap_or_else(|| panic!("{before:?} in {text}"))
        .1;
    let number = rest
        .split_once(after)
        .unwrap_or_else(|| panic!("{after:?} in {rest}"))
        .0;
    number
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("{number:?} in {text}"))
}

fn gap() {
    let port = free_port().to_string();
    let _server = server(Ours::Client, &port, "-u");
    let ended = client(Ours::Client, &port, "-u --ipg 10 -l 1000 -n 20000 -f B");
    assert!(
        ended.stdout.contains("IPG target: 10000.00 us"),
        "{ended:#?}"
    );
    let report = ended.stdout.split_once("Server Report:").unwrap().1;
    assert!(
        report.contains("20000 Bytes") || report.contains("21000 Bytes"),
        "{ended:#?}"
    );
    // Twenty datagrams have nineteen gaps, and a busy machine makes none shorter on the whole.
    assert!(number(report, "0.0000-", " sec") > 0.185, "{ended:#?}");
}

fn varying_rate() {
    let port = free_port().to_string();
    let _server = server(Ours::Client, &port, "-u");
    let ended = client(Ours::Client, &port, "-u -b 4m,2m -l 1000 -n 100000 -f B");
    let report = ended.stdout.split_once("Server Report:").unwrap().1;
    assert!(
        report.contains("100000 Bytes") || report.contains("101000 Bytes"),
        "{ended:#?}"
    );
    assert!(report.contains(" 0/"), "{ended:#?}");
}

fn histograms() {
    let port = free_port().to_string();
    let udp = server(Ours::Server, &port, "-u --histograms");
    let tcp = server(Ours::Server, &port, "--histograms=1m,1000");
    for ours in [Ours::Server, Ours::Both] {
        client(ours, &port, "-u --trip-times -b 10m -l 1000 -n 50000");
        let line = udp.line_with("T8(f)-PDF");
        assert!(
            (49.0..=51.0).contains(&number(&line, "cnt(", ")")),
            "{line}"
        );
        client(ours, &port, "--trip-times -n 1M");
        let columns = tcp.line_with(" ms (");
        let line = tcp.line_with("F8(f)-PDF");
        assert_eq!(
            number(&line, "cnt(", ")"),
            number(&columns, " ms (", "/"),
            "{line}"
        );
        assert!(number(&line, "cnt(", ")") >= 8.0, "{line}");
    }
    let real_port = free_port().to_string();
    let _real = server(Ours::Client, &real_port, "");
    for (ours, port) in [(Ours::Client, &real_port), (Ours::Both, &port)] {
        let words = "--full-duplex --trip-times --histograms -t 0.3 -b 20m -e";
        let ended = client(ours, port, words);
        let line = ended.stdout.lines().find(|line| line.contains("F8(f)-PDF"));
        assert!(
            number(line.unwrap_or_default(), "cnt(", ")") >= 3.0,
            "{ended:#?}"
        );
        assert!(ended.stdout.contains("[FD1] "), "{ended:#?}");
    }
}

fn bursts() {
    let port = free_port().to_string();
    let server = server(Ours::Client, &port, "");
    let words = "--burst-size 192K --burst-period 0.05 -n 1M --trip-times";
    let ended = client(Ours::Client, &port, words);
    assert!(
        ended
            .stdout
            .contains("Bursting:  192 KByte every 0.05 second(s)"),
        "{ended:#?}"
    );
    // Five bursts and the rest, each with its time at the real server.
    let line = server.line_with(" ms (");
    assert_eq!(number(&line, " ms (", "/"), 6.0, "{line}");
    // The beginnings of six bursts lie five periods apart.
    assert!(number(&line, "0.0000-", " sec") > 0.24, "{line}");
}

fn port_range() {
    for ours in [Ours::Client, Ours::Server, Ours::Both] {
        let first = free_port();
        let range = format!("{first}-{}", first + 2);
        let mut command = program(ours != Ours::Client);
        let server = Running::start(command.args(["-s", "-p", &range, "-f", "B"]));
        server.line_with(&format!("TCP ports {range} "));
        thread::sleep(Duration::from_millis(150));
        let ended = client(ours, &range, "-P 3 -n 128K -f B");
        for port in first..=first + 2 {
            let connected = format!("connected with 127.0.0.1 port {port}");
            assert!(ended.stdout.contains(&connected), "{ours:?}: {ended:#?}");
        }
        let sum = ended
            .stdout
            .lines()
            .find(|line| line.contains("[SUM]"))
            .unwrap();
        assert!(
            number(sum, " sec ", "Bytes") >= 3.0 * 131_072.0,
            "{ours:?}: {ended:#?}"
        );
        let line = server.line_with("[SUM]");
        assert!(
            number(&line, " sec ", "Bytes") >= 3.0 * 131_072.0,
            "{ours:?}: {line}"
        );
    }
}

fn permit_key() {
    for ours in [Ours::Client, Ours::Server, Ours::Both] {
        let port = free_port().to_string();
        let server = server(ours, &port, "--permit-key=a-key-of-its-own -f B");
        client(ours, &port, "--permit-key=a-key-of-theirs! -n 256K");
        client(ours, &port, "-n 256K");
        client(ours, &port, "--permit-key=a-key-of-its-own -n 64K -f B");
        // The real one does not count the key.
        let line = server.line_with(" Bytes/sec");
        let bytes = number(&line, " sec ", "Bytes");
        assert!((65_500.0..=65_536.0).contains(&bytes), "{ours:?}: {line}");
    }
}
