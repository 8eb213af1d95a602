//! The data sockets of a test at the client: connected, and over UDP proven to the server.

use super::client_channel::ClientChannel;
use super::control::STEP_TIMEOUT;
use super::tcp_opening::TcpOpener;
use super::udp_opening::{UdpOpened, UdpOpener};
use crate::reduced_plan::reduced_to;
use crate::workload::OpenFlow;
use caudal_core::opening::{OpenedFlow, OpeningOutcome, OpeningReport};
use caudal_core::plan::{Plan, PlannedFlow, Transport};
use caudal_flow::socket::{CONNECT_TIMEOUT, DataSocket, SocketSettings, connect_udp};
use caudal_flow::{LocalBinding, RunError, role};
use caudal_wire::message::{ToClient, ToServer};
use caudal_wire::preamble::TestToken;
use std::net::UdpSocket;

/// The data sockets of a test that is being set up.
pub(super) struct DataSockets<'a> {
    control: &'a mut ClientChannel,
    token: TestToken,
    /// `true` when the test is carried out with those flows that open, where others do not.
    partial: bool,
}

/// The data sockets of a test that is to be started.
pub(super) struct OpenedSockets {
    pub(super) flows: Vec<OpenFlow>,
    /// The plan with these flows, and how all opened, where some did not.
    pub(super) reduced: Option<(Plan, OpeningReport)>,
}

impl<'a> DataSockets<'a> {
    pub(super) const fn new(
        control: &'a mut ClientChannel,
        token: TestToken,
        partial: bool,
    ) -> Self {
        Self {
            control,
            token,
            partial,
        }
    }

