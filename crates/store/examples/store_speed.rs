//! Measures a large store: `cargo run --release -p caudal-store --example store_speed [RUNS [SAMPLES]]`.
//!
//! Builds a store of 10 000 runs with 500 samples each in the temporary directory, and prints how long recording,
//! listing, finding and searching take.

use caudal_store::{Filter, Headline, SampleSeries, Store, StoreError, StoredRun};
use serde_json::json;
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
    let machine =
        json!({"name": "here", "kernel": "6.1.0", "cpus": 8, "load_average": nth as f64 / 7.0});
    let intervals: Vec<_> = (0..10)
        .map(|second| {
            let bytes = spread.rotate_left(second) >> 38;
            json!({"start_s": second, "end_s": second + 1, "bytes": bytes, "goodput_bps": bytes * 8,
                "tcp": {"rtt_us": bytes % 977, "cwnd_bytes": bytes % 99_991, "retransmits": bytes % 5}})
        })
        .collect();
    let mut state = spread;
    let values = (0..samples).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        50_000.0 + (state >> 50) as f64
    });
    StoredRun {
        id: format!("{spread:016x}{nth:016x}"),
        kind: if nth.is_multiple_of(3) { "rtt" } else { "tcp" }.to_owned(),
        started_ns: 1_700_000_000_000_000_000 + nth as i64 * 1_000_000_000,
        tool: "caudal 0.1.0".to_owned(),
        peer: Some("192.0.2.1:5201".to_owned()),
        title: None,
        command: format!("caudal tcp far{}.example -t 10s -P 4 --omit auto", nth % 10),
        outcome: "done".to_owned(),
        trial: None,
        headline: Headline {
            goodput_bps: Some((spread >> 34) as f64),
            ..Headline::default()
        },
        environment: json!({"client": machine, "server": machine}),
        document: json!({"schema": "caudal.run/1", "environment": {"client": machine, "server": machine},
            "flows": [{"id": 0, "intervals": intervals}], "summary": {"directions": []}}),
        series: vec![SampleSeries {
            flow: 0,
            name: "rtt 64 B".to_owned(),
            unit: "ns".to_owned(),
            values: values.collect(),
        }],
    }
}
