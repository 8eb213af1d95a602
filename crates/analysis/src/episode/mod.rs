//! Finding the times in which a test did not run its usual course: outages, and programs that stood still.

mod bulk;
mod gaps;
mod interruption;
mod mtu_black_hole;
mod silence_watch;
mod timeouts;

pub use bulk::bulk_episodes;
pub use interruption::interruption;
pub use silence_watch::{SilenceWatch, WatchReading};
pub(crate) use timeouts::timeout_episodes;
