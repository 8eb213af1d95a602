//! Sequence diagrams and graphs.

use super::{OFFLOADED, SMALL, assert_width, capture, folder, pcap, piped};
use crate::support::{SOON, caudal, run};

/// Figure 16 of the study: number, time, way, sequence number and acknowledgement of each frame.
pub fn ladder() {
    let text = pcap(SMALL, "--ladder").done().stdout;
    assert_width(&text);
    let expected = [
        ("1", "0.000000", '>', "SYN seq 0 "),
        ("2", "0.000827", '<', "SYN, ACK seq 0 ack 1 "),
        ("3", "0.000901", '>', "ACK seq 1 ack 1 "),
        ("4", "0.002361", '>', "ACK seq 1 ack 1 len 1448 "),
        ("5", "0.002408", '>', "PSH, ACK seq 1449 ack 1 len 600 "),
        ("6", "0.002573", '<', "ACK seq 1 ack 1449 "),
        ("7", "0.002604", '<', "ACK seq 1 ack 2049 "),
        ("8", "0.006106", '>', "FIN, ACK seq 2049 ack 1 "),
        ("9", "0.007594", '<', "FIN, ACK seq 1 ack 2050 "),
        ("10", "0.007627", '>', "ACK seq 2050 ack 2 "),
    ];
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("flow 1, the only one: TCP"), "{text}");
    let frames = lines.iter().filter(|line| line.contains(" seq "));
    let frames: Vec<&&str> = frames.collect();
    assert_eq!(frames.len(), expected.len(), "{text}");
    for (line, (number, time, way, words)) in frames.iter().zip(expected) {
        let mut start = line.split_whitespace();
        assert_eq!(start.next(), Some(number), "{line}");
        assert_eq!(start.next(), Some(time), "{line}");
        assert!(line.contains(way) && line.contains(words), "{line}");
    }
}

/// A diagram that begins in the middle has the numbers that it has as a whole.
pub fn ladder_from_frame() {
    let whole = pcap(SMALL, "--ladder").done().stdout;
    let part = pcap(SMALL, "--ladder --from-frame 8").done().stdout;
    let frames = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(" seq "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(frames(&part), frames(&whole)[7..]);
}

pub fn ladder_svg() {
    let file = folder("ladder").join("ladder.svg");
    let mut command = caudal(["pcap", "--ladder", "-o"]);
    command.arg(&file).arg(capture(SMALL));
    let said = run(&mut command, SOON).done().stdout;
    assert!(said.contains("flow 1, the only one"), "{said}");
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("PSH, ACK seq 1449 ack 1 len 600"), "{svg}");
}

pub fn graphs() {
    for kind in ["time-sequence", "throughput", "rtt", "inflight", "window"] {
        let words = format!("--flow 1 --graph {kind}");
        let svg = pcap(OFFLOADED, &words).done().stdout;
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("flow 1: TCP"), "{kind}");
    }
}

/// What comes through a pipe is read once: the flow has to be named when it is not the first.
pub fn largest() {
    let document = pcap(OFFLOADED, "--json").done().json();
    let number = document["flows"][0]["number"].as_u64().unwrap();
    let text = pcap(OFFLOADED, "--ladder").done().stdout;
    let expected = format!("flow {number}, the largest of 2: TCP");
    assert!(text.starts_with(&expected), "{text}");
    let bytes = std::fs::read(capture(OFFLOADED)).unwrap();
    let ended = piped(&bytes, &["-", "--ladder"]);
    if number == 1 {
        ended.done();
    } else {
        ended.failed(2, &["read once", &format!("--flow {number}")]);
    }
    let flow = number.to_string();
    let named = piped(&bytes, &["-", "--ladder", "--flow", &flow]).done();
    assert!(named.stdout.starts_with(&format!("flow {number}: TCP")));
}
