//! What several tests of one host say together.

mod assess;
mod findings;
mod suitability;

pub use assess::{CheckedRuns, assess};
