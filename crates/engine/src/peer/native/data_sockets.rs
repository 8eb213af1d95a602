//! The data sockets of a test at the client: connected, and over UDP proven to the server.

use super::client_channel::ClientChannel;
use super::control::STEP_TIMEOUT;
use crate::error::RunError;
use crate::flow::role;
use crate::opening::next_opening_datagram;
use crate::socket::{DataSocket, SocketSettings, connect, connect_udp};
use crate::target::LocalBinding;
use crate::workload::OpenFlow;
use caudal_core::plan::{PlannedFlow, Transport};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::message::ToClient;
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer, Purpose, TestToken};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time the opening dialogue over UDP may take: less than the server waits, so that the client reports what is missing.
const PROOF_TIMEOUT: Duration = Duration::from_secs(8);
/// The interval at which a datagram of the opening dialogue is repeated, ns.
const REPEAT_NS: u64 = 100_000_000;
/// The time the reason for a data connection that was reset may take.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// The data sockets of a test that is being set up.
pub(super) struct DataSockets<'a> {
    control: &'a mut ClientChannel,
    token: TestToken,
    /// Set when the server has reported that all flows are open before this end knew it of each.
    all_open: bool,
}

/// One flow of the opening dialogue with the datagram that is repeated until it is answered.
struct OpeningFlow<'a> {
    flow: u32,
    socket: &'a UdpSocket,
    datagram: OpeningDatagram,
}

impl<'a> DataSockets<'a> {
    pub(super) const fn new(control: &'a mut ClientChannel, token: TestToken) -> Self {
        Self {
            control,
            token,
            all_open: false,
        }
    }

    /// Opens the data sockets of `flows` and waits until the server has them all.
    pub(super) fn open(
        &mut self,
        flows: &[PlannedFlow],
        settings_of: impl Fn(&PlannedFlow) -> SocketSettings,
        binding: &LocalBinding,
    ) -> Result<Vec<OpenFlow>, RunError> {
        let peer = self.control.channel.peer();
        let mut open = Vec::with_capacity(flows.len());
        for flow in flows {
            let settings = settings_of(flow).for_role(role(flow.direction, true));
            // On a long path many flows take their time.
            self.control.keep_alive()?;
            open.push(match settings.transport {
                Transport::Tcp => self.open_tcp(*flow, &settings, binding)?,
                Transport::Udp => OpenFlow {
                    flow: *flow,
                    socket: DataSocket::Udp(connect_udp(peer, binding, &settings)?),
                    connect_time: None,
                },
            });
        }
        self.prove(&open)?;
        Ok(open)
    }

    fn open_tcp(
        &mut self,
        flow: PlannedFlow,
        settings: &SocketSettings,
        binding: &LocalBinding,
    ) -> Result<OpenFlow, RunError> {
        let began_ns = monotonic_ns();
        let mut stream = connect(self.control.channel.peer(), binding, Some(settings))?;
        let connect_time = Duration::from_nanos(monotonic_ns() - began_ns);
        let purpose = Purpose::Data {
            token: self.token,
            flow: flow.id,
        };
        stream.write_all(&purpose.encode()).map_err(lost)?;
        self.await_answer(&stream)?;
        stream.set_read_timeout(Some(STEP_TIMEOUT)).map_err(lost)?;
        let mut answer = [0; ANSWER_BYTES];
        if let Err(cause) = stream.read_exact(&mut answer) {
            // A server that ends the test resets its connections and gives the reason over the control connection.
            return Err(match self.control.expect(REASON_TIMEOUT, "a reason") {
                Ok(message @ ToClient::Refused { .. }) => {
                    RunError::unexpected(message, "a data connection")
                }
                _ => lost(cause),
            });
        }
        stream.set_read_timeout(None).map_err(lost)?;
        match PreambleAnswer::decode(&answer) {
            Ok(PreambleAnswer::Attached) => Ok(OpenFlow {
                flow,
                socket: DataSocket::Tcp(stream),
                connect_time: Some(connect_time),
            }),
            _ => Err(RunError::Protocol(
                "it did not accept a data connection".into(),
            )),
        }
    }

