//! Flows over a topology that cannot be predicted.

use caudal_simulate::error::SimulateError;
use caudal_topology::TopologyError;

/// The reason why flows over a topology cannot be predicted.
#[derive(Debug, thiserror::Error)]
pub enum TopologyReportError {
    /// The topology cannot be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The simulator refuses the flows.
    #[error(transparent)]
    Simulation(#[from] SimulateError),
}

/// The reason why a text is no flow over a topology.
#[derive(Debug, thiserror::Error)]
pub enum FlowTextError {
    /// The text is not understood, or names something that is not there.
    #[error("{text}: {problem}")]
    Invalid {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        remedy: String,
    },
    /// The TCP of its host cannot be simulated.
    #[error(transparent)]
    Settings(#[from] SimulateError),
}
