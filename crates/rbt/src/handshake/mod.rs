//! Setting up a session: HELLO, RETRY, ACCEPT.

mod cookie;
mod initiator;
mod responder;

pub use initiator::{Initiator, InitiatorStatus};
pub use responder::{AcceptedSession, Grant, Proposal, Responder, Response};

/// The version of RBT that this crate speaks.
pub const VERSION: u8 = 1;
