//! The data sockets of a test as they arrive at the server.

use super::session_control::SessionControl;
use super::state::ServerState;
use super::test_registry::ArrivedSocket;
use crate::reduced_plan::reduced_to;
use crate::workload::OpenFlow;
use caudal_core::plan::{Plan, PlannedFlow, Transport};
use caudal_flow::socket::{DataSocket, SocketSettings};
use caudal_flow::{
    RunError, UnvalidatedFlow, Wakeup, needed_descriptors, random_bytes, role, too_many_files,
};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::process::open_file_limit;
use caudal_wire::message::{Refusal, ToClient, ToServer};
use caudal_wire::preamble::{PreambleAnswer, TestToken};
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, channel};

/// The time a client may take for each step of setting a test up, ns.
pub(super) const STEP_NS: u64 = 10_000_000_000;

/// A test's entry in the server's registry, removed when dropped.
pub(super) struct TestEntry<'a> {
    state: &'a ServerState,
    pub(super) token: TestToken,
    sockets: Receiver<ArrivedSocket>,
    wakeup: Wakeup,
}

impl<'a> TestEntry<'a> {
    pub(super) fn new(state: &'a ServerState) -> Result<Self, RunError> {
        let wanted = |cause| RunError::local("preparing a test", cause);
        let token = TestToken(random_bytes().map_err(wanted)?);
        let wakeup = Wakeup::new().map_err(wanted)?;
        let (sender, sockets) = channel();
        state
            .tests
            .insert(token, sender, wakeup.waker().map_err(wanted)?);
        Ok(Self {
            state,
            token,
            sockets,
            wakeup,
        })
    }
}

impl Drop for TestEntry<'_> {
    fn drop(&mut self) {
        self.state.tests.remove(self.token);
    }
}

/// The flows of a test whose data sockets have arrived.
pub(super) struct CollectedFlows {
    pub(super) flows: Vec<OpenFlow>,
    /// The plan with those flows, where the client goes on with fewer.
    pub(super) reduced: Option<Plan>,
}

/// The data sockets of a test that is being set up.
pub(super) struct TestSockets<'a> {
    entry: TestEntry<'a>,
    plan: &'a Plan,
    /// The flows of the plan, each with the settings of its socket.
    flows: &'a [(PlannedFlow, SocketSettings)],
    open: Vec<OpenFlow>,
    unvalidated: Vec<UnvalidatedFlow>,
    /// Connections that had been closed for want of descriptors when the test was accepted.
    without_descriptor: u64,
    /// The time by which the next socket is to arrive.
    until_ns: u64,
}

impl<'a> TestSockets<'a> {
    pub(super) fn new(
        entry: TestEntry<'a>,
        plan: &'a Plan,
        flows: &'a [(PlannedFlow, SocketSettings)],
    ) -> Self {
        Self {
            without_descriptor: entry.state.without_descriptor(),
            entry,
            plan,
            flows,
            open: Vec::with_capacity(flows.len()),
            unvalidated: Vec::new(),
            until_ns: monotonic_ns() + STEP_NS,
        }
    }

    /// Waits until every flow of the plan has a data socket that belongs to it, or the client goes on with those that have.
    pub(super) fn collect(
        mut self,
        control: &mut SessionControl<'_>,
    ) -> Result<CollectedFlows, RunError> {
        while self.open.len() < self.flows.len() {
            match self.receive(control)? {
                Some(ToServer::Flows) => self.report(control)?,
                Some(ToServer::Reduce { flows }) => return self.reduce(&flows),
                _ => {}
            }
            self.check_descriptors(control)?;
            control.check_stop()?;
            if monotonic_ns() >= self.until_ns {
                let message = format!(
                    "{} of {} data connections arrived within 10 s; does a firewall let them through?",
                    self.open.len(),
                    self.flows.len()
                );
                return Err(control.refuse(Refusal::Protocol, message));
            }
            control.keep_alive()?;
            self.entry.wakeup.reset();
            while let Ok(socket) = self.entry.sockets.try_recv() {
                self.take(socket)?;
            }
            self.take_validated();
        }
        self.open.sort_by_key(|open| open.flow.id);
        Ok(CollectedFlows {
            flows: self.open,
            reduced: None,
        })
    }

    /// Tells the client which flows have arrived.
    fn report(&mut self, control: &mut SessionControl<'_>) -> Result<(), RunError> {
        self.until_ns = monotonic_ns() + STEP_NS;
        let unvalidated = self.unvalidated.iter().map(|flow| flow.flow.id);
        let mut heard: Vec<u32> = unvalidated.filter(|id| !self.is_open(*id)).collect();
        heard.sort_unstable();
        heard.dedup();
        let open = self.open.iter().map(|open| open.flow.id).collect();
        control.send(&ToClient::Flows { open, heard })
    }

