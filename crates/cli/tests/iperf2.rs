//! iperf 2 at either end: our client and server against the real ones, and against lies.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::Arguments;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};
use support::network::{Network, SERVER, inside, missing};
use support::port::free_port;
use support::{Ended, Running, SOON, Serve, caudal, run, trial, uninstalled};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They wait for clocks more than they compute.
    arguments.test_threads.get_or_insert(6);
    let iperf = || uninstalled("iperf");
    let trials = vec![
        trial(
            "twenty_real_clients_and_twenty_of_ours_at_once_all_get_what_they_asked_for",
            iperf(),
            many_at_once,
        ),
        trial(
            "trip_times_peer_detection_and_no_header_work",
            iperf(),
            variants,
        ),
        trial("csv_has_the_columns_of_iperf_2", None, csv),
        trial(
            "a_client_of_2_0_5_gets_its_own_layout",
            None,
            client_of_2_0_5,
        ),
        trial("a_client_of_2_2_gets_its_own_layout", None, client_of_2_2),
        trial("requests_are_sent_back", None, bounceback),
        trial("lies_cost_the_liar_only", None, lies),
        trial("silent_clients_keep_nobody_out", None, silent_clients),
        trial(
            "the_last_datagram_of_nothing_is_not_answered",
            None,
            unasked,
        ),
        trial(
            "no_one_is_sent_more_than_came_from_there",
            missing(&["iperf"]),
            no_amplifier,
        ),
        trial("connecting_back_can_be_forbidden", None, no_connect_back),
        trial(
            "a_multicast_group_is_received",
            multicast_missing(),
            multicast,
        ),
        trial("an_allow_list_holds_for_iperf_2_too", None, allow_list),
        trial("a_port_that_is_taken_is_done_without", None, taken_port),
        trial("our_statistics_come_from_a_real_server", iperf(), as_iperf2),
        trial("a_link_by_that_name_is_that_tool", None, link),
        trial("failures_are_one_line_and_a_code", None, failures),
        trial("a_server_for_one_client_ends_after_it", iperf(), one_client),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// One of the two programs.
fn program(ours: bool) -> Command {
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
struct Line {
    id: String,
    bytes: u64,
    lost: u64,
    total: u64,
    /// Whether it is the other end's report.
    reported: bool,
}

/// The lines of figures of a text with `-f B`, without sums.
fn figures(text: &str) -> Vec<Line> {
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

/// The port of iperf 2 that a `caudal serve` chose.
fn iperf_port(server: &Serve) -> u16 {
    let line = server.running.line_with("iperf 2 on port ");
    let rest = line.split("iperf 2 on port ").nth(1).unwrap();
    rest.split(',').next().unwrap().trim().parse().unwrap()
}

fn serve(words: &str) -> (Serve, u16) {
    let server = Serve::start(&format!("--iperf2-port 0 --no-nttcp {words}"));
    let port = iperf_port(&server);
    (server, port)
}

/// Fails unless a newcomer gets what it asks for, in iperf 2's words as in ours.
#[track_caller]
fn still_serves(server: &Serve, port: u16) {
    server.still_serves();
    let port = port.to_string();
    for words in [&["-n", "64K"][..], &["-u", "-n", "20K", "-b", "10m"]] {
        let mut client = program(true);
        client
            .args(["-c", "127.0.0.1", "-f", "B", "-p", &port])
            .args(words);
        let ended = run(&mut client, SOON);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
}

fn many_at_once() {
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

fn variants() {
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

fn csv() {
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

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// A socket towards a server.
fn udp_to(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
}

fn client_of_2_0_5() {
    let (server, port) = serve("");
    // TCP: 24 bytes of header, no answer, the server closes after the client.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&words(&[0, 1, 5001, 0, 0, 0xffff_ff9c]))
        .unwrap();
    stream.write_all(&[b'0'; 100_000]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"", "2.0.5 is told nothing");
    server.running.line_with("TCP received, 100.0 kB");
    // UDP: 12 bytes of header, numbers from 0, an answer whose report begins at 12.
    let socket = udp_to(port);
    let datagram = |id: i32| {
        let mut datagram = words(&[id as u32, 7, 8, 0, 1, 5001, 0, 1_048_576, 0xffff_ff9c]);
        datagram.resize(1470, b'x');
        datagram
    };
    for id in [0, 1, 2, 4, 3, 5, 7, 8, 9] {
        socket.send(&datagram(id)).unwrap();
    }
    socket.send(&datagram(-10)).unwrap();
    let mut answer = [0; 2048];
    let size = socket.recv(&mut answer).unwrap();
    assert!(size >= 52, "{size}");
    assert_eq!(at(&answer, 12), 0x8000_0000);
    assert_eq!(at(&answer, 20), 9 * 1470, "bytes");
    assert_eq!(
        (at(&answer, 32), at(&answer, 36), at(&answer, 40)),
        (1, 1, 10),
        "lost, out of order, all"
    );
    // The end, said again, is answered again.
    socket.send(&datagram(-11)).unwrap();
    assert!(socket.recv(&mut answer).unwrap() >= 52);
    assert_eq!(at(&answer, 40), 10);
    still_serves(&server, port);
}

fn client_of_2_2() {
    let (server, port) = serve("");
    let header = |flags: u32, upper: u32, amount: u32| {
        words(&[
            flags,
            1,
            5001,
            0,
            0,
            amount,
            0,
            0,
            upper << 16,
            0x0002_0002,
            0x0001_0001,
            0,
            0,
            0,
            0,
            0,
        ])
    };
    // A plain test is answered with the server's version.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&header(0x4001_0080, 0, 0xffff_ff9c))
        .unwrap();
    let mut ack = [0; 28];
    stream.read_exact(&mut ack).unwrap();
    assert_eq!((at(&ack, 0), at(&ack, 4)), (2, 28));
    drop(stream);
    server.running.line_with("client iperf 2.2.1: TCP upload");
    // In reverse nothing comes but what was asked for.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&header(0x4401_0080, 0x0400, 77_777))
        .unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 77_777);
    assert!(got.starts_with(b"0123456789"));
    // UDP with a header of 80 bytes: a report of 128.
    let socket = udp_to(port);
    let datagram = |id: i64| {
        let mut datagram = words(&[id as u32, 7, 8, (id >> 32) as u32]);
        datagram.extend(header(0x4801_00a0, 0, 0xffff_ff9c));
        datagram.resize(1470, b'x');
        datagram
    };
    for id in 1..=5 {
        socket.send(&datagram(id)).unwrap();
    }
    socket.send(&datagram(-6)).unwrap();
    let mut answer = [0; 2048];
    let size = socket.recv(&mut answer).unwrap();
    assert_eq!(size, 128);
    assert_eq!(at(&answer, 16), 0x8800_0000);
    assert_eq!((at(&answer, 36), at(&answer, 44)), (0, 6), "lost, all");
    still_serves(&server, port);
}

fn bounceback() {
    let (server, port) = serve("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    for id in 1..=3 {
        let mut request = words(&[
            0x0080_0000,
            100,
            id,
            0x8000_0000,
            0,
            7,
            8,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        request.resize(100, 0);
        stream.write_all(&request).unwrap();
        let mut reply = [0; 100];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!((at(&reply, 4), at(&reply, 8), at(&reply, 20)), (100, id, 7));
        assert!(at(&reply, 28) > 1_600_000_000, "the server's clock");
    }
    // A reply of 4 GiB is not made.
    stream
        .write_all(&words(&[
            0x0080_0000,
            u32::MAX,
            4,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]))
        .unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest.len(), 0);
    still_serves(&server, port);
}

fn lies() {
    let (server, port) = serve("--idle-timeout 2s");
    let talk = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let _ = stream.write_all(bytes);
        let mut got = Vec::new();
        let mut room = [0; 65_536];
        loop {
            match stream.read(&mut room) {
                Ok(0) => return got,
                Ok(count) => got.extend_from_slice(&room[..count]),
                Err(cause) if cause.kind() == ErrorKind::ConnectionReset => return got,
                Err(cause) => panic!("kept waiting: {cause}"),
            }
        }
    };
    // Lengths that lie: shorter than the fields, a key of 64 KiB, a key of nothing.
    assert_eq!(talk(&words(&[0x4001_0004])), b"");
    let mut keyed = words(&[0x5001_007c, 1, 5001, 0, 0, 100]);
    keyed.resize(60, 0);
    assert_eq!(talk(&[&keyed[..], &[0xff, 0xff]].concat()), b"");
    assert_eq!(talk(&[&keyed[..], &[0, 0]].concat()), b"");
    server.running.line_with("announces a key of");
    // A block of 2^32 - 1 bytes and an endless number of threads: the amount is what was asked for.
    let mut greedy = words(&[
        0x4401_0078,
        u32::MAX,
        5001,
        u32::MAX,
        u32::MAX,
        1000,
        0,
        0,
        0x0400_0000,
        0x0002_0001,
        0x0008_0003,
        0,
    ]);
    greedy.resize(60, 0);
    assert_eq!(talk(&greedy).len(), 1000);
    // A header that stops in the middle, then silence.
    let mut half = TcpStream::connect(("127.0.0.1", port)).unwrap();
    half.write_all(&words(&[0x4001_0078, 1])).unwrap();
    // A whole header and no payload: the stream never comes.
    let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    silent
        .write_all(&words(&[0, 1, 5001, 0, 0, 0xffff_ff9c]))
        .unwrap();
    // Datagrams of every length, and of nothing that makes sense.
    let socket = udp_to(port);
    for length in 0..200 {
        socket.send(&vec![0xff; length]).unwrap();
        socket.send(&vec![0; length]).unwrap();
    }
    // Numbers that jump to the end of the world.
    let jumping = udp_to(port);
    for id in [1_i64, i64::MAX, 2, 1 << 40, 3] {
        let mut datagram = words(&[
            id as u32,
            0,
            0,
            (id >> 32) as u32,
            0x4801_0098,
            1,
            5001,
            0,
            0,
            100,
        ]);
        datagram.resize(200, 0);
        jumping.send(&datagram).unwrap();
    }
    server.running.line_with("nothing was moved for 2 s");
    still_serves(&server, port);
}

fn silent_clients() {
    let (server, port) = serve("--max-clients 4");
    let held: Vec<TcpStream> = (0..60)
        .map(|nth| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            if nth % 2 == 0 {
                stream.write_all(&[0x40]).unwrap();
            }
            stream
        })
        .collect();
    still_serves(&server, port);
    drop(held);
    // One byte and an end is a whole visit, for which each takes a place for a moment.
    let until = Instant::now() + SOON;
    while server.serves("tcp -n 1K").code != Some(0) {
        assert!(Instant::now() < until, "places stay taken");
    }
    still_serves(&server, port);
}

fn unasked() {
    let (server, port) = serve("");
    let socket = udp_to(port);
    socket
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let mut end = words(&[
        (-5_i32) as u32,
        7,
        8,
        u32::MAX,
        0x4801_0098,
        1,
        5001,
        0,
        0,
        100,
    ]);
    end.resize(1470, 0);
    socket.send(&end).unwrap();
    assert!(
        socket.recv(&mut [0; 2048]).is_err(),
        "an address may be made up"
    );
    // An end as short as it can be is answered with no more than came.
    let short = udp_to(port);
    short
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    short.send(&words(&[1, 7, 8, 0])).unwrap();
    short
        .send(&words(&[(-2_i32) as u32, 7, 8, u32::MAX]))
        .unwrap();
    assert!(
        short.recv(&mut [0; 2048]).is_err(),
        "32 bytes are not answered with 128"
    );
    still_serves(&server, port);
}

fn no_amplifier() {
    let network = Network::build();
    let server = network.serve("--no-nttcp --iperf2-port 5001");
    let port = iperf_port(&server);
    let in_reverse = |udp: &str| {
        let mut client = inside(&network.client, "iperf");
        client.args(["-c", SERVER, "-f", "B", "-t", "0.4", "-b", "5m", "-R", udp]);
        client.args(["-p", &port.to_string()]);
        run(&mut client, SOON)
    };
    let denied = in_reverse("-u");
    let bytes =
        |ended: &Ended| -> u64 { figures(&ended.stdout).iter().map(|line| line.bytes).sum() };
    assert_eq!(
        bytes(&denied),
        0,
        "an address that has proven nothing: {denied:#?}"
    );
    server.running.line_with("its address is not validated");
    // A handshake of TCP validates the address, for one flow.
    assert!(bytes(&in_reverse("-N")) > 0);
    let granted = in_reverse("-u");
    assert!(bytes(&granted) > 10_000, "{granted:#?}");
}

fn no_connect_back() {
    let (server, port) = serve("--no-connect-back");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let back = u32::from(listener.local_addr().unwrap().port());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(&words(&[0x8000_0001, 1, back, 0, 0, 1000]))
        .unwrap();
    server.running.line_with("which this server does not do");
    drop(stream);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
    still_serves(&server, port);
    // Nor does any server connect to the ports of services.
    let (server, port) = serve("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(&words(&[0x8000_0001, 1, 22, 0, 0, 1000]))
        .unwrap();
    server.running.line_with("to be connected to at port 22");
}

fn multicast_missing() -> Option<String> {
    missing(&[])
}

fn multicast() {
    let network = Network::build();
    for space in [&network.client, &network.server] {
        let _ = inside(space, "ip")
            .args(["route", "add", "224.0.0.0/4", "dev", "v0"])
            .output();
    }
    let mut server = inside(&network.server, env!("CARGO_BIN_EXE_caudal"));
    server.args(["iperf", "-s", "-u", "-B", "224.0.55.77", "-f", "B"]);
    let server = Running::start(&mut server);
    server.line_with("Joining multicast group  224.0.55.77");
    server.line_with("buffer size");
    let mut client = inside(&network.client, env!("CARGO_BIN_EXE_caudal"));
    client.args([
        "iperf",
        "-c",
        "224.0.55.77",
        "-u",
        "-t",
        "0.5",
        "-T",
        "2",
        "-f",
        "B",
    ]);
    let client = run(&mut client, SOON).done();
    let sent = figures(&client.stdout);
    let received = figures(&server.line_with(" ms "));
    assert_eq!(sent[0].bytes, received[0].bytes, "{client:#?} {received:?}");
    assert_eq!(received[0].lost, 0);
}

fn allow_list() {
    let (server, port) = serve("--allow 192.0.2.0/24");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    assert!(matches!(stream.read(&mut [0; 10]), Ok(0) | Err(_)));
    server
        .running
        .line_with("is not among the networks this server answers");
    udp_to(port).send(&[0; 1470]).unwrap();
    server
        .running
        .line_with("is not among the networks this server answers");
}

fn taken_port() {
    let held = TcpListener::bind("[::]:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let server = Serve::start(&format!("--iperf2-port {port} --nttcp-port {port}"));
    for name in ["without iperf 2: ", "without nttcp: "] {
        let line = server.running.line_with(name);
        assert!(
            line.contains(&port.to_string()) && line.contains("choose another port"),
            "{line}"
        );
    }
    server.still_serves();
    let server = Serve::start("--no-iperf2 --no-nttcp");
    server.still_serves();
    assert!(!server.running.said().contains("iperf 2"));
}

fn as_iperf2() {
    let port = free_port().to_string();
    let tcp = Running::start(program(false).args(["-s", "-p", &port]));
    tcp.line_with("listening");
    let udp = Running::start(program(false).args(["-s", "-u", "-p", &port]));
    udp.line_with("listening");
    thread::sleep(Duration::from_millis(200));
    let says = |words: &str| {
        let mut words = words.split_whitespace();
        let mut command = caudal(words.next());
        command
            .args(["127.0.0.1", "--as", "iperf2", "-p", &port, "--json"])
            .args(words);
        run(&mut command, SOON).done().json()
    };
    let up = says("tcp -n 1M -P 2");
    for flow in up["flows"].as_array().unwrap() {
        assert_eq!(flow["sender"]["bytes"], 500_000, "{flow}");
        assert_eq!(
            flow["receiver"]["bytes"], 500_000,
            "what its kernel acknowledged: {flow}"
        );
        assert!(flow["sender"]["tcp"]["rtt_us"].as_u64() > Some(0), "{flow}");
    }
    assert_eq!(up["environment"]["server"]["tool"], "iperf 2");
    for absent in [
        &up["environment"]["server"]["cpus"],
        &up["flows"][0]["receiver"]["cpu_s"],
        &up["summary"]["directions"][0]["receiver_cpu"],
    ] {
        assert!(absent.is_null(), "what nobody tells is not there: {up}");
    }
    let down = says("tcp -n 1M -R");
    assert_eq!(down["flows"][0]["receiver"]["bytes"], 1_000_000, "{down}");
    assert!(down["flows"][0]["sender"].is_null(), "nobody tells: {down}");
    let datagrams = says("udp -t 0.5 -b 5M");
    let flow = &datagrams["flows"][0];
    assert_eq!(
        flow["sender"]["datagrams"], flow["receiver"]["datagrams"],
        "{flow}"
    );
    assert_eq!(flow["receiver"]["lost"], 0, "{flow}");
    let refused = run(
        &mut caudal(["tcp", "127.0.0.1", "--as", "iperf2", "--mptcp", "-p", &port]),
        SOON,
    );
    refused.failed(4, &["--mptcp", "iperf 2"]);
}

fn link() {
    let directory = std::env::temp_dir().join(format!("caudal-link-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, word) in [("iperf", "iperf version 2.1.8"), ("nttcp", "version 1.47")] {
        let link = directory.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_caudal"), &link).unwrap();
        let flag = if name == "iperf" { "-v" } else { "-V" };
        let ended = run(Command::new(&link).arg(flag), SOON).done();
        assert!(ended.stdout.contains(word), "{ended:#?}");
    }
    let _ = std::fs::remove_dir_all(&directory);
}

fn failures() {
    for (words, said) in [
        (
            "-c 127.0.0.1 --isochronous",
            "iperf: option --isochronous of iperf is not here: this end generates no frames of video; it receives those of others as payload",
        ),
        ("-Q", "iperf: invalid option -- Q"),
        ("", "iperf: either -s or -c HOST is needed"),
    ] {
        let ended = run(program(true).args(words.split_whitespace()), SOON);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().next(), Some(said), "{ended:#?}");
    }
    let port = free_port().to_string();
    let refused = run(program(true).args(["-c", "127.0.0.1", "-p", &port]), SOON);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("tcp connect failed: Connection refused"),
        "{refused:#?}"
    );
    let silent = run(
        program(true).args(["-c", "127.0.0.1", "-u", "-t", "0.1", "-p", &port]),
        SOON,
    );
    assert!(
        silent
            .stdout
            .contains("WARNING: did not receive ack of last datagram"),
        "{silent:#?}"
    );
}

fn one_client() {
    let port = free_port().to_string();
    let server = Running::start(program(true).args(["-s", "-P", "1", "-p", &port]));
    server.line_with("listening");
    run(
        program(false).args(["-c", "127.0.0.1", "-n", "64K", "-p", &port]),
        SOON,
    );
    assert_eq!(server.wait(Duration::from_secs(5)).code, Some(0));
}
