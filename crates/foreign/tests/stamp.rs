//! A reflector of STAMP and its sender on loopback, and what strangers, liars and floods get from either.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_core::plan::StampPlan;
use caudal_core::stamp::StampExtension;
use caudal_engine::{LocalBinding, RunError};
use caudal_foreign::stamp::{
    ReflectedCounts, ReflectorOptions, StampOutcome, StampReflectorServer, StampSender,
};
use caudal_sys::signal::Interrupt;
use caudal_wire::stamp::{
    ErrorEstimate, OPEN_BYTES, ReflectedStamp, SenderStamp, StampKey, StampMode, TimestampFormat,
    decode_reply, decode_request, encode_request, seal_reply, write_reply,
};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// The time without a datagram after which no more is expected.
const QUIET: Duration = Duration::from_millis(300);

fn options() -> ReflectorOptions {
    ReflectorOptions {
        bind: Some([127, 0, 0, 1].into()),
        scope_id: 0,
        device: None,
        port: 0,
        allow: Vec::new(),
        key: None,
        is_stateless: false,
        answers_short: false,
        per_source: u32::MAX,
    }
}

fn plan(count: u64) -> StampPlan {
    StampPlan {
        count,
        period: Duration::from_millis(1),
        poisson: false,
        length: 162,
        timeout: Duration::from_millis(500),
        interval: Duration::from_secs(1),
        dscp: Some(46),
        extensions: StampExtension::ALL.to_vec(),
        is_authenticated: false,
    }
}

fn measure(
    peer: SocketAddr,
    plan: &StampPlan,
    key: Option<&StampKey>,
) -> Result<StampOutcome, RunError> {
    let sender = StampSender {
        plan,
        key,
        seed: 7,
        ssid: 9,
        binding: &LocalBinding::default(),
        interrupt: Interrupt::install().unwrap(),
    };
    sender.run(peer, &mut |_| {})
}

/// A socket connected to a reflector.
fn stranger(reflector: &StampReflectorServer) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(reflector.local()).unwrap();
    socket.set_read_timeout(Some(QUIET)).unwrap();
    socket
}

/// The replies until none comes any more.
fn replies(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    let mut all = Vec::new();
    while let Ok(length) = socket.recv(&mut buffer) {
        all.push(buffer[..length].to_vec());
    }
    all
}

fn packet(sequence: u32, length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    let sender = SenderStamp {
        sequence,
        timestamp: [1; 8],
        error: [0, 1],
        ssid: 7,
    };
    encode_request(&sender, StampMode::Open, &mut packet);
    packet
}

#[test]
fn a_test_has_every_packet_with_its_times_its_counts_and_its_marks() {
    let key = StampKey::new(&[7; 32]).unwrap();
    for key in [None, Some(&key)] {
        let reflector = StampReflectorServer::start(ReflectorOptions {
            key: key.cloned(),
            ..options()
        });
        let reflector = reflector.unwrap();
        let plan = StampPlan {
            length: if key.is_some() { 250 } else { 162 },
            is_authenticated: key.is_some(),
            ..plan(200)
        };
        let outcome = measure(reflector.local(), &plan, key).unwrap();
        assert_eq!((outcome.sent, outcome.numbers.len()), (200, 200));
        assert!(outcome.numbers.iter().all(|one| one.packet == one.reply));
        let counts = outcome.counts.unwrap();
        assert_eq!((counts.sent, counts.received), (200, 200));
        assert!(
            outcome.extensions.iter().all(|one| one.is_answered),
            "{:?}",
            outcome.extensions
        );
        let marks = outcome.marks_up.counts().unwrap();
        assert_eq!((marks.packets(), marks.of_dscp(46)), (200, 200));
        let down = outcome.series.marks.counts().unwrap();
        assert_eq!(down.of_dscp(46), 200);
        // Whatever the wall clock did: the times within this host are in order.
        let in_order = |one: &&caudal_analysis::stamp::StampExchange| one.times.is_sorted();
        let ordered = outcome.exchanges.iter().filter(in_order).count();
        assert!(ordered >= 190, "{ordered} of {}", outcome.exchanges.len());
        assert_eq!(outcome.ttl, (Some(255), Some(255)));
        assert!(
            outcome
                .seen_from
                .is_some_and(|source| source.ip().is_loopback())
        );
        assert_eq!(outcome.discarded, 0);
        // One more goes before the test.
        assert_eq!(reflector.stop().answered, 201);
    }
}

