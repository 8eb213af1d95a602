//! The data sockets of a test as they arrive at the server.

use super::session_control::SessionControl;
use super::state::ServerState;
use super::test_registry::ArrivedSocket;
use crate::error::RunError;
use crate::flow::role;
use crate::opening::{UnvalidatedFlow, random_bytes};
use crate::socket::{DataSocket, SocketSettings};
use crate::wakeup::Wakeup;
use crate::workload::OpenFlow;
use caudal_core::plan::{PlannedFlow, Transport};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::message::{Refusal, ToServer};
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

/// The data sockets of a test that is being set up.
pub(super) struct TestSockets<'a> {
    entry: TestEntry<'a>,
    /// The flows of the plan, each with the settings of its socket.
    flows: &'a [(PlannedFlow, SocketSettings)],
    open: Vec<OpenFlow>,
    unvalidated: Vec<UnvalidatedFlow>,
    /// The time by which the next socket is to arrive.
    until_ns: u64,
}

impl<'a> TestSockets<'a> {
    pub(super) fn new(entry: TestEntry<'a>, flows: &'a [(PlannedFlow, SocketSettings)]) -> Self {
        Self {
            entry,
            flows,
            open: Vec::with_capacity(flows.len()),
            unvalidated: Vec::new(),
            until_ns: monotonic_ns() + STEP_NS,
        }
    }

    /// Waits until every flow of the plan has a data socket that belongs to it.
    pub(super) fn collect(
        mut self,
        control: &mut SessionControl<'_>,
    ) -> Result<Vec<OpenFlow>, RunError> {
        while self.open.len() < self.flows.len() {
            self.receive(control)?;
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
        Ok(self.open)
    }

    /// Waits for a message of the client, or until something else has arrived.
    fn receive(&self, control: &mut SessionControl<'_>) -> Result<(), RunError> {
        let mut others: Vec<BorrowedFd<'_>> =
            vec![self.entry.state.stop_fd(), self.entry.wakeup.fd()];
        others.extend(self.unvalidated.iter().map(|flow| flow.socket.as_fd()));
        match control.recv(self.until_ns, &others)? {
            Some(ToServer::Stop { .. }) => Err(RunError::Lost {
                doing: "setting the test up",
                cause: std::io::ErrorKind::ConnectionAborted.into(),
            }),
            Some(_) => Err(RunError::Protocol("expected the data connections".into())),
            None => Ok(()),
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
        while nth < self.unvalidated.len() {
            let Some(proof) = self.unvalidated[nth].proof() else {
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
