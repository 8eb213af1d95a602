//! Times in which a test did not run its usual course: outages, and programs that stood still.

mod episode;
mod kind;
mod tally;

pub use episode::Episode;
pub use kind::EpisodeKind;
pub use tally::EpisodeTally;
