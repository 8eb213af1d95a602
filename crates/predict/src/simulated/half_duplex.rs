//! TCP flows over one half-duplex link.

use super::network::{MAX_SIMULATED_FLOWS, goodput, host, run_simulation, simulated_value, tcp};
use crate::half_duplex::HalfDuplexParameters;
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_simulate::scenario::SimFlow;
use caudal_topology::{DuplexFile, LinkFile, RateValue, TimeValue, TopologyFile};

/// The goodput of TCP flows over one half-duplex link; empty where it cannot be simulated.
#[must_use]
pub fn simulate_half_duplex(parameters: &HalfDuplexParameters) -> Vec<Prediction> {
    let flows = parameters.flows as usize;
    // The simulated receiver acknowledges as Linux does.
    if flows == 0 || flows > MAX_SIMULATED_FLOWS || parameters.segments_per_ack != 2 {
        return Vec::new();
    }
    let file = TopologyFile {
        host: vec![host("a"), host("b")],
        link: vec![LinkFile {
            between: ["a".to_owned(), "b".to_owned()],
            rate: Some(RateValue(parameters.rate)),
            delay: Some(TimeValue(parameters.propagation)),
            duplex: Some(DuplexFile::Half),
            mtu: Some(parameters.framing.mtu),
            ..LinkFile::default()
        }],
        ..TopologyFile::default()
    };
    let transfers = vec![SimFlow::between("a", "b", tcp(parameters.framing)); flows];
    let Some(result) = run_simulation(&file, transfers, parameters.rate) else {
        return Vec::new();
    };
    let total: f64 = (0..flows).map(|flow| goodput(&result, flow)).sum();
    let collisions: u64 = result.links[0]
        .directions
        .iter()
        .filter_map(|direction| direction.collisions)
        .map(|station| station.all)
        .max()
        .unwrap_or(0);
    let mut predictions = vec![
        simulated_value(
            "tcp_goodput",
            "TCP goodput, all flows",
            total,
            Unit::BitPerSecond,
        ),
        simulated_value(
            "collisions",
            "collisions of TCP",
            collisions as f64,
            Unit::Collisions,
        ),
    ];
    if flows > 1 {
        predictions.push(simulated_value(
            "tcp_goodput_per_flow",
            "TCP goodput, each flow",
            total / flows as f64,
            Unit::BitPerSecond,
        ));
    }
    predictions
}
