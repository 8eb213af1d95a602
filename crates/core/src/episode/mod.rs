//! Times in which a test did not run its usual course: outages, and programs that stood still.

#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, Episode"
)]
mod episode;
mod kind;

pub use episode::Episode;
pub use kind::EpisodeKind;
