//! Flows to a host that differ in their source ports alone, tried over and over: which of them get an answer.

use crate::error::RunError;
use crate::opening::random_bytes;
use crate::socket::{SocketSettings, begin_connect, connect_udp};
use crate::target::LocalBinding;
use caudal_core::plan::Transport;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp;
use caudal_sys::udp::QueuedMessage;
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::preamble::TestToken;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Rounds in which all flows are tried.
const ROUNDS: usize = 3;
/// Time between two packets, ns: servers answer 200 of such datagrams a second.
const GAP_NS: u64 = 10_000_000;
/// Maximum wait for an answer after the last packet of a round, ns.
const ANSWER_NS: u64 = 1_000_000_000;
/// Time between two checks for answers, ns.
const LOOK_NS: u64 = 10_000_000;
/// Tries per hop, a second apart: routers limit their answers.
const HOP_TRIES: u32 = 2;

/// A flow that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedFlow {
    /// Its source port.
    pub source_port: u16,
    /// Whether it was answered, in each round.
    pub answered: Vec<bool>,
}

/// A survey of flows to one port of a host.
pub struct FlowSurvey<'a> {
    peer: SocketAddr,
    binding: LocalBinding,
    flows: u32,
    /// Called between packets: `true` ends the survey.
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> FlowSurvey<'a> {
    /// A survey of so many flows, which ends early when `is_over` says so.
    #[must_use]
    pub fn new(
        peer: SocketAddr,
        binding: LocalBinding,
        flows: u32,
        is_over: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            peer,
            binding,
            flows,
            is_over,
        }
    }

    /// Tries every flow in each round: a connection over TCP, which is reset at once; over UDP a datagram that a server of caudal answers. A
    /// refusal is an answer.
    ///
    /// # Errors
    /// When the kernel grants no socket, or the user interrupts.
    pub fn carry_out(&self, transport: Transport) -> Result<Vec<SurveyedFlow>, RunError> {
        match transport {
            Transport::Tcp => self.over_tcp(),
            Transport::Udp => self.over_udp(),
        }
    }

    fn over_udp(&self) -> Result<Vec<SurveyedFlow>, RunError> {
        let settings = udp_settings();
        let open = |_| {
            let socket = connect_udp(self.peer, &self.binding, &settings)?;
            socket.set_nonblocking(true).map_err(not_opened)?;
            Ok(socket)
        };
        let sockets: Vec<UdpSocket> = (0..self.flows).map(open).collect::<Result<_, RunError>>()?;
        let mut flows = Vec::new();
        for socket in &sockets {
            let source_port = socket.local_addr().map_err(not_opened)?.port();
            flows.push(SurveyedFlow {
                source_port,
                answered: Vec::new(),
            });
        }
        for _ in 0..ROUNDS {
            let token = TestToken(random_bytes().map_err(not_opened)?);
            let mut answered = vec![false; sockets.len()];
            for (nth, socket) in sockets.iter().enumerate() {
                let _ = socket.send(&hello(nth as u32, token));
                self.pause(GAP_NS)?;
            }
            let until_ns = monotonic_ns() + ANSWER_NS;
            while monotonic_ns() < until_ns && answered.contains(&false) {
                for (socket, answered) in sockets.iter().zip(&mut answered) {
                    *answered |= has_answer(socket, token);
                }
                self.pause(LOOK_NS)?;
            }
            for (flow, answered) in flows.iter_mut().zip(answered) {
                flow.answered.push(answered);
            }
        }
        Ok(flows)
    }

    fn over_tcp(&self) -> Result<Vec<SurveyedFlow>, RunError> {
        let mut flows: Vec<SurveyedFlow> = Vec::new();
        for round in 0..ROUNDS {
            let mut begun: Vec<(Socket, Option<bool>)> = Vec::new();
            for nth in 0..self.flows as usize {
                let binding = LocalBinding {
                    port: flows.get(nth).map(|flow| flow.source_port),
                    ..self.binding.clone()
                };
                let settings = SocketSettings::new(Transport::Tcp);
                let (socket, outcome) = begin_connect(self.peer, &binding, &settings)?;
                // A reset leaves no TIME_WAIT, in which the port could not be used again.
                let _ = socket.set_linger(Some(Duration::ZERO));
                if round == 0 {
                    let local = socket.local_addr().ok().and_then(|local| local.as_socket());
                    flows.push(SurveyedFlow {
                        source_port: local.map_or(0, |local| local.port()),
                        answered: Vec::new(),
                    });
                }
                begun.push((socket, outcome.err().map(|cause| is_refusal(&cause))));
                self.pause(GAP_NS)?;
            }
            let until_ns = monotonic_ns() + ANSWER_NS;
            while monotonic_ns() < until_ns && begun.iter().any(|(_, outcome)| outcome.is_none()) {
                for (socket, outcome) in begun.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
                    *outcome = connect_outcome(socket);
                }
                self.pause(LOOK_NS)?;
            }
            for (flow, (_, outcome)) in flows.iter_mut().zip(begun) {
                flow.answered.push(outcome == Some(true));
            }
        }
        Ok(flows)
    }

    /// The last hop of `max_ttl` that answers UDP packets of the flow with this source port.
    ///
    /// # Errors
    /// When the kernel grants no socket, or the user interrupts.
    pub fn last_hop(
        &self,
        source_port: u16,
        max_ttl: u8,
    ) -> Result<Option<(u8, IpAddr)>, RunError> {
        let binding = LocalBinding {
            port: Some(source_port),
            ..self.binding.clone()
        };
        let socket = connect_udp(self.peer, &binding, &udp_settings())?;
        socket.set_nonblocking(true).map_err(not_opened)?;
        udp::enable_error_queue(&socket).map_err(not_opened)?;
        let token = TestToken(random_bytes().map_err(not_opened)?);
        let mut last = None;
        for ttl in 1..=max_ttl {
            let mut tries = (0..HOP_TRIES).map(|_| self.hop_answer(&socket, token, ttl));
            let answer = tries.find_map(Result::transpose).transpose()?;
            match answer {
                Some(address) => last = Some((ttl, address)),
                None => break,
            }
        }
        Ok(last)
    }

    /// The address that answers a packet of this TTL, within a second.
    fn hop_answer(
        &self,
        socket: &UdpSocket,
        token: TestToken,
        ttl: u8,
    ) -> Result<Option<IpAddr>, RunError> {
        let datagram = hello(u32::from(ttl), token);
        // An error of an earlier packet is taken with the first attempt.
        let _ = udp::send_probe(socket, &datagram, ttl)
            .or_else(|_| udp::send_probe(socket, &datagram, ttl));
        let until_ns = monotonic_ns() + ANSWER_NS;
        let mut buffer = [0; 256];
        let mut offender = None;
        while monotonic_ns() < until_ns {
            while let Ok(Some(message)) = udp::receive_queued(socket, &mut buffer) {
                if let QueuedMessage::Icmp(error) = message {
                    offender = Some(error.offender);
                }
            }
            // The rest of the second is waited for, so that the next hop is not asked within a router's limit.
            self.pause(LOOK_NS)?;
        }
        Ok(offender)
    }

    fn pause(&self, time_ns: u64) -> Result<(), RunError> {
        if (self.is_over)() {
            return Err(RunError::Interrupted);
        }
        sleep_until(monotonic_ns() + time_ns);
        Ok(())
    }
}

