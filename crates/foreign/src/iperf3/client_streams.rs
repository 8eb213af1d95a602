//! The data connections of a client.

use super::client_control::ClientControl;
use super::error::Iperf3Error;
use super::request::Iperf3Request;
use super::streams::{Iperf3Stream, set_up};
use caudal_core::plan::{Plan, PlannedFlow, Transport};
use caudal_engine::socket_settings;
use caudal_flow::socket::{DataSocket, SocketSettings, connect, connect_udp};
use caudal_flow::{LocalBinding, RunError, role};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::tcp;
use caudal_wire::iperf3::Cookie;
use caudal_wire::iperf3::datagram::{CLIENT_HELLO, HELLO_BYTES, is_answer};
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time the answer to a hello may take, ns.
const HELLO_NS: u64 = 30_000_000_000;
/// Minimum time after which a hello is repeated: iperf3 takes one that arrives too soon for payload, ns.
const REPEAT_NS: u64 = 1_000_000_000;
/// Maximum number of hellos.
const MAX_HELLOS: u32 = 4;

/// Opens the data connections of a test, one after another.
pub(super) struct StreamOpener<'a> {
    pub(super) control: &'a mut ClientControl,
    pub(super) request: &'a Iperf3Request,
    pub(super) cookie: Cookie,
}

impl StreamOpener<'_> {
    /// Opens them, and hands each to `opened` before it opens the next: the server's clock starts with the last.
    pub(super) fn open(
        &mut self,
        plan: &Plan,
        mut opened: impl FnMut(Iperf3Stream) -> Result<(), RunError>,
    ) -> Result<(), Iperf3Error> {
        for (flow, nth) in plan.flows().into_iter().zip(0_u16..) {
            let binding = self.binding(nth);
            let settings = SocketSettings {
                dscp: None,
                ask_ecn: self.request.ask_ecn,
                flow_label: self.request.parameters.flow_label,
                ..socket_settings(plan, &flow)
            };
            let settings = settings.for_role(role(flow.direction, true));
            opened(self.open_one(flow, plan.transport(), &binding, &settings)?)?;
        }
        Ok(())
    }

    /// The local end of the data connection at position `nth`.
    fn binding(&self, nth: u16) -> LocalBinding {
        LocalBinding {
            port: self
                .request
                .client_port
                .map(|port| port.saturating_add(nth)),
            ..self.request.target.binding.clone()
        }
    }

    fn open_one(
        &mut self,
        flow: PlannedFlow,
        transport: Transport,
        binding: &LocalBinding,
        settings: &SocketSettings,
    ) -> Result<Iperf3Stream, Iperf3Error> {
        let peer = self.control.connection.peer();
        let socket = match transport {
            Transport::Tcp => {
                let mut stream = connect(peer, binding, Some(settings))?;
                self.announce(&mut stream)?;
                DataSocket::Tcp(stream)
            }
            Transport::Udp => {
                let socket = connect_udp(peer, binding, settings)?;
                self.greet(&socket)?;
                DataSocket::Udp(socket)
            }
        };
        let role = role(flow.direction, true);
        set_up(&socket, &self.request.parameters, role).map_err(RunError::from)?;
        Ok(Iperf3Stream { flow, socket })
    }

    /// Sends the cookie, by which the server knows the test.
    fn announce(&self, stream: &mut TcpStream) -> Result<(), RunError> {
        stream
            .write_all(self.cookie.bytes())
            .map_err(|cause| RunError::Lost {
                doing: "opening a data connection",
                cause,
            })?;
        if let Some(timeout) = self.request.send_timeout {
            socket2::SockRef::from(&*stream)
                .set_tcp_user_timeout(Some(timeout))
                .map_err(|cause| RunError::local("setting the send timeout", cause))?;
        }
        Ok(())
    }

    /// Sends hellos over UDP until one is answered, rarely enough for iperf3.
    fn greet(&mut self, socket: &UdpSocket) -> Result<(), Iperf3Error> {
        let rtt_us = tcp::tcp_info(self.control.connection.stream()).map_or(0, |info| info.rtt_us);
        let repeat_ns = REPEAT_NS.max(4000 * u64::from(rtt_us));
        let until_ns = monotonic_ns() + HELLO_NS;
        let (mut sent, mut repeat_at_ns) = (0, 0);
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= repeat_at_ns && sent < MAX_HELLOS {
                // A port that is closed shows in the answer that does not arrive.
                let _ = socket.send(&CLIENT_HELLO);
                sent += 1;
                repeat_at_ns = now_ns + repeat_ns;
            }
            let wait_ns = if sent < MAX_HELLOS {
                repeat_at_ns.min(until_ns)
            } else {
                until_ns
            };
            if self.await_answer(socket, wait_ns)? {
                return Ok(());
            }
            if monotonic_ns() >= until_ns {
                return Err(Iperf3Error::Run(RunError::Silent {
                    waiting_for: "an answer over UDP (does a firewall let UDP through?)",
                    seconds: HELLO_NS / 1_000_000_000,
                }));
            }
        }
    }

    /// Waits for something to arrive: `true` when it is the answer to a hello.
    fn await_answer(&mut self, socket: &UdpSocket, until_ns: u64) -> Result<bool, Iperf3Error> {
        let now_ns = monotonic_ns();
        let mut waiting = vec![socket.as_fd(), self.control.connection.stream().as_fd()];
        waiting.extend(self.control.interrupt.fds());
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        let ready = poll_readable(&waiting, Some(left)).unwrap_or_default();
        if ready.first() == Some(&true) {
            let mut datagram = [0; HELLO_BYTES + 1];
            // Anything else is payload that has overtaken the answer, or the error of a closed port.
            if socket
                .recv(&mut datagram)
                .is_ok_and(|size| datagram.get(..size).is_some_and(is_answer))
            {
                return Ok(true);
            }
        }
        if ready.iter().skip(1).any(|ready| *ready) {
            // No state is due while a client opens its streams.
            self.control.expect_nothing(now_ns, &[])?;
        }
        Ok(false)
    }
}
