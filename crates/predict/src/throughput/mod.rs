//! The prediction of a throughput run from its plan and the path it observed, compared with its result.

mod bounds;
mod comparison;
mod datagram_loss;
mod explanation;
mod observation;

pub use comparison::{compare, predictions};
pub use observation::{DirectionObservation, are_losses_spread};
