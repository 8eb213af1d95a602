//! nttcp, both roles: a line asks over a control connection, a port of its own carries the data.

mod client;
mod server;
mod transfer;

pub use client::{Outcome, run};
pub use server::{Server, ServerOptions};

use std::net::SocketAddr;
use std::sync::Arc;

/// What happens at a server.
#[derive(Debug, Clone)]
pub struct Event {
    /// The other end.
    pub peer: Option<SocketAddr>,
    /// What happened.
    pub words: String,
    /// Whether it was turned away, or went wrong.
    pub refused: bool,
    /// Payload bytes received and sent, when a test is over.
    pub moved: Option<(u64, u64)>,
}

/// Takes events.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;
