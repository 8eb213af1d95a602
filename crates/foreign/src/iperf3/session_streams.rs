//! The data connections of a session, as they arrive.

use super::registry::StreamArrival;
use super::session::{STEP_NS, ServerSession};
use super::session_error::SessionError;
use super::streams::Iperf3Stream;
use caudal_core::plan::Plan;
use caudal_flow::socket::DataSocket;
use caudal_flow::{AddressProof, RunError, UnvalidatedSocket};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf3::{ControlState, Iperf3ErrorCode, Parameters, TransportProtocol};
use std::net::SocketAddr;

/// The time a client may take to open one more stream: it waits 30 s for the answer to a hello, ns.
const STREAM_NS: u64 = 30_000_000_000;

/// Collects the data connections of a session.
pub(super) struct StreamCollector<'a, 'b> {
    session: &'a mut ServerSession<'b>,
    /// TCP connections with their positions in the order of accepting.
    tcp: Vec<(u64, DataSocket)>,
    udp: Vec<(SocketAddr, UnvalidatedSocket)>,
}

impl<'a, 'b> StreamCollector<'a, 'b> {
    pub(super) const fn new(session: &'a mut ServerSession<'b>) -> Self {
        Self {
            session,
            tcp: Vec::new(),
            udp: Vec::new(),
        }
    }

    /// Asks for the data connections and waits until all have arrived.
    pub(super) fn collect(
        mut self,
        parameters: &Parameters,
        plan: &Plan,
    ) -> Result<Vec<Iperf3Stream>, SessionError> {
        let flows = plan.flows();
        let (tests, cookie) = (&self.session.state.tests, self.session.entry.cookie);
        let address = self.session.control.peer().ip();
        let is_udp = parameters.protocol == TransportProtocol::Udp;
        let turn = if is_udp {
            let waker = self.session.entry.wakeup.waker();
            let waker = waker.map_err(|cause| RunError::local("opening a pipe", cause))?;
            Some(tests.queue(address, self.session.client.number(), waker))
        } else {
            None
        };
        while turn.as_ref().is_some_and(|turn| !turn.is_first()) {
            self.wait(monotonic_ns() + STEP_NS)?;
        }
        tests.open(&cookie, true, is_udp.then_some(address));
        let arrived = self
            .session
            .control
            .send(&[ControlState::CreateStreams])
            .map_err(SessionError::from)
            .and_then(|()| self.await_all(flows.len()));
        tests.open(&cookie, false, None);
        drop(turn);
        arrived?;
        let streams = flows.into_iter().zip(self.into_sockets());
        Ok(streams
            .map(|(flow, socket)| Iperf3Stream { flow, socket })
            .collect())
    }

    /// Waits for a while, for the client to send nothing.
    fn wait(&mut self, until_ns: u64) -> Result<(), SessionError> {
        let session = &mut *self.session;
        let wakeups = [session.client.stop_fd(), session.entry.wakeup.fd()];
        let input = session.control.recv(until_ns, &wakeups)?;
        session.entry.wakeup.reset();
        session.check_input(input)
    }

    fn count(&self) -> usize {
        self.tcp.len() + self.udp.len()
    }

    fn await_all(&mut self, expected: usize) -> Result<(), SessionError> {
        let mut until_ns = monotonic_ns() + STREAM_NS;
        loop {
            while self.count() < expected
                && let Ok(arrival) = self.session.entry.arrivals.try_recv()
            {
                until_ns = monotonic_ns() + STREAM_NS;
                self.take(arrival);
            }
            if self.count() == expected {
                return Ok(());
            }
            if monotonic_ns() >= until_ns {
                let reason = format!(
                    "{} of {expected} data connections arrived within {} s",
                    self.count(),
                    STREAM_NS / 1_000_000_000
                );
                return Err(SessionError::Code(
                    Iperf3ErrorCode::STREAM_ACCEPT,
                    Some(reason),
                ));
            }
            self.wait(until_ns)?;
        }
    }

    fn take(&mut self, arrival: StreamArrival) {
        match arrival {
            StreamArrival::Tcp(serial, stream) => self.tcp.push((serial, DataSocket::Tcp(stream))),
            StreamArrival::Udp(peer, socket, answer) => {
                if let Some((_, known)) = self.udp.iter().find(|(known, _)| *known == peer) {
                    // The same hello again: its answer was lost.
                    known.add_received(answer.len());
                    let _ = known.send(&answer);
                } else if socket.as_socket().set_nonblocking(false).is_ok()
                    && socket.send(&answer).is_ok()
                {
                    self.udp.push((peer, socket));
                }
            }
        }
    }

    /// The sockets in the order in which they were accepted, by which both ends number them.
    fn into_sockets(mut self) -> Vec<DataSocket> {
        self.tcp.sort_by_key(|(serial, _)| *serial);
        let tcp = self.tcp.into_iter().map(|(_, socket)| socket);
        // Its control connection is open and ends the test; the hello has no room for a challenge.
        let client = self.session.control.peer().ip();
        tcp.chain(self.udp.into_iter().filter_map(move |(peer, socket)| {
            let proof = AddressProof::of_connection(client, peer.ip())?;
            Some(DataSocket::Udp(socket.into_validated(proof)))
        }))
        .collect()
    }
}