    /// Opens the data sockets of a plan and waits until the server has them all, or those that open.
    pub(super) fn open(
        &mut self,
        plan: &Plan,
        settings_of: impl Fn(&PlannedFlow) -> SocketSettings,
        binding: &LocalBinding,
    ) -> Result<OpenedSockets, RunError> {
        let wanted: Vec<(PlannedFlow, SocketSettings)> = plan
            .flows()
            .into_iter()
            .map(|flow| {
                (
                    flow,
                    settings_of(&flow).for_role(role(flow.direction, true)),
                )
            })
            .collect();
        let (tcp, udp): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|(_, settings)| settings.transport == Transport::Tcp);
        let (mut open, attempts, all_open) = self.open_tcp(&tcp, binding)?;
        if open.len() < tcp.len() {
            let opening =
                OpeningReport::new(Transport::Tcp, attempts, CONNECT_TIMEOUT.as_secs_f64());
            return self.conclude(plan, open, opening);
        }
        let datagram = self.open_udp(&udp, binding)?;
        // Datagrams are proven before the server reports that all flows are open: if it has, these are connections.
        let opened = match all_open && datagram.is_empty() {
            true => UdpOpened::All,
            false => self.prove(&datagram)?,
        };
        open.extend(datagram);
        open.sort_by_key(|open| open.flow.id);
        match opened {
            UdpOpened::All => Ok(OpenedSockets {
                flows: open,
                reduced: None,
            }),
            UdpOpened::Some(outcomes, waited) if !outcomes.is_empty() => {
                let flows = udp_attempts(&open, &outcomes);
                let opening = OpeningReport::new(Transport::Udp, flows, waited.as_secs_f64());
                self.conclude(plan, open, opening)
            }
            UdpOpened::Some(_, waited) => Err(RunError::Silent {
                waiting_for: "the report that the flows are open",
                seconds: waited.as_secs(),
            }),
        }
    }

    /// Opens TCP connections: those that are open, how each opened, and whether the server has reported that it has all flows.
    fn open_tcp(
        &mut self,
        wanted: &[(PlannedFlow, SocketSettings)],
        binding: &LocalBinding,
    ) -> Result<(Vec<OpenFlow>, Vec<OpenedFlow>, bool), RunError> {
        let mut opening = TcpOpener {
            control: self.control,
            token: self.token,
            all_open: false,
        };
        let attempts = opening.open(wanted, binding)?;
        let all_open = opening.all_open;
        let mut open = Vec::with_capacity(wanted.len());
        let mut all = Vec::with_capacity(wanted.len());
        for attempt in attempts {
            let (flow, source_port) = (attempt.flow, attempt.source_port);
            let connect_time = Some(attempt.connect_time);
            let outcome = match attempt.into_connection() {
                Ok(stream) => {
                    open.push(OpenFlow {
                        flow,
                        socket: DataSocket::Tcp(stream),
                        connect_time,
                    });
                    OpeningOutcome::Opened
                }
                Err(outcome) => outcome,
            };
            all.push(OpenedFlow {
                flow: flow.id,
                source_port,
                outcome,
            });
        }
        Ok((open, all, all_open))
    }

    fn open_udp(
        &self,
        wanted: &[(PlannedFlow, SocketSettings)],
        binding: &LocalBinding,
    ) -> Result<Vec<OpenFlow>, RunError> {
        let peer = self.control.channel.peer();
        wanted
            .iter()
            .enumerate()
            .map(|(nth, (flow, settings))| {
                let binding = binding.of_flow(nth);
                Ok(OpenFlow {
                    flow: *flow,
                    socket: DataSocket::Udp(connect_udp(peer, &binding, settings)?),
                    connect_time: None,
                })
            })
            .collect()
    }

    fn prove(&mut self, open: &[OpenFlow]) -> Result<UdpOpened, RunError> {
        let sockets = open
            .iter()
            .filter_map(|one| Some((one.flow, one.socket.udp()?)));
        let sockets: Vec<(PlannedFlow, &UdpSocket)> = sockets.collect();
        let mut opening = UdpOpener {
            control: self.control,
            token: self.token,
        };
        opening.open(&sockets)
    }

    /// Goes on with the flows that are open where that was asked for, or reports why the others are not.
    fn conclude(
        &mut self,
        plan: &Plan,
        open: Vec<OpenFlow>,
        mut opening: OpeningReport,
    ) -> Result<OpenedSockets, RunError> {
        let can_go_on = self.control.supports_partial();
        if can_go_on {
            self.ask_server(&mut opening)?;
        }
        let opened = opening
            .flows
            .iter()
            .filter(|flow| flow.outcome == OpeningOutcome::Opened);
        let connected = open
            .iter()
            .filter(|one| opening.transport == Transport::Udp && one.socket.tcp().is_some());
        let opened: Vec<u32> = opened
            .map(|flow| flow.flow)
            .chain(connected.map(|one| one.flow.id))
            .collect();
        let reduced = reduced_to(plan, &opened).filter(|_| self.partial && can_go_on);
        let is_udp_blocked = opening.transport == Transport::Udp && opening.opened() == 0;
        self.control.is_udp_blocked = is_udp_blocked;
        let Some(reduced) = reduced else {
            if is_udp_blocked && let Some(proxy) = &self.control.tcp_proxy {
                return Err(RunError::UdpBehindProxy {
                    proxy: Box::new(proxy.clone()),
                });
            }
            let can_go_on = can_go_on && reduced_to(plan, &opened).is_some();
            return Err(RunError::Unopened {
                opening: Box::new(opening),
                can_go_on,
            });
        };
        let kept: Vec<u32> = reduced.flows.iter().map(|(old, _)| *old).collect();
        self.control
            .channel
            .send(&ToServer::Reduce { flows: kept })?;
        match self
            .control
            .expect(STEP_TIMEOUT, "the report that the flows are open")?
        {
            ToClient::Ready => {}
            other => {
                return Err(RunError::unexpected(
                    other,
                    "the report that the flows are open",
                ));
            }
        }
        let mut open: Vec<OpenFlow> = open
            .into_iter()
            .filter_map(|one| {
                let (_, flow) = reduced.flows.iter().find(|(old, _)| *old == one.flow.id)?;
                Some(OpenFlow { flow: *flow, ..one })
            })
            .collect();
        open.sort_by_key(|one| one.flow.id);
        Ok(OpenedSockets {
            flows: open,
            reduced: Some((reduced.plan, opening)),
        })
    }

    /// Completes the outcomes with what the server knows: over UDP it has the last word on which flows are open.
    fn ask_server(&mut self, opening: &mut OpeningReport) -> Result<(), RunError> {
        self.control.channel.send(&ToServer::Flows)?;
        let (open, heard) = match self
            .control
            .expect(STEP_TIMEOUT, "the flows at the server")?
        {
            ToClient::Flows { open, heard } => (open, heard),
            other => return Err(RunError::unexpected(other, "the flows at the server")),
        };
        let is_udp = opening.transport == Transport::Udp;
        for flow in &mut opening.flows {
            let is_open = open.contains(&flow.flow);
            flow.outcome = match flow.outcome {
                _ if is_udp && is_open => OpeningOutcome::Opened,
                OpeningOutcome::NoAnswer if heard.contains(&flow.flow) || is_open => {
                    OpeningOutcome::AnswerLost
                }
                OpeningOutcome::Opened if !is_open => OpeningOutcome::NoAnswer,
                outcome => outcome,
            };
        }
        let flows = std::mem::take(&mut opening.flows);
        *opening = OpeningReport::new(opening.transport, flows, opening.waited_s);
        Ok(())
    }
}

/// How the UDP flows opened, as far as this end knows.
fn udp_attempts(open: &[OpenFlow], outcomes: &[(u32, OpeningOutcome)]) -> Vec<OpenedFlow> {
    let sockets = open.iter().filter(|one| one.socket.udp().is_some());
    sockets
        .filter_map(|one| {
            let (_, outcome) = outcomes.iter().find(|(flow, _)| *flow == one.flow.id)?;
            Some(OpenedFlow {
                flow: one.flow.id,
                source_port: one.socket.local_address().ok().map(|local| local.port()),
                outcome: *outcome,
            })
        })
        .collect()
}
