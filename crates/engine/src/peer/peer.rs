//! The other end of a test, whatever protocol it speaks.

use crate::error::RunError;
use crate::options::LocalOptions;
use crate::protocol::Protocol;
use crate::workload::Outcome;
use caudal_core::event::Event;
use caudal_core::host::Host;
use caudal_core::interval::ServerAccount;
use caudal_core::plan::Plan;
use std::net::SocketAddr;
use std::time::Duration;

/// What is known of a peer.
#[derive(Debug, Clone)]
pub struct PeerInfo {
    /// Its address.
    pub address: SocketAddr,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// This machine.
    pub client: Host,
    /// The peer's machine, as far as its protocol tells.
    pub server: Host,
    /// The time it took to connect.
    pub connect_time: Duration,
    /// The minimum round-trip time of the idle control connection, µs; `None` where there is no such connection.
    pub idle_rtt_us: Option<f64>,
    /// The path MTU the kernel knows towards it, bytes.
    pub path_mtu: Option<u32>,
    /// `true` when both ends are one machine, reached over its own loopback.
    pub is_same_machine: bool,
    /// The account it gives of what it receives.
    pub server_account: ServerAccount,
}

/// The other end of tests, which may be carried out one after another.
pub trait Peer {
    /// What is known of the peer.
    fn info(&self) -> &PeerInfo;

    /// Carries out a plan. A test that ended early after payload had begun to flow is an outcome, not an error.
    ///
    /// # Errors
    /// When the peer's protocol does not support the plan, or nothing could be measured.
    fn run(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError>;
}
