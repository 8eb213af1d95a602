//! What clients send, by hand: they keep to no limit.

use super::{BLOCK, BYTES, LimitedServer, RATE, at_once};
use crate::support::SOON;
use crate::support::peer::{RawClient, plan};
use caudal_wire::datagram::{
    DatagramHeader, DatagramKind, HEADER_BYTES, OPENING_BYTES, OpeningDatagram, tag,
};
use caudal_wire::preamble::{ANSWER_BYTES, Purpose, TestToken};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

trials! {
    what_is_received_is_held_to_the_rate_or_ended,
    what_is_received_is_ended_at_the_amount,
    a_client_that_sends_a_little_now_and_then_is_ended_at_the_time,
}

/// The length of a datagram, bytes.
const LENGTH: usize = 1000;

/// A protocol with its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NativeTcp,
    NativeUdp,
    Iperf3Tcp,
    Iperf3Udp,
    Iperf2Tcp,
    Iperf2Udp,
    NttcpTcp,
    NttcpUdp,
}

use Kind::{Iperf2Tcp, Iperf2Udp, Iperf3Tcp, Iperf3Udp, NativeTcp, NativeUdp, NttcpTcp, NttcpUdp};

const ALL: [Kind; 8] = [
    NativeTcp, NativeUdp, Iperf3Tcp, Iperf3Udp, Iperf2Tcp, Iperf2Udp, NttcpTcp, NttcpUdp,
];

impl Kind {
    fn is_udp(self) -> bool {
        matches!(self, NativeUdp | Iperf3Udp | Iperf2Udp | NttcpUdp)
    }
}

/// Where payload goes.
enum Payload {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// An upload that has begun.
struct Upload {
    kind: Kind,
    payload: Payload,
    /// The connection on which the server says how it ended, where there is one.
    control: Option<TcpStream>,
    tag: u32,
    sent: u64,
    /// What the server said since.
    said: Vec<u8>,
}

impl Upload {
    fn begin(kind: Kind, server: &LimitedServer) -> Self {
        let (payload, control, tag) = match kind {
            NativeTcp | NativeUdp => native(server.native, kind),
            Iperf3Tcp | Iperf3Udp => iperf3(server.native, kind),
            Iperf2Tcp => (tcp(server.iperf2), None, 0),
            Iperf2Udp => (udp(server.iperf2), None, 0),
            NttcpTcp | NttcpUdp => nttcp(server.nttcp, kind),
        };
        match &payload {
            Payload::Tcp(stream) => stream
                .set_write_timeout(Some(Duration::from_millis(50)))
                .unwrap(),
            Payload::Udp(socket) => socket.set_nonblocking(true).unwrap(),
        }
        if let Some(control) = &control {
            control.set_nonblocking(true).unwrap();
        }
        Self {
            kind,
            payload,
            control,
            tag,
            sent: 0,
            said: Vec::new(),
        }
    }

    /// Sends some payload, `size` bytes over TCP or a datagram; `false` when the server has closed the connection.
    fn send(&mut self, size: usize) -> bool {
        match &mut self.payload {
            Payload::Tcp(stream) => match stream.write(&vec![b'1'; size]) {
                Ok(_) => true,
                Err(cause) => cause.kind() == ErrorKind::WouldBlock,
            },
            Payload::Udp(socket) => {
                let mut datagram = [0; LENGTH];
                let number = self.sent;
                match self.kind {
                    NativeUdp => DatagramHeader {
                        kind: DatagramKind::Data,
                        flow: 0,
                        sequence: number,
                        sent_ns: 0,
                        tag: self.tag,
                    }
                    .write((&mut datagram[..HEADER_BYTES]).try_into().unwrap()),
                    Iperf3Udp => {
                        datagram[8..12].copy_from_slice(&(number as u32 + 1).to_be_bytes());
                    }
                    Iperf2Udp => datagram[..4].copy_from_slice(&(number as u32 + 1).to_be_bytes()),
                    _ => {}
                }
                self.sent += 1;
                let _ = socket.send(&datagram);
                true
            }
        }
    }

