//! Opening the UDP flows of a test: the dialogue by which each address proves that it receives.

use super::client_channel::ClientChannel;
use caudal_core::opening::OpeningOutcome;
use caudal_core::plan::PlannedFlow;
use caudal_flow::{RunError, next_opening_datagram};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::message::ToClient;
use caudal_wire::preamble::TestToken;
use caudal_wire::server_instance::ServerInstance;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

/// The interval at which a datagram of the opening dialogue is repeated, ns.
const REPEAT_NS: u64 = 100_000_000;
/// The time a flow is waited for, ns, beside four round trips: thirty datagrams, of which one and its answer pass a path that loses half
/// of each.
const PATIENCE_NS: u64 = 3_000_000_000;
/// The same where TCP is ended in the middle, which UDP hardly ever passes, ns.
const PROXY_PATIENCE_NS: u64 = 1_000_000_000;
/// The same where an earlier test has found that nothing passes, ns.
const KNOWN_PATIENCE_NS: u64 = 300_000_000;
/// Maximum with the round trips: less than the server waits, so that the client reports what is missing.
const MAX_PATIENCE_NS: u64 = 8_000_000_000;
/// The number of times that flows are refused, or one is answered by another server, before that counts: a single one may be late or forged.
const MIN_REFUSALS: u32 = 3;

/// A UDP flow of the opening dialogue with the datagram that is repeated until it is answered.
pub(super) struct UdpAttempt<'a> {
    flow: PlannedFlow,
    socket: &'a UdpSocket,
    datagram: OpeningDatagram,
    refusals: u32,
    /// The answers of another server.
    strangers: u32,
}

/// The end of the dialogue.
pub(super) enum UdpOpened {
    /// The server has every flow.
    All,
    /// Some are missing: of each flow whether it was refused, and the time they were waited for.
    Some(Vec<(u32, OpeningOutcome)>, Duration),
}

/// The opening of the UDP flows of one test.
pub(super) struct UdpOpener<'a> {
    pub(super) control: &'a mut ClientChannel,
    pub(super) token: TestToken,
}

impl UdpOpener<'_> {
    /// Goes through the dialogue on every socket until the server has all flows of the test, or some are given up.
    pub(super) fn open(
        &mut self,
        sockets: &[(PlannedFlow, &UdpSocket)],
    ) -> Result<UdpOpened, RunError> {
        let mut flows: Vec<UdpAttempt<'_>> = sockets
            .iter()
            .map(|(flow, socket)| UdpAttempt::new(*flow, socket, self.token))
            .collect();
        let began_ns = monotonic_ns();
        let patience_ns = self.patience_ns();
        let mut repeat_ns = 0;
        loop {
            let now = monotonic_ns();
            if now >= repeat_ns {
                flows.iter_mut().for_each(UdpAttempt::send);
                repeat_ns = now + REPEAT_NS;
            }
            let until_ns = began_ns + patience_ns;
            if self.is_ready(repeat_ns.min(until_ns), &flows)? {
                break;
            }
            for flow in &mut flows {
                flow.receive(self.token, self.control.instance);
                if flow.strangers >= MIN_REFUSALS {
                    return Err(RunError::SeveralServers {
                        peer: self.control.channel.peer(),
                        what: format!("UDP flow {}", flow.flow.id + 1),
                        found: None,
                    });
                }
            }
            let are_refused = are_refused(&flows);
            if are_refused || monotonic_ns() >= until_ns {
                let outcomes = flows.iter().map(|flow| {
                    let outcome = match are_refused || flow.refusals > 0 {
                        true => OpeningOutcome::Refused,
                        false => OpeningOutcome::NoAnswer,
                    };
                    (flow.flow.id, outcome)
                });
                let waited = Duration::from_nanos(monotonic_ns() - began_ns);
                return Ok(UdpOpened::Some(outcomes.collect(), waited));
            }
        }
        for flow in flows {
            while next_opening_datagram(flow.socket).is_some() {}
        }
        Ok(UdpOpened::All)
    }

    /// The time the flows are waited for, ns.
    fn patience_ns(&self) -> u64 {
        let rtt_ns = self.control.clock.min_rtt_ns().map_or(0, i64::unsigned_abs);
        let patience_ns = match (self.control.is_udp_blocked, &self.control.tcp_proxy) {
            (true, _) => KNOWN_PATIENCE_NS,
            (false, Some(_)) => PROXY_PATIENCE_NS,
            (false, None) => PATIENCE_NS,
        };
        (patience_ns + 4 * rtt_ns).min(MAX_PATIENCE_NS)
    }

    /// Waits until `until_ns` for the server's report that all flows are open, or a datagram; `true` for the former.
    fn is_ready(&mut self, until_ns: u64, flows: &[UdpAttempt<'_>]) -> Result<bool, RunError> {
        let control = &mut *self.control;
        control.keep_alive()?;
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

impl<'a> UdpAttempt<'a> {
    fn new(flow: PlannedFlow, socket: &'a UdpSocket, token: TestToken) -> Self {
        Self {
            flow,
            socket,
            datagram: OpeningDatagram {
                kind: DatagramKind::Hello,
                flow: flow.id,
                token,
                challenge: [0; 16],
            },
            refusals: 0,
            strangers: 0,
        }
    }

    fn send(&mut self) {
        if let Err(cause) = self.socket.send(&self.datagram.encode()) {
            self.count_refusal(&cause);
        }
    }

    /// Takes note of an error that an ICMP message has caused.
    fn count_refusal(&mut self, cause: &io::Error) {
        let is_refusal = matches!(
            cause.raw_os_error(),
            Some(
                libc::ECONNREFUSED
                    | libc::EHOSTUNREACH
                    | libc::ENETUNREACH
                    | libc::EACCES
                    | libc::EPERM
            )
        );
        self.refusals += u32::from(is_refusal);
    }

    /// Sends the challenges that have arrived back as proofs, and counts refusals.
    fn receive(&mut self, token: TestToken, instance: Option<ServerInstance>) {
        if let Ok(Some(cause)) = self.socket.take_error() {
            self.count_refusal(&cause);
        }
        while let Some(received) = next_opening_datagram(self.socket) {
            if received.flow != self.flow.id || received.token != token {
                continue;
            }
            if received.kind == DatagramKind::Challenge {
                self.datagram = OpeningDatagram {
                    kind: DatagramKind::Proof,
                    ..received
                };
                (self.refusals, self.strangers) = (0, 0);
                self.send();
            }
            let other = received.instance_without_test();
            let is_other = other
                .zip(instance)
                .is_some_and(|(other, ours)| other != ours);
            self.strangers += u32::from(is_other);
        }
    }
}

/// `true` when ICMP messages refuse what the flows send, and none is answered. A host sends few of these messages a second, so that some
/// flows may get none.
fn are_refused(flows: &[UdpAttempt<'_>]) -> bool {
    let is_silent = |flow: &UdpAttempt<'_>| flow.datagram.kind == DatagramKind::Hello;
    let refusals: u32 = flows.iter().map(|flow| flow.refusals).sum();
    refusals >= MIN_REFUSALS && flows.iter().all(is_silent)
}
