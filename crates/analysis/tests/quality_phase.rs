//! A phase of a test of latency under load, from its measurements to its report.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_analysis::echo::{Departure, EchoSeries, OneWayTransit, Reply};
use caudal_analysis::quality::{ClockTrack, PhaseMeasurements, SmoothedRtt, quality_report};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::echo::ClockOffset;
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{
    AdviceCode, ConnectProbe, FillVerdict, Grade, ProbeKind, QualityReport,
};
use caudal_core::summary::DirectionSummary;

const MS: u64 = 1_000_000;
/// The server's clock is an hour ahead.
const OFFSET_NS: i64 = 3_600_000_000_000;

/// 100 probes a second apart by 100 ms, over a path of 10 ms up and `10 + queue_ms` down.
fn phase(load: PhaseLoad, queue_ms: u64) -> PhaseMeasurements {
    let start_ns = if load == PhaseLoad::Idle {
        0
    } else {
        10_000 * MS
    };
    let rtt_ns = (20 + queue_ms) * MS;
    let udp = EchoSeries {
        size: 64,
        first: Some(Reply::after(rtt_ns)),
        replies: vec![Reply::after(rtt_ns); 100],
        departures: (1..=100)
            .map(|nth| Departure {
                intended_ns: nth * 100 * MS,
                late_ns: 0,
                one_way: Some(OneWayTransit {
                    up_ns: 10 * MS as i64 + OFFSET_NS,
                    down_ns: (10 + queue_ms as i64) * MS as i64 - OFFSET_NS,
                }),
            })
            .collect(),
        ..EchoSeries::default()
    };
    let text = r#"{"direction":"down","goodput_bps":20e6,"measured_s":8,"bytes":20000000,
        "tcp":{"retransmitted_bytes":200000}}"#;
    let down: DirectionSummary = serde_json::from_str(text).unwrap();
    let loaded = load != PhaseLoad::Idle;
    PhaseMeasurements {
        is_behind_proxy: false,
        load,
        start_ns,
        duration_ns: 10_000 * MS,
        ramp_ns: if loaded { 2_000 * MS } else { 0 },
        tcp: udp.clone(),
        udp,
        connects: (0..50)
            .map(|nth| ConnectProbe {
                at_ns: nth * 200 * MS,
                connect_ns: Some(rtt_ns),
                answer_ns: Some(rtt_ns),
            })
            .collect(),
        loaded: (0..50)
            .filter(|_| loaded)
            .map(|nth| SmoothedRtt {
                at_s: f64::from(nth) * 0.2,
                rtt_us: rtt_ns as f64 / 1e3,
            })
            .collect(),
        goodput_bps: vec![20e6; 10],
        directions: vec![down].into_iter().filter(|_| loaded).collect(),
        client_queue: None,
        server_queue: None,
        client_usage: Usage::default(),
        server_usage: None,
        cut_short: None,
    }
}

fn clock(bound_ns: i64) -> ClockTrack {
    let point = |at_ns| ClockOffset {
        at_ns,
        offset_ns: OFFSET_NS,
        bound_ns,
    };
    ClockTrack::new(vec![point(0), point(20_000 * MS as i64)])
}