#[test]
fn packets_that_follow_one_another_closely_are_all_answered_and_read() {
    let reflector = StampReflectorServer::start(options()).unwrap();
    for period in [20, 150] {
        let plan = StampPlan {
            period: Duration::from_micros(period),
            timeout: Duration::from_secs(5),
            ..plan(4000)
        };
        let outcome = measure(reflector.local(), &plan, None).unwrap();
        assert_eq!(outcome.numbers.len(), 4000, "every {period} µs");
        let lost = outcome
            .series
            .replies
            .iter()
            .filter(|reply| reply.ns().is_none());
        assert_eq!(lost.count(), 0, "every {period} µs");
    }
}

#[test]
fn a_reply_is_never_longer_than_what_came_and_garbage_gets_none() {
    let reflector = StampReflectorServer::start(options()).unwrap();
    let socket = stranger(&reflector);
    let mut sent = 0;
    for length in [0, 1, 13, 14, 40, 43, 44, 45, 48, 112, 1472, 9000] {
        let bytes: Vec<u8> = (0..length).map(|nth| (nth * 31 + length) as u8).collect();
        socket.send(&bytes).unwrap();
        let back = replies(&socket);
        let expected = usize::from(length >= 14);
        assert_eq!(back.len(), expected, "{length}");
        assert!(back.iter().all(|reply| reply.len() == length));
        sent += expected as u64;
    }
    let counts = reflector.stop();
    assert_eq!((counts.answered, counts.malformed), (sent, 3), "{counts:?}");
}

#[test]
fn a_short_packet_is_completed_for_those_who_asked_for_it_only() {
    let short = ReflectorOptions {
        answers_short: true,
        ..options()
    };
    let reflector = StampReflectorServer::start(short).unwrap();
    let socket = stranger(&reflector);
    socket.send(&packet(5, 14)).unwrap();
    let back = replies(&socket);
    assert_eq!(back[0].len(), 41);
    let reply = decode_reply(&back[0], StampMode::Open).unwrap();
    assert_eq!((reply.sequence, reply.sender_sequence), (0, Some(5)));
}

#[test]
fn packets_without_the_key_are_dropped_and_a_replayed_one_is_no_more_than_itself() {
    let key = StampKey::new(b"a key of at least 16 bytes").unwrap();
    let reflector = StampReflectorServer::start(ReflectorOptions {
        key: Some(key.clone()),
        ..options()
    });
    let reflector = reflector.unwrap();
    let socket = stranger(&reflector);
    socket.send(&packet(0, 112)).unwrap();
    socket.send(&packet(0, OPEN_BYTES)).unwrap();
    let mut other = vec![0; 112];
    let sender = decode_request(&packet(3, 44), StampMode::Open).unwrap();
    let wrong = StampKey::new(b"another key, 16 bytes").unwrap();
    encode_request(&sender, StampMode::Authenticated(&wrong), &mut other);
    socket.send(&other).unwrap();
    assert_eq!(replies(&socket), Vec::<Vec<u8>>::new());
    let mut right = vec![0; 112];
    encode_request(&sender, StampMode::Authenticated(&key), &mut right);
    for _ in 0..3 {
        socket.send(&right).unwrap();
    }
    let back = replies(&socket);
    assert_eq!(back.len(), 3);
    for reply in &back {
        let reply = decode_reply(reply, StampMode::Authenticated(&key)).unwrap();
        assert_eq!(reply.sender_sequence, Some(3));
    }
    let counts = reflector.stop();
    let expected = ReflectedCounts {
        answered: 3,
        not_authentic: 2,
        malformed: 1,
        ..ReflectedCounts::default()
    };
    assert_eq!(counts, expected);
    // A sender with another key says so, and one without any waits in vain.
    let reflector = StampReflectorServer::start(ReflectorOptions {
        key: Some(key),
        ..options()
    });
    let reflector = reflector.unwrap();
    assert!(matches!(
        measure(reflector.local(), &plan(5), None),
        Err(RunError::Silent { .. })
    ));
}

