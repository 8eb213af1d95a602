//! The other end of a test as the flags name it: the host, or a server of this process on loopback.

use crate::args::TargetArgs;
use crate::exit::Failure;
use crate::token_file::read_token;
use caudal_engine::{AddressFamily, LocalBinding, Protocol, RunError, Target};
use caudal_measure::{MeasureError, ObservationRequest, PeerRequest, ServerChoice, TestPeer};
use caudal_sys::signal::Interrupt;

/// Connects to a server of caudal at the host that was named, or to one started on loopback for the occasion.
///
/// # Errors
/// When no server of caudal answers.
pub fn connect_native(
    args: &TargetArgs,
    observation: ObservationRequest,
    interrupt: &'static Interrupt,
) -> Result<TestPeer, Failure> {
    let server = args.native_server()?;
    connect(args, server, observation, interrupt)
}

/// Tries to connect in the same way: the peer, or the reason why no server of caudal answers.
///
/// # Errors
/// When the file with the token cannot be read.
pub fn try_native(
    args: &TargetArgs,
    observation: ObservationRequest,
    interrupt: &'static Interrupt,
) -> Result<Result<TestPeer, MeasureError>, Failure> {
    let request = PeerRequest {
        server: args.native_server()?,
        observation,
    };
    Ok(TestPeer::connect(&request, interrupt))
}

/// Connects in the same way to a server that speaks `protocol`; without one, to a server of caudal or of iperf3.
///
/// # Errors
/// When no such server answers.
pub fn connect_as(
    args: &TargetArgs,
    protocol: Option<Protocol>,
    observation: ObservationRequest,
    interrupt: &'static Interrupt,
) -> Result<TestPeer, Failure> {
    let server = args.server_speaking(protocol)?;
    connect(args, server, observation, interrupt)
}

/// Connects to a server.
///
/// # Errors
/// When it does not answer.
pub fn connect(
    args: &TargetArgs,
    server: ServerChoice,
    observation: ObservationRequest,
    interrupt: &'static Interrupt,
) -> Result<TestPeer, Failure> {
    let request = PeerRequest {
        server,
        observation,
    };
    TestPeer::connect(&request, interrupt).map_err(|error| args.connect_failure(error))
}

/// The peer as people are shown it.
#[must_use]
pub fn describe(peer: &TestPeer) -> String {
    if peer.is_own() {
        "this machine over loopback".to_owned()
    } else {
        let info = peer.info();
        format!("{} ({})", info.address, info.server.name)
    }
}

impl TargetArgs {
    /// A server of caudal.
    ///
    /// # Errors
    /// When the file with the token cannot be read.
    pub fn native_server(&self) -> Result<ServerChoice, Failure> {
        match self.host {
            None => Ok(self.own_server(false)),
            Some(_) => {
                let target = self.authenticated_target()?;
                Ok(ServerChoice::Speaking(Protocol::Native, target))
            }
        }
    }

    /// A server of caudal or of iperf3, whichever answers.
    ///
    /// # Errors
    /// When the file with the token cannot be read.
    pub fn any_server(&self) -> Result<ServerChoice, Failure> {
        self.server_speaking(None)
    }

    /// A server that speaks `protocol`; without one, a server of caudal or of iperf3.
    fn server_speaking(&self, protocol: Option<Protocol>) -> Result<ServerChoice, Failure> {
        if protocol.is_none() && self.host.is_none() {
            return Ok(self.own_server(false));
        }
        let mut target = self.authenticated_target()?;
        if let (Some(protocol), Some(_)) = (protocol, &target.token) {
            return Err(Failure::usage(
                format!("--token-file authenticates servers of caudal, not of {protocol}"),
                "leave --as out, or --token-file (and CAUDAL_TOKEN_FILE)",
            ));
        }
        match (protocol, &self.host) {
            // With a token there is no other protocol: it would authenticate nobody.
            (None, _) if target.token.is_some() => {
                Ok(ServerChoice::Speaking(Protocol::Native, target))
            }
            (None, _) => Ok(ServerChoice::Recognised(target)),
            (Some(_), None) => Err(Failure::usage(
                "--as is given without a HOST",
                "name the host on which that server runs",
            )),
            (Some(protocol), Some(_)) => {
                if self.given_port().is_none() {
                    target.port = protocol.default_port();
                }
                Ok(ServerChoice::Speaking(protocol, target))
            }
        }
    }

    /// A server of caudal for file transfers: one that is started for the occasion writes what it stores into files without a name in
    /// the current directory.
    ///
    /// # Errors
    /// When the file with the token cannot be read.
    pub fn file_server(&self) -> Result<ServerChoice, Failure> {
        match self.host {
            None => Ok(self.own_server(true)),
            Some(_) => self.native_server(),
        }
    }

    /// A server of this process.
    fn own_server(&self, stores_files: bool) -> ServerChoice {
        let Target {
            family, binding, ..
        } = self.target();
        ServerChoice::Own {
            family,
            binding,
            stores_files,
        }
    }

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
                address: self.bind.map(|local| local.address),
                scope_id: self.bind.map_or(0, |local| local.scope_id),
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
    #[must_use]
    pub fn connect_failure(&self, error: MeasureError) -> Failure {
        match (self.bind, &error) {
            // A name with no address of that family: the resolver itself gives no such answer.
            (Some(bind), MeasureError::Run(RunError::Resolve { cause, .. }))
                if !self.ipv4 && !self.ipv6 && cause.kind() == std::io::ErrorKind::NotFound =>
            {
                self.another_family(bind.address)
            }
            _ => error.into(),
        }
    }
}
