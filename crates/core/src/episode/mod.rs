//! Times in which a test did not run its usual course: outages, and programs that stood still.

mod clock_step;
mod episode;
mod interface_event;
mod kind;
mod many;
mod route_change;
mod tally;

pub use clock_step::ClockStep;
pub use episode::Episode;
pub use interface_event::{InterfaceEvent, InterfaceFault};
pub use kind::EpisodeKind;
pub use many::{MAX_EPISODES, episode_warnings, keep_longest};
pub use route_change::RouteChange;
pub use tally::EpisodeTally;
