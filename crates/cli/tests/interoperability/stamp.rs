//! STAMP with the layers of Scapy at the other end, which another project has made from the RFCs.

use crate::support::port::free_port;
use crate::support::{Running, SOON, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::process::Command;

/// The program that makes and reads packets.
const SCAPY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/interoperability/scapy_stamp.py"
);

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_reflector_of_scapy_is_measured",
            uninstalled("scapy3"),
            a_reflector,
        ),
        trial(
            "a_sender_of_scapy_reads_what_is_reflected",
            uninstalled("scapy3"),
            a_sender,
        ),
    ]
}

/// That of Debian's Python, which has the package.
fn scapy(words: &[&str]) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(SCAPY).args(words);
    command
}

fn a_reflector() {
    // One packet goes before the test.
    let reflector = Running::start(&mut scapy(&["reflect", "31"]));
    let port = reflector.line_with("");
    let test = [
        "stamp",
        "127.0.0.1",
        "-p",
        port.trim(),
        "--count",
        "30",
        "--every",
        "20ms",
        "--json",
    ];
    let run: Value = run(&mut caudal(test), SOON).done().json();
    reflector.wait(SOON).done();
    let stamp = &run["stamp"];
    assert_eq!(
        (&stamp["up"]["lost"], &stamp["down"]["lost"]),
        (&0.into(), &0.into()),
        "{stamp}"
    );
    assert_eq!(stamp["packets"]["rtt_us"]["n"], 30, "{stamp}");
    assert_eq!(stamp["discarded"], 0, "{stamp}");
    // Scapy answers extensions as they came: nothing of them is honoured.
    assert_eq!(
        stamp["extensions"],
        json!([{"extension": "direct_measurement", "is_answered": false}])
    );
    // 5 · 2⁻³² · 2²⁰ s.
    let clock = &stamp["reflector"]["clock"];
    assert_eq!(clock["is_synchronized"], true, "{stamp}");
    let error_us = clock["error_us"].as_f64().unwrap();
    assert!((error_us - 1220.7).abs() < 1.0, "{clock}");
    assert_eq!(stamp["hops_up"], 5, "{stamp}");
    let kept_us = stamp["reflector"]["kept_us"]["p50"].as_f64().unwrap();
    assert!(kept_us > 10.0, "Python is not that fast: {kept_us}");
    let rtt_us = stamp["packets"]["rtt_us"]["p50"].as_f64().unwrap();
    assert!(rtt_us < 50_000.0, "{rtt_us}");
}

fn a_sender() {
    let (port, stamp) = (free_port().to_string(), free_port().to_string());
    let server = Running::start(&mut caudal(["serve", "-p", &port, "--stamp", &stamp]));
    server.line_with("STAMP on UDP ");
    let replies: Value = run(&mut scapy(&["send", &stamp, "4"]), SOON).done().json();
    let replies = replies.as_array().unwrap();
    assert_eq!(replies.len(), 4);
    for (nth, reply) in replies.iter().enumerate() {
        let sent = [0, 1, 3, 4][nth];
        let lengths = reply["length"].as_array().unwrap();
        assert_eq!(
            (&reply["seq"], &reply["seq_sender"], &reply["ssid"]),
            (&nth.into(), &sent.into(), &321.into()),
            "{reply}"
        );
        assert_eq!(lengths[0], lengths[1], "{reply}");
        assert_eq!(
            (&reply["echoes_time"], &reply["ttl"]),
            (&true.into(), &64.into()),
            "{reply}"
        );
        let seconds = |key: &str| reply[key].as_f64().unwrap();
        assert!((-5.0..=0.001).contains(&seconds("late_s")), "{reply}");
        assert!((0.0..5.0).contains(&seconds("kept_s")), "{reply}");
        // The counts of both ends, and a type that nobody knows.
        let counts = format!("{:08x}{:08x}{:08x}", nth + 1, nth + 1, nth + 1);
        assert_eq!(
            reply["tlvs"],
            json!([[0, 5, counts], [0x80, 200, "6162"]]),
            "{reply}"
        );
    }
}
