//! The other end of a measurement: a server that was named, or one of this process on loopback.

use crate::error::MeasureError;
use crate::measured::RunEnding;
use crate::observation::{ObservationRequest, TestObservation};
use caudal_core::plan::Plan;
use caudal_core::run::Run;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::{
    AddressFamily, LocalBinding, Protocol, RunError, Server, ServerOptions, SessionLimits,
    StartedRun, StoreDirectory, TOOL, Target, TransferLocalOptions,
};
use caudal_foreign::{connect, connect_any};
use caudal_sys::process::raise_open_file_limit;
use caudal_sys::signal::Interrupt;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

/// The time the server of this process waits for its only client.
const OWN_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// The other end that is asked for.
#[derive(Debug, Clone)]
pub struct PeerRequest {
    /// The server.
    pub server: ServerChoice,
    /// What is to be seen of the test beside its result.
    pub observation: ObservationRequest,
}

/// The server of a measurement.
#[derive(Debug, Clone)]
pub enum ServerChoice {
    /// One of this process, started on loopback for the occasion.
    Own {
        /// The address family; `None` for that of the local address.
        family: Option<AddressFamily>,
        /// The local end of connections to it.
        binding: LocalBinding,
        /// `true` when it stores the files it is sent, without a name in the current directory.
        stores_files: bool,
    },
    /// A server of a known protocol.
    Speaking(Protocol, Target),
    /// A server of caudal or of iperf3, whichever answers.
    Recognised(Target),
}

impl ServerChoice {
    /// The address of a server that was named.
    const fn target(&self) -> Option<&Target> {
        match self {
            Self::Own { .. } => None,
            Self::Speaking(_, target) | Self::Recognised(target) => Some(target),
        }
    }

    const fn binding(&self) -> &LocalBinding {
        match self {
            Self::Own { binding, .. } => binding,
            Self::Speaking(_, target) | Self::Recognised(target) => &target.binding,
        }
    }
}

/// The other end of a measurement, connected, with what watches the test at this end.
pub struct TestPeer {
    peer: Box<dyn Peer>,
    /// The server of this process.
    own: Option<Server>,
    observation: TestObservation,
}

impl TestPeer {
    /// Connects to the server that is asked for; offloads are set before.
    ///
    /// # Errors
    /// When no such server answers, or the test cannot be watched as asked.
    pub fn connect(
        request: &PeerRequest,
        interrupt: &'static Interrupt,
    ) -> Result<Self, MeasureError> {
        let server = &request.server;
        let observation =
            TestObservation::prepare(&request.observation, server.target(), server.binding())?;
        let (peer, own) = connect_to(server, interrupt)?;
        Ok(Self {
            peer,
            own,
            observation,
        })
    }

    /// Connects once more, after the server has ended the session.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn reconnect(
        &mut self,
        server: &ServerChoice,
        interrupt: &'static Interrupt,
    ) -> Result<(), MeasureError> {
        (self.peer, self.own) = connect_to(server, interrupt)?;
        Ok(())
    }

    /// Keeps the connection while no test is carried out; to be called every few seconds. `false` when it is over.
    pub(crate) fn keep_alive(&mut self) -> bool {
        self.peer.keep_alive().is_ok()
    }

    /// The information about the peer.
    #[must_use]
    pub fn info(&self) -> &PeerInfo {
        self.peer.info()
    }

    /// `true` for a server of this process.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Checks that the peer is of a version that carries out plans of this kind.
    ///
    /// # Errors
    /// When it is known not to.
    pub fn check_support(&self, plan: &Plan) -> Result<(), MeasureError> {
        Ok(self.peer.check_support(plan)?)
    }

    /// Measures the path MTU by probes, where the peer answers any.
    ///
    /// # Errors
    /// When the peer is lost, or the user interrupts.
    pub fn probe_path_mtu(&mut self) -> Result<(), MeasureError> {
        Ok(self.peer.probe_path_mtu()?)
    }

    /// The peer itself.
    pub(crate) fn peer_mut(&mut self) -> &mut dyn Peer {
        &mut *self.peer
    }

    /// Begins to capture, where that is asked for; the capture is of the test with this `plan`.
    pub(crate) fn begin_observation(
        &mut self,
        started: &StartedRun,
        plan: &impl Serialize,
    ) -> Result<(), MeasureError> {
        let address = self.peer.info().address;
        self.observation.begin(address, started, plan)
    }

    /// Ends the capture, restores the offloads and adds both to the run; `ending`, or that of a capture that ended early.
    pub(crate) fn end_observation(&mut self, run: &mut Run, ending: RunEnding) -> RunEnding {
        self.observation.end(run, ending)
    }
}

type Connected = (Box<dyn Peer>, Option<Server>);

fn connect_to(
    server: &ServerChoice,
    interrupt: &'static Interrupt,
) -> Result<Connected, MeasureError> {
    // A flow takes a descriptor or two; where there are no more, the error says so.
    let _ = raise_open_file_limit();
    match server {
        ServerChoice::Own {
            family,
            binding,
            stores_files,
        } => connect_own(*family, binding, *stores_files, interrupt),
        ServerChoice::Speaking(protocol, target) => {
            Ok((connect(*protocol, target, TOOL, Some(interrupt))?, None))
        }
        ServerChoice::Recognised(target) => Ok((connect_any(target, TOOL, Some(interrupt))?, None)),
    }
}

/// Starts a server on loopback and connects to it.
fn connect_own(
    family: Option<AddressFamily>,
    binding: &LocalBinding,
    stores_files: bool,
    interrupt: &'static Interrupt,
) -> Result<Connected, MeasureError> {
    let is_v6 =
        family == Some(AddressFamily::V6) || binding.address.is_some_and(|local| local.is_ipv6());
    let loopback: IpAddr = if is_v6 {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    };
    let store = stores_files.then(|| StoreDirectory::open(Path::new(".")).ok());
    let options = ServerOptions {
        bind: vec![loopback.into()],
        port: 0,
        tool: TOOL.to_owned(),
        idle_timeout: OWN_IDLE_TIMEOUT,
        limits: SessionLimits::unlimited(),
        transfer: TransferLocalOptions {
            store: store.flatten(),
            ..TransferLocalOptions::default()
        },
        ..ServerOptions::default()
    };
    let own = Server::start(options, Default::default())
        .map_err(|error| without_loopback(error, loopback))?;
    let target = Target {
        host: loopback.to_string(),
        port: own.local().port(),
        family,
        binding: binding.clone(),
        token: None,
    };
    let peer = connect(Protocol::Native, &target, TOOL, Some(interrupt))?;
    Ok((peer, Some(own)))
}

/// The failure to start a server on loopback; where this has not its address, that.
fn without_loopback(error: RunError, loopback: IpAddr) -> MeasureError {
    let is_missing = matches!(
        &error,
        RunError::Local { cause, .. } if cause.kind() == std::io::ErrorKind::AddrNotAvailable
    );
    match is_missing {
        true => MeasureError::NoLoopback(loopback),
        false => error.into(),
    }
}
