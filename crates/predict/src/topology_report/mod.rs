//! Flows over a topology, by formula and by simulation, and why the two differ.

mod comparison;
mod drops;
mod error;
mod flow;
mod link_predictions;
mod question;
mod report;
mod seeded_runs;
mod simulated_values;

pub use error::{FlowTextError, TopologyReportError};
pub use flow::TopologyFlow;
pub use question::TopologyQuestion;
pub use report::{PredictedFlow, TopologyReport};
pub use seeded_runs::{SeededRun, SeededRuns, Spread};
