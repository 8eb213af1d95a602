//! The path MTU to a server, measured over UDP before a test chooses the length of its datagrams.

use super::client_channel::ClientChannel;
use crate::mtu_search::{FoundMtu, PathMtuSearch};
use caudal_analysis::framing::IpVersion;
use caudal_core::path::MtuEvidence;
use caudal_core::plan::{MAX_DATAGRAM, Transport};
use caudal_flow::socket::{SocketSettings, connect_udp};
use caudal_flow::{LocalBinding, RunError};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp;
use caudal_wire::datagram::{fill_payload, tag};
use caudal_wire::message::ToClient;
use caudal_wire::mtu_probe::{MIN_PROBE_BYTES, MtuProbe};
use caudal_wire::preamble::TestToken;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// Maximum time for all probes, ns: less than a server waits for its client.
const MAX_SEARCH_NS: u64 = 8_000_000_000;
/// Minimum and the maximum time between two tries, ns.
const TRY_NS: (u64, u64) = (40_000_000, 2_000_000_000);
/// Minimum and the maximum time for answers that are under way when the search is over, ns.
const LAST_NS: (u64, u64) = (2_000_000, 200_000_000);
/// The time for which the report of a router is waited for where the server answers no probes, ns beside two round trips.
const REPORT_NS: u64 = 50_000_000;

const fn ip_version(peer: SocketAddr) -> IpVersion {
    match peer {
        SocketAddr::V4(_) => IpVersion::V4,
        SocketAddr::V6(_) => IpVersion::V6,
    }
}

/// A socket for probes.
fn probing_socket(peer: SocketAddr, binding: &LocalBinding) -> Result<UdpSocket, RunError> {
    let settings = SocketSettings {
        is_bulk: false,
        ..SocketSettings::new(Transport::Udp)
    };
    let socket = connect_udp(peer, binding, &settings)?;
    socket.set_nonblocking(true).map_err(not_prepared)?;
    Ok(socket)
}

fn not_prepared(cause: io::Error) -> RunError {
    RunError::local("preparing to probe the path MTU", cause)
}

/// The probing of a path.
pub(super) struct MtuProbing<'a> {
    control: &'a mut ClientChannel,
    binding: LocalBinding,
    socket: UdpSocket,
    /// The bytes of the headers of IP and UDP.
    headers: u32,
    /// The largest packet to try, bytes.
    max: u32,
    rtt_ns: u64,
    /// The probes sent, and those that were answered.
    sent: u64,
    answered: u64,
}

impl<'a> MtuProbing<'a> {
    /// Prepares to probe with packets of up to `max` bytes.
    ///
    /// # Errors
    /// When the kernel does not grant a socket.
    pub(super) fn prepare(
        control: &'a mut ClientChannel,
        binding: &LocalBinding,
        max: u32,
    ) -> Result<Self, RunError> {
        let peer = control.channel.peer();
        let socket = probing_socket(peer, binding)?;
        udp::set_mtu_probing(&socket).map_err(not_prepared)?;
        let headers = 8 + ip_version(peer).header_bytes() as u32;
        let rtt_ns = control.clock.min_rtt_ns().map_or(0, i64::unsigned_abs);
        Ok(Self {
            control,
            binding: binding.clone(),
            socket,
            headers,
            max: max.min(MAX_DATAGRAM + headers),
            rtt_ns,
            sent: 0,
            answered: 0,
        })
    }

    /// Measures the path MTU in both directions; `None` where nothing is answered. Of a server of a version that answers no probes it learns
    /// what routers on the way to it report.
    ///
    /// # Errors
    /// When the server is lost, or the user interrupts.
    pub(super) fn measure(mut self) -> Result<Option<FoundMtu>, RunError> {
        let shortest = MIN_PROBE_BYTES as u32 + self.headers;
        if self.max <= shortest {
            return Ok(None);
        }
        let mut search = PathMtuSearch::new(shortest, self.max);
        let Some(token) = self.control.probe_token else {
            return Ok(self.reported_only());
        };
        let until_ns = monotonic_ns() + MAX_SEARCH_NS;
        let mut next_ns = 0;
        while !search.is_over() {
            let now_ns = monotonic_ns();
            if now_ns >= until_ns {
                break;
            }
            if now_ns >= next_ns {
                self.send(&mut search, token);
                next_ns = now_ns + (self.rtt_ns + self.rtt_ns / 4).clamp(TRY_NS.0, TRY_NS.1);
            }
            self.wait(next_ns.min(until_ns))?;
            self.receive(&mut search, token);
            self.control.keep_alive()?;
        }
        self.take_last_answers(&mut search, token)?;
        let found = search.found();
        if found.is_some_and(|found| found.evidence == MtuEvidence::Icmp) {
            self.inform_server(token)?;
        }
        Ok(found)
    }

