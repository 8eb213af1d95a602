//! Plays the client of a recorded iperf3 dialogue against our server.

use super::iperf3_results::{assert_has_keys_of, filled_in};
use super::traffic::{
    DatagramLayout, Leftover, Transfer, receive, receive_datagrams, send, send_datagrams,
};
use super::transcript::{Dialogue, End, Step};
use crate::support::{SOON, Serve};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

const TEST_END: u8 = 4;
/// Between datagrams: what a loopback takes without loss.
const GAP: Duration = Duration::from_micros(200);

enum Flow {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// A direction of a flow, and whether the client sends in it.
struct Running {
    transfer: Transfer,
    sends: bool,
}

struct Player<'a> {
    dialogue: &'a Dialogue,
    port: u16,
    control: Option<TcpStream>,
    cookie: Vec<u8>,
    flows: BTreeMap<usize, Flow>,
    running: BTreeMap<usize, Running>,
    /// Bytes and datagrams of each flow, and whether the client has sent them.
    counted: Vec<(u64, Option<u64>)>,
    sends: Vec<bool>,
}

/// Plays it; the server has to say what was recorded and count what was sent.
pub fn play(dialogue: &Dialogue) {
    let server = Serve::start("");
    let mut player = Player {
        dialogue,
        port: server.port,
        control: None,
        cookie: Vec::new(),
        flows: BTreeMap::new(),
        running: BTreeMap::new(),
        counted: Vec::new(),
        sends: Vec::new(),
    };
    for (end, step) in &dialogue.steps {
        match end {
            End::Client => player.says(step),
            End::Server => player.hears(step),
        }
    }
    let mut control = player.control.take().unwrap();
    control.shutdown(Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    control.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"", "the server ends the connection");
}

impl Player<'_> {
    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(&self.cookie).unwrap();
        stream
    }

    fn control(&mut self) -> &mut TcpStream {
        self.control.as_mut().unwrap()
    }

    fn send_json(&mut self, text: &str) {
        let length = (text.len() as u32).to_be_bytes();
        self.control().write_all(&length).unwrap();
        self.control().write_all(text.as_bytes()).unwrap();
    }

    fn says(&mut self, step: &Step) {
        match step {
            Step::Cookie(text) => {
                self.cookie = [text.as_bytes(), &[0]].concat();
                assert_eq!(self.cookie.len(), 37);
                self.control = Some(self.connect());
            }
            Step::Parameters(text) => self.send_json(text),
            Step::State(state) => {
                if *state == TEST_END {
                    self.end_transfers();
                }
                self.control().write_all(&[*state]).unwrap();
            }
            Step::Results(recorded) => {
                let own = filled_in(recorded, &self.counted);
                self.send_json(&own);
            }
            Step::Open { flow } => {
                let stream = self.connect();
                self.flows.insert(*flow, Flow::Tcp(stream));
            }
            Step::Hello { flow, datagram } => {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.connect(("127.0.0.1", self.port)).unwrap();
                socket.set_read_timeout(Some(SOON)).unwrap();
                socket.send(datagram).unwrap();
                self.flows.insert(*flow, Flow::Udp(socket));
            }
            Step::Data { flow, bytes } => {
                let stream = self.stream(*flow);
                self.start(*flow, send(stream, Vec::new(), Some(*bytes), None), true);
            }
            Step::Datagrams {
                flow,
                count,
                length,
                ..
            } => {
                let layout = DatagramLayout {
                    number_at: 8,
                    first: 1,
                    length: *length,
                };
                let sending =
                    send_datagrams(self.socket(*flow), layout, Vec::new(), Some(*count), GAP);
                self.start(*flow, sending, true);
            }
            Step::Stream { .. } => panic!("no step of iperf3: {step:?}"),
        }
    }

    fn hears(&mut self, step: &Step) {
        match step {
            Step::State(state) => {
                let mut byte = [0];
                self.control().read_exact(&mut byte).unwrap();
                assert_eq!(byte[0], *state, "the server's state");
            }
            Step::Results(recorded) => {
                let mut length = [0; 4];
                self.control().read_exact(&mut length).unwrap();
                let mut text = vec![0; u32::from_be_bytes(length) as usize];
                self.control().read_exact(&mut text).unwrap();
                let results: Value = serde_json::from_slice(&text).unwrap();
                assert_has_keys_of(&results, recorded);
                self.judge(&results);
            }
            Step::Hello { flow, datagram } => {
                let mut answer = [0; 16];
                let length = self.socket(*flow).recv(&mut answer).unwrap();
                assert_eq!(answer[..length], datagram[..]);
            }
            Step::Data { flow, bytes } => {
                let amount = self.awaited(*bytes);
                self.start(
                    *flow,
                    receive(self.stream(*flow), amount, None, Leftover::Leave),
                    false,
                );
            }
            Step::Datagrams {
                flow,
                count,
                length,
                ..
            } => {
                let amount = self.awaited(*count);
                let receiving = receive_datagrams(self.socket(*flow), *length, amount);
                self.start(*flow, receiving, false);
            }
            _ => panic!("no step of iperf3's server: {step:?}"),
        }
    }

    fn stream(&self, flow: usize) -> TcpStream {
        match &self.flows[&flow] {
            Flow::Tcp(stream) => stream.try_clone().unwrap(),
            Flow::Udp(_) => panic!("flow {flow} has datagrams"),
        }
    }

    fn socket(&self, flow: usize) -> UdpSocket {
        match &self.flows[&flow] {
            Flow::Udp(socket) => socket.try_clone().unwrap(),
            Flow::Tcp(_) => panic!("flow {flow} has no datagrams"),
        }
    }

    fn start(&mut self, flow: usize, transfer: Transfer, sends: bool) {
        self.running.insert(flow, Running { transfer, sends });
    }

    /// How much the client waits for: what was recorded, or what comes in the time that it asks for.
    fn awaited(&self, recorded: u64) -> Option<u64> {
        (!self.dialogue.has("-t")).then_some(recorded)
    }

    /// Waits for the end of all transfers: the client has what it asked for.
    fn end_transfers(&mut self) {
        if self.dialogue.has("-t") && self.running.values().any(|running| !running.sends) {
            thread::sleep(Duration::from_secs(1));
        }
        for running in self.running.values() {
            running.transfer.stop();
        }
        for (_, running) in std::mem::take(&mut self.running) {
            let count = running.transfer.counted();
            self.counted.push(if self.dialogue.is_udp() {
                (count * 1000, Some(count))
            } else {
                (count, None)
            });
            self.sends.push(running.sends);
        }
    }

    /// What the server has counted is what the client has.
    fn judge(&self, results: &Value) {
        let streams = results["streams"].as_array().unwrap();
        for ((stream, (bytes, datagrams)), sends) in
            streams.iter().zip(&self.counted).zip(&self.sends)
        {
            let told = stream["bytes"].as_f64().unwrap() as u64;
            if *sends {
                assert_eq!(told, *bytes, "{results}");
            } else {
                assert!(told >= *bytes, "{results}");
            }
            if let (Some(datagrams), true) = (datagrams, *sends) {
                assert_eq!(
                    stream["packets"].as_f64(),
                    Some(*datagrams as f64),
                    "{results}"
                );
                assert_eq!(stream["errors"].as_f64(), Some(0.0), "{results}");
            }
        }
    }
}
