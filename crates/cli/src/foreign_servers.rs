//! The servers of other programs' protocols that `caudal serve` runs beside its own.

use crate::args::{ServeArgs, protocol_name};
use caudal_engine::server::{ProtocolAccess, SessionEvent, SessionEventSender};
use caudal_engine::{Admission, Protocol, RunError, Server, SessionLimits};
use caudal_foreign::iperf2::{Iperf2Options, Iperf2Server};
use caudal_foreign::nttcp::{NttcpOptions, NttcpServer};
use caudal_wire::{iperf2, nttcp};
use std::net::IpAddr;
use std::sync::mpsc::Sender;

/// The port of a running server, and what ends its tests; the server is stopped when that is dropped.
type RunningServer = (u16, Box<dyn FnOnce()>);

/// Starts a server that shares the limits and the admission of the native one.
type StartServer = fn(
    &ServeArgs,
    Option<IpAddr>,
    &SessionLimits,
    Admission,
    SessionEventSender,
) -> Result<RunningServer, RunError>;

/// The server of a protocol, before it is started.
struct ServerEntry {
    protocol: Protocol,
    is_wanted: fn(&ServeArgs) -> bool,
    start: StartServer,
    /// Its sockets beside the port, as people are shown them.
    sockets: &'static str,
    /// The flag with which another port is chosen.
    remedy: &'static str,
}

/// The servers, in the order in which they are started.
const SERVERS: [ServerEntry; 2] = [
    ServerEntry {
        protocol: Protocol::Iperf2,
        is_wanted: ServeArgs::wants_iperf2,
        start: start_iperf2,
        sockets: "TCP and UDP",
        remedy: "--iperf2-port",
    },
    ServerEntry {
        protocol: Protocol::Nttcp,
        is_wanted: ServeArgs::wants_nttcp,
        start: start_nttcp,
        sockets: "data on the ports above",
        remedy: "--nttcp-port",
    },
];

/// The result of starting a server.
pub struct StartedServer {
    /// Its protocol.
    pub protocol: Protocol,
    /// The port it listens on; `None` when it could not be started.
    pub port: Option<u16>,
    /// The same as people are shown it.
    pub message: String,
}

impl StartedServer {
    /// A protocol that is not answered because its clients cannot authenticate themselves.
    #[must_use]
    pub fn closed(protocol: Protocol) -> Self {
        let name = protocol_name(protocol);
        let reason = match protocol {
            Protocol::Native => "there is no --token-file for its clients",
            Protocol::Iperf3 => "there is no --rsa-private-key-path for its logins",
            Protocol::Iperf2 | Protocol::Nttcp | Protocol::Web => "its clients have no way to",
        };
        Self {
            protocol,
            port: None,
            message: format!(
                "without {protocol}: clients must authenticate themselves, and {reason}; \
                 --allow-unauthenticated {name} answers them all the same"
            ),
        }
    }
}

/// The servers that run; stopped when dropped.
pub struct ForeignServers {
    /// What ends the tests of each.
    running: Vec<Box<dyn FnOnce()>>,
    /// Each server that was asked for.
    pub started: Vec<StartedServer>,
}

impl ForeignServers {
    /// Starts what the flags ask for; what cannot be started is reported and done without.
    #[must_use]
    pub fn start(
        args: &ServeArgs,
        limits: &SessionLimits,
        native: &Server,
        events: &Sender<SessionEvent>,
    ) -> Self {
        let admission = native.admission();
        let mut servers = Self {
            running: Vec::new(),
            started: Vec::new(),
        };
        for entry in SERVERS.iter().filter(|entry| (entry.is_wanted)(args)) {
            let protocol = entry.protocol;
            if native.access(protocol) == ProtocolAccess::Closed {
                servers.started.push(StartedServer::closed(protocol));
                continue;
            }
            for bind in binds(args) {
                let events = events.clone().into();
                let (port, message) =
                    match (entry.start)(args, bind, limits, admission.clone(), events) {
                        Ok((port, stop)) => {
                            servers.running.push(stop);
                            let at = match bind.filter(|_| args.bind.len() > 1) {
                                Some(address) => format!(" of {address}"),
                                None => String::new(),
                            };
                            let sockets = entry.sockets;
                            (
                                Some(port),
                                format!("{protocol} on port {port}{at}, {sockets}"),
                            )
                        }
                        Err(error) => {
                            let remedy = entry.remedy;
                            let message = format!(
                                "without {protocol}: {error}; choose another port with {remedy}"
                            );
                            (None, message)
                        }
                    };
                servers.started.push(StartedServer {
                    protocol,
                    port,
                    message,
                });
            }
        }
        servers
    }

    /// Ends running tests.
    pub fn stop(self) {
        for stop in self.running {
            stop();
        }
    }
}

/// The addresses to listen on, each `None` for all.
fn binds(args: &ServeArgs) -> Vec<Option<IpAddr>> {
    match args.bind.is_empty() {
        true => vec![None],
        false => args.bind.iter().map(|local| Some(local.address)).collect(),
    }
}

fn start_iperf2(
    args: &ServeArgs,
    bind: Option<IpAddr>,
    limits: &SessionLimits,
    admission: Admission,
    events: SessionEventSender,
) -> Result<RunningServer, RunError> {
    let options = Iperf2Options {
        bind,
        device: args.device.clone(),
        port: args.iperf2_port.unwrap_or(iperf2::PORT),
        limits: limits.clone(),
        idle_timeout: args.idle_timeout,
        connect_back: !args.no_connect_back,
        trusted: args.iperf2_trust.clone(),
        groups: args
            .iperf2_group
            .iter()
            .map(|group| (*group, None))
            .collect(),
        ..Iperf2Options::default()
    };
    let server = Iperf2Server::start(options, admission, events)?;
    Ok((server.port(), Box::new(move || server.stop())))
}

fn start_nttcp(
    args: &ServeArgs,
    bind: Option<IpAddr>,
    limits: &SessionLimits,
    admission: Admission,
    events: SessionEventSender,
) -> Result<RunningServer, RunError> {
    let options = NttcpOptions {
        bind,
        device: args.device.clone(),
        port: args.nttcp_port.unwrap_or(nttcp::PORT),
        limits: limits.clone(),
        idle_timeout: args.idle_timeout,
    };
    let server = NttcpServer::start(options, admission, events)?;
    Ok((server.port(), Box::new(move || server.stop())))
}
