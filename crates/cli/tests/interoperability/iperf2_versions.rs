//! iperf 2 by transcript: the dialogues of versions that no distribution packages any more, and of peers that report what
//! cannot be.

use crate::support::place::Place;
use crate::support::{Running, SOON, caudal, port::free_port, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

trials! {
    udp_clients_of_every_version_are_told_how_many_arrived,
    a_report_that_cannot_be_true_is_neither_printed_nor_recorded,
    what_no_report_told_is_absent,
    reverse_trip_times_begin_with_a_header_of_the_server_and_are_whole_bursts,
    response_times_are_measured_with_a_server_that_sends_back,
    requests_have_the_form_of_2_1,
    a_file_over_udp_is_sent_once_and_ends_the_test,
}

/// A server of iperf 2, and its port.
fn server(words: &str) -> (Running, u16) {
    let port = free_port();
    let mut command = caudal(["iperf", "-s", "-p", &port.to_string()]);
    let server = Running::start(command.args(words.split_whitespace()));
    server.line_with("listening on");
    (server, port)
}

/// A 32-bit word of a datagram.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*bytes[at..].first_chunk().unwrap())
}

/// The datagrams of a client as one version sends them.
struct OldClient {
    name: &'static str,
    /// The words behind number, seconds and microseconds, up to the payload.
    header: &'static [u32],
    /// The first two words of numbers that end the test, at 0 and 12.
    last: fn(u32) -> (u32, Option<u32>),
    /// The place of the report in the answer, and the length that the client takes for one.
    report: (usize, usize),
    /// The distance from the count of datagrams to the jitter, bytes.
    jitter: usize,
}

const PATTERN: u32 = 0x3031_3233;

const CLIENTS: [OldClient; 4] = [
    OldClient {
        name: "2.0.9",
        header: &[0, 1, 5001, 0, 0, 0xffff_ffec],
        last: |number| (number.wrapping_neg(), None),
        report: (12, 112),
        jitter: 4,
    },
    OldClient {
        name: "2.0.10",
        header: &[0x3233_3435, 0, PATTERN, 0x3435_3637],
        last: |number| (number | 0x8000_0000, None),
        report: (16, 120),
        jitter: 8,
    },
    OldClient {
        name: "2.0.12 --udp-counters-64bit",
        header: &[0, 0, PATTERN, 0x3435_3637],
        last: |number| (number, Some(0x8000_0000)),
        report: (16, 120),
        jitter: 8,
    },
    OldClient {
        name: "2.0.13",
        header: &[
            0,
            0x0800_0000,
            PATTERN,
            0x3435_3637,
            0x3839_3031,
            0x3031_0034,
        ],
        last: |number| (number.wrapping_neg(), Some(0xffff_ffff)),
        report: (16, 128),
        jitter: 4,
    },
];

impl OldClient {
    fn datagram(&self, number: u32, upper: Option<u32>) -> Vec<u8> {
        let mut words = vec![number, 7, 5];
        words.extend(self.header);
        if let Some(upper) = upper {
            words[3] = upper;
        }
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.resize(1470, b'0');
        bytes
    }
}

fn udp_clients_of_every_version_are_told_how_many_arrived() {
    let (server, port) = server("-u -f B");
    for client in CLIENTS {
        let name = client.name;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        // Two of them are missing.
        for number in (0..19).filter(|number| ![5, 6].contains(number)) {
            socket.send(&client.datagram(number, None)).unwrap();
        }
        let (last, upper) = (client.last)(19);
        socket.send(&client.datagram(last, upper)).unwrap();
        let mut answer = [0; 2048];
        let length = socket.recv(&mut answer).unwrap();
        let (at, needed) = client.report;
        assert!(length >= needed, "{name}: {length} bytes");
        let report = &answer[at..length];
        assert_ne!(word(report, 0) & 0x8000_0000, 0, "{name}");
        assert_eq!(word(report, 8), 17 * 1470, "{name}: bytes");
        assert_eq!((word(report, 20), word(report, 28)), (2, 19), "{name}");
        assert_eq!(
            word(report, 28 + client.jitter),
            0,
            "{name}: whole seconds of jitter"
        );
    }
    server.signal("INT");
    let ended = server.wait(SOON);
    assert_eq!(
        ended.stdout.matches(" 2/19 (").count(),
        CLIENTS.len(),
        "{ended:#?}"
    );
}

/// A server that reports of every test that more was lost than was sent, as one of 2.0.10 reads the end of ours.
fn misreading_server() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    socket.set_read_timeout(Some(SOON)).unwrap();
    thread::spawn(move || {
        let mut datagram = [0; 65_536];
        while let Ok((_, client)) = socket.recv_from(&mut datagram) {
            if datagram[0] & 0x80 == 0 {
                continue;
            }
            let counts = [
                0x8000_0000,
                0,
                14_700,
                1,
                0,
                0x7fff_ffe0,
                0,
                0x7fff_fff5,
                0,
                0,
                9,
            ];
            let mut answer = vec![0; 120];
            for (nth, count) in counts.iter().enumerate() {
                answer[16 + nth * 4..20 + nth * 4].copy_from_slice(&u32::to_be_bytes(*count));
            }
            let _ = socket.send_to(&answer, client);
        }
    });
    port
}

