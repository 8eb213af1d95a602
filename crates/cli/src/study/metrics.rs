//! What a trial comes to: every metric that can be told, by its full name, in base units.

use std::collections::BTreeMap;

use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_lab::{DirectionState, LabReport, LinkCounters};
use caudal_stats::contention::{
    PayloadInterval, STARVATION_THRESHOLD, convergence_time, fair_shares, jain, longest_starvation,
    share_ratio, starved_fraction,
};
use caudal_stats::nearest_rank;
use serde_json::Value;

use super::carry::{Carried, Raw};
use super::place::{self, Net, Place};
use super::trial::TrialFlow;

/// The window in which a rate has to stay near its mean, in intervals.
const WINDOW: f64 = 5.0;
/// Samples from which a percentile this far out means something: ten beyond it.
const BEYOND: f64 = 10.0;

/// Every metric that a trial can tell.
#[must_use]
pub fn of(case: &Case, place: &Place, carried: &Carried) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let mut connections = Vec::new();
    let mut total = None;
    let (mut lost, mut sent) = (0.0, 0.0);
    let mut echoes = Vec::new();
    let fair = fair(case, place);
    for (nth, (spec, flow)) in case.flows.iter().zip(&carried.flows).enumerate() {
        let Some(run) = &flow.run else { continue };
        let mut put = |metric: &str, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                all.insert(format!("{}.{metric}", flow.name), value);
            }
        };
        match flow.kind {
            FlowKindFile::Rtt | FlowKindFile::RttUdp => {
                if let Some(raw) = carried.raw.get(&nth) {
                    round_trips(raw, &mut put);
                    if !spec.probe {
                        echoes.extend_from_slice(&raw.rtt_ns);
                    }
                }
                of_one_size(run, &mut put);
                let summary = &run["summary"];
                let sent = number(&summary["messages"]);
                put("lost", ratio(number(&summary["lost"]), sent));
            }
            FlowKindFile::Tcp | FlowKindFile::Udp => {
                traffic(run, flow.kind, &mut put);
                let stretches = stretches(run);
                let window_s = WINDOW * case.interval.as_secs_f64();
                let whole = together(&stretches);
                put("convergence", convergence_time(&whole, window_s));
                if let Some(fair) = fair.get(nth).copied().flatten() {
                    let goodput = number(&run["summary"]["directions"][0]["goodput_bps"]["mean"]);
                    put(
                        "share",
                        goodput.and_then(|goodput| share_ratio(goodput, fair)),
                    );
                    put(
                        "starved",
                        starved_fraction(&whole, fair, STARVATION_THRESHOLD),
                    );
                    put(
                        "starved_longest",
                        longest_starvation(&whole, fair, STARVATION_THRESHOLD),
                    );
                }
                if !spec.probe {
                    connections.extend(stretches.iter().filter_map(|series| mean_rate(series)));
                    let goodput = number(&run["summary"]["directions"][0]["goodput_bps"]["mean"]);
                    if let Some(goodput) = goodput {
                        *total.get_or_insert(0.0) += goodput;
                    }
                    if let Some((these, all)) = lost_of_sent(run) {
                        lost += these;
                        sent += all;
                    }
                }
            }
        }
    }
    if let Some(total) = total {
        all.insert("total.goodput".to_owned(), total);
        let load = case
            .flows
            .iter()
            .filter(|flow| !flow.probe && !place::is_echo(flow));
        let count: f64 = load.map(|flow| f64::from(flow.count)).sum();
        all.insert("total.goodput_each".to_owned(), total / count);
    }
    if sent > 0.0 {
        all.insert("total.loss".to_owned(), lost / sent);
    }
    if !echoes.is_empty() {
        let mean = echoes.iter().sum::<f64>() / echoes.len() as f64;
        all.insert("total.rtt".to_owned(), mean / 1e9);
    }
    if let Some(index) = jain(&connections).filter(|_| connections.len() > 1) {
        all.insert("total.jain".to_owned(), index);
    }
    if let (Some(after), Place::Lab(net)) = (&carried.after, place) {
        links(
            carried.before.as_ref(),
            after,
            net,
            carried.measured_s,
            &mut all,
        );
    }
    all
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0.0).then(|| part / whole)
}

/// The interval of the mean over the messages, where all have one size.
fn of_one_size(run: &Value, put: &mut impl FnMut(&str, Option<f64>)) {
    let rtt = &run["summary"]["rtt_us"];
    put("rtt_low", number(&rtt["mean_low"]).map(|us| us / 1e6));
    put("rtt_high", number(&rtt["mean_high"]).map(|us| us / 1e6));
}

