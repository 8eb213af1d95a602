//! Times in which a test did not run its usual course: outages, and programs that stood still.

mod changed_route;
mod clock_step;
mod episode;
mod interface_event;
mod kind;
mod many;
mod tally;

pub use changed_route::ChangedRoute;
pub use clock_step::ClockStep;
pub use episode::Episode;
pub use interface_event::{InterfaceEvent, InterfaceFault};
pub use kind::EpisodeKind;
pub use many::{MAX_EPISODES, episode_warnings, keep_longest};
pub use tally::EpisodeTally;
