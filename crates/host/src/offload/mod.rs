//! Offloads of an interface, set for the time of a test.

mod error;
mod guard;
mod record;

pub use error::OffloadError;
pub use guard::{OffloadGuard, restore_offloads};