fn udp_settings() -> SocketSettings {
    SocketSettings {
        is_bulk: false,
        ..SocketSettings::new(Transport::Udp)
    }
}

/// A datagram of a test that no server knows, which a server of caudal answers with one as long.
fn hello(flow: u32, token: TestToken) -> Vec<u8> {
    OpeningDatagram {
        kind: DatagramKind::Hello,
        flow,
        token,
        challenge: [0; 16],
    }
    .encode()
    .to_vec()
}

/// `true` where an answer to this round's datagram has arrived, or a refusal of it.
fn has_answer(socket: &UdpSocket, token: TestToken) -> bool {
    let mut datagram = [0; 128];
    loop {
        match socket.recv(&mut datagram) {
            Ok(size) => {
                let answer = OpeningDatagram::decode(&datagram[..size]);
                if answer.is_some_and(|answer| answer.token == token) {
                    return true;
                }
            }
            Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => return true,
            Err(_) => return false,
        }
    }
}

/// Whether a connection that was begun has been answered; `None` while it has not.
fn connect_outcome(socket: &Socket) -> Option<bool> {
    match socket.take_error() {
        Ok(Some(cause)) => Some(is_refusal(&cause)),
        _ => socket.peer_addr().is_ok().then_some(true),
    }
}

/// `true` for the error of a host that has refused a connection.
fn is_refusal(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}

fn not_opened(cause: io::Error) -> RunError {
    RunError::local("opening a flow of its own", cause)
}