/// What a run over TCP or UDP tells.
fn traffic(run: &Value, kind: FlowKindFile, put: &mut impl FnMut(&str, Option<f64>)) {
    let way = &run["summary"]["directions"][0];
    put("goodput", number(&way["goodput_bps"]["mean"]));
    let whole = number(&way["measured_s"]).zip(number(&way["omitted_s"]));
    let sent_bits = number(&way["sent_bytes"]).map(|bytes| bytes * 8.0);
    put(
        "sent",
        ratio(
            sent_bits,
            whole.map(|(measured, omitted)| measured + omitted),
        ),
    );
    put("bytes", number(&way["bytes"]));
    if kind == FlowKindFile::Udp {
        let loss = &way["loss"];
        let sent = number(&loss["sent"]);
        put("loss", lost_of_sent(run).map(|(lost, sent)| lost / sent));
        let places = &loss["places"];
        // The queueing discipline counts what others sent as well, but no more than all that was lost was ours.
        let refused = number(&places["sender_refused"]);
        let queued = number(&places["sender_qdisc"]).unwrap_or(0.0);
        let own = refused.map(|refused| {
            (refused + queued).min(number(&loss["lost"]).unwrap_or(f64::MAX).max(refused))
        });
        put("loss_sender", ratio(own, sent));
        put("loss_path", ratio(number(&places["path"]), sent));
        put(
            "loss_socket",
            ratio(number(&places["receiver_socket"]), sent),
        );
        put(
            "jitter",
            number(&way["delay"]["jitter_rfc3550_us"]).map(|us| us / 1e6),
        );
        put(
            "reordered",
            ratio(number(&loss["reordered"]), number(&loss["received"])),
        );
        return;
    }
    let tcp = &way["tcp"];
    put("retransmits", number(&tcp["retransmits"]));
    put("rtt", number(&tcp["rtt_mean_us"]).map(|us| us / 1e6));
    put("rtt_min", number(&tcp["rtt_min_us"]).map(|us| us / 1e6));
    put("cwnd_max", number(&tcp["cwnd_max_bytes"]));
    let flows = run["flows"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let sum = |key: &str| -> Option<f64> {
        flows
            .iter()
            .map(|flow| number(&flow["sender"]["tcp"][key]))
            .sum()
    };
    put(
        "retransmitted",
        ratio(sum("retransmitted_bytes"), sum("bytes_sent")),
    );
    put("timeouts", sum("timeouts"));
}

/// Datagrams lost, of those sent, in what is measured: without a warm-up the whole account, after one what the receiver saw missing.
fn lost_of_sent(run: &Value) -> Option<(f64, f64)> {
    let way = &run["summary"]["directions"][0];
    let counted = if number(&way["omitted_s"]).is_none_or(|omitted| omitted <= 0.0) {
        number(&way["loss"]["lost"]).zip(number(&way["loss"]["sent"]))
    } else {
        let flows = run["flows"].as_array()?.iter();
        let intervals = flows
            .filter_map(|flow| flow["intervals"].as_array())
            .flatten();
        let measured = intervals.filter(|interval| interval["omitted"] != true);
        let (mut lost, mut sent) = (0.0, 0.0);
        for interval in measured {
            let missing = number(&interval["udp"]["lost"])?;
            lost += missing;
            sent += missing + number(&interval["udp"]["datagrams"])?;
        }
        Some((lost, sent))
    };
    counted.filter(|(_, sent)| *sent > 0.0)
}

/// What arrived of each connection of a run over time, without the warm-up.
fn stretches(run: &Value) -> Vec<Vec<PayloadInterval>> {
    let flows = run["flows"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let series = |flow: &Value| {
        let intervals = flow["intervals"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let counted = intervals
            .iter()
            .filter(|interval| interval["omitted"] != true);
        counted
            .filter_map(|interval| {
                Some(PayloadInterval {
                    start_s: number(&interval["start_s"])?,
                    end_s: number(&interval["end_s"])?,
                    bytes: number(&interval["bytes"])?,
                })
            })
            .collect()
    };
    flows.iter().map(series).collect()
}

/// The connections of a flow as one: what all of them received in each interval. Intervals in which one is missing are holes.
fn together(connections: &[Vec<PayloadInterval>]) -> Vec<PayloadInterval> {
    let Some((first, others)) = connections.split_first() else {
        return Vec::new();
    };
    let sum = |stretch: &PayloadInterval| {
        let middle = f64::midpoint(stretch.start_s, stretch.end_s);
        let bytes: Option<f64> = others
            .iter()
            .map(|other| {
                let same = other
                    .iter()
                    .find(|one| one.start_s <= middle && middle < one.end_s)?;
                // Readings of the connections are some microseconds apart.
                Some(same.rate()? * (stretch.end_s - stretch.start_s) / 8.0)
            })
            .sum();
        Some(PayloadInterval {
            bytes: stretch.bytes + bytes?,
            ..*stretch
        })
    };
    first.iter().filter_map(sum).collect()
}

fn mean_rate(series: &[PayloadInterval]) -> Option<f64> {
    let (bytes, seconds) = series.iter().fold((0.0, 0.0), |(bytes, seconds), one| {
        (bytes + one.bytes, seconds + (one.end_s - one.start_s))
    });
    (seconds > 0.0).then(|| bytes * 8.0 / seconds)
}

/// Round-trip times pooled over all sizes and connections.
fn round_trips(raw: &Raw, put: &mut impl FnMut(&str, Option<f64>)) {
    let mut sorted = raw.rtt_ns.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    if sorted.is_empty() {
        return;
    }
    let mean = sorted.iter().sum::<f64>() / n;
    put("rtt", Some(mean / 1e9));
    let squares: f64 = sorted.iter().map(|ns| (ns - mean).powi(2)).sum();
    put(
        "rtt_sd",
        (n > 1.0).then(|| (squares / (n - 1.0)).sqrt() / 1e9),
    );
    put("rtt_max", sorted.last().map(|ns| ns / 1e9));
    for (name, q) in [("rtt_p50", 0.5), ("rtt_p95", 0.95), ("rtt_p99", 0.99)] {
        let enough = q <= 0.5 || n * (1.0 - q) >= BEYOND / 2.0;
        let value = nearest_rank(&sorted, q).filter(|_| enough);
        put(name, value.map(|ns| ns / 1e9));
    }
}

/// The max–min fair share of each flow, all its connections together, payload bit/s; `None` where the network is not known.
///
/// On the link of its way where its share is least, among the connections of all load flows that cross it the same way; on a
/// half-duplex link in either.
#[must_use]
pub fn fair(case: &Case, place: &Place) -> Vec<Option<f64>> {
    let Some(net) = place.net() else {
        return vec![None; case.flows.len()];
    };
    let is_load = |flow: &FlowSpec| !flow.probe && !place::is_echo(flow);
    let ways: Vec<_> = case
        .flows
        .iter()
        .map(|flow| place::way(flow, net))
        .collect();
    // Bits on the wire for a bit of payload.
    let cost = |flow: &FlowSpec| {
        let framing = place::framing(flow, place);
        match flow.kind {
            FlowKindFile::Udp => {
                let payload = place::datagram(flow, place);
                let wire = framing
                    .udp_wire_bytes(payload)
                    .unwrap_or(u64::from(payload));
                wire as f64 / f64::from(payload.max(1))
            }
            _ => {
                let payload = framing.tcp_payload_per_frame().max(1);
                framing.wire_bytes(u64::from(framing.mtu)) as f64 / f64::from(payload)
            }
        }
    };
    let costs: Vec<f64> = case.flows.iter().map(cost).collect();
    case.flows
        .iter()
        .enumerate()
        .map(|(nth, flow)| {
            if !is_load(flow) {
                return None;
            }
            let shares = ways[nth].iter().filter_map(|hop| {
                let topology = &net.topology;
                let line = place::line_rate(topology.impairments(*hop))?;
                let either = topology.is_half_duplex(*hop);
                let crosses = |other: usize| {
                    ways[other]
                        .iter()
                        .any(|one| one.link == hop.link && (either || one.from == hop.from))
                };
                let mut demands = Vec::new();
                let mut own = None;
                for (other, spec) in case.flows.iter().enumerate() {
                    if !is_load(spec) || !crosses(other) {
                        continue;
                    }
                    if other == nth {
                        own = Some(demands.len());
                    }
                    let offered = place::offered(spec, place).ok().flatten();
                    let demand = offered.map(|payload| payload * costs[other]);
                    demands.extend(std::iter::repeat_n(demand, spec.count as usize));
                }
                let shares = fair_shares(line.as_f64(), &demands);
                let each = shares.get(own?)? / costs[nth];
                Some(each * f64::from(flow.count))
            });
            shares.min_by(f64::total_cmp)
        })
        .collect()
}

/// What the links of the lab did in the measured time.
fn links(
    before: Option<&LabReport>,
    after: &LabReport,
    net: &Net,
    measured_s: f64,
    all: &mut BTreeMap<String, f64>,
) {
    if measured_s <= 0.0 {
        return;
    }
    let (mut all_collided, mut all_sent) = (0.0, 0.0);
    for (nth, (link, setup)) in after.links.iter().zip(&net.topology.links).enumerate() {
        let earlier = before.and_then(|before| before.links.get(nth));
        let directions = [
            (
                &link.forward,
                earlier.map(|link| &link.forward),
                &setup.directions[0],
            ),
            (
                &link.backward,
                earlier.map(|link| &link.backward),
                &setup.directions[1],
            ),
        ];
        let since = |counter: fn(&DirectionState) -> u64,
                     now: &DirectionState,
                     then: Option<&DirectionState>| {
            counter(now).saturating_sub(then.map_or(0, counter)) as f64
        };
        let mut put = |metric: &str, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                all.insert(format!("links.{}.{metric}", link.name), value);
            }
        };
        // What a frame takes beyond what is counted of it: preamble and gap, and with the kernel its check sequence.
        let beyond = |direction: &DirectionState| match direction.counters {
            LinkCounters::Emulator(_) => 20.0,
            LinkCounters::Kernel(_) => 24.0,
        };
        let mut busy = Vec::new();
        let mut delivered = Vec::new();
        let (mut offered, mut dropped, mut collided, mut sent) = (0.0, 0.0, None, 0.0);
        let mut longest: Option<u64> = None;
        for (now, then, setup) in directions {
            let bytes = since(|it| it.delivered().bytes, now, then);
            let frames = since(|it| it.delivered().frames, now, then);
            delivered.push(bytes * 8.0 / measured_s);
            if let Some(rate) = place::line_rate(setup) {
                let bits = (bytes + frames * beyond(now)) * 8.0;
                busy.push(bits / rate.as_f64() / measured_s);
            }
            offered += since(DirectionState::offered, now, then);
            dropped += since(DirectionState::dropped, now, then);
            sent += frames;
            if now.collisions().is_some() {
                *collided.get_or_insert(0.0) += since(collided_frames, now, then);
            }
            longest = longest.max(now.max_queue_bytes());
        }
        if let Some(collided) = collided {
            all_collided += collided;
            all_sent += sent;
        }
        // On half duplex both directions take turns on one medium.
        let half = link.duplex != "full";
        put(
            "utilisation",
            if half && !busy.is_empty() {
                Some(busy.iter().sum())
            } else {
                busy.iter().copied().reduce(f64::max)
            },
        );
        put("delivered", delivered.iter().copied().reduce(f64::max));
        put("drops", (offered > 0.0).then(|| dropped / offered));
        put(
            "collisions",
            collided
                .filter(|_| sent > 0.0)
                .map(|collided| collided / sent),
        );
        put("queue_max", longest.map(|bytes| bytes as f64));
    }
    let share = if all_sent > 0.0 {
        all_collided / all_sent
    } else {
        0.0
    };
    all.insert("total.collisions".to_owned(), share);
}

/// Frames that collided at least once: sent after one or more collisions, or given up.
fn collided_frames(direction: &DirectionState) -> u64 {
    let collisions = direction.collisions().unwrap_or_default();
    collisions.single + collisions.multiple + collisions.excessive
}

/// Flows of a trial without their runs' intervals would be small; what a list shows of a trial.
#[must_use]
pub fn headline(flows: &[TrialFlow], metrics: &BTreeMap<String, f64>) -> caudal_store::Headline {
    let loads = |kind: FlowKindFile| flows.iter().filter(move |flow| flow.kind == kind);
    let sum = |kind: FlowKindFile, metric: &str| -> Option<f64> {
        let values: Vec<f64> = loads(kind)
            .filter_map(|flow| metrics.get(&format!("{}.{metric}", flow.name)).copied())
            .collect();
        (!values.is_empty()).then(|| values.iter().sum())
    };
    let echo = flows
        .iter()
        .find(|flow| matches!(flow.kind, FlowKindFile::Rtt | FlowKindFile::RttUdp))
        .and_then(|flow| metrics.get(&format!("{}.rtt", flow.name)));
    let lossy = loads(FlowKindFile::Udp)
        .next()
        .and_then(|flow| metrics.get(&format!("{}.loss", flow.name)));
    caudal_store::Headline {
        goodput_bps: metrics.get("total.goodput").copied(),
        loss: lossy.copied(),
        rtt_us: echo.map(|seconds| seconds * 1e6),
        retransmits: sum(FlowKindFile::Tcp, "retransmits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_lost_in_the_warm_up_is_not_counted() {
        let mut run = json!({
            "summary": {"directions": [{"omitted_s": 1.0, "loss": {"lost": 50, "sent": 150}}]},
            "flows": [{"intervals": [
                {"omitted": true, "udp": {"lost": 40, "datagrams": 10}},
                {"omitted": false, "udp": {"lost": 10, "datagrams": 90}},
            ]}],
        });
        assert_eq!(lost_of_sent(&run), Some((10.0, 100.0)));
        run["summary"]["directions"][0]["omitted_s"] = json!(0.0);
        assert_eq!(lost_of_sent(&run), Some((50.0, 150.0)));
    }
}
