//! The goodput against a capture of another program's making.

use super::{flows, number};
use crate::support::Running;
use crate::support::network::{Network, inside};
use std::fs;
use std::thread;
use std::time::Duration;

/// The payload and the rate of datagrams in a capture of tcpdump are those that the run has.
pub fn shows_the_goodput() {
    let network = Network::build();
    let _server = network.serve("");
    let file = std::env::temp_dir().join(format!("caudal-test-{}.pcap", std::process::id()));
    let words = format!(
        "-i v0 -n -U --immediate-mode -s 64 -B 16384 -w {} udp port 5201",
        file.display()
    );
    let mut tcpdump = inside(&network.server, "tcpdump");
    // As who it was started: a file of another user's making could not be taken away.
    tcpdump.args(["-Z", "root"]).args(words.split_whitespace());
    let mut tcpdump = Running::start(&mut tcpdump);
    thread::sleep(Duration::from_millis(1500));
    assert!(!tcpdump.is_over(), "tcpdump ended early");
    let run = network
        .run_client("udp -t 3 -b 20M -l 1200 --pacing precise --json")
        .done()
        .json();
    thread::sleep(Duration::from_millis(500));
    tcpdump.signal("INT");
    let ended = tcpdump.wait(Duration::from_secs(10));
    assert!(
        ended.stderr.contains("0 packets dropped by kernel"),
        "{ended:?}"
    );
    let capture = fs::read(&file).unwrap();
    let _ = fs::remove_file(&file);
    let seen: Vec<(f64, u64)> = captured(&capture)
        .into_iter()
        .filter(|(_, payload)| *payload == 1200)
        .collect();
    let bytes: u64 = seen.iter().map(|(_, payload)| payload).sum();
    let flow = &flows(&run)[0];
    assert_eq!(
        number(&flow["receiver"]["bytes"]),
        bytes,
        "payload bytes in the capture"
    );
    let span = seen.last().unwrap().0 - seen[0].0;
    // From the first to the last datagram there is one gap less than there are datagrams.
    let rate = (bytes - 1200) as f64 * 8.0 / span;
    let said = run["summary"]["directions"][0]["goodput_bps"]["mean"]
        .as_f64()
        .unwrap();
    assert!(
        (said / rate - 1.0).abs() < 0.01,
        "{said} bit/s, and {rate} in the capture"
    );
    assert!(
        (rate / 20e6 - 1.0).abs() < 0.01,
        "{rate} bit/s in the capture"
    );
}

/// The time (s) and UDP payload (bytes) of each frame of a classic pcap file of Ethernet and IPv4.
fn captured(file: &[u8]) -> Vec<(f64, u64)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xA1B2_C3D4, "a pcap file with microseconds");
    let mut frames = Vec::new();
    let mut at = 24;
    while at + 16 <= file.len() {
        let (seconds, micros, kept) = (word(at), word(at + 4), word(at + 8) as usize);
        let frame = &file[at + 16..at + 16 + kept];
        let udp = 14 + usize::from(frame[14] & 15) * 4;
        let length = u64::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
        frames.push((f64::from(seconds) + f64::from(micros) / 1e6, length - 8));
        at += 16 + kept;
    }
    frames
}
