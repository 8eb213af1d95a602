//! Plays the client of a recorded iperf 2 dialogue against our server.

use super::iperf2_datagrams::{DatagramFlow, Sent, receive_flows, request_flow, send_flow};
use super::traffic::{Leftover, Transfer, receive, send};
use super::transcript::{Dialogue, End, Step};
use crate::support::port::free_port;
use crate::support::{Running, SOON, caudal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// The port at which the recorded clients let themselves be called back.
const RECORDED_BACK: u32 = 5400;
/// What may come before the payload of a connection, which not all versions count.
const MAX_HEADER: u64 = 128;

struct Player<'a> {
    dialogue: &'a Dialogue,
    port: u16,
    back: u16,
    listener: TcpListener,
    back_socket: UdpSocket,
    streams: BTreeMap<usize, TcpStream>,
    sockets: BTreeMap<usize, UdpSocket>,
    senders: Vec<(usize, Transfer)>,
    receivers: Vec<Transfer>,
    datagram_senders: Vec<thread::JoinHandle<Sent>>,
    datagram_receivers: Vec<thread::JoinHandle<u64>>,
    /// Payload bytes from the client, and to it.
    up: u64,
    down: u64,
}

/// Plays it; the server has to answer as was recorded and count what was sent.
pub fn play(dialogue: &Dialogue) {
    let (port, back) = (free_port(), free_port());
    let mut command = caudal(["serve", "--json-log"]);
    // The dialogues are those of clients that are trusted to receive datagrams.
    command.args(["--iperf2-trust", "127.0.0.0/8", "-B", "127.0.0.1"]);
    command.args(["-p", &free_port().to_string()]);
    command.args(["--iperf2-port", &port.to_string()]);
    let server = Running::start(&mut command);
    server.line_with("iperf 2 on port");
    let mut player = Player {
        dialogue,
        port,
        back,
        listener: TcpListener::bind(("127.0.0.1", back)).unwrap(),
        back_socket: UdpSocket::bind(("127.0.0.1", back)).unwrap(),
        streams: BTreeMap::new(),
        sockets: BTreeMap::new(),
        senders: Vec::new(),
        receivers: Vec::new(),
        datagram_senders: Vec::new(),
        datagram_receivers: Vec::new(),
        up: 0,
        down: 0,
    };
    player.receives_on_back_socket();
    for (end, step) in &dialogue.steps {
        match end {
            End::Client => player.says(step),
            End::Server => player.hears(step),
        }
    }
    player.finish();
    player.judge(&server);
}

