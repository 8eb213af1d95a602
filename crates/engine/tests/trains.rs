//! Trains of datagrams over loopback, with a server of caudal.
//!
//! The tests check counts and the order of times; none depends on how long anything takes.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_core::plan::{Direction, Plan, PlannedTrains, TrainSeries, TrainSpacing, TrainsPlan};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::peer::{NativePeer, Peer};
use caudal_engine::server::SessionEventSender;
use caudal_engine::{
    LocalBinding, LocalOptions, MemoryBudget, RunError, Server, ServerOptions, SessionLimits,
    Target, TrainsOutcome,
};
use caudal_wire::message::Refusal;
use std::time::Duration;

fn server(limits: SessionLimits) -> Server {
    let options = ServerOptions {
        bind: vec![std::net::IpAddr::from([127, 0, 0, 1]).into()],
        port: 0,
        limits,
        ..ServerOptions::default()
    };
    Server::start(options, SessionEventSender::default()).unwrap()
}

fn connect(server: &Server) -> NativePeer {
    let target = Target {
        host: "127.0.0.1".to_owned(),
        port: server.local().port(),
        family: None,
        binding: LocalBinding::default(),
        token: None,
    };
    NativePeer::connect(&target, "test", None).unwrap()
}

fn run(peer: &mut NativePeer, plan: TrainsPlan) -> Result<TrainsOutcome, RunError> {
    let outcome = peer.run(&Plan::Trains(plan), &LocalOptions::default(), &mut |_| {})?;
    Ok(outcome.into_trains().unwrap())
}

fn pairs() -> TrainSeries {
    TrainSeries {
        trains: 20,
        datagrams: 2,
        length: 1000,
        spacing: TrainSpacing::BackToBack,
        period_ns: 2_000_000,
        timed: true,
    }
}

fn plan(up: Option<TrainSeries>, down: Option<TrainSeries>) -> TrainsPlan {
    TrainsPlan {
        series: PlannedTrains { up, down },
        dscp: None,
    }
}

#[test]
fn both_ends_tell_the_time_of_each_datagram() {
    let server = server(SessionLimits::default());
    let mut peer = connect(&server);
    for (up, down) in [(true, false), (false, true), (true, true)] {
        let series = |is_planned: bool| is_planned.then(pairs);
        let outcome = run(&mut peer, plan(series(up), series(down))).unwrap();
        assert_eq!(outcome.cut_short, None);
        for (direction, is_planned) in [(Direction::Up, up), (Direction::Down, down)] {
            let Some(seen) = outcome.series(direction) else {
                assert!(!is_planned);
                continue;
            };
            let (sent, received) = (seen.sent.unwrap(), seen.received.unwrap());
            assert_eq!((sent.datagrams, sent.refused), (40, 0));
            assert_eq!((received.datagrams, received.duplicates), (40, 0));
            let sent = sent.times.unwrap().by_number(40).unwrap();
            let received = received.times.unwrap().by_number(40).unwrap();
            // One machine has one wall clock, which is not set back during a test. The first datagram of a train leaves after the time read
            // before the call that hands the train over; those of the others are interpolated within the call.
            for (sent, received) in sent.chunks(2).zip(received.chunks(2)) {
                let (sent, received) = (sent[0].zip(sent[1]).unwrap(), received[0].unwrap());
                assert!(
                    sent.0 <= sent.1 && sent.0 <= received,
                    "{sent:?} {received}"
                );
            }
        }
    }
}

#[test]
fn counts_alone_are_told_without_times() {
    let server = server(SessionLimits::default());
    let mut peer = connect(&server);
    let series = TrainSeries {
        trains: 1,
        datagrams: 500,
        length: 200,
        spacing: TrainSpacing::Poisson {
            gap_ns: 100_000,
            seed: 5,
        },
        period_ns: 0,
        timed: false,
    };
    let outcome = run(&mut peer, plan(Some(series), Some(series))).unwrap();
    for direction in Direction::BOTH {
        let seen = outcome.series(direction).unwrap();
        let (sent, received) = (seen.sent.unwrap(), seen.received.unwrap());
        assert_eq!((sent.datagrams, received.datagrams), (500, 500));
        assert_eq!((sent.times, received.times), (None, None));
        assert!(received.elapsed_ns > 0 && sent.elapsed_ns > 0);
    }
}

#[test]
fn one_port_serves_test_after_test() {
    let server = server(SessionLimits::default());
    let mut peer = connect(&server);
    let first = run(&mut peer, plan(Some(pairs()), None)).unwrap();
    let options = LocalOptions {
        local_port: first.local_port,
        ..LocalOptions::default()
    };
    for _ in 0..3 {
        let outcome = peer.run(
            &Plan::Trains(plan(Some(pairs()), Some(pairs()))),
            &options,
            &mut |_| {},
        );
        let outcome = outcome.unwrap().into_trains().unwrap();
        assert_eq!(outcome.local_port, first.local_port);
        let seen = outcome.series(Direction::Down).unwrap();
        assert_eq!(seen.received.unwrap().datagrams, 40);
    }
}

#[test]
fn a_server_publishes_its_limits_and_keeps_them() {
    let limits = SessionLimits {
        max_rate: Some(BitRate::from_bps(8_000_000)),
        max_time: Some(Duration::from_secs(2)),
        max_bytes: Some(ByteCount::new(50_000)),
        ..SessionLimits::default()
    };
    let server = server(limits);
    let published = connect(&server).info().limits.unwrap();
    assert_eq!(published.max_rate_bps, Some(BitRate::from_bps(8_000_000)));
    assert_eq!(published.max_time_ns, Some(2_000_000_000));
    assert_eq!(published.max_bytes, Some(ByteCount::new(50_000)));
    let beyond = [
        TrainSeries {
            trains: 30,
            ..pairs()
        },
        TrainSeries {
            period_ns: 1_900_000,
            ..pairs()
        },
        TrainSeries {
            trains: 3,
            period_ns: 1_100_000_000,
            ..pairs()
        },
    ];
    for series in beyond {
        for plan in [plan(Some(series), None), plan(None, Some(series))] {
            let error = run(&mut connect(&server), plan).unwrap_err();
            assert!(
                matches!(
                    &error,
                    RunError::Refused {
                        reason: Refusal::Limit,
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    let within = run(&mut connect(&server), plan(Some(pairs()), Some(pairs())));
    assert_eq!(within.unwrap().cut_short, None);
}

#[test]
fn a_server_without_memory_for_arrivals_says_so() {
    let limits = SessionLimits {
        memory: MemoryBudget::new(ByteCount::new(10_000)),
        ..SessionLimits::default()
    };
    let error = run(&mut connect(&server(limits)), plan(Some(pairs()), None)).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
}
