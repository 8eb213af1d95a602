//! The check of a plan that a server accepted against the plan that was offered.

mod check;
mod error;
mod transfer;

pub use check::check_accepted;
pub use error::AcceptanceError;
