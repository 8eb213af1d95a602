//! Round-trip tests over loopback, with a server of caudal and with a relay that misbehaves.
//!
//! The tests check counts; none depends on how long anything takes.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_analysis::echo::{EchoRecord, EchoSummaryOptions, Reply};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{EchoPlan, EchoSchedule, Plan, Transport};
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;
use caudal_engine::peer::{NativePeer, Peer};
use caudal_engine::server::SessionEventSender;
use caudal_engine::{
    EchoLocalOptions, LocalBinding, LocalOptions, RttOutcome, RunError, Server, ServerOptions,
    SessionLimits, Target,
};
use caudal_wire::datagram::OpeningDatagram;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn server(options: ServerOptions) -> Server {
    let bind = vec![std::net::IpAddr::from([127, 0, 0, 1]).into()];
    Server::start(
        ServerOptions {
            bind,
            port: 0,
            ..options
        },
        SessionEventSender::default(),
    )
    .unwrap()
}

fn connect(address: SocketAddr) -> NativePeer {
    let target = Target {
        host: address.ip().to_string(),
        port: address.port(),
        family: None,
        binding: LocalBinding::default(),
        token: None,
    };
    NativePeer::connect(&target, "test", None).unwrap()
}

/// Carries out a round-trip test with the default options.
fn echo(
    peer: &mut NativePeer,
    plan: &EchoPlan,
    events: &mut dyn FnMut(Event),
) -> Result<RttOutcome, RunError> {
    echo_with(peer, plan, EchoLocalOptions::default(), events)
}

fn echo_with(
    peer: &mut NativePeer,
    plan: &EchoPlan,
    options: EchoLocalOptions,
    events: &mut dyn FnMut(Event),
) -> Result<RttOutcome, RunError> {
    let options = LocalOptions {
        echo: options,
        ..LocalOptions::default()
    };
    let outcome = peer.run(&Plan::Echo(plan.clone()), &options, events)?;
    Ok(outcome.into_rtt().unwrap())
}

fn plan(transport: Transport, clients: u32, sizes: &[u32], count: u64) -> EchoPlan {
    EchoPlan {
        transport,
        clients,
        sizes: sizes.to_vec(),
        count,
        schedule: EchoSchedule::StopAndWait,
        timeout: Duration::from_secs(10),
        no_delay: true,
        congestion: None,
        dscp: None,
        window: None,
    }
}

fn every(micros: u64, poisson: bool) -> EchoSchedule {
    EchoSchedule::Every {
        period: Duration::from_micros(micros),
        poisson,
    }
}

fn run(plan: &EchoPlan) -> RttOutcome {
    let server = server(ServerOptions::default());
    echo(&mut connect(server.local()), plan, &mut |_| {}).unwrap()
}

/// Size, client, messages counted, of these lost; for every series.
fn counts(record: &EchoRecord) -> Vec<(u32, u32, usize, usize)> {
    let lost = |replies: &[Reply]| {
        replies
            .iter()
            .filter(|reply| **reply == Reply::LOST)
            .count()
    };
    record
        .series
        .iter()
        .map(|one| (one.size, one.client, one.replies.len(), lost(&one.replies)))
        .collect()
}

#[test]
fn every_client_measures_every_size_as_often_as_planned() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let run = run(&plan(transport, 3, &[1, 512, 65_507], 50));
        let expected: Vec<_> = [1, 512, 65_507]
            .into_iter()
            .flat_map(|size| (0..3).map(move |client| (size, client, 50, 0)))
            .collect();
        assert_eq!(counts(&run.record), expected, "{transport:?}");
        assert_eq!((&run.cut_short, run.changed.len()), (&None, 0));
        for series in &run.record.series {
            assert!(series.first.unwrap().ns().is_some());
            assert_eq!(
                (series.late, series.duplicate, series.departures.len()),
                (0, 0, 0)
            );
        }
        for connection in &run.connections {
            assert_eq!(
                connection.connect_time.is_some(),
                transport == Transport::Tcp
            );
            assert!(connection.failure.is_none() && connection.server.is_some());
        }
    }
}

