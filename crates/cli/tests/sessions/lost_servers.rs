//! Servers of other tools that are killed, stand still, refuse or do not answer in the middle of a test: it ends early, in a
//! bounded time, with a reason.

use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The exit code of a test whose server was lost.
const PEER: i32 = 3;
/// The exit code of iperf3 for any error.
const FAILED: i32 = 1;
/// The time after the start at which a server is lost.
const BEFORE: Duration = Duration::from_millis(1200);

pub fn trials() -> Vec<Trial> {
    let iperf = || uninstalled("iperf");
    vec![
        trial(
            "a_test_with_a_server_of_iperf2_that_is_lost_ends_early",
            iperf(),
            iperf2,
        ),
        trial(
            "a_test_with_a_server_of_iperf3_that_is_killed_ends_early",
            uninstalled("iperf3"),
            iperf3,
        ),
        trial(
            "a_key_that_is_not_the_servers_is_no_success",
            iperf(),
            permit_key,
        ),
        trial(
            "requests_that_are_not_answered_are_told_so",
            None,
            unanswered,
        ),
        trial(
            "a_client_of_iperf2_that_is_killed_is_logged",
            iperf(),
            killed_client,
        ),
    ]
}

/// A test whose server is lost.
struct LostServer {
    /// The words of the server.
    server: &'static str,
    /// The signal that it gets.
    signal: &'static str,
    client: &'static str,
    code: i32,
    /// The words of the reason.
    reason: &'static str,
}

const fn loss(
    server: &'static str,
    signal: &'static str,
    client: &'static str,
    reason: &'static str,
) -> LostServer {
    LostServer {
        server,
        signal,
        client,
        code: PEER,
        reason,
    }
}

/// Carries the tests out at once, each with a server of its own.
fn check(losses: &[LostServer]) {
    let started: Vec<_> = losses
        .iter()
        .map(|loss| {
            let port = free_port().to_string();
            let mut words = loss.server.split(' ');
            let mut server = Command::new(words.next().unwrap());
            (
                port.clone(),
                Running::start(server.args(words).args(["-p", &port])),
            )
        })
        .collect();
    // The real ones say that they listen a little before they do.
    thread::sleep(Duration::from_millis(700));
    let clients: Vec<_> = losses
        .iter()
        .zip(&started)
        .map(|(loss, (port, _))| {
            let mut client = caudal(loss.client.split(' '));
            Running::start(client.args(["-p", port]))
        })
        .collect();
    thread::sleep(BEFORE);
    for (loss, (_, server)) in losses.iter().zip(&started) {
        server.signal(loss.signal);
    }
    for (loss, client) in losses.iter().zip(clients) {
        let ended = client.wait(SOON);
        let said = format!("{} {}", ended.stdout, ended.stderr);
        // Warnings are folded.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            ended.code,
            Some(loss.code),
            "{} {}: {ended:#?}",
            loss.signal,
            loss.client
        );
        assert!(
            said.contains(loss.reason),
            "{} {}: {ended:#?}",
            loss.signal,
            loss.client
        );
    }
}

fn iperf2() {
    let (tcp, udp) = ("iperf -s", "iperf -s -u");
    let early = "the test ended early:";
    check(&[
        loss(
            tcp,
            "KILL",
            "tcp 127.0.0.1 --as iperf2 -t 4 -b 10M",
            "ended early: the connection to the server was lost after",
        ),
        loss(
            tcp,
            "KILL",
            "tcp 127.0.0.1 --as iperf2 -t 4 -b 10M -R",
            "ended early: the server closed the connection after",
        ),
        loss(
            tcp,
            "KILL",
            "tcp 127.0.0.1 --as iperf2 -t 4 -b 10M --bidir",
            early,
        ),
        loss(
            udp,
            "KILL",
            "udp 127.0.0.1 --as iperf2 -t 4 -b 2M",
            "ended early: the server did not report",
        ),
        loss(
            udp,
            "KILL",
            "udp 127.0.0.1 --as iperf2 -t 4 -b 2M -R",
            "ended early: nothing arrived from the server after",
        ),
        loss(
            udp,
            "KILL",
            "udp 127.0.0.1 --as iperf2 -t 4 -b 2M --bidir",
            early,
        ),
        loss(tcp, "KILL", "iperf -c 127.0.0.1 -t 4 -b 10m", early),
        loss(
            tcp,
            "KILL",
            "iperf -c 127.0.0.1 -n 100G -R",
            "ended early: the server closed the connection after",
        ),
        loss(tcp, "KILL", "iperf -c 127.0.0.1 -t 4 --bounceback", early),
        loss(
            udp,
            "KILL",
            "iperf -c 127.0.0.1 -t 4 -u",
            "ended early: the server did not report",
        ),
        loss(
            tcp,
            "STOP",
            "tcp 127.0.0.1 --as iperf2 -t 3 -b 10M",
            "ended early: the connection to the server was lost after",
        ),
        loss(
            tcp,
            "STOP",
            "tcp 127.0.0.1 --as iperf2 -t 3 -b 10M -R",
            "ended early: nothing arrived from the server after",
        ),
        loss(
            udp,
            "STOP",
            "udp 127.0.0.1 --as iperf2 -t 3 -b 2M",
            "ended early: the server did not report",
        ),
        loss(
            tcp,
            "STOP",
            "iperf -c 127.0.0.1 -t 3 -b 10m -R",
            "ended early: nothing arrived from the server after",
        ),
    ]);
}

