//! The ports that `caudal serve` opens, and the lines of its log.

use crate::support::port::free_port;
use crate::support::{Running, SOON, Serve, caudal, run};
use caudal_core::date::parse_utc;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

trials! {
    a_server_opens_one_port_and_others_when_asked,
    flags_of_iperf_2_need_its_server,
    a_line_has_the_time_the_client_the_test_the_rate_and_the_result,
    the_json_log_has_the_same_and_the_reason_of_a_refusal,
}

/// The ports on which a process listens over TCP.
fn listening_ports(pid: u32) -> Vec<u16> {
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|link| {
            let link = link.to_string_lossy().into_owned();
            link.strip_prefix("socket:[")
                .map(|inode| inode.trim_end_matches(']').to_owned())
        })
        .collect();
    let mut ports = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = Path::new("/proc")
            .join(pid.to_string())
            .join("net")
            .join(table);
        for line in fs::read_to_string(table).unwrap().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // 0A is LISTEN (include/net/tcp_states.h).
            if words[3] == "0A" && sockets.iter().any(|inode| inode == words[9]) {
                let (_, port) = words[1].rsplit_once(':').unwrap();
                ports.push(u16::from_str_radix(port, 16).unwrap());
            }
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The line without its time, which is checked.
#[track_caller]
fn without_time(line: &str) -> &str {
    let (time, rest) = line.split_once(' ').unwrap();
    let (seconds, fraction) = time.split_once('.').unwrap();
    assert!(parse_utc(seconds).is_some(), "{line}");
    assert!(fraction.len() == 4 && fraction.ends_with('Z'), "{line}");
    rest
}

fn a_server_opens_one_port_and_others_when_asked() {
    let alone = Serve::start("");
    assert_eq!(listening_ports(alone.running.pid()), [alone.port]);
    let (iperf2, nttcp) = (free_port(), free_port());
    let words = format!("--all --iperf2-port {iperf2} --nttcp-port {nttcp}");
    let all = Serve::start(&words);
    all.running.line_with("nttcp on port");
    let mut expected = [all.port, iperf2, nttcp];
    expected.sort_unstable();
    assert_eq!(listening_ports(all.running.pid()), expected);
    drop(all);
    let one = Serve::start(&format!("--all --no-iperf2 --nttcp-port {nttcp}"));
    one.running.line_with("nttcp");
    assert!(!one.running.said().contains("iperf 2"));
}

fn flags_of_iperf_2_need_its_server() {
    for flag in ["--iperf2-trust", "--iperf2-group"] {
        let value = if flag.ends_with("trust") {
            "192.0.2.0/24"
        } else {
            "239.1.2.3"
        };
        let mut command = caudal(["serve", "-p", "0", flag, value]);
        run(&mut command, SOON).failed(2, &[flag, "add --iperf2"]);
    }
}

fn a_line_has_the_time_the_client_the_test_the_rate_and_the_result() {
    let server = Serve::start("");
    server.serves("tcp -n 100K").done();
    let connected = server.running.line_with("client 1: ");
    let peer = without_time(&connected)
        .split(' ')
        .nth(2)
        .unwrap()
        .to_owned();
    assert!(peer.starts_with("127.0.0.1:"), "{connected}");
    let started = server.running.line_with("flow(s)");
    let started = without_time(&started).trim();
    assert_eq!(
        started,
        format!("client 1 {peer}: TCP upload, 1 flow(s), 100 kB")
    );
    let ended = server.running.line_with("done in");
    let ended = without_time(&ended).trim();
    let rest = ended
        .strip_prefix(&format!("{started}: done in "))
        .unwrap_or_else(|| panic!("{ended}"));
    let (seconds, rest) = rest.split_once(" s, ").unwrap();
    assert!(seconds.parse::<f64>().is_ok(), "{ended}");
    let rate = rest
        .strip_prefix("100 kB received at ")
        .unwrap_or_else(|| panic!("{ended}"));
    assert!(rate.ends_with("bit/s, 0 B sent; complete"), "{ended}");
    without_time(&server.running.line_with("left"));
}

fn the_json_log_has_the_same_and_the_reason_of_a_refusal() {
    let words = "serve -p 0 --json-log --max-time 100ms";
    let server = Running::start(&mut caudal(words.split(' ')));
    let line: Value = serde_json::from_str(&server.line_with("listening")).unwrap();
    let port = line["port"].as_u64().unwrap().to_string();
    let client = ["udp", "127.0.0.1", "-p", &port, "-b", "1M", "-t", "0.1"];
    run(&mut caudal(client), SOON).done();
    let ended: Value = serde_json::from_str(&server.line_with("\"finished\"")).unwrap();
    assert!(
        ended["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{ended}"
    );
    assert!(
        ended["what"].as_str().unwrap().starts_with("UDP upload"),
        "{ended}"
    );
    let (bytes, bps) = (
        ended["received_bytes"].as_f64(),
        ended["received_bps"].as_f64(),
    );
    let rate = bytes.unwrap() * 8.0 / ended["took_s"].as_f64().unwrap();
    assert!((bps.unwrap() - rate).abs() <= rate / 1e6 + 1.0, "{ended}");
    let datagrams = (&ended["received_datagrams"], &ended["lost_datagrams"]);
    assert!(
        datagrams.0.as_u64() > Some(0) && datagrams.1.as_u64() == Some(0),
        "{ended}"
    );
    let mut stranger = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stranger
        .write_all(b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n")
        .unwrap();
    let refused: Value = serde_json::from_str(&server.line_with("\"refused\"")).unwrap();
    assert_eq!(
        (&refused["reason"], &refused["protocol"]),
        (&"protocol".into(), &"caudal".into())
    );
}
