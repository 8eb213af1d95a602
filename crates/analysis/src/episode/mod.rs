//! Finding the times in which a test did not run its usual course: outages, and programs that stood still.

mod bulk;
mod gaps;
mod interface_watch;
mod interruption;
mod mtu_black_hole;
mod route_watch;
mod silence_watch;
mod tcp_stalls;

pub use bulk::bulk_episodes;
pub use interface_watch::{InterfaceReading, InterfaceWatch};
pub use interruption::interruption;
pub use route_watch::RouteWatch;
pub use silence_watch::{SilenceWatch, WatchReading};
pub(crate) use tcp_stalls::{StallCounters, stall_episodes};