#[test]
fn only_allowed_networks_are_answered_and_no_port_of_a_service_is() {
    let reflector = StampReflectorServer::start(ReflectorOptions {
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        ..options()
    });
    let reflector = reflector.unwrap();
    let socket = stranger(&reflector);
    socket.send(&packet(0, 44)).unwrap();
    assert!(replies(&socket).is_empty());
    assert_eq!(reflector.stop().not_allowed, 1);
    // A packet from a port of a service, as one that a second reflector would answer: nothing comes back. Ports below 1024 take a
    // privilege that this process may not have.
    let Ok(service) = UdpSocket::bind("127.0.0.1:1007") else {
        return;
    };
    let reflector = StampReflectorServer::start(options()).unwrap();
    service.connect(reflector.local()).unwrap();
    service.set_read_timeout(Some(QUIET)).unwrap();
    service.send(&packet(0, 44)).unwrap();
    assert!(replies(&service).is_empty());
    assert_eq!(reflector.stop().not_allowed, 1);
}

#[test]
fn a_flood_gets_its_rate_and_no_more() {
    let reflector = StampReflectorServer::start(ReflectorOptions {
        per_source: 50,
        ..options()
    });
    let reflector = reflector.unwrap();
    let began = Instant::now();
    let socket = stranger(&reflector);
    for nth in 0..500 {
        socket.send(&packet(nth, 44)).unwrap();
    }
    let back = replies(&socket).len() as f64;
    // 50 at once, and 50 a second.
    let most = 50.0 + 50.0 * began.elapsed().as_secs_f64() + 1.0;
    assert!((50.0..=most).contains(&back), "{back} of {most}");
    let counts = reflector.stop();
    assert_eq!(counts.answered + counts.over_rate, 500, "{counts:?}");
}

#[test]
fn a_flood_of_sessions_leaves_the_numbers_of_others_alone() {
    let reflector = StampReflectorServer::start(options()).unwrap();
    let own = stranger(&reflector);
    let number = |nth: u32| {
        own.send(&packet(nth, 44)).unwrap();
        let mut buffer = [0; 64];
        let length = own.recv(&mut buffer).unwrap();
        decode_reply(&buffer[..length], StampMode::Open)
            .unwrap()
            .sequence
    };
    // The packet 1 is lost on its way there.
    assert_eq!([number(0), number(2)], [0, 1]);
    let flood = stranger(&reflector);
    let mut buffer = [0; 64];
    for ssid in 0..5000_u16 {
        let mut bytes = packet(9, 44);
        bytes[14..16].copy_from_slice(&ssid.to_be_bytes());
        flood.send(&bytes).unwrap();
        let length = flood.recv(&mut buffer).unwrap();
        let reply = decode_reply(&buffer[..length], StampMode::Open).unwrap();
        // As long as there is room for it a session has numbers of its own, and then those of its packets.
        let expected = if ssid < 256 { 0 } else { 9 };
        // This address has one session already.
        assert!(
            reply.sequence == expected || ssid == 255,
            "{ssid}: {}",
            reply.sequence
        );
    }
    assert_eq!(number(3), 2);
}

/// A reflector that answers each packet with what `reply` makes of it.
fn liar(
    reply: impl Fn(u32, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
) -> (SocketAddr, thread::JoinHandle<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let local = socket.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut nth = 0;
        while let Ok((length, source)) = socket.recv_from(&mut buffer) {
            for one in reply(nth, &buffer[..length]) {
                let _ = socket.send_to(&one, source);
            }
            nth += 1;
        }
    });
    (local, thread)
}

