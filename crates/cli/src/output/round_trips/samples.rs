//! Every sample of a round-trip test: as comma-separated values, and as series for the store.

use caudal_core::echo::{Departure, EchoRecord, Reply};
use caudal_store::SampleSeries;
use std::collections::BTreeMap;

/// The columns of the samples: index 0 is the first message of a size, which counts apart; what does not
/// apply is empty, as is the round trip of a lost message. Times after the clocks' offset is taken out.
pub const RAW_COLUMNS: &str = "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns";

/// The one-way delays of a scheduled message, up and down, ns, after the clocks' offset is taken out.
fn ways(record: &EchoRecord, departure: &Departure) -> Option<(i64, i64)> {
    let at = i64::try_from(departure.intended_ns).unwrap_or(i64::MAX);
    let offset = record.clock.map(|clock| clock.offset_ns(at))?;
    let way = departure.one_way?;
    Some((
        way.up_ns.saturating_sub(offset),
        way.down_ns.saturating_add(offset),
    ))
}

/// Every sample of a run, a text for each series so that none of them grows too large.
pub fn raw(record: &EchoRecord) -> impl Iterator<Item = String> + '_ {
    record.series.iter().map(|series| {
        let shown = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        let mut text = String::new();
        let replies = series.first.iter().chain(&series.replies);
        for (index, reply) in replies.enumerate() {
            let rtt = shown(Reply::ns(*reply));
            let departure = index
                .checked_sub(1)
                .and_then(|nth| series.departures.get(nth));
            let way = departure.and_then(|departure| ways(record, departure));
            let (up, down) = way.map_or_else(Default::default, |(up, down)| {
                (up.to_string(), down.to_string())
            });
            text += &format!(
                "{},{},{index},{rtt},{},{},{up},{down}\n",
                series.client,
                series.size,
                shown(departure.map(|departure| departure.intended_ns)),
                shown(departure.map(|departure| departure.late_ns)),
            );
        }
        text
    })
}

/// Every sample of a run as the store keeps them, ns: for each client and size `rtt`, and on a schedule `due`,
/// `late` and, where they were measured, the ways `up` and `down`, each with its size, as `rtt 64 B`; for each client
/// `first`, the round trips of the first messages in the order of the sizes, which count apart.
#[must_use]
pub fn series(record: &EchoRecord) -> Vec<SampleSeries> {
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
                    ways(record, left)
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
