//! The search for the highest rate that a path carries with at most a given loss.
//!
//! After RFC 2544 section 26.1: try a rate, go up where it holds and down where it fails, halving the
//! bracket. RFC 2544 leaves open when a trial is conclusive. Here a trial decides when Wilson's interval of its
//! loss lies on one side of the limit; otherwise it is repeated, and counts add up. And a trial without loss
//! decides nothing while a queue on the path is still filling: the arrival rate must keep up with the send rate.

mod observation;
mod search;
mod undelivered;

pub use observation::TrialObservation;
pub use search::{MAX_TRIALS, Search};
pub use undelivered::undelivered_fraction;
