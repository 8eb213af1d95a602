//! The settings of a server.

use super::authentication::{AuthenticationOptions, ProtocolAccess};
use super::shared_port::SharedPortProtocol;
use crate::network::Network;
use crate::options::TransferLocalOptions;
use crate::workload::ServerLimits;
use caudal_flow::SessionLimits;
use caudal_wire::protocol::{PORT, Protocol};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress {
    /// The address.
    pub address: IpAddr,
    /// The index of the interface of a link-local one; 0 for any other.
    pub scope_id: u32,
}

impl ListenAddress {
    /// It with a port.
    #[must_use]
    pub fn with_port(self, port: u16) -> SocketAddr {
        match self.address {
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, self.scope_id).into(),
            address @ IpAddr::V4(_) => SocketAddr::new(address, port),
        }
    }
}

impl From<IpAddr> for ListenAddress {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            scope_id: 0,
        }
    }
}

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The addresses to listen on; none for all, of IPv4 and IPv6.
    pub bind: Vec<ListenAddress>,
    /// The interface, or VRF, that clients must come by; `None` for any.
    pub device: Option<String>,
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
    /// The other protocols that are answered on the port.
    pub shared_port: Vec<Arc<dyn SharedPortProtocol>>,
    /// The authentication required of clients.
    pub authentication: AuthenticationOptions,
    /// The files that clients may get and send; none by default.
    pub transfer: TransferLocalOptions,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            bind: Vec::new(),
            device: None,
            port: PORT,
            one_off: false,
            max_clients: 256,
            max_clients_per_source: None,
            limits: SessionLimits::default(),
            allow: Vec::new(),
            idle_timeout: Duration::from_secs(60),
            tool: "caudal".to_owned(),
            shared_port: Vec::new(),
            authentication: AuthenticationOptions::default(),
            transfer: TransferLocalOptions::default(),
        }
    }
}

impl ServerOptions {
    /// The addresses to listen on, each `None` for all.
    pub(crate) fn listening_addresses(&self) -> Vec<Option<ListenAddress>> {
        match self.bind.is_empty() {
            true => vec![None],
            false => self.bind.iter().copied().map(Some).collect(),
        }
    }

    /// The limits on each test of a client at `address`.
    pub(crate) fn limits(&self, address: IpAddr) -> ServerLimits {
        ServerLimits {
            session: self.limits.of_client(address),
            idle_timeout: self.idle_timeout,
            transfer: self.transfer.of_client(address),
        }
    }

    /// The access that clients of a protocol have.
    #[must_use]
    pub fn access(&self, protocol: Protocol) -> ProtocolAccess {
        let with_logins: Vec<Protocol> = self
            .shared_port
            .iter()
            .filter(|shared| shared.requires_login())
            .map(|shared| shared.protocol())
            .collect();
        self.authentication.access(protocol, &with_logins)
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
