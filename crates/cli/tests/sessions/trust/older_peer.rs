//! A peer of the first version of the protocol, which has no choice of pacing.

use super::relay::{MessageRelay, Way, replace};
use crate::support::{SOON, Serve, caudal, run};
use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;

trials! {
    a_peer_without_a_choice_of_pacing_paces_precisely,
}

/// Passes datagrams between the clients of a port and a server's port.
fn relay_datagrams(port: u16, server: u16) {
    let clients = Arc::new(UdpSocket::bind(("127.0.0.1", port)).unwrap());
    thread::spawn(move || {
        let mut flows = HashMap::new();
        let mut datagram = [0; 65_536];
        while let Ok((length, client)) = clients.recv_from(&mut datagram) {
            let flow: &mut UdpSocket = flows.entry(client).or_insert_with(|| {
                let flow = UdpSocket::bind("127.0.0.1:0").unwrap();
                flow.connect(("127.0.0.1", server)).unwrap();
                let (back, clients) = (flow.try_clone().unwrap(), Arc::clone(&clients));
                thread::spawn(move || {
                    let mut datagram = [0; 65_536];
                    while let Ok(length) = back.recv(&mut datagram) {
                        let _ = clients.send_to(&datagram[..length], client);
                    }
                });
                flow
            });
            let _ = flow.send(&datagram[..length]);
        }
    });
}

fn a_peer_without_a_choice_of_pacing_paces_precisely() {
    let server = Serve::start("-B 127.0.0.1");
    // Neither end finds the key in what the other one says: it is unknown to both.
    let relay = MessageRelay::start(server.port, |_: Way, message| {
        replace(
            message,
            "\"pacing\":\"balanced\"",
            "\"unsaid\":\"balanced\"",
        );
        replace(message, "\"pacing\":\"precise\"", "\"unsaid\":\"precise\"");
    });
    relay_datagrams(relay.port, server.port);
    let mut command = caudal(["udp", "127.0.0.1", "-p", &relay.port.to_string()]);
    command.args("-n 100K -b 5M -l 1000 --bidir --json".split_whitespace());
    let run = run(&mut command, SOON).json();
    assert_eq!(run["plan"]["pacing"], "balanced", "{run}");
    for (direction, pacing) in [("up", Some("balanced")), ("down", None)] {
        let flow = run["flows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|flow| flow["direction"] == direction)
            .unwrap();
        let sender = &flow["sender"];
        assert_eq!(sender["datagrams"], 100, "{flow}");
        // The server's report of its own pacing is as unknown.
        assert_eq!(sender["spacing"]["pacing"].as_str(), pacing, "{flow}");
    }
}