fn iperf3() {
    let server = "iperf3 -s";
    let closed = |client| LostServer {
        code: FAILED,
        ..loss(
            server,
            "KILL",
            client,
            "control socket has closed unexpectedly",
        )
    };
    let early = "the test ended early:";
    check(&[
        loss(
            server,
            "KILL",
            "tcp 127.0.0.1 --as iperf3 -t 4 -b 10M",
            early,
        ),
        loss(
            server,
            "KILL",
            "tcp 127.0.0.1 --as iperf3 -t 4 -b 10M --bidir",
            early,
        ),
        loss(
            server,
            "KILL",
            "udp 127.0.0.1 --as iperf3 -t 4 -b 2M -R",
            early,
        ),
        closed("iperf3 -c 127.0.0.1 -t 4 -b 10M -R"),
        closed("iperf3 -c 127.0.0.1 -t 4 -b 2M -u"),
    ]);
}

fn client(port: u16, words: &str) -> Ended {
    let words = format!("iperf -c 127.0.0.1 -p {port} {words}");
    run(&mut caudal(words.split(' ')), SOON)
}

fn permit_key() {
    let port = free_port();
    let mut server = Command::new("iperf");
    let server = Running::start(server.args(["-s", "--permit-key=first", "-p", &port.to_string()]));
    server.line_with("listening");
    thread::sleep(Duration::from_millis(300));
    let good = client(port, "-n 64K --permit-key=first");
    assert_eq!(good.code, Some(0), "{good:#?}");
    assert!(good.stdout.contains("[first(1)] 0.0000-"), "{good:#?}");
    for (words, reason) in [
        (
            "-t 2 -b 1m --permit-key=second",
            "the server refused the test: its --permit-key is another one",
        ),
        ("-t 2 -b 1m", "if it has a --permit-key, give the same"),
    ] {
        let refused = client(port, words);
        assert_eq!(refused.code, Some(PEER), "{refused:#?}");
        assert!(refused.stderr.contains(reason), "{refused:#?}");
    }
}

/// A port on which every connection is treated in this way.
fn listener(treat: fn(TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            treat(stream.unwrap());
        }
    });
    port
}

fn unanswered() {
    let reads =
        |mut stream: TcpStream| while stream.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {};
    let closes = |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 1000]);
    };
    for port in [listener(reads), listener(closes)] {
        let ended = client(port, "--bounceback -t 1");
        assert_eq!(ended.code, Some(PEER), "{ended:#?}");
        assert_eq!(
            ended.stderr,
            "iperf: no reply came from the server; versions before 2.1.8 do not know --bounceback\n",
            "{ended:#?}"
        );
    }
}

fn killed_client() {
    let server = crate::support::Serve::start("--iperf2-port 0 --max-clients 1");
    let line = server.running.line_with("iperf 2 on port ");
    let port = line.split("iperf 2 on port ").nth(1).unwrap();
    let port = port.split(',').next().unwrap().trim();
    let mut client = Command::new("iperf");
    let mut client = Running::start(client.args(["-c", "127.0.0.1", "-t", "20", "-R", "-p", port]));
    server.running.line_with("TCP download");
    thread::sleep(Duration::from_millis(300));
    client.kill();
    let line = server.running.line_with("TCP sent, ");
    assert!(
        line.contains("ended early: the other end closed the connection before"),
        "{line}"
    );
    server.still_serves();
}
