//! The most important results of a trial, for lists of the store.

use std::collections::BTreeMap;

use caudal_experiment::{FlowKindFile, TrialFlow};
use caudal_store::Headline;

/// The metric of the goodput of all flows that are load.
const TOTAL_GOODPUT: &str = "total.goodput";

/// The headline of a trial: the goodput of its load, the loss of its first UDP flow, the round-trip time of its first echo flow, and the
/// retransmissions of its TCP flows.
#[must_use]
pub fn headline(flows: &[TrialFlow], metrics: &BTreeMap<String, f64>) -> Headline {
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
    Headline {
        goodput_bps: metrics.get(TOTAL_GOODPUT).copied(),
        loss: lossy.copied(),
        rtt_us: echo.map(|seconds| seconds * 1e6),
        retransmits: sum(FlowKindFile::Tcp, "retransmits"),
        ..Headline::default()
    }
}
