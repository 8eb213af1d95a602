//! Predictions for flows over a topology: every bound on the path of each flow, of which the lowest is binding.

mod bottleneck_shares;
mod bounds;
mod flow_prediction;
mod flows;
mod max_min;
mod network;
mod overload;
mod round_trip;

pub use bottleneck_shares::NotCovered;
pub use flow_prediction::FlowPrediction;
pub use flows::predict_flows;
pub use network::{FlowKind, FlowParameters};