impl Player<'_> {
    /// A recorded beginning, with our own port to be called back at.
    fn begin(&self, recorded: &[u8]) -> Vec<u8> {
        let mut begin = recorded.to_vec();
        for word in begin.chunks_exact_mut(4) {
            if word == RECORDED_BACK.to_be_bytes() {
                word.copy_from_slice(&u32::from(self.back).to_be_bytes());
            }
        }
        begin
    }

    fn says(&mut self, step: &Step) {
        match step {
            Step::Open { flow } => {
                let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
                self.streams.insert(*flow, stream);
            }
            Step::Stream { flow, bytes, begin } => {
                let stream = self.streams[flow].try_clone().unwrap();
                let begin = self.begin(begin);
                // What begins a download is no payload.
                if !self.dialogue.has("-R") {
                    self.up += bytes;
                }
                let sending = send(stream, begin, Some(*bytes), None);
                self.senders.push((*flow, sending));
            }
            Step::Datagrams { flow, count, .. } => {
                let is_report = *count == 1 && !self.sockets.contains_key(flow);
                if self.dialogue.has("-R") {
                    self.requests_datagrams(step);
                } else if !is_report {
                    self.sends_datagrams(step);
                }
            }
            _ => panic!("no step of iperf 2's client: {step:?}"),
        }
    }

    /// A flow of datagrams as recorded, on a socket of its own.
    fn datagram_flow(&mut self, step: &Step) -> DatagramFlow {
        let Step::Datagrams {
            flow,
            length,
            first,
            last,
            ..
        } = step
        else {
            panic!("no datagrams: {step:?}");
        };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        self.sockets.insert(*flow, socket.try_clone().unwrap());
        DatagramFlow {
            socket,
            length: *length,
            first: self.begin(first),
            last: self.begin(last),
        }
    }

    fn requests_datagrams(&mut self, step: &Step) {
        let flow = self.datagram_flow(step);
        request_flow(&flow);
    }

    /// Sends a flow, and holds the server's report against it where the recorded server sent one.
    fn sends_datagrams(&mut self, step: &Step) {
        let Step::Datagrams { flow, .. } = step else {
            return;
        };
        let answers: Vec<usize> = self
            .dialogue
            .steps
            .iter()
            .filter_map(|(end, step)| match step {
                Step::Datagrams {
                    flow: other,
                    count,
                    length,
                    ..
                } if *end == End::Server && other == flow && *count <= 2 => Some(*length),
                _ => None,
            })
            .collect();
        let sending = self.datagram_flow(step);
        let thread = thread::spawn(move || send_flow(&sending, &answers));
        self.datagram_senders.push(thread);
    }

    fn hears(&mut self, step: &Step) {
        match step {
            Step::Open { flow } => {
                if self.dialogue.has("-r") {
                    // The server connects back when this client has closed its direction.
                    self.finish_sending();
                }
                let (stream, _) = self.listener.accept().unwrap();
                self.streams.insert(*flow, stream);
            }
            Step::Stream { flow, bytes, begin } => {
                let mut stream = self.streams[flow].try_clone().unwrap();
                if *bytes == begin.len() as u64 {
                    // The answer to what the client's connection begins with.
                    let mut answer = vec![0; begin.len()];
                    stream.set_read_timeout(Some(SOON)).unwrap();
                    stream.read_exact(&mut answer).unwrap();
                    assert_eq!(answer[..8], begin[..8], "kind and length of the answer");
                    return;
                }
                self.receivers
                    .push(receive(stream, None, None, Leftover::Read));
            }
            Step::Datagrams { flow, count, .. } => {
                if let (Some(socket), true) = (self.sockets.get(flow), *count > 2) {
                    let socket = socket.try_clone().unwrap();
                    let receiving = thread::spawn(move || receive_flows(&socket, 1, None));
                    self.datagram_receivers.push(receiving);
                }
            }
            _ => panic!("no step of iperf 2's server: {step:?}"),
        }
    }

    /// Receives the flows that the server opens, and answers the last datagram of each as was recorded.
    fn receives_on_back_socket(&mut self) {
        let mut flows = 0;
        let mut report = None;
        let mut opened = Vec::new();
        for (end, step) in &self.dialogue.steps {
            match (end, step) {
                (End::Server, Step::Datagrams { flow, count, .. }) if *count > 2 => {
                    flows += u64::from(!opened.contains(flow));
                }
                (
                    End::Client,
                    Step::Datagrams {
                        flow,
                        count: 1,
                        last,
                        length,
                        ..
                    },
                ) => {
                    opened.push(*flow);
                    let mut datagram = last.clone();
                    datagram.resize(*length, 0);
                    report = Some(datagram);
                }
                (End::Client, Step::Datagrams { flow, .. }) => opened.push(*flow),
                _ => {}
            }
        }
        if flows > 0 && (self.dialogue.has("-d") || self.dialogue.has("-r")) {
            let socket = self.back_socket.try_clone().unwrap();
            let receiving = thread::spawn(move || receive_flows(&socket, flows, report.as_deref()));
            self.datagram_receivers.push(receiving);
        }
    }

    fn finish_sending(&mut self) {
        for (flow, sending) in std::mem::take(&mut self.senders) {
            sending.counted();
            if !self.dialogue.has("-R") {
                self.streams[&flow].shutdown(Shutdown::Write).unwrap();
            }
        }
    }

    fn finish(&mut self) {
        self.finish_sending();
        for receiving in std::mem::take(&mut self.receivers) {
            self.down += receiving.counted();
        }
        for sending in std::mem::take(&mut self.datagram_senders) {
            let sent = sending.join().unwrap();
            self.up += sent.bytes;
        }
        for receiving in std::mem::take(&mut self.datagram_receivers) {
            self.down += receiving.join().unwrap();
        }
    }

    /// The server's log has what was sent and received here.
    fn judge(&self, server: &Running) {
        let (slack, flows) = if self.dialogue.is_udp() {
            (1000, 3)
        } else {
            (MAX_HEADER, 3)
        };
        let until = Instant::now() + SOON;
        loop {
            let (received, sent) = logged(&server.said());
            let is_equal = |told: u64, own: u64| told.abs_diff(own) <= slack * flows;
            if is_equal(received, self.up) && is_equal(sent, self.down) {
                return;
            }
            assert!(
                Instant::now() < until && received <= self.up + slack * flows,
                "sent {} and received {} here: {}",
                self.up,
                self.down,
                server.said()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The bytes received and sent of all tests that a server's log has ended.
fn logged(log: &str) -> (u64, u64) {
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["event"] == "finished")
        .fold((0, 0), |(received, sent), event| {
            let bytes = |key: &str| event[key].as_u64().unwrap_or(0);
            (
                received + bytes("received_bytes"),
                sent + bytes("sent_bytes"),
            )
        })
}