fn answered(bytes: &[u8], reflected: &ReflectedStamp, timestamp: [u8; 8]) -> Vec<u8> {
    let request = decode_request(bytes, StampMode::Open).unwrap();
    let mut reply = bytes.to_vec();
    write_reply(&request, reflected, StampMode::Open, &mut reply);
    seal_reply(timestamp, StampMode::Open, &mut reply);
    reply
}

#[test]
fn a_reflector_that_lies_does_not_make_round_trips_of_its_own() {
    let honest = ReflectedStamp {
        sequence: 0,
        timestamp: [0; 8],
        format: TimestampFormat::Ntp,
        error: Some(ErrorEstimate::default()),
        received: Some([0; 8]),
        sender_sequence: None,
        sender_timestamp: None,
        sender_ttl: Some(255),
    };
    let (peer, thread) = liar(move |nth, bytes| {
        let lie = |sequence, received: [u8; 8]| ReflectedStamp {
            sequence,
            received: Some(received),
            ..honest
        };
        let valid = answered(bytes, &lie(nth, [0x80; 8]), [0x80; 8]);
        match nth % 6 {
            // Kept for 68 years, or sent before it came.
            0 => vec![answered(bytes, &lie(nth, [0; 8]), [0x80; 8])],
            1 => vec![answered(bytes, &lie(nth, [0xff; 8]), [0; 8])],
            // Twice, and then a number that was never sent, a time that was never stamped, and noise.
            2 => {
                let mut unknown = valid.clone();
                unknown[24..28].fill(0xff);
                let mut other = valid.clone();
                other[28] ^= 1;
                vec![
                    valid.clone(),
                    valid,
                    unknown,
                    other,
                    vec![0xff; 3],
                    vec![0x55; 1400],
                ]
            }
            // Numbers of nowhere.
            3 => vec![answered(bytes, &lie(u32::MAX - nth, [0x80; 8]), [0x80; 8])],
            4 => vec![valid[..20].to_vec()],
            _ => vec![valid],
        }
    });
    let plan = StampPlan {
        extensions: Vec::new(),
        length: 44,
        dscp: None,
        ..plan(60)
    };
    let outcome = measure(peer, &plan, None).unwrap();
    thread.join().unwrap();
    for trip in outcome.series.replies.iter().filter_map(|reply| reply.ns()) {
        assert!(trip < 500_000_000, "{trip}");
    }
    assert_eq!(outcome.series.duplicate, 10);
    // Of each sixth packet four are no replies, and one of each six is cut off.
    assert_eq!(outcome.discarded, 50);
    let numbers = outcome.numbers.len();
    let ways = caudal_analysis::stamp::ways(outcome.sent, &outcome.numbers, None, 0.95);
    assert!(numbers >= 50, "{numbers}");
    assert_eq!(ways.up.lost, None, "{ways:?}");
}

#[test]
fn a_reflector_that_answers_a_packet_again_and_again_takes_no_more_memory() {
    let (peer, thread) = liar(|nth, bytes| {
        let reply = |copy: u32| {
            let reflected = ReflectedStamp {
                sequence: nth * 100 + copy,
                timestamp: [0; 8],
                format: TimestampFormat::Ntp,
                error: Some(ErrorEstimate::default()),
                received: Some([0x80; 8]),
                sender_sequence: None,
                sender_timestamp: None,
                sender_ttl: Some(255),
            };
            answered(bytes, &reflected, [0x80; 8])
        };
        (0..100).map(reply).collect()
    });
    let outcome = measure(peer, &plan(20), None).unwrap();
    thread.join().unwrap();
    let kept = outcome.numbers.len();
    assert!((20..=20 * 16).contains(&kept), "{kept}");
    assert!(outcome.discarded > 0, "{}", outcome.discarded);
}

#[test]
fn a_port_where_nothing_listens_is_said_to_be_closed() {
    let free = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = measure(free, &plan(100), None).unwrap_err();
    assert!(matches!(error, RunError::Connect { .. }), "{error}");
}
