//! The other end of a test: the host that was named, or a server of this process on loopback.

use crate::args::TargetArgs;
use crate::exit::Failure;
use crate::token_file::read_token;
use caudal_engine::peer::{Peer, PeerInfo, connect, connect_any};
use caudal_engine::{
    AddressFamily, LocalBinding, Protocol, RunError, Server, ServerOptions, SessionLimits,
    StoreDirectory, TOOL, Target, TransferLocalOptions,
};
use caudal_sys::signal::Interrupt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

/// The time the server of this process waits for its only client.
const OWN_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// The peer of a command, which may be a server of this process.
pub struct CommandPeer {
    peer: Box<dyn Peer>,
    /// The server that was started because no host was named.
    own: Option<Server>,
}

impl CommandPeer {
    /// Connects to the host that was named, or to a server started on loopback for the occasion.
    ///
    /// # Errors
    /// When no server of caudal answers.
    pub fn connect(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Failure> {
        if args.host.is_none() {
            return Self::connect_own(args, TransferLocalOptions::default(), interrupt);
        }
        let target = args.authenticated_target()?;
        let peer = connect(Protocol::Native, &target, TOOL, Some(interrupt))
            .map_err(|error| args.connect_failure(error))?;
        Ok(Self { peer, own: None })
    }

    /// Connects in the same way to a server that speaks `protocol`; without one, to a server of caudal or of iperf3.
    ///
    /// # Errors
    /// When no such server answers.
    pub fn connect_as(
        args: &TargetArgs,
        protocol: Option<Protocol>,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        if protocol.is_none() && args.host.is_none() {
            return Self::connect_own(args, TransferLocalOptions::default(), interrupt);
        }
        let mut target = args.authenticated_target()?;
        if let (Some(protocol), Some(_)) = (protocol, &target.token) {
            return Err(Failure::usage(
                format!("--token-file authenticates servers of caudal, not of {protocol}"),
                "leave --as out, or --token-file (and CAUDAL_TOKEN_FILE)",
            ));
        }
        let peer = match (protocol, &args.host) {
            // With a token there is no other protocol: it would authenticate nobody.
            (None, _) if target.token.is_some() => {
                connect(Protocol::Native, &target, TOOL, Some(interrupt))
            }
            (None, _) => connect_any(&target, TOOL, Some(interrupt)),
            (Some(_), None) => {
                return Err(Failure::usage(
                    "--as is given without a HOST",
                    "name the host on which that server runs",
                ));
            }
            (Some(protocol), Some(_)) => {
                if args.given_port().is_none() {
                    target.port = protocol.default_port();
                }
                connect(protocol, &target, TOOL, Some(interrupt))
            }
        };
        let peer = peer.map_err(|error| args.connect_failure(error))?;
        Ok(Self { peer, own: None })
    }

    /// Connects as [`connect`](Self::connect) does, for file transfers: a server started for the occasion writes what it stores into
    /// files without a name in the current directory.
    ///
    /// # Errors
    /// When no server of caudal answers.
    pub fn connect_for_files(
        args: &TargetArgs,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        if args.host.is_some() {
            return Self::connect(args, interrupt);
        }
        let files = TransferLocalOptions {
            store: StoreDirectory::open(Path::new(".")).ok(),
            ..TransferLocalOptions::default()
        };
        Self::connect_own(args, files, interrupt)
    }

    /// Starts a server on loopback and connects to it.
    fn connect_own(
        args: &TargetArgs,
        transfer: TransferLocalOptions,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        let is_v6 = args.ipv6 || args.bind.is_some_and(|local| local.is_ipv6());
        let loopback: IpAddr = if is_v6 {
            Ipv6Addr::LOCALHOST.into()
        } else {
            Ipv4Addr::LOCALHOST.into()
        };
        let options = ServerOptions {
            bind: Some(loopback),
            port: 0,
            tool: TOOL.to_owned(),
            idle_timeout: OWN_IDLE_TIMEOUT,
            limits: SessionLimits::unlimited(),
            transfer,
            ..ServerOptions::default()
        };
        let own = Server::start(options, Default::default())?;
        let target = Target {
            host: loopback.to_string(),
            port: own.local().port(),
            ..args.target()
        };
        let peer = connect(Protocol::Native, &target, TOOL, Some(interrupt))
            .map_err(|error| args.connect_failure(error))?;
        Ok(Self {
            peer,
            own: Some(own),
        })
    }

    /// The peer itself.
    pub fn peer_mut(&mut self) -> &mut dyn Peer {
        &mut *self.peer
    }

    /// The information about the peer.
    #[must_use]
    pub fn info(&self) -> &PeerInfo {
        self.peer.info()
    }

    /// The peer as people are shown it.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.own.is_some() {
            "this machine over loopback".to_owned()
        } else {
            let info = self.info();
            format!("{} ({})", info.address, info.server.name)
        }
    }
}

impl TargetArgs {
    /// The address of the server, and the local address to reach it from.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            host: self
                .host
                .as_ref()
                .map(|host| host.host.clone())
                .unwrap_or_default(),
            port: self
                .given_port()
                .unwrap_or_else(|| Protocol::Native.default_port()),
            family: match (self.ipv4, self.ipv6) {
                (true, _) => Some(AddressFamily::V4),
                (_, true) => Some(AddressFamily::V6),
                _ => None,
            },
            binding: LocalBinding {
                address: self.bind,
                device: self.device.clone(),
                port: None,
            },
            token: None,
        }
    }

    /// The same with the token that authenticates both ends, where one is given.
    fn authenticated_target(&self) -> Result<Target, Failure> {
        let token = self.token_file.as_deref().map(read_token).transpose()?;
        Ok(Target {
            token,
            ..self.target()
        })
    }

    /// The failure of connecting.
    fn connect_failure(&self, error: RunError) -> Failure {
        match (self.bind, &error) {
            // A name with no address of that family: the resolver itself gives no such answer.
            (Some(bind), RunError::Resolve { cause, .. })
                if !self.ipv4 && !self.ipv6 && cause.kind() == std::io::ErrorKind::NotFound =>
            {
                self.another_family(bind)
            }
            _ => error.into(),
        }
    }
}