    /// Waits until the answer on a data connection can be read. The server's refusal of the whole test comes over the control
    /// connection; so do heartbeats, and the report that all flows are open, which overtakes this answer where packets are
    /// lost or take different routes.
    fn await_answer(&mut self, stream: &TcpStream) -> Result<(), RunError> {
        let until_ns = monotonic_ns() + STEP_TIMEOUT.as_nanos() as u64;
        let control = &mut *self.control;
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let mut fds = vec![stream.as_fd()];
            if !self.all_open {
                fds.push(control.channel.stream().as_fd());
            }
            let ready = control.interrupt.wait_readable(&fds, left)?;
            if ready.first() == Some(&true) {
                return Ok(());
            }
            if ready.get(1) != Some(&true) {
                return Err(RunError::Silent {
                    waiting_for: "an answer on a data connection",
                    seconds: STEP_TIMEOUT.as_secs(),
                });
            }
            let mut others = vec![stream.as_fd()];
            others.extend(control.interrupt.fds());
            match control.channel.recv(until_ns, &others)? {
                Some(ToClient::Alive) | None => {}
                Some(ToClient::Ready) => self.all_open = true,
                Some(other) => return Err(RunError::unexpected(other, "a data connection")),
            }
        }
    }

    /// Goes through the opening dialogue on every UDP socket until the server has them all.
    fn prove(&mut self, open: &[OpenFlow]) -> Result<(), RunError> {
        // Datagrams are proven before the server reports that all flows are open: if it has, these are connections.
        if std::mem::take(&mut self.all_open) {
            return Ok(());
        }
        let until_ns = monotonic_ns() + PROOF_TIMEOUT.as_nanos() as u64;
        let mut flows = opening_flows(open, self.token);
        let mut repeat_ns = 0;
        loop {
            let now = monotonic_ns();
            if now >= repeat_ns {
                for flow in &flows {
                    let _ = flow.socket.send(&flow.datagram.encode());
                }
                repeat_ns = now + REPEAT_NS;
            }
            if self.is_ready(repeat_ns.min(until_ns), &flows)? {
                break;
            }
            if monotonic_ns() >= until_ns {
                return Err(RunError::Silent {
                    waiting_for: if flows.is_empty() {
                        "the report that the flows are open"
                    } else {
                        "an answer over UDP (does a firewall let UDP through?)"
                    },
                    seconds: PROOF_TIMEOUT.as_secs(),
                });
            }
            flows
                .iter_mut()
                .for_each(|flow| flow.answer_challenges(self.token));
        }
        for flow in flows {
            while next_opening_datagram(flow.socket).is_some() {}
        }
        Ok(())
    }

    /// Waits until `until_ns` for the server's report that all flows are open, or a datagram; `true` for the former.
    fn is_ready(&mut self, until_ns: u64, flows: &[OpeningFlow<'_>]) -> Result<bool, RunError> {
        let control = &mut *self.control;
        let mut others = control.interrupt.fds();
        others.extend(flows.iter().map(|flow| flow.socket.as_fd()));
        match control.channel.recv(until_ns, &others)? {
            Some(ToClient::Ready) => Ok(true),
            Some(ToClient::Alive) | None if control.interrupt.is_set() => {
                Err(RunError::Interrupted)
            }
            Some(ToClient::Alive) | None => Ok(false),
            Some(other) => Err(RunError::unexpected(
                other,
                "the report that the flows are open",
            )),
        }
    }
}

impl OpeningFlow<'_> {
    /// Sends the challenges that have arrived back as proofs.
    fn answer_challenges(&mut self, token: TestToken) {
        while let Some(received) = next_opening_datagram(self.socket) {
            if received.kind == DatagramKind::Challenge
                && received.flow == self.flow
                && received.token == token
            {
                self.datagram = OpeningDatagram {
                    kind: DatagramKind::Proof,
                    ..received
                };
                let _ = self.socket.send(&self.datagram.encode());
            }
        }
    }
}

fn opening_flows(open: &[OpenFlow], token: TestToken) -> Vec<OpeningFlow<'_>> {
    open.iter()
        .filter_map(|open| {
            Some(OpeningFlow {
                flow: open.flow.id,
                socket: open.socket.udp()?,
                datagram: OpeningDatagram {
                    kind: DatagramKind::Hello,
                    flow: open.flow.id,
                    token,
                    challenge: [0; 16],
                },
            })
        })
        .collect()
}

fn lost(cause: std::io::Error) -> RunError {
    RunError::Lost {
        doing: "opening a data connection",
        cause,
    }
}
