//! Every sample of a round-trip test as series for the store.

use caudal_analysis::echo::EchoRecord;
use caudal_store::SampleSeries;
use std::collections::BTreeMap;

/// Every sample of a run as the store keeps them, ns: for each client and size `rtt`, and on a schedule `due`,
/// `late` and, where they were measured, the ways `up` and `down`, each with its size, as `rtt 64 B`; for each client
/// `first`, the round trips of the first messages in the order of the sizes, which count apart.
pub(crate) fn round_trip_samples(record: &EchoRecord) -> Vec<SampleSeries> {
    let ns = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64);
    let mut all = Vec::new();
    let mut firsts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for one in &record.series {
        let mut put = |name: &str, values: Vec<f64>| {
            all.push(SampleSeries {
                flow: one.client,
                name: format!("{name} {} B", one.size),
                unit: "ns".to_owned(),
                values,
            });
        };
        put(
            "rtt",
            one.replies.iter().map(|reply| ns(reply.ns())).collect(),
        );
        if !one.departures.is_empty() {
            let due = one.departures.iter().map(|left| left.intended_ns as f64);
            put("due", due.collect());
            let late = one.departures.iter().map(|left| left.late_ns as f64);
            put("late", late.collect());
            let both: Vec<(f64, f64)> = one
                .departures
                .iter()
                .map(|left| {
                    record
                        .one_way_ns(left)
                        .map_or((f64::NAN, f64::NAN), |(up, down)| (up as f64, down as f64))
                })
                .collect();
            if both.iter().any(|(up, _)| !up.is_nan()) {
                put("up", both.iter().map(|(up, _)| *up).collect());
                put("down", both.iter().map(|(_, down)| *down).collect());
            }
        }
        if let Some(first) = one.first {
            firsts.entry(one.client).or_default().push(ns(first.ns()));
        }
    }
    all.extend(firsts.into_iter().map(|(client, values)| SampleSeries {
        flow: client,
        name: "first".to_owned(),
        unit: "ns".to_owned(),
        values,
    }));
    all
}
