//! The movers over TLS and QUIC, over loopback, in both directions.

use super::certificate::SessionCertificate;
use super::failure::TransferFailure;
use super::mover_terms::{MoverControl, MoverTerms};
use super::movers;
use super::test_doubles::{MemorySink, MemorySource, counted};
use caudal_core::plan::{
    BULK_WRITE_BYTES, Direction, Rate, TcpTransferSettings, TransferContent, TransferPlan,
    TransferSink, TransferVia,
};
use caudal_core::transfer::TransferEnd;
use caudal_core::units::{BitRate, ByteCount};
use caudal_flow::socket::DataSocket;
use caudal_wire::preamble::TestToken;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

type Outcome = (TransferEnd, Result<(), TransferFailure>);

/// A pair of connected sockets. Each is closed when its end is done, as sessions do.
struct Pair(DataSocket, DataSocket);

impl Pair {
    fn tls() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Self(
            DataSocket::Tcp(one),
            DataSocket::Tcp(listener.accept().unwrap().0),
        )
    }

    fn quic() -> Self {
        let one = UdpSocket::bind("127.0.0.1:0").unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        Self(DataSocket::Udp(one), DataSocket::Udp(other))
    }

    /// One over either protocol.
    fn both() -> [Self; 2] {
        [Self::tls(), Self::quic()]
    }

    fn is_tls(&self) -> bool {
        self.0.tcp().is_some()
    }
}

/// What an end shares with its mover.
#[derive(Default)]
struct EndControl {
    stop: AtomicBool,
    bytes: AtomicU64,
}

impl EndControl {
    const fn control(&self) -> MoverControl<'_> {
        MoverControl {
            stop: &self.stop,
            bytes: &self.bytes,
        }
    }

    fn stop_after(&self, after: Duration) {
        thread::sleep(after);
        self.stop.store(true, Relaxed);
    }
}

/// What one test transfers, and how.
struct SecureCase {
    source: MemorySource,
    sink: MemorySink,
    sender_is_client: bool,
    plan: TransferPlan,
    /// Another certificate was announced to the client.
    is_other_certificate: bool,
    /// The time after which the sender or the receiver is stopped.
    stop_sender: Option<Duration>,
    stop_receiver: Option<Duration>,
}

impl SecureCase {
    fn new(bytes: usize) -> Self {
        Self {
            source: MemorySource::new(bytes),
            sink: MemorySink::default(),
            sender_is_client: true,
            plan: TransferPlan {
                via: TransferVia::Quic,
                direction: Direction::Up,
                content: TransferContent::Generated {
                    bytes: ByteCount::new(bytes as u64),
                    seed: 0,
                    from_file: false,
                },
                sink: TransferSink::Discard,
                resume_from: ByteCount::new(0),
                resume: false,
                overwrite: false,
                preserve: false,
                sparse: false,
                rate: Rate::Max,
                congestion: None,
                dscp: None,
                interval: Duration::from_secs(1),
                same_machine: true,
                certificate: None,
            },
            is_other_certificate: false,
            stop_sender: None,
            stop_receiver: None,
        }
    }

    /// The plan as the server completes it.
    fn accepted(&self, certificate: &SessionCertificate, is_tls: bool) -> TransferPlan {
        let fingerprint = match self.is_other_certificate {
            true => SessionCertificate::generate().unwrap().fingerprint(),
            false => certificate.fingerprint(),
        };
        let mut plan = TransferPlan {
            certificate: Some(fingerprint.to_string()),
            ..self.plan.clone()
        };
        if is_tls && plan.via == TransferVia::Quic {
            plan.via = TransferVia::Tls(tcp(BULK_WRITE_BYTES));
        }
        plan
    }

    /// Carries it out: the accounts of sender and receiver.
    fn run(&mut self, pair: Pair) -> (Outcome, Outcome) {
        let certificate = SessionCertificate::generate().unwrap();
        let plan = self.accepted(&certificate, pair.is_tls());
        let Pair(one, other) = pair;
        let sending = terms(&plan, &certificate, self.sender_is_client);
        let receiving = terms(&plan, &certificate, !self.sender_is_client);
        let (sender, receiver) = (EndControl::default(), EndControl::default());
        let stops = [(&sender, self.stop_sender), (&receiver, self.stop_receiver)];
        let (sink, source) = (&mut self.sink, &mut self.source);
        let (left, right) = thread::scope(|scope| {
            let right = scope.spawn(|| {
                let socket = other;
                movers::receive(&socket, &receiving, sink, receiver.control())
            });
            for (end, after) in stops {
                if let Some(after) = after {
                    scope.spawn(move || end.stop_after(after));
                }
            }
            let left = movers::send(&one, &sending, source, sender.control());
            drop(one);
            (left, right.join().unwrap())
        });
        assert_eq!(counted(&sender.bytes), left.0.bytes);
        assert_eq!(counted(&receiver.bytes), right.0.bytes);
        (left, right)
    }
}