#[test]
fn the_kernel_timestamps_messages_other_than_those_that_count() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let plan = plan(transport, 1, &[100], 3200);
        let plain = EchoLocalOptions {
            kernel_timestamps: false,
            ..EchoLocalOptions::default()
        };
        let server = server(ServerOptions::default());
        let mut client = connect(server.local());
        let without = echo_with(&mut client, &plan, plain, &mut |_| {}).unwrap();
        assert_eq!(without.timestamps_missing.as_deref(), Some("not asked for"));
        let with = echo(&mut client, &plan, &mut |_| {}).unwrap();
        assert_eq!(
            with.record.series[0].replies.len(),
            without.record.series[0].replies.len()
        );
        let stamped = &with.record.series[0].stamped;
        assert_eq!(with.timestamps_missing.is_some(), stamped.is_empty());
        assert!(stamped.len() <= 200 && stamped.iter().all(|one| one.kernel_ns <= one.rtt_ns));
    }
}

#[test]
fn on_a_schedule_every_message_is_sent_and_answered() {
    for (transport, poisson) in [
        (Transport::Udp, false),
        (Transport::Udp, true),
        (Transport::Tcp, false),
    ] {
        let plan = EchoPlan {
            schedule: every(500, poisson),
            ..plan(transport, 2, &[8, 64, 20_000], 100)
        };
        let run = run(&plan);
        let expected: Vec<_> = [8, 64, 20_000]
            .into_iter()
            .flat_map(|size| (0..2).map(move |client| (size, client, 100, 0)))
            .collect();
        assert_eq!(counts(&run.record), expected, "{transport:?}");
        assert_eq!(run.record.clock.is_some(), transport == Transport::Udp);
        for series in &run.record.series {
            assert_eq!(series.departures.len(), 100);
            assert!(
                series
                    .departures
                    .is_sorted_by_key(|departure| departure.intended_ns)
            );
            let carries_times = transport == Transport::Udp && series.size >= 32;
            for (departure, reply) in series.departures.iter().zip(&series.replies) {
                assert_eq!(departure.one_way.is_some(), carries_times);
                // A round trip counts from when the message was to leave.
                assert!(reply.ns().unwrap() > departure.late_ns);
            }
            if let (Some(clock), true) = (run.record.clock, carries_times) {
                let way = series.departures[0].one_way.unwrap();
                // On one machine both ends read one clock, so each way is seen as it is.
                assert!(way.up_ns >= 0 && way.down_ns >= 0);
                let offset = clock.offset_ns(series.departures[0].intended_ns as i64);
                assert!(offset.abs() <= clock.bound_ns());
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let plan = EchoPlan {
        schedule: every(200, true),
        ..plan(Transport::Udp, 1, &[64], 50)
    };
    let gaps = |seed| {
        let server = server(ServerOptions::default());
        let options = EchoLocalOptions {
            seed,
            ..EchoLocalOptions::default()
        };
        let run = echo_with(&mut connect(server.local()), &plan, options, &mut |_| {}).unwrap();
        let departures = &run.record.series[0].departures;
        departures
            .windows(2)
            .map(|pair| pair[1].intended_ns - pair[0].intended_ns)
            .collect::<Vec<_>>()
    };
    assert_eq!(gaps(3), gaps(3));
    assert_ne!(gaps(3), gaps(4));
}

#[test]
fn one_client_may_run_many_tests_one_after_another() {
    let server = server(ServerOptions::default());
    let mut client = connect(server.local());
    for transport in [Transport::Tcp, Transport::Udp, Transport::Tcp] {
        let mut progress_events = Vec::new();
        let plan = plan(transport, 2, &[4, 8], 10);
        let run = echo(&mut client, &plan, &mut |event| {
            if let Event::Size(progress) = event {
                progress_events.push((progress.size_bytes, progress.client, progress.replies));
            }
        })
        .unwrap();
        assert_eq!(run.record.series.len(), 4);
        progress_events.sort_unstable();
        assert_eq!(
            progress_events,
            [(4, 0, 10), (4, 1, 10), (8, 0, 10), (8, 1, 10)]
        );
    }
    drop(client);
    server.stop();
}

#[test]
fn a_server_that_is_stopped_leaves_what_was_measured() {
    for schedule in [EchoSchedule::StopAndWait, every(1000, false)] {
        let server = Mutex::new(Some(server(ServerOptions::default())));
        let mut client = connect(server.lock().unwrap().as_ref().unwrap().local());
        let sizes: Vec<u32> = (1..=128).collect();
        let plan = EchoPlan {
            schedule,
            ..plan(Transport::Tcp, 2, &sizes, 100)
        };
        let stopper = Mutex::new(None);
        let run = echo(&mut client, &plan, &mut |event| {
            if let Event::Size(_) = event
                && let Some(server) = server.lock().unwrap().take()
            {
                *stopper.lock().unwrap() = Some(thread::spawn(move || server.stop()));
            }
        });
        let run = run.unwrap();
        if run
            .record
            .series
            .iter()
            .map(|one| one.replies.len())
            .sum::<usize>()
            < 25_600
        {
            assert!(
                matches!(
                    &run.cut_short,
                    Some(CutShort::ByServer(_) | CutShort::Lost(_))
                ),
                "{:?}",
                run.cut_short
            );
        }
        assert!(
            run.record
                .series
                .iter()
                .any(|one| one.size == 1 && one.replies.len() == 100)
        );
        // What was under way when the end came is not lost.
        assert!(counts(&run.record).iter().all(|(_, _, _, lost)| *lost == 0));
        stopper.lock().unwrap().take().unwrap().join().unwrap();
    }
}

#[test]
fn the_time_limit_of_a_server_ends_a_test() {
    let options = ServerOptions {
        limits: SessionLimits {
            max_time: Some(Duration::from_millis(300)),
            ..Default::default()
        },
        ..Default::default()
    };
    let server = server(options);
    let plan = EchoPlan {
        schedule: every(20_000, false),
        ..plan(Transport::Udp, 1, &[64], 10_000)
    };
    let run = echo(&mut connect(server.local()), &plan, &mut |_| {}).unwrap();
    assert_eq!(
        run.cut_short,
        Some(CutShort::ByServer(
            "the server's time limit was reached".into()
        ))
    );
    let replies = run.record.series[0].replies.len();
    assert!((1..10_000).contains(&replies));
    let size = &run.record.summarise(EchoSummaryOptions {
        confidence: 0.98,
        include_first: false,
    })[0];
    assert_eq!(size.pooled.sent, replies as u64);
}

#[test]
fn a_server_that_limits_the_rate_reports_it() {
    let server = server(ServerOptions {
        limits: SessionLimits {
            max_rate: Some(BitRate::from_bps(100_000_000)),
            ..Default::default()
        },
        ..Default::default()
    });
    let plan = plan(Transport::Udp, 2, &[1000], 20);
    let run = echo(&mut connect(server.local()), &plan, &mut |_| {}).unwrap();
    assert_eq!(counts(&run.record), [(1000, 0, 20, 0), (1000, 1, 20, 0)]);
    assert!(
        run.changed[0].as_received().contains("100 Mbit/s"),
        "{:?}",
        run.changed
    );
}

#[test]
fn a_plan_out_of_range_is_refused_before_anything_is_sent() {
    let server = server(ServerOptions::default());
    let mut client = connect(server.local());
    for bad in [
        plan(Transport::Udp, 1, &[65_508], 1),
        plan(Transport::Tcp, 1, &[0], 1),
        plan(Transport::Tcp, 1025, &[1], 1),
        plan(Transport::Tcp, 100, &[1, 2, 4], 1_000_000),
    ] {
        let refused = echo(&mut client, &bad, &mut |_| {});
        assert!(matches!(refused, Err(RunError::Plan(_))), "{refused:?}");
    }
    // The session goes on.
    let good = plan(Transport::Tcp, 1, &[1], 1);
    assert!(echo(&mut client, &good, &mut |_| {}).is_ok());
}

/// A relay between a client and a server's TCP port whose connections can be cut.
struct Relay {
    address: SocketAddr,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    /// `true` when data connections are read and not passed on.
    is_silent: Arc<AtomicBool>,
}

impl Relay {
    fn new(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let streams = Arc::new(Mutex::new(Vec::new()));
        let is_silent = Arc::new(AtomicBool::new(false));
        let (kept, silence) = (Arc::clone(&streams), Arc::clone(&is_silent));
        thread::spawn(move || {
            for (nth, near) in listener.incoming().enumerate() {
                let near = near.unwrap();
                let Ok(far) = TcpStream::connect(server) else {
                    return;
                };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let silence = Arc::clone(&silence);
                    thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while let Ok(length @ 1..) = from.read(&mut bytes) {
                            let is_dropped = nth > 0 && silence.load(Ordering::Relaxed);
                            if !is_dropped && to.write_all(&bytes[..length]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                kept.lock().unwrap().push(near);
            }
        });
        Self {
            address,
            streams,
            is_silent,
        }
    }

    /// Cuts the connection at position `nth`; the first is the control connection.
    fn cut(&self, nth: usize) {
        let _ = self.streams.lock().unwrap()[nth].shutdown(Shutdown::Both);
    }
}

#[test]
fn a_lost_control_connection_leaves_what_was_measured() {
    let server = server(ServerOptions::default());
    let relay = Relay::new(server.local());
    let plan = plan(Transport::Tcp, 2, &(1..=128).collect::<Vec<u32>>(), 200);
    let run = echo(&mut connect(relay.address), &plan, &mut |event| {
        if matches!(event, Event::Size(progress) if progress.size_bytes == 2) {
            relay.cut(0);
        }
    });
    let run = run.unwrap();
    assert!(
        matches!(run.cut_short, Some(CutShort::Lost(_))),
        "{:?}",
        run.cut_short
    );
    assert!(run.server_usage.is_none());
    assert_eq!(counts(&run.record)[..2], [(1, 0, 200, 0), (1, 1, 200, 0)]);
    // The server has noticed, and serves others.
    let again = self::plan(Transport::Tcp, 1, &[1], 10);
    assert!(echo(&mut connect(server.local()), &again, &mut |_| {}).is_ok());
}

#[test]
fn a_lost_data_connection_ends_that_connection_only() {
    let server = server(ServerOptions::default());
    let relay = Relay::new(server.local());
    let plan = plan(Transport::Tcp, 2, &(1..=32).collect::<Vec<u32>>(), 100);
    let run = echo(&mut connect(relay.address), &plan, &mut |event| {
        if matches!(event, Event::Size(progress) if (progress.client, progress.size_bytes) == (1, 3))
        {
            relay.cut(2);
        }
    });
    let run = run.unwrap();
    assert_eq!(run.cut_short, None);
    assert!(run.connections[0].failure.is_none());
    assert!(run.connections[1].failure.is_some());
    let done = |client| {
        run.record
            .series
            .iter()
            .filter(|one| one.client == client && one.replies.len() == 100)
            .count()
    };
    assert_eq!(done(0), 32);
    assert!((3..32).contains(&done(1)), "{}", done(1));
}

#[test]
fn a_connection_without_replies_fails_after_the_timeout() {
    let server = server(ServerOptions::default());
    for schedule in [EchoSchedule::StopAndWait, every(1000, false)] {
        let relay = Relay::new(server.local());
        let timeout = Duration::from_millis(300);
        let sizes: Vec<u32> = (1..=32).collect();
        let plan = EchoPlan {
            timeout,
            schedule,
            ..plan(Transport::Tcp, 1, &sizes, 100)
        };
        let run = echo(&mut connect(relay.address), &plan, &mut |event| {
            if matches!(event, Event::Size(progress) if progress.size_bytes == 2) {
                relay.is_silent.store(true, Ordering::Relaxed);
            }
        });
        let run = run.unwrap();
        let failure = run.connections[0]
            .failure
            .as_ref()
            .map(ExternalText::as_received)
            .unwrap();
        assert!(failure.contains("no reply for 0.3 s"), "{failure}");
        assert!(
            matches!(run.cut_short, Some(CutShort::Lost(_))),
            "{:?}",
            run.cut_short
        );
        assert_eq!(counts(&run.record)[1], (2, 0, 100, 0));
    }
}

/// A relay between a client and a server, also over UDP, that treats replies by their number: of each ten it drops one, sends
/// one twice, and, when `holds` is set, holds one back until the next has passed.
fn impairing_relay(server: SocketAddr, holds: bool) -> SocketAddr {
    let (near, address) = loop {
        // The same port for both protocols, which another program may have taken for one of them.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        if let Ok(near) = UdpSocket::bind(address) {
            thread::spawn(move || {
                for client in listener.incoming() {
                    let (near, far) = (client.unwrap(), TcpStream::connect(server).unwrap());
                    for (from, to) in [(&near, &far), (&far, &near)] {
                        let (mut from, mut to) =
                            (from.try_clone().unwrap(), to.try_clone().unwrap());
                        thread::spawn(move || {
                            let _ = std::io::copy(&mut from, &mut to);
                            let _ = to.shutdown(Shutdown::Both);
                        });
                    }
                }
            });
            break (near, address);
        }
    };
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(server).unwrap();
    let client = Arc::new(Mutex::new(None));
    let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let client_too = Arc::clone(&client);
    thread::spawn(move || {
        let mut datagram = vec![0; 65_507];
        while let Ok((length, from)) = near.recv_from(&mut datagram) {
            *client.lock().unwrap() = Some(from);
            let _ = far.send(&datagram[..length]);
        }
    });
    thread::spawn(move || {
        let mut datagram = vec![0; 65_507];
        let mut held = None;
        let mut nth = 0;
        while let Ok(length) = far_too.recv(&mut datagram) {
            let reply = &datagram[..length];
            let to = client_too.lock().unwrap().unwrap();
            let pass = |reply: &[u8]| {
                let _ = near_too.send_to(reply, to);
            };
            if OpeningDatagram::decode(reply).is_some() {
                pass(reply);
                continue;
            }
            nth += 1;
            match nth % 10 {
                3 => {}
                5 => {
                    pass(reply);
                    pass(reply);
                }
                7 if holds => held = Some(reply.to_vec()),
                _ => {
                    if let Some(held) = held.take() {
                        pass(&held);
                    }
                    pass(reply);
                }
            }
        }
    });
    address
}

#[test]
fn lost_late_and_duplicate_replies_are_distinguished() {
    let server = server(ServerOptions::default());
    // Without kernel timestamps the relay passes only messages that count.
    let options = EchoLocalOptions {
        kernel_timestamps: false,
        ..EchoLocalOptions::default()
    };
    for size in [1, 2, 8, 64] {
        let timeout = Duration::from_millis(300);
        let plan = EchoPlan {
            timeout,
            ..plan(Transport::Udp, 1, &[size], 30)
        };
        let relay = impairing_relay(server.local(), true);
        let run = echo_with(&mut connect(relay), &plan, options.clone(), &mut |_| {}).unwrap();
        // Of 31 messages numbers 3, 13 and 23 were dropped, and 7, 17 and 27 arrived after their timeout.
        assert_eq!(counts(&run.record), [(size, 0, 30, 6)]);
        let series = &run.record.series[0];
        assert_eq!((series.late, series.duplicate), (3, 3), "{size} B");
        let gone: Vec<usize> = (0..30)
            .filter(|nth| series.replies[*nth] == Reply::LOST)
            .collect();
        assert_eq!(gone, [1, 5, 11, 15, 21, 25]);
    }
}

#[test]
fn on_a_schedule_lost_replies_are_counted_and_the_others_go_on() {
    let server = server(ServerOptions::default());
    for size in [2, 64] {
        let schedule = every(2000, false);
        let timeout = Duration::from_secs(2);
        let plan = EchoPlan {
            schedule,
            timeout,
            ..plan(Transport::Udp, 1, &[size], 30)
        };
        let relay = impairing_relay(server.local(), false);
        let run = echo(&mut connect(relay), &plan, &mut |_| {}).unwrap();
        assert_eq!(counts(&run.record), [(size, 0, 30, 3)]);
        let series = &run.record.series[0];
        assert_eq!((series.late, series.duplicate), (0, 3), "{size} B");
        for (reply, departure) in series.replies.iter().zip(&series.departures) {
            assert_eq!(
                departure.one_way.is_some(),
                size == 64 && *reply != Reply::LOST
            );
        }
    }
}
