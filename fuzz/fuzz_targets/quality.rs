//! What a test of latency under load measures, with a server whose clock and times may be anything: a report has finite numbers only, and
//! is read as it was written.
#![no_main]

use caudal_analysis::echo::{Departure, EchoSeries, OneWayTransit, Reply};
use caudal_analysis::quality::{ClockTrack, PhaseMeasurements, SmoothedRtt, quality_report};
use caudal_core::echo::ClockOffset;
use caudal_core::host::Usage;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{ConnectProbe, QualityReport};
use libfuzzer_sys::fuzz_target;

/// A message: its round-trip time, its departure and lateness, and its transit times.
type Message = (Option<u64>, u32, u32, Option<(i64, i64)>);
/// A phase: its length, its messages over UDP and TCP, connections, readings of a kernel, and a usage.
type Phase = (
    u32,
    Vec<Message>,
    Vec<Message>,
    Vec<(u32, Option<u64>, Option<u64>)>,
    Vec<(u32, u32)>,
    Option<(u64, u64)>,
);

fn series(messages: &[Message]) -> EchoSeries {
    EchoSeries {
        replies: messages
            .iter()
            .map(|(rtt_ns, ..)| rtt_ns.map_or(Reply::LOST, Reply::after))
            .collect(),
        departures: messages
            .iter()
            .map(|(_, due_us, late_us, one_way)| Departure {
                intended_ns: u64::from(*due_us) * 1000,
                late_ns: u64::from(*late_us) * 1000,
                one_way: one_way.map(|(up_ns, down_ns)| OneWayTransit { up_ns, down_ns }),
            })
            .collect(),
        ..EchoSeries::default()
    }
}

fn phase(load: PhaseLoad, phase: &Phase) -> PhaseMeasurements {
    let (length_us, udp, tcp, connects, loaded, usage) = phase;
    PhaseMeasurements {
        load,
        start_ns: 0,
        duration_ns: u64::from(*length_us) * 1000,
        ramp_ns: 1_000_000_000,
        is_behind_proxy: false,
        udp: series(udp),
        tcp: series(tcp),
        connects: connects
            .iter()
            .map(|(at_us, connect_ns, answer_ns)| ConnectProbe {
                at_ns: u64::from(*at_us) * 1000,
                connect_ns: *connect_ns,
                answer_ns: *answer_ns,
            })
            .collect(),
        loaded: loaded
            .iter()
            .map(|(at_us, rtt_us)| SmoothedRtt {
                at_s: f64::from(*at_us) / 1e6,
                rtt_us: f64::from(*rtt_us),
            })
            .collect(),
        goodput_bps: loaded.iter().map(|(at_us, _)| f64::from(*at_us)).collect(),
        directions: Vec::new(),
        client_queue: None,
        server_queue: None,
        client_usage: Usage::default(),
        server_usage: usage.map(|(cpu_ns, wall_ns)| Usage {
            cpu_ns,
            wall_ns,
            ..Usage::default()
        }),
        cut_short: None,
    }
}

fuzz_target!(|input: (Phase, Phase, Vec<(i64, i64, u32)>)| {
    let (idle, loaded, clock) = input;
    let clock = ClockTrack::new(
        clock
            .into_iter()
            .map(|(at_ns, offset_ns, bound_ns)| ClockOffset {
                at_ns,
                offset_ns,
                bound_ns: i64::from(bound_ns),
            })
            .collect(),
    );
    let idle = phase(PhaseLoad::Idle, &idle);
    let loaded = phase(PhaseLoad::Download, &loaded);
    let phases = vec![
        idle.report(None, &clock, 0.95),
        loaded.report(Some(&idle), &clock, 0.95),
    ];
    let report = quality_report(phases, Vec::new(), 0.95);
    // A number that is not finite is written as null, which is no number.
    let text = serde_json::to_string(&report).expect("a report is written");
    let again: Result<QualityReport, _> = serde_json::from_str(&text);
    assert!(again.is_ok(), "{again:?}: {text}");
});
