//! Setting up a session: HELLO, RETRY, ACCEPT.

mod cookie;
mod initiator;
mod responder;

pub use initiator::{Initiator, InitiatorStatus};
pub use responder::{AcceptedSession, Grant, Proposal, Responder, Response};