    /// `true` when the server has said that the test is over.
    fn is_told(&mut self) -> bool {
        let mut room = [0; 4096];
        if let (Payload::Udp(socket), Iperf2Udp) = (&self.payload, self.kind) {
            return socket.recv(&mut room).is_ok();
        }
        while let Some(control) = &mut self.control
            && let Ok(count @ 1..) = control.read(&mut room)
        {
            self.said.extend_from_slice(&room[..count]);
        }
        let has = |text: &[u8]| self.said.windows(text.len()).any(|part| part == text);
        match self.kind {
            NativeTcp | NativeUdp => {
                has(b"\"stopped\":\"the server") || has(b"\"stopped\":\"it sent")
            }
            Iperf3Tcp | Iperf3Udp => has(&[0xfe]) || has(&[11]),
            NttcpTcp | NttcpUdp => has(b"nttcp-1: "),
            Iperf2Tcp | Iperf2Udp => false,
        }
    }

    /// Sends until the server has ended the test, `size` bytes or a datagram at a time with `pause` between; fails unless the server
    /// has said so where its protocol has words for it.
    fn until_ended(mut self, size: usize, pause: Duration) {
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            let is_open = self.send(size);
            if self.is_told() || (!is_open && self.kind == Iperf2Tcp) {
                return;
            }
            if !is_open || self.sent.is_multiple_of(20) {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(pause);
        }
        panic!("{:?} was not ended: {:?}", self.kind, self.said);
    }
}

fn tcp(port: u16) -> Payload {
    Payload::Tcp(TcpStream::connect(("127.0.0.1", port)).unwrap())
}

fn udp_to(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket
}

fn udp(port: u16) -> Payload {
    Payload::Udp(udp_to(port))
}

/// A native test by time, whose limits the client agrees to.
fn native(port: u16, kind: Kind) -> (Payload, Option<TcpStream>, u32) {
    let mut hand = RawClient::welcomed(port);
    let mut plan = plan();
    if kind == NativeUdp {
        plan["transport"] = json!("udp");
        plan["rate"] = json!({"limit": 1_000_000});
    }
    hand.say(&json!({"type": "offer", "plan": plan}));
    let accepted = hand.hear_other_than_alive();
    let token = TestToken::from_hex(accepted["token"].as_str().unwrap()).unwrap();
    let payload = match kind {
        NativeTcp => {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let hello = Purpose::Data { token, flow: 0 }.encode();
            stream.write_all(&hello).unwrap();
            stream.read_exact(&mut [0; ANSWER_BYTES]).unwrap();
            Payload::Tcp(stream)
        }
        _ => Payload::Udp(native_udp(port, token)),
    };
    assert_eq!(hand.hear_other_than_alive()["type"], "ready");
    hand.say(&json!({"type": "start"}));
    assert_eq!(hand.hear_other_than_alive()["type"], "started");
    (payload, Some(hand.stream), tag(token))
}

/// A native UDP flow whose address is proven.
fn native_udp(port: u16, token: TestToken) -> UdpSocket {
    let socket = udp_to(port);
    let mut opening = OpeningDatagram {
        kind: DatagramKind::Hello,
        flow: 0,
        token,
        challenge: [0; 16],
    };
    for expected in [DatagramKind::Challenge, DatagramKind::Ready] {
        socket.send(&opening.encode()).unwrap();
        let mut answer = [0; OPENING_BYTES];
        socket.recv(&mut answer).unwrap();
        opening = OpeningDatagram::decode(&answer).unwrap();
        assert_eq!(opening.kind, expected);
        opening.kind = DatagramKind::Proof;
    }
    socket
}

/// A test of iperf3 by time.
fn iperf3(port: u16, kind: Kind) -> (Payload, Option<TcpStream>, u32) {
    let cookie = [&[b'c'; 36][..], &[0]].concat();
    let connect = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(&cookie).unwrap();
        stream
    };
    let mut control = connect();
    let hear = |control: &mut TcpStream, states: usize| {
        control.read_exact(&mut [0; 4][..states]).unwrap();
    };
    hear(&mut control, 1);
    let transport = if kind.is_udp() {
        "\"udp\":true,\"bandwidth\":1000000,\"len\":1000"
    } else {
        "\"tcp\":true,\"len\":131072"
    };
    let parameters = format!("{{{transport},\"time\":1,\"parallel\":1}}");
    control
        .write_all(&(parameters.len() as u32).to_be_bytes())
        .unwrap();
    control.write_all(parameters.as_bytes()).unwrap();
    hear(&mut control, 1);
    let payload = if kind.is_udp() {
        let socket = udp_to(port);
        socket.send(b"9876").unwrap();
        socket.recv(&mut [0; 8]).unwrap();
        Payload::Udp(socket)
    } else {
        Payload::Tcp(connect())
    };
    hear(&mut control, 2);
    (payload, Some(control), 0)
}