    /// Takes the answers that are still under way when the search is over: without a socket they would come back to the server as
    /// undeliverable.
    fn take_last_answers(
        &mut self,
        search: &mut PathMtuSearch,
        token: TestToken,
    ) -> Result<(), RunError> {
        let until_ns = monotonic_ns() + (2 * self.rtt_ns).clamp(LAST_NS.0, LAST_NS.1);
        while self.answered < self.sent && monotonic_ns() < until_ns {
            self.wait(until_ns)?;
            self.receive(search, token);
        }
        Ok(())
    }

    /// Has the server's kernel learn the path MTU towards this end, which a datagram that is lost on the way to the server does not bring about:
    /// a large probe is sent in fragments, and its answer, which may not be fragmented, makes a router report. Without that the first large
    /// datagram of a test from there would be lost.
    fn inform_server(&mut self, token: TestToken) -> Result<(), RunError> {
        let fragmenting = probing_socket(self.control.channel.peer(), &self.binding)?;
        self.socket = fragmenting;
        let probe = MtuProbe {
            is_answer: false,
            token,
            number: u32::MAX,
            sent_ns: monotonic_ns(),
            known_mtu: 0,
        };
        self.send_one(probe, self.max);
        self.send_one(probe, MIN_PROBE_BYTES as u32 + self.headers);
        let until_ns = monotonic_ns() + REPORT_NS + 2 * self.rtt_ns;
        self.wait(until_ns)
    }

    /// Sends the packets of a try.
    fn send(&mut self, search: &mut PathMtuSearch, token: TestToken) {
        let (number, sizes) = search.next_try();
        let probe = MtuProbe {
            is_answer: false,
            token,
            number,
            sent_ns: monotonic_ns(),
            known_mtu: 0,
        };
        for size in sizes {
            self.send_one(probe, size);
            self.sent += 1;
            self.note_error(search);
        }
    }

    /// Sends one packet of `size` bytes. One that the kernel refuses is like one that is lost; an earlier error is taken with it, so that
    /// there is a second attempt.
    fn send_one(&self, probe: MtuProbe, size: u32) {
        let mut datagram = vec![0; size.saturating_sub(self.headers) as usize];
        fill_payload(&mut datagram, tag(probe.token));
        probe.write(&mut datagram);
        let _ = self
            .socket
            .send(&datagram)
            .or_else(|_| self.socket.send(&datagram));
    }

    /// Takes note of what the kernel was told by routers.
    fn note_error(&self, search: &mut PathMtuSearch) {
        if let Some(mtu) = udp::path_mtu(&self.socket).filter(|mtu| *mtu < self.max) {
            search.reported(mtu);
        }
    }

    /// Waits for a datagram until `until_ns`.
    fn wait(&mut self, until_ns: u64) -> Result<(), RunError> {
        let mut others = self.control.interrupt.fds();
        others.push(self.socket.as_fd());
        match self.control.channel.recv(until_ns, &others)? {
            _ if self.control.interrupt.is_set() => Err(RunError::Interrupted),
            Some(ToClient::Alive) | None => Ok(()),
            Some(other) => Err(RunError::unexpected(other, "answers to probes")),
        }
    }

    /// Takes the answers that have arrived.
    fn receive(&mut self, search: &mut PathMtuSearch, token: TestToken) {
        let mut datagram = vec![0; MAX_DATAGRAM as usize + 1];
        loop {
            match self.socket.recv(&mut datagram) {
                Ok(size) => {
                    let answer = datagram.get(..size).and_then(MtuProbe::read);
                    let Some(answer) = answer.filter(|one| one.is_answer && one.token == token)
                    else {
                        continue;
                    };
                    self.answered += 1;
                    self.rtt_ns = monotonic_ns().saturating_sub(answer.sent_ns);
                    search.answered(answer.number, size as u32 + self.headers);
                    if answer.known_mtu > 0 {
                        search.reported(answer.known_mtu);
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                // An earlier packet was too large, or came back as undeliverable.
                Err(_) => self.note_error(search),
            }
        }
        self.note_error(search);
    }

    /// What routers report of a packet that the server does not answer; `None` where they report nothing.
    fn reported_only(&self) -> Option<FoundMtu> {
        let _ = self
            .socket
            .send(&vec![0; self.max.saturating_sub(self.headers) as usize]);
        sleep_until(monotonic_ns() + REPORT_NS + 2 * self.rtt_ns);
        let bytes = udp::path_mtu(&self.socket).filter(|mtu| *mtu < self.max)?;
        Some(FoundMtu {
            bytes,
            evidence: MtuEvidence::Icmp,
        })
    }
}