    /// Goes on with those flows that the client names; the others are closed.
    fn reduce(mut self, kept: &[u32]) -> Result<CollectedFlows, RunError> {
        let reduced = reduced_to(self.plan, kept)
            .ok_or_else(|| RunError::Protocol("the test cannot go on with so few flows".into()))?;
        let mut flows = Vec::with_capacity(reduced.flows.len());
        for (old, flow) in reduced.flows {
            let at = self.open.iter().position(|open| open.flow.id == old);
            let at = at.ok_or_else(|| {
                RunError::Protocol(format!("flow {old} is to be kept, and is not open").into())
            })?;
            flows.push(OpenFlow {
                flow,
                ..self.open.swap_remove(at)
            });
        }
        Ok(CollectedFlows {
            flows,
            reduced: Some(reduced.plan),
        })
    }

    /// Refuses the test where a connection had to be closed because this process has no descriptor left.
    fn check_descriptors(&self, control: &mut SessionControl<'_>) -> Result<(), RunError> {
        if self.entry.state.without_descriptor() == self.without_descriptor {
            return Ok(());
        }
        let (limit, flows) = (open_file_limit(), self.flows.len() as u32);
        Err(control.refuse(
            Refusal::Host,
            too_many_files(limit, Some(needed_descriptors(limit, flows))),
        ))
    }

    /// Waits for a message of the client, or until something else has arrived.
    fn receive(&self, control: &mut SessionControl<'_>) -> Result<Option<ToServer>, RunError> {
        let mut others: Vec<BorrowedFd<'_>> =
            vec![self.entry.state.stop_fd(), self.entry.wakeup.fd()];
        others.extend(self.unvalidated.iter().map(|flow| flow.socket.as_fd()));
        match control.recv(self.until_ns, &others)? {
            Some(ToServer::Stop { .. }) => Err(RunError::Lost {
                doing: "setting the test up",
                cause: std::io::ErrorKind::ConnectionAborted.into(),
            }),
            message @ (None | Some(ToServer::Flows | ToServer::Reduce { .. })) => Ok(message),
            Some(_) => Err(RunError::Protocol("expected the data connections".into())),
        }
    }

    fn take(&mut self, socket: ArrivedSocket) -> Result<(), RunError> {
        let id = match &socket {
            ArrivedSocket::Tcp(id, _) | ArrivedSocket::Udp(id, _, _) => *id,
        };
        let Some((flow, settings)) = self.flows.iter().find(|(flow, _)| flow.id == id) else {
            return Ok(());
        };
        let flow = *flow;
        if self.is_open(id) {
            return Ok(());
        }
        match (socket, settings.transport) {
            (ArrivedSocket::Tcp(_, stream), Transport::Tcp) => {
                self.take_tcp(flow, settings, stream)
            }
            (ArrivedSocket::Udp(_, socket, peer), Transport::Udp) => {
                // The same client once more, because an answer was lost; or another address.
                self.unvalidated
                    .retain(|flow| flow.flow.id != id || flow.peer != peer);
                if self.unvalidated.len() >= 4 * self.flows.len() {
                    self.unvalidated.remove(0);
                }
                let token = self.entry.token;
                self.unvalidated.extend(UnvalidatedFlow::challenge(
                    flow, socket, peer, token, settings,
                )?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_tcp(
        &mut self,
        flow: PlannedFlow,
        settings: &SocketSettings,
        mut stream: TcpStream,
    ) -> Result<(), RunError> {
        let lost = |cause| RunError::Lost {
            doing: "accepting a data connection",
            cause,
        };
        stream.set_nonblocking(false).map_err(lost)?;
        settings
            .for_role(role(flow.direction, false))
            .apply(&stream)?;
        stream
            .write_all(&PreambleAnswer::Attached.encode())
            .map_err(lost)?;
        self.open.push(OpenFlow {
            flow,
            socket: DataSocket::Tcp(stream),
            connect_time: None,
        });
        // Connections arrive one after another: on a long path many flows take their time.
        self.until_ns = monotonic_ns() + STEP_NS;
        Ok(())
    }

    fn take_validated(&mut self) {
        let mut nth = 0;
        while let Some(unvalidated) = self.unvalidated.get_mut(nth) {
            let Some(proof) = unvalidated.proof() else {
                nth += 1;
                continue;
            };
            let UnvalidatedFlow { flow, socket, .. } = self.unvalidated.swap_remove(nth);
            if !self.is_open(flow.id) {
                self.open.push(OpenFlow {
                    flow,
                    socket: DataSocket::Udp(socket.into_validated(proof)),
                    connect_time: None,
                });
            }
        }
    }

    fn is_open(&self, flow: u32) -> bool {
        self.open.iter().any(|open| open.flow.id == flow)
    }
}
