//! Times in which a test did not run its usual course: outages, and programs that stood still.

mod bulk;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, Episode"
)]
mod episode;
mod gaps;
mod kind;
mod mtu_black_hole;
mod silence_watch;

pub use bulk::bulk_episodes;
pub use episode::{Episode, interruption};
pub use kind::EpisodeKind;
pub use silence_watch::{SilenceWatch, WatchReading};
