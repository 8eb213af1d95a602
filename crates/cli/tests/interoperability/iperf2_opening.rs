//! How UDP flows of iperf 2 open: one after another, and with a datagram that is not counted
//! where it may be a version that takes the first one for the opening.

use crate::support::port::free_port;
use crate::support::{Running, SOON, caudal};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

trials! {
    flows_in_both_directions_open_one_after_another,
    flows_of_an_upload_begin_one_after_another_and_last_equally_long,
    the_datagram_that_opens_a_flow_is_not_counted,
}

const LENGTH: usize = 1000;
/// How long the server does not listen after the first datagram of a flow.
const DEAF: Duration = Duration::from_millis(20);
/// How long nothing comes when no flow is left.
const QUIET: Duration = Duration::from_secs(3);
/// The bytes of a report.
const MIN_REPORT: usize = 64;

/// A datagram with this number, and what follows its own header.
fn datagram(number: i64, behind: &[u8]) -> Vec<u8> {
    let mut datagram = vec![b'6'; LENGTH];
    datagram[..4].copy_from_slice(&(number as u32).to_be_bytes());
    datagram[4..12].fill(0);
    datagram[12..16].copy_from_slice(&((number >> 32) as u32).to_be_bytes());
    datagram[16..16 + behind.len()].copy_from_slice(behind);
    datagram
}

/// As a server of iperf 2 opens flows: what arrives of others between the first datagram of one and the next socket to listen on
/// belongs to nobody. How many flows it has answered.
fn open_flows(socket: &UdpSocket) -> usize {
    let mut buffer = vec![0; 64 << 10];
    let mut opened: BTreeMap<SocketAddr, ()> = BTreeMap::new();
    socket.set_read_timeout(Some(QUIET)).unwrap();
    while let Ok((_, peer)) = socket.recv_from(&mut buffer) {
        if opened.insert(peer, ()).is_some() {
            continue;
        }
        thread::sleep(DEAF);
        socket.set_nonblocking(true).unwrap();
        while socket.recv_from(&mut buffer).is_ok() {}
        socket.set_nonblocking(false).unwrap();
        for number in [1, 2, -3] {
            socket.send_to(&datagram(number, &[]), peer).unwrap();
        }
        if opened.len() == 3 {
            break;
        }
    }
    opened.len()
}

fn flows_in_both_directions_open_one_after_another() {
    let port = free_port();
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let words = "--as iperf2 --bidir -P 3 -n 9000 -l 1000 -b 1G --json";
    let mut command = caudal(["udp", "127.0.0.1", "-p", &port.to_string()]);
    let client = Running::start(command.args(words.split(' ')));
    assert_eq!(open_flows(&socket), 3, "flows");
    let ended = client.wait(SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let received = ended.json()["flows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|flow| flow["direction"] == "down")
        .filter_map(|flow| flow["receiver"]["bytes"].as_u64())
        .sum::<u64>();
    assert_eq!(received, 3 * 3 * LENGTH as u64);
}

/// The times at which the first and the last datagram of each flow left, s, of all that arrive.
fn departures(socket: &UdpSocket) -> BTreeMap<SocketAddr, (f64, f64)> {
    let mut buffer = vec![0; 64 << 10];
    let mut flows: BTreeMap<SocketAddr, (f64, f64)> = BTreeMap::new();
    socket.set_read_timeout(Some(QUIET)).unwrap();
    while let Ok((_, peer)) = socket.recv_from(&mut buffer) {
        let word = |at: usize| u32::from_be_bytes(buffer[at..at + 4].try_into().unwrap());
        // Neither the one that opens the flow nor those that announce its end.
        if (word(0) as i32) > 0 {
            let at = f64::from(word(4)) + f64::from(word(8)) / 1e6;
            flows.entry(peer).or_insert((at, at)).1 = at;
        }
    }
    flows
}

fn flows_of_an_upload_begin_one_after_another_and_last_equally_long() {
    let port = free_port();
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let words = "iperf -c 127.0.0.1 -u -P 4 -t 0.5 -b 5m";
    let mut command = caudal(words.split(' '));
    let client = Running::start(command.args(["-p", &port.to_string()]));
    let flows = departures(&socket);
    assert_eq!(flows.len(), 4, "{flows:?}");
    let mut first: Vec<f64> = flows.values().map(|(first, _)| *first).collect();
    first.sort_by(f64::total_cmp);
    // 10 ms between two of them; one datagram that is read late here makes one distance shorter.
    assert!(first[3] - first[0] > 0.024, "{first:?}");
    for (first, last) in flows.values() {
        assert!((last - first - 0.5).abs() < 0.1, "{flows:?}");
    }
    // Nobody has reported.
    let ended = client.wait(SOON);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(
        ended.stderr.contains("did not report what it received"),
        "{ended:#?}"
    );
}

fn the_datagram_that_opens_a_flow_is_not_counted() {
    let port = free_port();
    let mut command = caudal([
        "iperf",
        "-s",
        "-u",
        "-p",
        &port.to_string(),
        "-B",
        "127.0.0.1",
    ]);
    let server = Running::start(&mut command);
    server.line_with("listening");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    // The header of a plain test of 2.1.
    let mut header = [0; 60];
    for (at, word) in [
        (0, 0x4801_0098_u32),
        (4, 1),
        (20, 0xffff_ff9c),
        (36, 0x0002_0001),
        (40, 0x0008_0003),
    ] {
        header[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
    socket.send(&datagram(0, &header)[..LENGTH / 2]).unwrap();
    for number in [1, 2, 3, -4] {
        socket.send(&datagram(number, &header)).unwrap();
    }
    let mut report = vec![0; 64 << 10];
    let length = socket.recv(&mut report).unwrap();
    assert!(length >= MIN_REPORT, "{length} bytes of report");
    let word = |at: usize| u32::from_be_bytes(report[at..at + 4].try_into().unwrap());
    let (bytes, lost, out_of_order, datagrams) = (word(24), word(36), word(40), word(44));
    let expected = (4 * LENGTH as u32, 0, 0, 4);
    assert_eq!((bytes, lost, out_of_order, datagrams), expected);
}
