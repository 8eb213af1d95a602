//! The sending half of a connection: what may be sent when, and which segments are lost.

mod ack;
mod output;
mod prr;
mod recovery;
mod state;
mod timers;
mod undo;

pub(super) use state::Sender;