fn tcp(write_bytes: u32) -> TcpTransferSettings {
    TcpTransferSettings {
        write_bytes,
        mss: None,
        no_delay: true,
        sendfile: false,
    }
}

fn terms<'a>(
    plan: &'a TransferPlan,
    certificate: &'a SessionCertificate,
    is_client: bool,
) -> MoverTerms<'a> {
    MoverTerms {
        plan,
        token: TestToken([0; 16]),
        is_client,
        certificate: (!is_client).then_some(certificate),
        connect_time: None,
        limit: None,
    }
}

fn text(outcome: &Outcome) -> String {
    match &outcome.1 {
        Ok(()) => "complete".to_owned(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn a_content_of_any_size_arrives_in_both_directions() {
    for size in [0, 1, 39, 40, 41, 1_000_000, (2 << 20) + 1, 20_000_000] {
        for sender_is_client in [true, false] {
            for pair in Pair::both() {
                let mut case = SecureCase::new(size);
                case.sender_is_client = sender_is_client;
                let (left, right) = case.run(pair);
                assert_eq!(
                    [text(&left), text(&right)],
                    ["complete", "complete"],
                    "{size}"
                );
                assert!(case.sink.content == case.source.content, "{size}");
                let digest = hex::encode(blake3::hash(&case.source.content).as_bytes());
                for end in [&left.0, &right.0] {
                    assert_eq!(
                        (end.bytes, end.digest.as_ref()),
                        (size as u64, Some(&digest))
                    );
                    assert!(end.handshake_ns > 0 && end.calls > 0 && end.cpu_ns > 0);
                    assert!(end.first_byte_ns <= end.last_byte_ns);
                }
                assert!(left.0.acknowledged_ns > Some(left.0.last_byte_ns) || size == 0);
                assert!(right.0.written_ns <= right.0.verified_ns);
                assert!(left.0.min_rtt_ns.is_some());
            }
        }
    }
}

#[test]
fn small_blocks_and_runs_are_kept() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(3_000_000);
        let is_tls = pair.is_tls();
        if is_tls {
            case.plan.via = TransferVia::Tls(tcp(100));
        }
        let (left, right) = case.run(pair);
        assert_eq!([text(&left), text(&right)], ["complete", "complete"]);
        assert_eq!(case.sink.max_run, 1 << 20);
        if is_tls {
            assert!(left.0.calls >= 30_000, "{}", left.0.calls);
        }
    }
}

#[test]
fn a_transfer_is_continued_from_where_it_was() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(3_000_000);
        case.plan.resume_from = ByteCount::new(1 << 20);
        case.sink.content = case.source.content[..1 << 20].to_vec();
        let (left, right) = case.run(pair);
        assert_eq!([text(&left), text(&right)], ["complete", "complete"]);
        assert_eq!(right.0.bytes, 3_000_000 - (1 << 20));
        assert!(case.sink.content == case.source.content);
    }
}

#[test]
fn another_certificate_than_the_one_that_was_announced_is_refused() {
    for sender_is_client in [true, false] {
        for pair in Pair::both() {
            let mut case = SecureCase::new(1000);
            case.sender_is_client = sender_is_client;
            case.is_other_certificate = true;
            let (left, right) = case.run(pair);
            let (client, server) = if sender_is_client {
                (text(&left), text(&right))
            } else {
                (text(&right), text(&left))
            };
            assert_eq!(
                client,
                "the certificate at the other end is not the one that the server announced"
            );
            assert_ne!(server, "complete");
            assert!(case.sink.content.is_empty());
        }
    }
}

#[test]
fn both_ends_learn_that_the_digest_differs() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(1_500_000);
        case.source.claimed = Some([3; 32]);
        let (left, right) = case.run(pair);
        for outcome in [left, right] {
            assert!(matches!(outcome.1, Err(TransferFailure::DigestMismatch)));
            assert_eq!(outcome.0.digest, None);
        }
    }
}

#[test]
fn a_stop_of_either_end_ends_both_soon() {
    for (sender, receiver) in [(true, false), (false, true)] {
        for pair in Pair::both() {
            let mut case = SecureCase::new(50_000_000);
            case.plan.rate = Rate::Limit(BitRate::from_bps(8_000_000));
            let after = Some(Duration::from_millis(200));
            case.stop_sender = after.filter(|_| sender);
            case.stop_receiver = after.filter(|_| receiver);
            let start = Instant::now();
            let (left, right) = case.run(pair);
            let stopped = if sender { &left } else { &right };
            assert!(matches!(stopped.1, Err(TransferFailure::Stopped)));
            assert_ne!(text(&left), "complete");
            assert_ne!(text(&right), "complete");
            assert!(
                start.elapsed() < Duration::from_secs(4),
                "{:?}",
                start.elapsed()
            );
        }
    }
}

