//! Offloads and translated addresses between two points of capture.

use super::flow_agreement::agree;
use super::routed_network::{ROUTED_SERVER, RoutedNetwork};
use super::tcpdump::TcpdumpCapture;
use crate::support::network::{Network, inside};
use crate::support::place::Place;
use crate::support::{SOON, caudal, run};
use serde_json::Value;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const ATTEMPTS: usize = 4;

/// A transfer captured at the client and at the server.
struct RoutedCapture {
    // Holds the files.
    _place: Place,
    files: [PathBuf; 2],
    /// TCP segments that the server's kernel received.
    received_segments: u64,
}

/// Captures a transfer through a router; again, when the kernel dropped frames of a capture.
fn transfer(prepare: impl Fn(&RoutedNetwork)) -> RoutedCapture {
    for _ in 0..ATTEMPTS {
        let network = RoutedNetwork::build();
        prepare(&network);
        let place = Place::new();
        let _server = network.serve();
        let ends = [("client", &network.client), ("server", &network.server)];
        let captures = ends.map(|(name, space)| {
            let file = place.at(&format!("{name}.pcap"));
            TcpdumpCapture::start(inside(space, "tcpdump"), "v0", 128, file)
        });
        let segments = || Network::snmp(&network.server, "Tcp", "InSegs");
        let before = segments();
        network.run_client(&format!(
            "tcp {ROUTED_SERVER} -n 800K -b 20M -l 40000 -C cubic"
        ));
        thread::sleep(Duration::from_millis(500));
        let received_segments = segments() - before;
        let files = [0, 1].map(|at| captures[at].file.clone());
        if captures.map(TcpdumpCapture::end) == [true; 2] {
            return RoutedCapture {
                _place: place,
                files,
                received_segments,
            };
        }
    }
    panic!("tcpdump lost frames {ATTEMPTS} times");
}

fn flows_of(file: &PathBuf) -> Vec<Value> {
    let mut command = caudal(["pcap", "--json"]);
    let document = run(command.arg(file), SOON).done().json();
    document["flows"].as_array().unwrap().clone()
}

/// The sum of a count of `segmentation` over the TCP flows of a capture.
fn segmentation(file: &PathBuf, way: &str, key: &str) -> u64 {
    let of = |flow: &Value| flow["tcp"][way]["segmentation"][key].as_u64();
    flows_of(file).iter().filter_map(of).sum()
}

pub fn super_packets() {
    let captured = transfer(|_| {});
    let [client, server] = &captured.files;
    for file in [client, server] {
        let seen = agree(file);
        assert!(seen.round_trips > 0, "{seen:?}");
    }
    let joined = segmentation(client, "to_server", "super_packets");
    assert!(joined > 0, "nothing was joined at the client");
    assert_eq!(segmentation(server, "to_server", "super_packets"), 0);
    // What is computed of super-packets is what the other end captured, and what its kernel counted.
    for key in ["wire_frames", "wire_segments", "wire_bytes"] {
        let [sent, arrived] = [client, server].map(|file| segmentation(file, "to_server", key));
        assert_eq!(sent, arrived, "{key}");
    }
    assert_eq!(
        segmentation(client, "to_server", "wire_frames"),
        captured.received_segments
    );
    let ends = compared(&captured, &[]);
    assert_eq!(ends["there"]["lost"], 0, "{ends:#}");
    assert_eq!(ends["there"]["duplicated"], 0, "{ends:#}");
    assert_eq!(ends["there"]["unsent"], 0, "{ends:#}");
}

fn compared(captured: &RoutedCapture, words: &[&str]) -> Value {
    let mut command = caudal(["pcap", "--json"]);
    command.arg("--sender").arg(&captured.files[0]);
    command.arg("--receiver").arg(&captured.files[1]);
    run(command.args(words), SOON).done().json()
}

pub fn translated() {
    let captured = transfer(RoutedNetwork::masquerade);
    // The server's port is the same at both ends, the client's address is not.
    let ends = compared(&captured, &["--filter", "port 5201"]);
    let (there, back) = (&ends["there"], &ends["back"]);
    for way in [there, back] {
        for key in ["lost", "duplicated", "unsent"] {
            assert_eq!(way[key], 0, "{ends:#}");
        }
    }
    let largest = &flows_of(&captured.files[0])[0];
    assert_eq!(
        there["sent"],
        largest["tcp"]["to_server"]["segmentation"]["wire_frames"]
    );
    let changes = ends["changes"].as_array().unwrap();
    let change = changes
        .iter()
        .find(|change| change["kind"] == "addresses")
        .unwrap();
    let (sent, arrived) = (
        change["sent"].as_str().unwrap(),
        change["arrived"].as_str().unwrap(),
    );
    assert!(sent.starts_with("10.78.1.2:"), "{change}");
    assert!(arrived.starts_with("10.78.2.1:"), "{change}");
}
