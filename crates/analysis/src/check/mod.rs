//! What several tests of one host say together.

mod assess;
mod checked;
mod findings;
mod suitability;

pub use assess::assess;
pub use checked::CheckedRuns;
