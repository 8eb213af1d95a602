//! Datagrams from addresses that proved nothing, at the UDP ports of a server of every protocol: none draws more than it brings.
//!
//! The sequences are arbitrary, of plausible datagrams: a header that asks for a lot is worth more than random bytes.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_engine::server::SessionEventSender;
use caudal_engine::{Server, ServerOptions};
use caudal_foreign::iperf2::{Iperf2Options, Iperf2Server, OwnMachine};
use caudal_foreign::iperf3::{Iperf3Options, Iperf3SharedPort};
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::iperf2::{
    ExtensionLayout, HeaderExtension, HeaderLayout, TestAmount, TestHeader, TestMode, VERSION,
    write_datagram_header,
};
use caudal_wire::mtu_probe::MtuProbe;
use caudal_wire::preamble::TestToken;
use proptest::prelude::*;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time without a datagram after which no more is expected.
const QUIET: Duration = Duration::from_millis(600);
/// The time for which a server that never stops is watched.
const MAX_WATCH: Duration = Duration::from_secs(3);

/// The port to which a datagram is sent.
#[derive(Debug, Clone, Copy)]
enum Port {
    Native,
    Iperf2,
}

/// A datagram of a sequence.
#[derive(Debug, Clone)]
enum Words {
    Random(Vec<u8>),
    Iperf3Hello([u8; 4]),
    Opening(DatagramKind),
    MtuProbe(usize),
    Iperf2 {
        layout: HeaderLayout,
        number: i64,
        header: TestHeader,
        padding: usize,
    },
}

impl Words {
    /// The bytes on the wire; a header of iperf 2 names the port of a third party.
    fn encode(&self, third_party: u16) -> Vec<u8> {
        match self {
            Self::Random(bytes) => bytes.clone(),
            Self::Iperf3Hello(bytes) => bytes.to_vec(),
            Self::Opening(kind) => {
                let opening = OpeningDatagram {
                    kind: *kind,
                    flow: 0,
                    token: TestToken([7; 16]),
                    challenge: [0; 16],
                };
                opening.encode().to_vec()
            }
            Self::MtuProbe(length) => {
                let mut bytes = vec![0; *length];
                let probe = MtuProbe {
                    is_answer: false,
                    token: TestToken([7; 16]),
                    number: 0,
                    sent_ns: 0,
                    known_mtu: 0,
                };
                probe.write(&mut bytes);
                bytes
            }
            Self::Iperf2 {
                layout,
                number,
                header,
                padding,
            } => {
                let header = TestHeader {
                    port: u32::from(third_party),
                    ..*header
                };
                let mut bytes = vec![0; layout.header()];
                bytes.extend(header.encode_udp((7, 8)));
                write_datagram_header(&mut bytes, *layout, *number, (7, 8));
                bytes.resize(bytes.len() + padding, 0);
                bytes
            }
        }
    }
}

fn header() -> impl Strategy<Value = TestHeader> {
    let mode = prop::sample::select(vec![
        TestMode::Up,
        TestMode::Reverse,
        TestMode::FullDuplex,
        TestMode::Dual,
        TestMode::Tradeoff,
    ]);
    let length = prop::sample::select(vec![0, 12, 36, 100, 1470, 65_507, u32::MAX]);
    let amount = prop::sample::select(vec![
        TestAmount::Bytes(0),
        TestAmount::Bytes(1000),
        TestAmount::Bytes(0x7fff_ffff),
        TestAmount::Hundredths(1),
        TestAmount::Hundredths(0x7fff_ffff),
    ]);
    let extended = HeaderExtension {
        layout: ExtensionLayout::Announced,
        version: VERSION,
        tos: 0,
        rate: 1 << 30,
        no_udp_fin: false,
        trip_times: true,
    };
    (mode, length, amount, prop::bool::ANY).prop_map(move |(mode, length, amount, is_extended)| {
        TestHeader {
            mode,
            threads: 1,
            port: 0,
            length,
            window_or_rate: 1 << 30,
            amount,
            wide_ids: is_extended,
            detect: false,
            extended: is_extended.then_some(extended),
        }
    })
}

fn words() -> impl Strategy<Value = (Port, Words)> {
    let layout = prop::sample::select(vec![
        HeaderLayout::Twelve,
        HeaderLayout::SixteenOld,
        HeaderLayout::Sixteen,
    ]);
    let number = prop::sample::select(vec![0, 1, 2, 1 << 20, -1, -2, -3, -(1 << 20)]);
    let kind = prop::sample::select(vec![
        DatagramKind::Hello,
        DatagramKind::Proof,
        DatagramKind::Data,
    ]);
    let hello = prop::sample::select(vec![*b"9876", *b"6789", [0x15, 0xcd, 0x5b, 0x07]]);
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| (Port::Iperf2, Words::Random(bytes))),
        1 => hello.prop_map(|hello| (Port::Native, Words::Iperf3Hello(hello))),
        1 => kind.prop_map(|kind| (Port::Native, Words::Opening(kind))),
        1 => (64..9000_usize).prop_map(|length| (Port::Native, Words::MtuProbe(length))),
        6 => (layout, number, header(), 0..1500_usize).prop_map(|(layout, number, header, padding)| {
            (Port::Iperf2, Words::Iperf2 { layout, number, header, padding })
        }),
    ]
}