/// A transfer of nttcp that is announced as half of what the server allows.
fn nttcp(port: u16, kind: Kind) -> (Payload, Option<TcpStream>, u32) {
    let mut control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    control.set_read_timeout(Some(SOON)).unwrap();
    let transport = if kind.is_udp() { "@-u" } else { "" };
    let line = format!("nttcp@-r{transport}@-l1000@-n500@-f@%9b@-N1\n");
    control.write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    while !answer.ends_with('\n') {
        let mut byte = [0];
        control.read_exact(&mut byte).unwrap();
        answer.push(char::from(byte[0]));
    }
    let port = answer.trim().strip_prefix("dataport: ").unwrap();
    let port: u16 = port.parse().unwrap();
    let payload = if kind.is_udp() { udp(port) } else { tcp(port) };
    (payload, Some(control), 0)
}

fn what_is_received_is_held_to_the_rate_or_ended() {
    at_once(&ALL, |kind| {
        let server = LimitedServer::start("--max-rate 8M --max-time 1s");
        Upload::begin(kind, &server).until_ended(64 << 10, Duration::ZERO);
        let counted = server.counted();
        let (received, fair) = (counted.received as f64, RATE * counted.took_s);
        // UDP may be a fifth faster and a second's worth ahead, TCP a tenth of a second's.
        let max = if kind.is_udp() {
            fair * 1.2 + RATE
        } else {
            fair + RATE / 10.0
        };
        assert!(received <= max + BLOCK as f64, "{kind:?}: {counted:?}");
        let min = if kind.is_udp() { RATE } else { fair / 2.0 };
        assert!(received >= min, "{kind:?} was held too much: {counted:?}");
        let tests = counted.log.matches("\"finished\"").count();
        assert_eq!(tests, 1, "{kind:?} began another test: {counted:?}");
    });
}

fn what_is_received_is_ended_at_the_amount() {
    at_once(&ALL, |kind| {
        let server = LimitedServer::start("--max-bytes 1M");
        Upload::begin(kind, &server).until_ended(64 << 10, Duration::ZERO);
        let counted = server.counted();
        let allowed = BYTES..=BYTES + BLOCK;
        assert!(allowed.contains(&counted.received), "{kind:?}: {counted:?}");
    });
}

fn a_client_that_sends_a_little_now_and_then_is_ended_at_the_time() {
    at_once(&ALL, |kind| {
        let server = LimitedServer::start("--max-time 1s");
        // Ten times the limit is given up by the client.
        Upload::begin(kind, &server).until_ended(1, Duration::from_millis(100));
        let counted = server.counted();
        assert!(counted.received > 0, "{kind:?}: {counted:?}");
    });
}