#[test]
fn a_source_that_breaks_and_a_full_sink_are_named() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(10_000_000);
        case.source.broken_from = Some(3_000_000);
        let is_tls = pair.is_tls();
        let (left, right) = case.run(pair);
        assert_eq!(text(&left), "the disk is broken");
        assert_ne!(text(&right), "complete");
        if !is_tls {
            assert_eq!(
                text(&right),
                "the peer ended the transfer: its content could not be read"
            );
        }
    }
    let mut case = SecureCase::new(10_000_000);
    case.sink.capacity = Some(2_000_000);
    let (left, right) = case.run(Pair::quic());
    assert_eq!(text(&right), "the disk is full");
    assert_eq!(
        text(&left),
        "the peer ended the transfer: its content could not be written"
    );
}

#[test]
fn a_rate_is_kept() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(1_000_000);
        case.plan.rate = Rate::Limit(BitRate::from_bps(16_000_000));
        let (left, right) = case.run(pair);
        assert_eq!([text(&left), text(&right)], ["complete", "complete"]);
        let took = Duration::from_nanos(left.0.last_byte_ns - left.0.handshake_ns);
        let range = Duration::from_millis(470)..Duration::from_millis(700);
        assert!(range.contains(&took), "{took:?}");
    }
}

#[test]
fn a_digest_that_takes_long_keeps_the_connection() {
    for pair in Pair::both() {
        let mut case = SecureCase::new(1_000_000);
        case.sink.digest_time = Duration::from_millis(700);
        let (left, right) = case.run(pair);
        assert_eq!([text(&left), text(&right)], ["complete", "complete"]);
        let end = &left.0;
        assert!(end.verified_ns > end.acknowledged_ns.map(|at| at + 500_000_000));
    }
}

#[test]
fn a_congestion_control_that_quic_lacks_is_noted() {
    for (asked, used, notes) in [
        ("newreno", "newreno", 0),
        ("bbr", "bbr", 0),
        ("vegas", "cubic", 1),
    ] {
        let mut case = SecureCase::new(100_000);
        case.plan.congestion = Some(asked.to_owned());
        let (left, _) = case.run(Pair::quic());
        assert_eq!(text(&left), "complete");
        assert_eq!(
            left.0.congestion.as_ref().map(ToString::to_string),
            Some(used.to_owned())
        );
        let about_congestion = |note: &&caudal_core::text::ExternalText| {
            note.to_string().contains("congestion control")
        };
        assert_eq!(left.0.notes.iter().filter(about_congestion).count(), notes);
    }
}

#[test]
fn a_peer_that_vanishes_ends_a_transfer_in_bounded_time() {
    let certificate = SessionCertificate::generate().unwrap();
    let case = SecureCase::new(1000);
    let plan = case.accepted(&certificate, false);
    for is_client in [true, false] {
        let Pair(socket, _silent) = Pair::quic();
        let (end, start) = (EndControl::default(), Instant::now());
        let terms = terms(&plan, &certificate, is_client);
        let mut source = MemorySource::new(1000);
        let outcome = movers::send(&socket, &terms, &mut source, end.control());
        assert!(matches!(outcome.1, Err(TransferFailure::Connection(_))));
        // quinn waits for three probe timeouts, 3 s before the round-trip time is known (RFC 9000, section 10.1).
        assert!(start.elapsed() < Duration::from_secs(7));
    }
    let Pair(socket, silent) = Pair::tls();
    drop(silent);
    let plan = case.accepted(&certificate, true);
    let terms = terms(&plan, &certificate, true);
    let mut source = MemorySource::new(1000);
    let outcome = movers::send(
        &socket,
        &terms,
        &mut source,
        EndControl::default().control(),
    );
    assert!(matches!(outcome.1, Err(TransferFailure::Connection(_))));
}

#[test]
fn a_certificate_that_was_not_announced_is_missed() {
    let certificate = SessionCertificate::generate().unwrap();
    for Pair(socket, _other) in Pair::both() {
        let mut plan = SecureCase::new(1).accepted(&certificate, socket.tcp().is_some());
        plan.certificate = None;
        let terms = terms(&plan, &certificate, true);
        let mut source = MemorySource::new(1);
        let outcome = movers::send(
            &socket,
            &terms,
            &mut source,
            EndControl::default().control(),
        );
        assert_eq!(text(&outcome), "the server announced no certificate");
    }
}

#[test]
fn a_slow_receiver_holds_the_sender_back() {
    for (pair, window) in [(Pair::tls(), 16 << 20), (Pair::quic(), 32 << 20)] {
        let mut case = SecureCase::new(64 << 20);
        case.sink.delay = Duration::from_millis(50);
        case.stop_receiver = Some(Duration::from_millis(600));
        let (left, right) = case.run(pair);
        assert!(matches!(right.1, Err(TransferFailure::Stopped)));
        let ahead = left.0.bytes - case.sink.content.len() as u64;
        assert!(ahead <= window + (2 << 20), "{ahead}");
    }
}
