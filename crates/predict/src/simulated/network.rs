//! Short simulations of small networks, and their values as predictions.

use caudal_analysis::framing::Framing;
use caudal_core::prediction::{Method, Prediction, Tolerance};
use caudal_core::quantity::Unit;
use caudal_core::units::BitRate;
use caudal_simulate::result::SimulationResult;
use caudal_simulate::scenario::{Scenario, SimFlow, Traffic};
use caudal_simulate::simulate;
use caudal_simulate::tcp::TcpSettings;
use caudal_topology::{HostFile, Topology, TopologyFile};
use std::time::Duration;

/// Maximum number of flows that are simulated beside a formula.
pub(super) const MAX_SIMULATED_FLOWS: usize = 16;
/// Maximum amount that such a simulation transfers, in bits, which takes well below a second of CPU time.
const MAX_BITS: f64 = 4e8;
/// Maximum virtual time of such a simulation, in seconds.
const MAX_SECONDS: f64 = 20.0;

/// The virtual time for which flows over a link of that rate are simulated.
fn duration(line_rate: BitRate) -> Duration {
    Duration::from_secs_f64((MAX_BITS / line_rate.as_f64().max(1.0)).min(MAX_SECONDS))
}

/// A host without settings of its own.
pub(super) fn host(name: &str) -> HostFile {
    HostFile {
        name: name.to_owned(),
        ..HostFile::default()
    }
}

/// A TCP transfer with the default congestion control.
pub(super) fn tcp(framing: Framing) -> Traffic {
    Traffic::tcp(TcpSettings {
        framing,
        ..TcpSettings::default()
    })
}

/// Simulates the flows over a network; `None` when that is impossible, or would take too long.
pub(super) fn run_simulation(
    file: &TopologyFile,
    flows: Vec<SimFlow>,
    line_rate: BitRate,
) -> Option<SimulationResult> {
    let topology = Topology::resolve(file).ok()?;
    let result = simulate(&topology, &Scenario::new(flows, duration(line_rate))).ok()?;
    (!result.cut_short).then_some(result)
}

/// The goodput of one flow in bit/s; 0 when nothing arrived.
pub(super) fn goodput(result: &SimulationResult, flow: usize) -> f64 {
    let goodput = result.flows.get(flow).and_then(|flow| flow.goodput);
    goodput.map_or(0.0, BitRate::as_f64)
}

/// A simulated value as a prediction, with the assumptions of the simulation.
pub(crate) fn simulated_value(name: &str, title: &str, value: f64, unit: Unit) -> Prediction {
    let mut prediction = Prediction::new(name, title, value, unit)
        .assumes(
            "hosts as in docs/simulation.md: they take no time, and have no queue of their own",
        )
        .source("caudal-simulate: segments and frames in virtual time")
        .within(Tolerance::symmetric(0.05))
        .step(format!("simulated: {}", unit.show(value)));
    prediction.method = Method::Simulation;
    prediction
}
