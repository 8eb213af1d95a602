//! The other end of a test, whatever protocol it speaks.

use crate::options::LocalOptions;
use crate::path_mtu::path_mtu;
use crate::workload::Outcome;
use caudal_analysis::framing::IpVersion;
use caudal_core::event::Event;
use caudal_core::host::Host;
use caudal_core::interval::ServerAccount;
use caudal_core::opening::OpeningReport;
use caudal_core::path::MtuEvidence;
use caudal_core::plan::{Plan, Transport};
use caudal_core::run::Environment;
use caudal_core::tcp_proxy::TcpProxy;
use caudal_core::text::ExternalText;
use caudal_core::warning::{Warning, WarningCode};
use caudal_flow::{RunError, Target};
use caudal_host::describe_host;
use caudal_wire::message::PublishedLimits;
use caudal_wire::protocol::Protocol;
use std::net::SocketAddr;
use std::time::Duration;

/// The description of a peer.
#[derive(Debug, Clone)]
pub struct PeerInfo {
    /// Its address.
    pub address: SocketAddr,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// This machine.
    pub client: Host,
    /// The peer's machine, as far as its protocol reports it.
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
    /// What ends TCP between both ends, where something does.
    pub tcp_proxy: Option<TcpProxy>,
    /// How the flows of the latest test opened, where some did not and it went on with the others.
    pub opening: Option<OpeningReport>,
    /// The limits that it sets on each test, where it says so.
    pub limits: Option<PublishedLimits>,
    /// The observation that shows the path MTU; `None` where it was not measured, so that it is only what the kernel knows.
    pub mtu_evidence: Option<MtuEvidence>,
}

impl PeerInfo {
    /// A server that is not connected to before its first test.
    ///
    /// # Errors
    /// When the host has no address.
    pub fn unconnected(
        protocol: Protocol,
        target: &Target,
        tool: &str,
        server_account: ServerAccount,
    ) -> Result<Self, RunError> {
        let addresses = target.resolve()?;
        let address = *addresses.first().ok_or_else(|| target.no_address())?;
        Ok(Self {
            address,
            protocol,
            client: describe_host(tool, Some(address)),
            server: Host {
                tool: protocol.to_string().into(),
                name: target.host.clone().into(),
                ..Host::default()
            },
            connect_time: Duration::ZERO,
            idle_rtt_us: None,
            path_mtu: path_mtu(address),
            is_same_machine: false,
            server_account,
            tcp_proxy: None,
            opening: None,
            limits: None,
            mtu_evidence: None,
        })
    }

    /// The time it took to connect, µs.
    #[must_use]
    pub fn connect_us(&self) -> f64 {
        self.connect_time.as_secs_f64() * 1e6
    }

    /// `true` when traffic to the peer stays on a loopback interface.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let interface = self.client.interface.as_ref();
        self.tcp_proxy.is_none() && interface.map(ExternalText::as_received) == Some("lo")
    }

    /// The IP version between both ends.
    #[must_use]
    pub const fn ip_version(&self) -> IpVersion {
        if self.address.is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        }
    }

    /// The doubts about a result over `transport` that lie in the path to this peer.
    #[must_use]
    pub fn path_warnings(&self, transport: Transport) -> Vec<Warning> {
        let proxy = self.tcp_proxy.as_ref();
        let proxy = proxy.filter(|_| transport == Transport::Tcp);
        let proxy = proxy.map(|proxy| {
            let message = format!(
                "{proxy}; rates are end to end, and so is the idle round-trip time, and windows and queues are not reported"
            );
            Warning::new(WarningCode::TcpProxy, message)
        });
        let opening = self.opening.as_ref();
        let opening = opening.map(|opening| {
            let partial = |message| Warning::new(WarningCode::PartialFlows, message);
            match opening.opened() {
                0 => partial(format!(
                    "without UDP: {opening}; round trips are those of probes over TCP"
                ))
                .with_remedy("let UDP through in both directions, and run again"),
                _ => partial(format!("the test has those flows that opened: {opening}")),
            }
        });
        proxy.into_iter().chain(opening).collect()
    }

    /// The machines of a run.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment {
            client: Some(self.client.clone()),
            server: Some(self.server.clone()),
            tcp_proxy: self.tcp_proxy.clone().map(Box::new),
            opening: self.opening.clone().map(Box::new),
            ..Environment::default()
        }
    }
}

/// The other end of tests, which may be carried out one after another.
pub trait Peer {
    /// The description of the peer.
    fn info(&self) -> &PeerInfo;

    /// Checks that the peer is of a version that carries out plans of this kind, as far as it is known before one is offered.
    ///
    /// # Errors
    /// When it is known not to.
    fn check_support(&self, _plan: &Plan) -> Result<(), RunError> {
        Ok(())
    }

    /// Keeps the connection while no test is carried out; to be called every few seconds.
    ///
    /// # Errors
    /// When the peer has ended the session, or is lost.
    fn keep_alive(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Measures the path MTU by probes over UDP, where the peer's protocol has any, for [`PeerInfo::path_mtu`].
    ///
    /// # Errors
    /// When the peer is lost, or the user interrupts.
    fn probe_path_mtu(&mut self) -> Result<(), RunError> {
        Ok(())
    }

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
