//! The account in the JSON of one end of an iperf3 test.

use super::account::{Account, End, Figures};
use super::case::{Case, DATAGRAM, Directions, Transport};
use serde_json::Value;

fn count(value: &Value) -> u64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number")) as u64
}

/// Reads a report. Until 3.11 a UDP receiver counts datagrams and not bytes.
pub fn read(text: &str, end: End, case: &Case) -> Account {
    let report: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(report.get("error").is_none(), "{report}");
    let mut account = Account::default();
    for stream in report["end"]["streams"].as_array().unwrap() {
        let part = match case.transport {
            Transport::Tcp => &stream["sender"],
            Transport::Udp => &stream["udp"],
        };
        let sends = match (case.directions, end) {
            (Directions::Up, End::Client) | (Directions::Down, End::Server) => true,
            (Directions::Up, End::Server) | (Directions::Down, End::Client) => false,
            _ => part["sender"].as_bool().unwrap(),
        };
        // A server's report has of the client only what it needs itself.
        let knows_sender = sends || end == End::Client;
        let knows_receiver = !sends || end == End::Client;
        let figures = match case.transport {
            Transport::Tcp => Figures {
                sent: knows_sender.then(|| count(&part["bytes"])),
                received: knows_receiver.then(|| count(&stream["receiver"]["bytes"])),
                lost: None,
            },
            Transport::Udp => {
                let lost = count(&part["lost_packets"]);
                let arrived = count(&part["packets"]).checked_sub(lost);
                let arrived = arrived.unwrap_or_else(|| panic!("more lost than sent: {stream}"));
                Figures {
                    sent: sends.then(|| count(&part["bytes"])),
                    received: knows_receiver.then_some(arrived * DATAGRAM),
                    lost: knows_receiver.then_some(lost),
                }
            }
        };
        let is_up = sends == (end == End::Client);
        let direction = if is_up {
            &mut account.up
        } else {
            &mut account.down
        };
        direction.add(figures);
        account.flows += 1;
    }
    account
}
