//! Measures a large store: `cargo run --release -p caudal-store --example store_speed [RUNS [SAMPLES]]`.
//!
//! Builds a store of 10 000 runs with 500 samples each in the temporary directory, and prints how long recording,
//! listing, finding and searching take.

use caudal_core::host::Host;
use caudal_core::interval::{Interval, TcpInterval};
use caudal_core::plan::{BulkPlanRecord, Direction, PlanRecord, PlannedFlow, RttPlanRecord};
use caudal_core::run::{Environment, FlowReport, Run, RunHeader, RunOutcome, SCHEMA, Tool};
use caudal_store::{Filter, Headline, SampleSeries, Store, StoreError, StoredRun};
use std::time::Instant;

fn main() -> Result<(), StoreError> {
    let mut words = std::env::args().skip(1).map(|word| word.parse());
    let runs: u64 = words.next().and_then(Result::ok).unwrap_or(10_000);
    let samples: u64 = words.next().and_then(Result::ok).unwrap_or(500);
    let at = std::env::temp_dir().join(format!("caudal-store-speed-{}.db", std::process::id()));
    let began = Instant::now();
    let mut store = Store::open(&at)?;
    for nth in 0..runs {
        store.record(&run(nth, samples))?;
    }
    let took = began.elapsed();
    let summary = store.summary()?;
    println!(
        "recorded {} runs with {} samples in {took:.2?}: {:.2?} each, {:.1} MB",
        summary.runs,
        summary.samples,
        took / u32::try_from(runs.max(1)).unwrap_or(u32::MAX),
        summary.bytes as f64 / 1e6
    );
    drop(store);
    // As commands do it: opening the store counts.
    let timed = |what: &str, filter: &Filter| -> Result<(), StoreError> {
        let began = Instant::now();
        let found = Store::open_to_read(&at)?.list(filter)?.len();
        println!("{what}: {found} in {:.2?}", began.elapsed());
        Ok(())
    };
    let all = Filter::default();
    timed("list all", &all)?;
    let limit = Some(50);
    timed(
        "list the newest 50",
        &Filter {
            limit,
            ..all.clone()
        },
    )?;
    let kind = Some("rtt".to_owned());
    timed(
        "list a kind",
        &Filter {
            kind,
            ..all.clone()
        },
    )?;
    let words = vec!["far7.example".to_owned()];
    timed("search", &Filter { words, ..all })?;
    let began = Instant::now();
    let id = run(runs / 2, 0).id;
    Store::open_to_read(&at)?.find(&id[..12])?;
    println!("find one with its samples in {:.2?}", began.elapsed());
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", at.display()));
    }
    Ok(())
}

/// A run of the size of a typical one of ten seconds.
fn run(nth: u64, samples: u64) -> StoredRun {
    let spread = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let machine = Host {
        name: "here".into(),
        kernel: "6.1.0".into(),
        cpus: 8,
        load_average: Some(nth as f64 / 7.0),
        ..Host::default()
    };
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id: format!("{spread:016x}{nth:016x}"),
        started: String::new(),
        tool: Tool {
            name: "caudal".into(),
            version: Some("0.1.0".into()),
            compatible_with: None,
        },
        command: Some(format!("caudal tcp far{}.example -t 10s -P 4 --omit auto", nth % 10).into()),
    };
    let plan = if nth.is_multiple_of(3) {
        PlanRecord::Rtt(RttPlanRecord::default())
    } else {
        PlanRecord::Tcp(BulkPlanRecord::default())
    };
    let plan = plan.with_peer("192.0.2.1:5201");
    let flow = FlowReport {
        intervals: Some((0..10).map(|second| interval(spread, second)).collect()),
        ..FlowReport::new(PlannedFlow {
            id: 0,
            direction: Direction::Up,
        })
    };
    let document = Run {
        environment: Some(Environment {
            client: Some(machine.clone()),
            server: Some(machine),
            ..Environment::default()
        }),
        flows: Some(vec![flow]),
        ..Run::new(header, plan)
    };
    let mut state = spread;
    let values = (0..samples).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        50_000.0 + (state >> 50) as f64
    });
    let started_ns = 1_700_000_000_000_000_000 + nth as i64 * 1_000_000_000;
    StoredRun {
        headline: Headline {
            goodput_bps: Some((spread >> 34) as f64),
            ..Headline::default()
        },
        series: vec![SampleSeries {
            flow: 0,
            name: "rtt 64 B".to_owned(),
            unit: "ns".to_owned(),
            values: values.collect(),
        }],
        ..StoredRun::new(document, started_ns, RunOutcome::Done)
    }
}

/// The interval that begins at this second, with figures that differ from run to run.
fn interval(spread: u64, second: u32) -> Interval {
    let bytes = spread.rotate_left(second) >> 38;
    Interval {
        start_s: f64::from(second),
        end_s: f64::from(second + 1),
        bytes: Some(bytes),
        goodput_bps: Some(bytes as f64 * 8.0),
        tcp: Some(TcpInterval {
            rtt_us: u32::try_from(bytes % 977).ok(),
            cwnd_bytes: Some(bytes % 99_991),
            retransmits: Some(bytes % 5),
            ..TcpInterval::default()
        }),
        ..Interval::default()
    }
}
