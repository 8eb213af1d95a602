//! All metrics of a trial.

use std::collections::BTreeMap;

use caudal_core::plan::Transport;
use caudal_core::run::Run;
use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_stats::contention::{
    STARVATION_THRESHOLD, convergence_time, jain, longest_starvation, share_ratio, starved_fraction,
};

use super::fair_share::fair_shares_of_flows;
use super::metric_set::FlowMetrics;
use super::{captured, file, links, path, round_trips, throughput};
use crate::testbed::{Testbed, is_throughput};
use crate::trial::{HERE, TrialMeasurements};

/// The number of intervals over which a rate has to stay near its mean to have converged.
const CONVERGENCE_INTERVALS: f64 = 5.0;

/// The metrics that a trial has.
#[must_use]
pub fn trial_metrics(
    case: &Case,
    testbed: &Testbed,
    measurements: &TrialMeasurements,
) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let mut totals = LoadTotals::default();
    let fair_shares = fair_shares_of_flows(case, testbed);
    for (nth, (spec, flow)) in case.flows.iter().zip(&measurements.flows).enumerate() {
        let Some(run) = &flow.run else { continue };
        let mut metrics = FlowMetrics::new(flow.name.clone(), &mut all);
        if let Some(path) = captured_at(case, spec, measurements) {
            captured::add(path, captured_transport(flow.kind), &mut metrics);
        }
        if flow.kind == FlowKindFile::File {
            file::add(run, &mut metrics);
            continue;
        }
        if flow.kind == FlowKindFile::Path {
            let lab = testbed
                .network()
                .filter(|_| matches!(testbed, Testbed::Lab(_)));
            path::add(run, spec, lab, &mut all);
            continue;
        }
        match transport(flow.kind) {
            None => {
                if let Some(samples) = measurements.round_trips.get(&nth) {
                    round_trips::add_pooled(samples, &mut metrics);
                    if !spec.probe {
                        totals.rtt_ns.extend_from_slice(&samples.rtt_ns);
                    }
                }
                round_trips::add_summary(run, &mut metrics);
            }
            Some(transport) => {
                throughput::add(run, transport, &mut metrics);
                let fair_share = fair_shares.get(nth).copied().flatten();
                add_contention(case, run, fair_share, &mut metrics);
                if !spec.probe {
                    totals.add(run);
                }
            }
        }
    }
    totals.finish(case, &mut all);
    if let (Some(after), Testbed::Lab(network)) = (&measurements.after, testbed) {
        let before = measurements.before.as_ref();
        links::add(before, after, network, measurements.measured_s, &mut all);
    }
    all
}

/// The capture at the host of a flow's client; `None` where the host has other flows too, or is not captured.
fn captured_at<'a>(
    case: &Case,
    spec: &FlowSpec,
    measurements: &'a TrialMeasurements,
) -> Option<&'a str> {
    let on_host = case.flows.iter().filter(|flow| flow.from == spec.from);
    if on_host.count() > 1 {
        return None;
    }
    let mut captures = measurements.captures.iter();
    let (_, path) = captures.find(|(place, _)| {
        let host = place.split(' ').next();
        host == Some(spec.from.as_str()) || host == Some(HERE)
    })?;
    Some(path)
}

/// What carries the payload of a flow.
const fn captured_transport(kind: FlowKindFile) -> Transport {
    match kind {
        FlowKindFile::Udp | FlowKindFile::RttUdp | FlowKindFile::Path => Transport::Udp,
        FlowKindFile::Tcp | FlowKindFile::Rtt | FlowKindFile::File => Transport::Tcp,
    }
}

/// The transport of a throughput flow; `None` for any other.
const fn transport(kind: FlowKindFile) -> Option<Transport> {
    match kind {
        FlowKindFile::Tcp => Some(Transport::Tcp),
        FlowKindFile::Udp => Some(Transport::Udp),
        FlowKindFile::Rtt | FlowKindFile::RttUdp | FlowKindFile::File | FlowKindFile::Path => None,
    }
}

/// Adds the convergence of a flow and, where its fair share is known, its share of it and its starvation.
fn add_contention(case: &Case, run: &Run, fair_share: Option<f64>, metrics: &mut FlowMetrics<'_>) {
    let received = throughput::received_together(&throughput::received(run));
    let window_s = CONVERGENCE_INTERVALS * case.interval.as_secs_f64();
    metrics.put("convergence", convergence_time(&received, window_s));
    let Some(fair) = fair_share else { return };
    let goodput = goodput(run);
    metrics.put(
        "share",
        goodput.and_then(|goodput| share_ratio(goodput, fair)),
    );
    metrics.put(
        "starved",
        starved_fraction(&received, fair, STARVATION_THRESHOLD),
    );
    metrics.put(
        "starved_longest",
        longest_starvation(&received, fair, STARVATION_THRESHOLD),
    );
}

fn goodput(run: &Run) -> Option<f64> {
    run.directions().first()?.goodput_mean()
}

/// The sums over all flows that are load.
#[derive(Default)]
struct LoadTotals {
    goodput: Option<f64>,
    /// The mean rate of each connection, bit/s.
    rates: Vec<f64>,
    lost: f64,
    sent: f64,
    rtt_ns: Vec<f64>,
}

impl LoadTotals {
    /// Adds a throughput flow.
    fn add(&mut self, run: &Run) {
        let received = throughput::received(run);
        let rates = received.iter().filter_map(|one| throughput::mean_rate(one));
        self.rates.extend(rates);
        if let Some(goodput) = goodput(run) {
            *self.goodput.get_or_insert(0.0) += goodput;
        }
        if let Some((lost, sent)) = throughput::lost_and_sent(run) {
            self.lost += lost;
            self.sent += sent;
        }
    }

    fn finish(self, case: &Case, all: &mut BTreeMap<String, f64>) {
        let mut put = |metric: &str, value: f64| all.insert(format!("total.{metric}"), value);
        if let Some(goodput) = self.goodput {
            put("goodput", goodput);
            let is_load = |flow: &&FlowSpec| !flow.probe && is_throughput(flow);
            let loads = case.flows.iter().filter(is_load);
            let connections: f64 = loads.map(|flow| f64::from(flow.count)).sum();
            put("goodput_each", goodput / connections);
        }
        if self.sent > 0.0 {
            put("loss", self.lost / self.sent);
        }
        if !self.rtt_ns.is_empty() {
            let mean = self.rtt_ns.iter().sum::<f64>() / self.rtt_ns.len() as f64;
            put("rtt", mean / 1e9);
        }
        if let Some(index) = jain(&self.rates).filter(|_| self.rates.len() > 1) {
            put("jain", index);
        }
    }
}
