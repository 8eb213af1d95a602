//! The settings of a server.

use super::authentication::{AuthenticationOptions, LoginRequirement, ProtocolAccess};
use crate::network::Network;
use crate::options::TransferLocalOptions;
use crate::peer::iperf3::Iperf3Options;
use crate::protocol::{PORT, Protocol};
use crate::session_limits::SessionLimits;
use crate::workload::ServerLimits;
use std::net::IpAddr;
use std::time::Duration;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; `None` for all, IPv4 and IPv6.
    pub bind: Option<IpAddr>,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// `true` to end after one client.
    pub one_off: bool,
    /// The maximum number of clients at once.
    pub max_clients: usize,
    /// The maximum number of clients at once of one source, an IPv4 address or a /64 of IPv6; `None` for a quarter of all.
    pub max_clients_per_source: Option<usize>,
    /// The limits on each test.
    pub limits: SessionLimits,
    /// The networks that are answered; empty for all.
    pub allow: Vec<Network>,
    /// The time a client may make no progress.
    pub idle_timeout: Duration,
    /// The program's name and version, as reported to clients.
    pub tool: String,
    /// The treatment of clients of iperf3.
    pub iperf3: Iperf3Options,
    /// The authentication required of clients.
    pub authentication: AuthenticationOptions,
    /// The files that clients may get and send; none by default.
    pub transfer: TransferLocalOptions,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            bind: None,
            port: PORT,
            one_off: false,
            max_clients: 256,
            max_clients_per_source: None,
            limits: SessionLimits::default(),
            allow: Vec::new(),
            idle_timeout: Duration::from_secs(60),
            tool: "caudal".to_owned(),
            iperf3: Iperf3Options::default(),
            authentication: AuthenticationOptions::default(),
            transfer: TransferLocalOptions::default(),
        }
    }
}

impl ServerOptions {
    /// The limits on each test.
    pub(crate) fn limits(&self) -> ServerLimits {
        ServerLimits {
            session: self.limits.clone(),
            idle_timeout: self.idle_timeout,
            transfer: self.transfer.clone(),
        }
    }

    /// The access that clients of a protocol have.
    #[must_use]
    pub fn access(&self, protocol: Protocol) -> ProtocolAccess {
        let logins = match self.iperf3.login {
            Some(_) => LoginRequirement::Required,
            None => LoginRequirement::NotRequired,
        };
        self.authentication.access(protocol, logins)
    }

    /// The maximum number of clients at once: one, where the server ends after it.
    pub(crate) fn capacity(&self) -> usize {
        if self.one_off {
            self.max_clients.min(1)
        } else {
            self.max_clients
        }
    }
}
