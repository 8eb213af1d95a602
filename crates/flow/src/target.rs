//! The address of a server, and the local address to reach it from.

use crate::error::RunError;
use crate::socket::canonical;
use caudal_sys::interface::interface_index;
use caudal_wire::access_token::AccessToken;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The local end that a client's sockets are bound to.
#[derive(Debug, Clone, Default)]
pub struct LocalBinding {
    /// The local address.
    pub address: Option<IpAddr>,
    /// The index of the interface that a link-local address belongs to; 0 for that of the peer's.
    pub scope_id: u32,
    /// The interface.
    pub device: Option<String>,
    /// The local port; `None` lets the kernel choose.
    pub port: Option<u16>,
}

/// The address of a server.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The address family to use; `None` for whichever answers.
    pub family: Option<AddressFamily>,
    /// The local end of connections to it.
    pub binding: LocalBinding,
    /// The token with which a server of caudal and this client authenticate each other; `None` where neither does.
    pub token: Option<AccessToken>,
}

impl LocalBinding {
    /// The local end of the flow at position `nth`: its port is so far from that of the first.
    #[must_use]
    pub fn of_flow(&self, nth: usize) -> Self {
        let after = u16::try_from(nth).unwrap_or(u16::MAX);
        Self {
            port: self.port.map(|port| port.saturating_add(after)),
            ..self.clone()
        }
    }

    /// The local end of a socket that is connected to `peer`.
    pub fn socket_address(&self, peer: SocketAddr) -> SocketAddr {
        let port = self.port.unwrap_or(0);
        match (self.address, peer) {
            (Some(IpAddr::V6(address)), SocketAddr::V6(peer)) => {
                let scope_id = match self.scope_id {
                    0 if address.is_unicast_link_local() => peer.scope_id(),
                    scope_id => scope_id,
                };
                SocketAddrV6::new(address, port, 0, scope_id).into()
            }
            (Some(address), _) => SocketAddr::new(address, port),
            (None, SocketAddr::V4(_)) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port),
            (None, SocketAddr::V6(_)) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
        }
    }
}

impl Target {
    /// The addresses of the host that are of the family asked for, or of that of the local address.
    ///
    /// # Errors
    /// When the resolver does not find the host.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, RunError> {
        let host = self.host.as_str();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let addresses = (bare, self.port)
            .to_socket_addrs()
            .map_err(|cause| RunError::Resolve {
                host: host.to_owned(),
                cause,
            })?;
        let is_wanted = |address: &SocketAddr| match self.family {
            Some(AddressFamily::V4) => address.is_ipv4(),
            Some(AddressFamily::V6) => address.is_ipv6(),
            None => self
                .binding
                .address
                .is_none_or(|local| local.is_ipv4() == address.is_ipv4()),
        };
        let addresses = addresses.map(|address| self.scoped(canonical(address)));
        Ok(addresses.filter(is_wanted).collect())
    }

    /// The same at one of the host's addresses.
    pub fn at(&self, address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
            address => address.ip().to_string(),
        };
        Self {
            host,
            ..self.clone()
        }
    }

    /// An address with the interface that a link-local one lacks, where one was named to send from.
    fn scoped(&self, address: SocketAddr) -> SocketAddr {
        match (address, &self.binding.device) {
            (SocketAddr::V6(mut v6), Some(device))
                if v6.ip().is_unicast_link_local() && v6.scope_id() == 0 =>
            {
                v6.set_scope_id(interface_index(device).unwrap_or(0));
                v6.into()
            }
            _ => address,
        }
    }

    /// Makes a connection to the first of the host's addresses at which that succeeds.
    ///
    /// # Errors
    /// That of the last address, or that there is none.
    pub fn connect_first<T>(
        &self,
        connect: impl Fn(SocketAddr) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let mut last = None;
        for address in self.resolve()? {
            match connect(address) {
                Ok(connected) => return Ok(connected),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.no_address()))
    }

    /// The error for a host without an address of the family asked for.
    pub fn no_address(&self) -> RunError {
        RunError::Resolve {
            host: self.host.clone(),
            cause: io::Error::new(
                io::ErrorKind::NotFound,
                "it has no address of the family asked for",
            ),
        }
    }
}
