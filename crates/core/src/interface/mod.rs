//! Network interfaces, and what an end of a path knows of the link behind its own.

mod errors;
mod link;
mod medium;
mod modes;

pub use errors::LinkErrors;
pub use link::{DuplexMode, InterfaceLink};
pub use medium::LinkMedium;
pub use modes::LinkModes;