fn a_report_that_cannot_be_true_is_neither_printed_nor_recorded() {
    let port = misreading_server().to_string();
    let ended = run(
        &mut caudal([
            "iperf",
            "-c",
            "127.0.0.1",
            "-p",
            &port,
            "-u",
            "-n",
            "14700",
            "-b",
            "10m",
        ]),
        SOON,
    );
    assert!(
        ended
            .stdout
            .contains("WARNING: the report of the other end cannot be true"),
        "{ended:#?}"
    );
    assert!(!ended.stdout.contains("Server Report"), "{ended:#?}");
    let words = [
        "udp",
        "127.0.0.1",
        "--as",
        "iperf2",
        "-p",
        &port,
        "-b",
        "10M",
        "-n",
        "14700",
        "--json",
    ];
    let ended = run(&mut caudal(words), SOON);
    let run = ended.json();
    let up = &run["summary"]["directions"][0];
    assert_eq!(
        (&up["loss"]["lost"], &up["loss"]["received"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(up["received_bytes"], Value::Null);
    let codes: Vec<&str> = run["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|warning| warning["code"].as_str())
        .collect();
    assert!(codes.contains(&"implausible_count"), "{codes:?}");
}

fn what_no_report_told_is_absent() {
    let (_server, port) = server("-u");
    let port = port.to_string();
    let words = [
        "udp",
        "127.0.0.1",
        "--as",
        "iperf2",
        "-p",
        &port,
        "--bidir",
        "-t",
        "0.3s",
        "-b",
        "1M",
        "--json",
    ];
    let run = run(&mut caudal(words), SOON).done().json();
    let up = &run["summary"]["directions"][0];
    assert!(up["loss"]["sent"].as_u64().unwrap() > 0);
    for key in ["received", "lost"] {
        assert_eq!(up["loss"][key], Value::Null, "{key}");
    }
    for key in ["bytes", "received_bytes", "receiver_cpu"] {
        assert_eq!(up[key], Value::Null, "{key}");
    }
}

/// The first bytes of a client of 2.1 that wants 0.2 s of payload with trip times in reverse.
fn reverse_with_trip_times() -> Vec<u8> {
    let mut words = vec![0x4401_00a0, 1, 5001, 0, 0, 0xffff_ffec, 0, 0];
    words.extend([
        0x0410_0000,
        0x0002_0001,
        0x0008_0003,
        0,
        0x0098_9680,
        0,
        0,
        0,
        9,
        9,
        0,
        0,
    ]);
    words
        .iter()
        .flat_map(|word: &u32| word.to_be_bytes())
        .collect()
}

fn reverse_trip_times_begin_with_a_header_of_the_server_and_are_whole_bursts() {
    let (_server, port) = server("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(&reverse_with_trip_times()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(word(&bytes, 0), 0x4001_00a0);
    assert_eq!(word(&bytes, 32), 0x0010_0000);
    assert_ne!(word(&bytes, 64), 0, "the start of the test, s");
    let mut bursts = bytes[80..].chunks(131_072).enumerate();
    assert!(bursts.all(|(nth, burst)| {
        word(burst, 4) == 3
            && word(burst, 44) as usize == nth + 1
            && word(burst, 48) as usize == burst.len()
    }));
}

fn response_times_are_measured_with_a_server_that_sends_back() {
    let (_server, port) = server("");
    let port = port.to_string();
    let words = [
        "iperf",
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "--bounceback=3",
        "--bounceback-period",
        "0",
        "-t",
        "0.2",
    ];
    let ended = run(&mut caudal(words), SOON).done();
    assert!(
        ended.stdout.contains("(bb w/quickack len/hold=100/0)"),
        "{ended:#?}"
    );
    let line = ended
        .stdout
        .lines()
        .find(|line| line.ends_with(" rps"))
        .unwrap();
    let (count, times) = line.split_once('=').unwrap();
    assert!(count.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 3);
    let times: Vec<f64> = times
        .split(' ')
        .next()
        .unwrap()
        .split('/')
        .map(|time| time.parse().unwrap())
        .collect();
    assert!(times[1] <= times[0] && times[0] <= times[2], "{line}");
}

fn requests_have_the_form_of_2_1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = [0; 200];
        stream.read_exact(&mut first).unwrap();
        stream.write_all(&first[..300.min(first.len())]).unwrap();
        first
    });
    let words = [
        "iperf",
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "--bounceback=1",
        "--bounceback-request",
        "200",
        "--bounceback-hold",
        "2",
        "-t",
        "0.1",
    ];
    let ended = run(&mut caudal(words), SOON);
    let first = server.join().unwrap();
    assert_eq!([0, 4, 8].map(|at| word(&first, at)), [0x0080_0000, 200, 1]);
    assert_eq!(word(&first, 12) >> 16, 0x8000, "quick acknowledgements");
    assert_eq!(
        word(&first, 44),
        2000,
        "the time to hold the reply, microseconds"
    );
    assert!(ended.stdout.contains("1="), "{ended:#?}");
}

fn a_file_over_udp_is_sent_once_and_ends_the_test() {
    let place = Place::new();
    let path = place.path().join("payload");
    let content: Vec<u8> = (0..10_000_u32).map(|nth| (nth % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let words = [
        "iperf",
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "-u",
        "-b",
        "10m",
        "--no-udp-fin",
        "-F",
        path.to_str().unwrap(),
    ];
    let client = Running::start(&mut caudal(words));
    let mut received = Vec::new();
    let mut datagram = [0; 2048];
    loop {
        let length = socket.recv(&mut datagram).unwrap();
        if datagram[0] & 0x80 != 0 {
            break;
        }
        received.extend_from_slice(&datagram[16 + 144..length]);
    }
    received.truncate(content.len());
    assert_eq!(received, content);
    client.wait(SOON).done();
}