/// A sender, and the third party at its address whose port its datagrams name.
struct Stranger {
    sender: UdpSocket,
    third_party: UdpSocket,
    sent: usize,
    received: usize,
}

impl Stranger {
    fn new() -> Self {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self {
            sender: socket(),
            third_party: socket(),
            sent: 0,
            received: 0,
        }
    }

    fn send(&mut self, words: &Words, port: u16) {
        let third_party = self.third_party.local_addr().unwrap().port();
        let bytes = words.encode(third_party);
        self.sent += self.sender.send_to(&bytes, ("127.0.0.1", port)).unwrap();
    }

    /// Counts what has arrived; `true` when anything has.
    fn read(&mut self) -> bool {
        let before = self.received;
        let mut buffer = [0; 65_536];
        for socket in [&self.sender, &self.third_party] {
            while let Ok(size) = socket.recv(&mut buffer) {
                self.received += size.max(1);
            }
        }
        self.received > before
    }
}

/// The bytes sent and drawn by each sequence.
fn draw(sequences: &[Vec<(Port, Words)>]) -> Vec<(usize, usize)> {
    let options = ServerOptions {
        bind: vec![std::net::IpAddr::from([127, 0, 0, 1]).into()],
        port: 0,
        max_clients: 4 * sequences.len(),
        max_clients_per_source: Some(4 * sequences.len()),
        shared_port: vec![Arc::new(Iperf3SharedPort::new(Iperf3Options::default()))],
        ..ServerOptions::default()
    };
    let native = Server::start(options, SessionEventSender::default()).unwrap();
    let options = Iperf2Options {
        bind: Some("127.0.0.1".parse().unwrap()),
        port: 0,
        own_machine: OwnMachine::Unvalidated,
        ..Iperf2Options::default()
    };
    let iperf2 =
        Iperf2Server::start(options, native.admission(), SessionEventSender::default()).unwrap();
    let mut strangers: Vec<Stranger> = sequences.iter().map(|_| Stranger::new()).collect();
    for (stranger, sequence) in strangers.iter_mut().zip(sequences) {
        for (port, words) in sequence {
            let port = match port {
                Port::Native => native.local().port(),
                Port::Iperf2 => iperf2.port(),
            };
            stranger.send(words, port);
        }
        // The server opens the sockets of some while the datagrams of others arrive.
        std::thread::sleep(Duration::from_micros(30));
    }
    let began = Instant::now();
    let mut active = Instant::now();
    while active.elapsed() < QUIET && began.elapsed() < MAX_WATCH {
        for stranger in &mut strangers {
            if stranger.read() {
                active = Instant::now();
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    strangers
        .iter()
        .map(|stranger| (stranger.sent, stranger.received))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_address_is_sent_more_than_it_sent_before_it_is_validated(
        sequences in prop::collection::vec(prop::collection::vec(words(), 1..6), 64)
    ) {
        for (nth, (sent, received)) in draw(&sequences).into_iter().enumerate() {
            prop_assert!(
                received <= sent,
                "{received} bytes drawn by {sent}: {:?}", sequences[nth]
            );
        }
    }
}

#[test]
fn a_header_that_names_a_third_party_draws_nothing() {
    let sequences: Vec<_> = [TestMode::FullDuplex, TestMode::Dual, TestMode::Tradeoff]
        .into_iter()
        .flat_map(|mode| [12, 36, 65_507].map(|length| (mode, length)))
        .map(|(mode, length)| {
            let header = TestHeader {
                mode,
                threads: 1,
                port: 0,
                length,
                window_or_rate: 1 << 30,
                amount: TestAmount::Hundredths(1),
                wide_ids: false,
                detect: false,
                extended: None,
            };
            let words = Words::Iperf2 {
                layout: HeaderLayout::Twelve,
                number: 0,
                header,
                padding: 0,
            };
            assert_eq!(words.encode(0).len(), 36);
            vec![(Port::Iperf2, words)]
        })
        .collect();
    for (nth, drawn) in draw(&sequences).into_iter().enumerate() {
        assert_eq!(drawn, (36, 0), "{:?}", sequences[nth]);
    }
}

#[test]
fn datagrams_of_clients_that_begin_together_count_for_their_own_sender() {
    // The socket of a flow is bound before it is connected: in between, the first datagrams of others arrive there.
    let extended = HeaderExtension {
        layout: ExtensionLayout::Announced,
        version: VERSION,
        tos: 0,
        rate: 1 << 30,
        no_udp_fin: false,
        trip_times: true,
    };
    let words = |mode, number, padding| {
        let header = TestHeader {
            mode,
            threads: 1,
            port: 0,
            length: 100,
            window_or_rate: 1 << 30,
            amount: TestAmount::Bytes(0x7fff_ffff),
            wide_ids: true,
            detect: false,
            extended: Some(extended),
        };
        let words = Words::Iperf2 {
            layout: HeaderLayout::SixteenOld,
            number,
            header,
            padding,
        };
        (Port::Iperf2, words)
    };
    let sequence = vec![
        words(TestMode::Dual, 2, 165),
        words(TestMode::Reverse, -1, 1058),
    ];
    for _ in 0..4 {
        let drawn = draw(&vec![sequence.clone(); 64]);
        assert!(
            drawn.iter().all(|(sent, received)| received <= sent),
            "{drawn:?}"
        );
    }
}
