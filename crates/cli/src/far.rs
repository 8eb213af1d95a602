//! The other end of a throughput test, whatever protocol it speaks.

use crate::args::{Dialect, TargetArgs};
use crate::exit::Failure;
use crate::peer::{self, TOOL};
use caudal_core::framing::IpVersion;
use caudal_core::host::Host;
use caudal_core::plan::TrafficPlan;
use caudal_core::stats::ClockEstimate;
use caudal_engine::{Client, Event, Manner, RunError, TrafficRun, iperf2};
use caudal_sys::signal::Interrupt;
use std::net::SocketAddr;
use std::time::Duration;

/// A connection to the server of a command: ours, or one of another tool.
pub enum Far {
    /// One that speaks our protocol.
    Own(Box<Client>),
    /// One of iperf 2.
    Iperf2(Box<iperf2::Guise>),
}

impl Far {
    /// What this machine says of itself.
    #[must_use]
    pub fn here(&self) -> &Host {
        match self {
            Self::Own(client) => &client.here,
            Self::Iperf2(guise) => &guise.here,
        }
    }

    /// What is known of the server.
    #[must_use]
    pub fn server(&self) -> &Host {
        match self {
            Self::Own(client) => &client.server,
            Self::Iperf2(guise) => &guise.server,
        }
    }

    /// How long connecting took.
    #[must_use]
    pub fn connecting(&self) -> Duration {
        match self {
            Self::Own(client) => client.connecting,
            Self::Iperf2(guise) => guise.connecting,
        }
    }

    /// The server's clock and the idle round-trip time.
    #[must_use]
    pub fn clock(&self) -> &ClockEstimate {
        match self {
            Self::Own(client) => &client.clock,
            Self::Iperf2(guise) => &guise.clock,
        }
    }

    /// The server's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        match self {
            Self::Own(client) => client.peer(),
            Self::Iperf2(guise) => guise.peer(),
        }
    }

    /// The path MTU towards the server, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        match self {
            Self::Own(client) => client.path_mtu(),
            Self::Iperf2(guise) => guise.path_mtu(),
        }
    }

    /// Whether the server is ours and on this machine's own loopback, so that it can hold us back.
    #[must_use]
    pub fn is_same_machine(&self) -> bool {
        match self {
            Self::Own(client) => client.is_same_machine(),
            Self::Iperf2(_) => false,
        }
    }

    /// Carries a throughput plan out.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn run(
        &mut self,
        plan: &TrafficPlan,
        manner: &Manner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<TrafficRun, RunError> {
        match self {
            Self::Own(client) => client.run(plan, manner, on_event),
            Self::Iperf2(guise) => guise.run(plan, manner, on_event),
        }
    }
}

/// The peer of a throughput test, which may be a server of our own.
pub struct Peer {
    /// The other end.
    pub client: Far,
    own: Option<caudal_engine::Server>,
}

impl Peer {
    /// Connects to the host named, in the dialect asked for, or to a server started on loopback.
    ///
    /// # Errors
    /// When nobody answers, or the address makes no sense.
    pub fn connect(
        args: &TargetArgs,
        dialect: Option<Dialect>,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        match dialect {
            None => {
                let peer::Peer { client, own } = peer::Peer::connect(args, interrupt)?;
                Ok(Self {
                    client: Far::Own(Box::new(client)),
                    own,
                })
            }
            Some(Dialect::Iperf2) => {
                if args.host.is_none() {
                    return Err(Failure::usage(
                        "--as needs a HOST",
                        "name the host that runs `iperf -s`",
                    ));
                }
                let mut target = peer::target(args);
                if args.port == caudal_engine::PORT {
                    target.port = caudal_wire::iperf2::PORT;
                }
                let guise = iperf2::Guise::new(&target, TOOL, Some(interrupt))?;
                Ok(Self {
                    client: Far::Iperf2(Box::new(guise)),
                    own: None,
                })
            }
        }
    }

    /// The peer in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.client {
            _ if self.own.is_some() => "this machine over loopback".to_owned(),
            Far::Own(client) => format!("{} ({})", client.peer(), client.server.name),
            Far::Iperf2(guise) => format!("{} (as iperf 2)", guise.peer()),
        }
    }

    /// Whether traffic to it stays on a loopback interface.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.client.here().interface.as_deref() == Some("lo")
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
