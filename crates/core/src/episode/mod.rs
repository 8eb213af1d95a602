//! Times in which a test did not run its usual course: outages, and programs that stood still.

mod episode;
mod kind;

pub use episode::Episode;
pub use kind::EpisodeKind;
