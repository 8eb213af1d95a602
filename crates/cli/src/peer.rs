//! The other end of a test: the host that was named, or a server of our own on loopback.

use crate::args::TargetArgs;
use crate::exit::Failure;
use caudal_core::framing::IpVersion;
use caudal_engine::{Client, Family, Origin, RunError, Server, ServerOptions, Target};
use caudal_sys::signal::Interrupt;
use std::net::IpAddr;
use std::time::Duration;

/// What a program is called when it speaks to another.
pub const TOOL: &str = concat!("caudal ", env!("CARGO_PKG_VERSION"));

/// Where the arguments say the server is.
#[must_use]
pub fn target(args: &TargetArgs) -> Target {
    Target {
        host: args.host.clone().unwrap_or_default(),
        port: args.port,
        family: match (args.ipv4, args.ipv6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        },
        origin: Origin {
            address: args.bind,
            device: args.device.clone(),
        },
    }
}

/// A connection to the server of a command, which may be one of our own.
pub struct Peer {
    /// The greeted server.
    pub client: Client,
    /// The server we started because none was named.
    pub own: Option<Server>,
}

impl Peer {
    /// Connects to the host named, or to a server started on loopback for the occasion.
    ///
    /// # Errors
    /// When nobody answers, or the address makes no sense.
    pub fn connect(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Failure> {
        let family = target(args).family;
        let (host, port, own) = match &args.host {
            Some(host) => (host.clone(), args.port, None),
            None => {
                let loopback: IpAddr = if args.ipv6 || args.bind.is_some_and(|from| from.is_ipv6())
                {
                    std::net::Ipv6Addr::LOCALHOST.into()
                } else {
                    std::net::Ipv4Addr::LOCALHOST.into()
                };
                let options = ServerOptions {
                    bind: Some(loopback),
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: Duration::from_secs(3600),
                    ..ServerOptions::default()
                };
                let own = Server::start(options, None)?;
                (loopback.to_string(), own.local().port(), Some(own))
            }
        };
        let target = Target {
            host,
            port,
            ..target(args)
        };
        let client = Client::connect(&target, TOOL, Some(interrupt)).map_err(|error| {
            match (args.bind, &error) {
                // A name with no address of that family: the resolver itself gives no such answer.
                (Some(bind), RunError::Resolve { cause, .. })
                    if family.is_none() && cause.kind() == std::io::ErrorKind::NotFound =>
                {
                    args.another_family(bind)
                }
                _ => error.into(),
            }
        })?;
        Ok(Self { client, own })
    }

    /// The peer in words.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.own.is_some() {
            "this machine over loopback".to_owned()
        } else {
            format!("{} ({})", self.client.peer(), self.client.server.name)
        }
    }

    /// Whether traffic to it stays on a loopback interface.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.client.here.interface.as_deref() == Some("lo")
    }

    /// The IP version between both.
    #[must_use]
    pub fn ip(&self) -> IpVersion {
        if self.client.peer().is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        }
    }
}
