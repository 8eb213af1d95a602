//! The trials of a search for the highest rate that a path carries with at most a given loss.

mod outcome;
mod trial;

pub use outcome::SearchOutcome;
pub use trial::{SearchTrial, TrialOutcome};
