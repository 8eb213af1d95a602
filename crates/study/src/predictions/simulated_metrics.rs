//! The metrics of a simulated case.

use std::collections::BTreeMap;

use caudal_core::units::BitRate;
use caudal_experiment::{FlowKindFile, FlowSpec};
use caudal_simulate::result::{FlowDetails, FlowResult, LinkResult};

use crate::flow_times::FlowTimes;
use crate::testbed::is_echo;

/// Adds the metrics of a flow, from the results of its connections; their goodputs are added to `goodputs`, with whether the flow is
/// a probe.
pub(super) fn add_flow(
    flow: &FlowSpec,
    times: &FlowTimes,
    results: &[&FlowResult],
    all: &mut BTreeMap<String, f64>,
    goodputs: &mut Vec<(bool, f64)>,
) {
    let mut put = |metric: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            all.insert(format!("{}.{metric}", flow.name), value);
        }
    };
    if !is_echo(flow) {
        let each: Vec<f64> = results.iter().map(|one| goodput(one, times)).collect();
        goodputs.extend(each.iter().map(|one| (flow.probe, *one)));
        put("goodput", Some(each.iter().sum()));
    }
    let (mut lost, mut expected, mut reordered, mut received) = (0, 0, 0, 0);
    let (mut retransmits, mut segments, mut timeouts) = (0, 0, 0);
    let mut rtts = Vec::new();
    let mut min_rtt = None;
    for one in results {
        match &one.details {
            FlowDetails::Tcp { counts, rtt, .. } => {
                retransmits += counts.retransmits;
                segments += counts.segments;
                timeouts += counts.timeouts;
                rtts.extend(rtt.mean().map(|time| time.as_secs_f64()));
                min_rtt = rtt.min().into_iter().chain(min_rtt).min();
            }
            FlowDetails::Udp { counts, .. } => {
                lost += counts.lost;
                expected += counts.expected;
                reordered += counts.reordered;
                received += counts.received;
            }
            FlowDetails::Echo {
                exchanges,
                lost: without_reply,
                rtt,
            } => {
                lost += without_reply;
                expected += exchanges + without_reply;
                rtts.extend(rtt.mean().map(|time| time.as_secs_f64()));
            }
        }
    }
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let mean = (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64);
    match flow.kind {
        FlowKindFile::Tcp => {
            put("retransmits", Some(retransmits as f64));
            put("retransmitted", share(retransmits, segments));
            put("timeouts", Some(timeouts as f64));
            put("rtt", mean);
            put("rtt_min", min_rtt.map(|time| time.as_secs_f64()));
        }
        FlowKindFile::Udp => {
            put("loss", share(lost, expected));
            put("reordered", share(reordered, received));
        }
        FlowKindFile::File | FlowKindFile::Path => {}
        FlowKindFile::Rtt | FlowKindFile::RttUdp => {
            put("rtt", mean);
            put("lost", share(lost, expected));
        }
    }
}

/// The goodput of a connection in the measured part, bit/s; of a flow that ends by bytes, of the whole.
fn goodput(result: &FlowResult, times: &FlowTimes) -> f64 {
    let Some(end) = times.end() else {
        return result.goodput.unwrap_or(BitRate::ZERO).as_f64();
    };
    let begin = (times.start + times.omit).as_secs_f64();
    let end = end.as_secs_f64();
    let mut bytes = 0.0;
    for interval in &result.intervals {
        let (from, to) = (
            interval.start.as_ns() as f64 / 1e9,
            interval.end.as_ns() as f64 / 1e9,
        );
        let inside = to.min(end) - from.max(begin);
        if inside > 0.0 && to > from {
            bytes += interval.bytes.as_f64() * inside / (to - from);
        }
    }
    bytes * 8.0 / (end - begin).max(f64::MIN_POSITIVE)
}

/// Adds the metrics of a link; the frames that collided and those that were sent, on a link with collisions.
pub(super) fn add_link(link: &LinkResult, all: &mut BTreeMap<String, f64>) -> Option<(u64, u64)> {
    let (mut offered, mut dropped, mut sent, mut collided) = (0, 0, 0, None);
    for direction in &link.directions {
        offered += direction.counters.offered.frames;
        dropped += direction.counters.dropped.total().frames;
        sent += direction.counters.delivered.frames;
        if let Some(collisions) = direction.collisions {
            *collided.get_or_insert(0) +=
                collisions.single + collisions.multiple + collisions.excessive;
        }
    }
    let mut put = |metric: &str, part: u64, whole: u64| {
        if whole > 0 {
            all.insert(
                format!("links.{}.{metric}", link.name),
                part as f64 / whole as f64,
            );
        }
    };
    put("drops", dropped, offered);
    if let Some(collided) = collided {
        put("collisions", collided, sent);
    }
    collided.map(|collided| (collided, sent))
}
