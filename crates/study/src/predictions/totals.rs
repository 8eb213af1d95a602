//! Sums over the flows of a case.

use std::collections::BTreeMap;

use caudal_experiment::{Case, FlowKindFile};
use caudal_stats::contention::jain;

use crate::testbed::{Testbed, offered_rate};

/// Adds the sums over all load flows, from the goodput of each connection, bit/s, and whether its flow is a probe.
pub(super) fn add_totals(goodputs: &[(bool, f64)], all: &mut BTreeMap<String, f64>) {
    let loads: Vec<f64> = goodputs
        .iter()
        .filter(|(probe, _)| !probe)
        .map(|(_, one)| *one)
        .collect();
    if loads.is_empty() {
        return;
    }
    let sum: f64 = loads.iter().sum();
    all.insert("total.goodput".to_owned(), sum);
    all.insert("total.goodput_each".to_owned(), sum / loads.len() as f64);
    if let Some(index) = jain(&loads).filter(|_| loads.len() > 1) {
        all.insert("total.jain".to_owned(), index);
    }
}

/// Adds the loss of all load flows over UDP together, from that of each.
pub(super) fn add_total_loss(case: &Case, testbed: &Testbed, all: &mut BTreeMap<String, f64>) {
    let (mut lost, mut sent) = (0.0, 0.0);
    for flow in case
        .flows
        .iter()
        .filter(|flow| flow.kind == FlowKindFile::Udp && !flow.probe)
    {
        let loss = all.get(&format!("{}.loss", flow.name));
        let offered = offered_rate(flow, testbed).ok().flatten();
        let Some((loss, offered)) = loss.zip(offered) else {
            return;
        };
        let offered = offered * f64::from(flow.count);
        lost += loss * offered;
        sent += offered;
    }
    if sent > 0.0 {
        all.insert("total.loss".to_owned(), lost / sent);
    }
}