#[test]
fn what_load_adds_is_told_by_direction_whatever_the_clocks_show() {
    let (idle, loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    // Half of the round trip, as a measurement over the path itself has it.
    let report = loaded.report(Some(&idle), &clock(10 * MS as i64), 0.95);
    let down = report.added(Direction::Down).unwrap();
    assert!((down.increase.mean_us - 100e3).abs() < 1.0, "{down:?}");
    assert!((down.increase.max_us - 100e3).abs() < 1.0, "{down:?}");
    // 100 ms at 20 Mbit/s.
    assert!((down.queue_max_bytes.unwrap() - 250_000.0).abs() < 10.0);
    let up = report.added(Direction::Up).unwrap();
    assert!(up.increase.max_us.abs() < 1.0 && up.queue_max_bytes.is_none());
    assert_eq!(report.grade, Some(Grade::C));
    assert!(report.one_way.iter().all(|way| way.p50_us.is_none()));
    let reason = report.one_way[0].cannot_tell.as_ref().unwrap();
    assert!(reason.contains("± 10.0 ms"), "{reason}");
    let exact = loaded.report(Some(&idle), &clock(1_000), 0.95);
    let told: Vec<_> = exact.one_way.iter().filter_map(|way| way.p50_us).collect();
    assert_eq!(told, [10e3, 110e3]);
}

#[test]
fn the_ramp_does_not_count_and_every_probe_is_summarised() {
    let (idle, loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    let report = loaded.report(Some(&idle), &clock(1_000), 0.95);
    let sent = |kind| report.probe(kind).map(|probe| probe.sent);
    // Ten a second from 2 s on, the probe at 2 s included.
    assert_eq!(sent(ProbeKind::Udp), Some(81));
    assert_eq!(sent(ProbeKind::Tcp), Some(81));
    assert_eq!(sent(ProbeKind::Handshake), Some(40));
    assert_eq!(sent(ProbeKind::Request), Some(40));
    assert_eq!(sent(ProbeKind::Loaded), Some(40));
    let found = report.responsiveness.unwrap();
    // 60 s over 120 ms, on new connections as on the loaded ones.
    assert!((found.rpm - 500.0).abs() < 1e-6, "{found:?}");
    let load = report.direction(Direction::Down).unwrap();
    assert!((load.retransmitted.unwrap() - 200.0 / 20_200.0).abs() < 1e-9);
    assert_eq!(idle.report(None, &clock(1_000), 0.95).responsiveness, None);
}

#[test]
fn a_test_without_upload_has_advice_and_no_grade() {
    let (idle, loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    let phases = [&idle, &loaded].map(|one| one.report(Some(&idle), &clock(1_000), 0.95));
    let report = quality_report(phases.to_vec(), Vec::new(), 0.95);
    assert_eq!(report.grade, None);
    assert_eq!(report.advice[0].code, AdviceCode::PathQueue);
    let text = serde_json::to_string(&report).unwrap();
    let again: QualityReport = serde_json::from_str(&text).unwrap();
    assert_eq!(again, report);
}

#[test]
fn a_phase_whose_load_did_not_fill_the_path_has_no_grade() {
    let idle = phase(PhaseLoad::Idle, 0);
    let report = |loaded: &PhaseMeasurements| loaded.report(Some(&idle), &clock(1_000), 0.95);
    let download = phase(PhaseLoad::Download, 0);
    let mut upload = phase(PhaseLoad::Upload, 100);
    // The queue is that of this phase's load.
    for departure in &mut upload.udp.departures {
        departure.one_way = departure.one_way.map(|way| OneWayTransit {
            up_ns: way.up_ns + 100 * MS as i64,
            down_ns: way.down_ns - 100 * MS as i64,
        });
    }
    upload.directions[0].direction = Direction::Up;
    let (down, up) = (report(&download), report(&upload));
    let fill = down.directions[0].fill.as_ref().unwrap();
    assert_eq!(fill.verdict, FillVerdict::CannotTell);
    assert_eq!((down.grade, up.grade), (None, Some(Grade::C)));
    let phases = vec![report(&idle), down, up];
    let found = quality_report(phases, Vec::new(), 0.95);
    let grade = found.grade.unwrap();
    assert_eq!(
        (grade.grade, grade.single_load()),
        (Grade::C, Some(PhaseLoad::Upload))
    );
    let codes: Vec<_> = found.advice.iter().map(|one| one.code).collect();
    assert_eq!(codes, [AdviceCode::PathQueue, AdviceCode::PathNotFilled]);
}

#[test]
fn a_phase_without_flows_has_no_grade() {
    let (idle, mut loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    loaded.directions.clear();
    let report = loaded.report(Some(&idle), &clock(1_000), 0.95);
    assert!(report.added_rtt.is_some() && report.grade.is_none());
}

#[test]
fn a_busy_host_gives_no_grade() {
    let (idle, mut loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    for departure in loaded.udp.departures.iter_mut().step_by(5) {
        departure.late_ns = 30 * MS;
    }
    let report = loaded.report(Some(&idle), &clock(1_000), 0.95);
    assert_eq!(report.grade, None);
    let busy = report.busy.unwrap();
    assert!(busy.as_received().contains("left 20 ms late"), "{busy}");
}

#[test]
fn the_grade_is_that_of_the_protocol_that_waits() {
    let (idle, mut loaded) = (phase(PhaseLoad::Idle, 0), phase(PhaseLoad::Download, 100));
    loaded.udp = idle.udp.clone();
    let limited = LimitedBy::because(Cause::Bufferbloat, Bottleneck::Network, "…");
    loaded.directions[0].limited_by = Some(limited);
    let report = loaded.report(Some(&idle), &clock(1_000), 0.95);
    let both = report.by_protocol.unwrap();
    assert_eq!(both.served_first, Some(ProbeKind::Udp));
    assert_eq!((report.grade, report.added_rtt), (Some(Grade::C), both.tcp));
    let found = quality_report(vec![report], Vec::new(), 0.95);
    let codes: Vec<_> = found.advice.iter().map(|one| one.code).collect();
    assert_eq!(codes, [AdviceCode::ServedFirst, AdviceCode::PathQueue]);
}
