//! The rate at which connections open, over loopback.
//!
//! The tests check counts, limits and reasons; none depends on how long anything takes.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_analysis::connect::TallyEnd;
use caudal_core::connect::ConnectServer;
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{ConnectPlan, Plan};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::peer::{NativePeer, Peer};
use caudal_engine::server::SessionEventSender;
use caudal_engine::{
    ConnectOutcome, LocalBinding, LocalOptions, RunError, Server, ServerOptions, SessionLimits,
    Target, connect_to_port,
};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
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

fn target(port: u16) -> Target {
    Target {
        host: "127.0.0.1".to_owned(),
        port,
        family: None,
        binding: LocalBinding::default(),
        token: None,
    }
}

fn plan() -> ConnectPlan {
    ConnectPlan {
        parallel: 2,
        time: Duration::from_secs(60),
        count: Some(200),
        interval: Duration::from_millis(100),
        period: None,
        timeout: Duration::from_secs(30),
        tls: false,
        certificate: None,
        dscp: None,
    }
}

fn run(server: &Server, plan: ConnectPlan) -> (ConnectOutcome, Vec<Event>) {
    let target = target(server.local().port());
    let mut peer = NativePeer::connect(&target, "test", None).unwrap();
    let mut events = Vec::new();
    let outcome = peer
        .run(
            &Plan::Connect(plan),
            &LocalOptions::default(),
            &mut |event| {
                events.push(event);
            },
        )
        .unwrap();
    (outcome.into_connect().unwrap(), events)
}

fn total(outcome: ConnectOutcome) -> TallyEnd {
    let elapsed_s = outcome.elapsed.as_secs_f64();
    Arc::into_inner(outcome.tally)
        .unwrap()
        .finish(elapsed_s, 0.95)
}

#[test]
fn each_connection_is_answered_and_its_steps_are_timed() {
    let server = server(SessionLimits::default());
    for tls in [false, true] {
        let (outcome, events) = run(&server, ConnectPlan { tls, ..plan() });
        assert_eq!(outcome.cut_short, None);
        assert_eq!(outcome.server, ConnectServer::Caudal);
        let rows: u64 = events
            .iter()
            .filter_map(|event| match event {
                Event::Connections { interval } => Some(interval.completed),
                _ => None,
            })
            .sum();
        let end = total(outcome);
        assert_eq!((end.attempts, end.completed, rows), (200, 200, 200));
        assert_eq!(end.connect.unwrap().n, 200);
        assert_eq!(end.first_byte.unwrap().n, 200);
        assert_eq!(end.handshake.map(|times| times.n), tls.then_some(200));
    }
}

#[test]
fn a_schedule_begins_connections_when_they_are_due() {
    let server = server(SessionLimits::default());
    let scheduled = ConnectPlan {
        period: Some(Duration::from_millis(20)),
        count: Some(11),
        ..plan()
    };
    let (outcome, _) = run(&server, scheduled);
    assert!(outcome.elapsed >= Duration::from_millis(200));
    assert_eq!(total(outcome).completed, 11);
}

#[test]
fn a_server_keeps_its_limits_and_tells_them() {
    let limits = SessionLimits {
        max_rate: Some(BitRate::from_bps(40_000_000)),
        max_time: Some(Duration::from_millis(300)),
        max_bytes: Some(ByteCount::new(10_000)),
        ..SessionLimits::default()
    };
    let (outcome, _) = run(&server(limits), plan());
    assert_eq!(outcome.plan.time, Duration::from_millis(300));
    assert_eq!(outcome.plan.period, Some(Duration::from_micros(100)));
    assert_eq!(outcome.plan.count, Some(20));
    assert_eq!(outcome.changed.len(), 3, "{:?}", outcome.changed);
    assert_eq!(total(outcome).completed, 20);
}

#[test]
fn a_server_that_is_stopped_ends_the_test_with_what_was_measured() {
    let server = server(SessionLimits::default());
    let target = target(server.local().port());
    let mut peer = NativePeer::connect(&target, "test", None).unwrap();
    let endless = ConnectPlan {
        count: None,
        ..plan()
    };
    let mut server = Some(server);
    let outcome = peer.run(
        &Plan::Connect(endless),
        &LocalOptions::default(),
        &mut |event| {
            if matches!(event, Event::Connections { .. })
                && let Some(server) = server.take()
            {
                thread::spawn(move || server.stop());
            }
        },
    );
    let outcome = outcome.unwrap().into_connect().unwrap();
    assert!(matches!(outcome.cut_short, Some(CutShort::ByServer(_))));
    assert!(total(outcome).completed > 0);
}

#[test]
fn any_listening_port_will_do_and_a_closed_one_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        // One connection before the test, and those of the plan.
        for _ in 0..201 {
            drop(listener.accept());
        }
    });
    let options = LocalOptions::default();
    let (peer, outcome) =
        connect_to_port(&plan(), &target(port), &options, None, &mut |_| {}).unwrap();
    assert_eq!(
        (peer.port(), outcome.server),
        (port, ConnectServer::TcpPort)
    );
    let end = total(outcome);
    assert_eq!((end.completed, end.failures.total()), (200, 0));
    assert!(end.first_byte.is_none() && end.handshake.is_none());
    server.join().unwrap();
    let refused = connect_to_port(&plan(), &target(port), &options, None, &mut |_| {});
    assert!(matches!(refused, Err(RunError::Connect { .. })));
}

#[test]
fn failures_are_counted_by_their_reason() {
    // A server that closes connections at once makes no TLS handshake.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
        }
    });
    let secure = ConnectPlan {
        tls: true,
        count: Some(20),
        ..plan()
    };
    let options = LocalOptions::default();
    let (_, outcome) =
        connect_to_port(&secure, &target(port), &options, None, &mut |_| {}).unwrap();
    let end = total(outcome);
    assert_eq!((end.attempts, end.completed), (20, 0));
    let failures = end.failures;
    assert_eq!(failures.no_answer + failures.reset, 20, "{failures:?}");
    assert!(!options.quit.load(Relaxed));
}
