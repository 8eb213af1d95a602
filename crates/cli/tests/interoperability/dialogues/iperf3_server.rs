//! Plays the server of a recorded iperf3 dialogue against our client.

use super::iperf3_results::{assert_has_keys_of, filled_in};
use super::traffic::{Leftover, Transfer, receive, send};
use super::transcript::{Dialogue, End, Step};
use super::udp_server::UdpServer;
use crate::support::port::free_port;
use crate::support::{Running, SOON, caudal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const TEST_END: u8 = 4;

struct Player<'a> {
    dialogue: &'a Dialogue,
    listener: TcpListener,
    udp: UdpServer,
    control: Option<TcpStream>,
    cookie: Vec<u8>,
    parameters: Value,
    flows: BTreeMap<usize, TcpStream>,
    transfers: BTreeMap<usize, (Transfer, End)>,
    /// Bytes and datagrams of each flow, and who has sent them.
    counted: Vec<(u64, Option<u64>)>,
    senders: Vec<End>,
}

/// Plays it; our client has to say what was recorded, and show what was counted here.
pub fn play(dialogue: &Dialogue) {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", &port.to_string(), "-J"]);
    command.args(dialogue.words.split(' '));
    let mut player = Player {
        dialogue,
        udp: UdpServer::bind(port),
        listener,
        control: None,
        cookie: Vec::new(),
        parameters: Value::Null,
        flows: BTreeMap::new(),
        transfers: BTreeMap::new(),
        counted: Vec::new(),
        senders: Vec::new(),
    };
    let client = Running::start(&mut command);
    for (end, step) in &dialogue.steps {
        match end {
            End::Client => player.hears(step),
            End::Server => player.says(step),
        }
    }
    drop(player.control.take());
    let ended = client.wait(SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let report = ended.json();
    assert!(report.get("error").is_none(), "{report}");
    player.judge(&report["end"]);
}

impl Player<'_> {
    fn accept(&self) -> TcpStream {
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    fn read_cookie(stream: &mut TcpStream) -> Vec<u8> {
        let mut cookie = vec![0; 37];
        stream.read_exact(&mut cookie).unwrap();
        cookie
    }

    fn control(&mut self) -> &mut TcpStream {
        self.control.as_mut().unwrap()
    }

    fn read_json(&mut self) -> Value {
        let mut length = [0; 4];
        self.control().read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.control().read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn says(&mut self, step: &Step) {
        match step {
            Step::State(state) => self.control().write_all(&[*state]).unwrap(),
            Step::Results(recorded) => {
                let text = filled_in(recorded, &self.counted);
                let length = (text.len() as u32).to_be_bytes();
                self.control().write_all(&length).unwrap();
                self.control().write_all(text.as_bytes()).unwrap();
            }
            Step::Hello { flow, datagram } => self.udp.answer(*flow, datagram),
            // It sends until the client says that it has enough.
            Step::Data { flow, .. } => {
                let stream = self.flows[flow].try_clone().unwrap();
                let rate = self.parameters["bandwidth"].as_u64();
                let sending = send(stream, Vec::new(), None, rate.filter(|rate| *rate > 0));
                self.transfers.insert(*flow, (sending, End::Server));
            }
            Step::Datagrams { flow, length, .. } => {
                let rate = self.parameters["bandwidth"].as_u64().unwrap();
                self.udp.send(*flow, *length, rate);
            }
            _ => panic!("no step of iperf3's server: {step:?}"),
        }
    }

    fn hears(&mut self, step: &Step) {
        match step {
            Step::Cookie(_) => {
                let mut control = self.accept();
                self.cookie = Self::read_cookie(&mut control);
                self.control = Some(control);
            }
            Step::Parameters(recorded) => {
                self.parameters = self.read_json();
                assert_asks_the_same(&self.parameters, recorded);
            }
            Step::State(state) => {
                let mut byte = [0];
                self.control().read_exact(&mut byte).unwrap();
                assert_eq!(byte[0], *state, "the client's state");
                if *state == TEST_END {
                    self.end_transfers();
                }
            }
            Step::Results(recorded) => {
                let results = self.read_json();
                assert_has_keys_of(&results, recorded);
            }
            Step::Open { flow } => {
                let mut stream = self.accept();
                assert_eq!(Self::read_cookie(&mut stream), self.cookie);
                self.flows.insert(*flow, stream);
            }
            Step::Hello { flow, .. } => self.udp.await_hello(*flow),
            Step::Data { flow, .. } => {
                let stream = self.flows[flow].try_clone().unwrap();
                // From 3.16 on the server reads whole blocks, and what is less does not count.
                let whole = (self.dialogue.version_numbers() >= vec![3, 16])
                    .then(|| self.parameters["len"].as_u64().unwrap());
                self.transfers.insert(
                    *flow,
                    (receive(stream, None, whole, Leftover::Read), End::Client),
                );
            }
            Step::Datagrams { flow, length, .. } => self.udp.receive(*flow, *length),
            Step::Stream { .. } => panic!("no step of iperf3: {step:?}"),
        }
    }

    fn end_transfers(&mut self) {
        if self.dialogue.is_udp() {
            for (datagrams, sender) in self.udp.end() {
                self.counted.push((datagrams * 1000, Some(datagrams)));
                self.senders.push(sender);
            }
            return;
        }
        for (transfer, _) in self.transfers.values() {
            transfer.stop();
        }
        for (_, (transfer, sender)) in std::mem::take(&mut self.transfers) {
            self.counted.push((transfer.counted(), None));
            self.senders.push(sender);
        }
    }

    /// What the client shows is what was counted here.
    fn judge(&self, end: &Value) {
        let streams = end["streams"].as_array().unwrap();
        assert_eq!(streams.len(), self.counted.len(), "{end}");
        assert!(self.counted.iter().any(|(bytes, _)| *bytes > 0), "{end}");
        for ((stream, (bytes, datagrams)), sender) in
            streams.iter().zip(&self.counted).zip(&self.senders)
        {
            let context = format!("{bytes} bytes were counted: {stream}");
            if let Some(datagrams) = datagrams {
                let udp = &stream["udp"];
                let lost = udp["lost_packets"].as_u64().unwrap();
                if *sender == End::Client {
                    assert_eq!(
                        (udp["packets"].as_u64(), lost),
                        (Some(*datagrams), 0),
                        "{context}"
                    );
                    assert_eq!(udp["bytes"].as_u64(), Some(*bytes), "{context}");
                } else {
                    let seen = udp["packets"].as_u64().unwrap();
                    assert!(seen > 0 && seen <= *datagrams && lost <= seen, "{context}");
                }
                continue;
            }
            let sent = stream["sender"]["bytes"].as_u64();
            let received = stream["receiver"]["bytes"].as_u64();
            if *sender == End::Client {
                assert_eq!((sent, received), (Some(*bytes), Some(*bytes)), "{context}");
            } else {
                assert!(received <= Some(*bytes), "{context}");
            }
        }
    }
}

/// Fails unless our client asks for what the recorded one has asked for.
fn assert_asks_the_same(ours: &Value, recorded: &str) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    for key in [
        "tcp",
        "udp",
        "reverse",
        "bidirectional",
        "time",
        "num",
        "blockcount",
        "parallel",
        "len",
        "bandwidth",
    ] {
        // What is zero is not asked for, and is left out by some versions.
        let asked = |parameters: &Value| parameters.get(key).cloned().filter(|value| *value != 0);
        assert_eq!(asked(ours), asked(&recorded), "{key}: {ours}");
    }
}
