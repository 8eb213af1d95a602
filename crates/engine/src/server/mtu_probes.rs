//! Answers to probes of the path MTU.
//!
//! A probe names the session it belongs to by a token that only that client was given, and its answer is no longer than it, so nobody is
//! sent more than arrived in his name.

use crate::path_mtu::path_mtu;
use caudal_flow::random_bytes;
use caudal_flow::socket::canonical;
use caudal_sys::udp::{PacketDestination, send_from};
use caudal_wire::mtu_probe::{MIN_PROBE_BYTES, MtuProbe};
use caudal_wire::preamble::TestToken;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The probes of one session that are answered, bytes: a search on a path of jumbo frames, a few times over.
const MAX_PROBE_BYTES: u64 = 8 << 20;

/// The sessions whose probes are answered, each with the bytes that it may still ask for.
#[derive(Default)]
pub(super) struct MtuProbes {
    sessions: Mutex<HashMap<TestToken, u64>>,
}

impl MtuProbes {
    fn lock(&self) -> MutexGuard<'_, HashMap<TestToken, u64>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` from what a session may still ask for; `false` when there is no such session, or that is used up.
    fn claim(&self, token: TestToken, bytes: u64) -> bool {
        let mut sessions = self.lock();
        let left = sessions
            .get_mut(&token)
            .and_then(|left| Some((left.checked_sub(bytes)?, left)));
        left.map(|(rest, left)| *left = rest).is_some()
    }

    /// Answers a datagram that is a probe, in its own buffer; `false` when it is none. `peer` and `to` are of the socket's family.
    pub(super) fn answer(
        &self,
        socket: &UdpSocket,
        datagram: &mut [u8],
        peer: SocketAddr,
        to: Option<PacketDestination>,
    ) -> bool {
        let Some(probe) = MtuProbe::read(datagram) else {
            return false;
        };
        if !probe.is_answer && self.claim(probe.token, datagram.len() as u64) {
            // What this kernel was told by routers spares the client a search.
            let is_shortest = datagram.len() == MIN_PROBE_BYTES;
            let known = is_shortest.then(|| path_mtu(canonical(peer))).flatten();
            let answer = MtuProbe {
                is_answer: true,
                known_mtu: known.unwrap_or(0),
                ..probe
            };
            answer.write(datagram);
            // One that does not fit is lost like one that is dropped on the way.
            let _ = send_from(socket, datagram, to, peer);
        }
        true
    }
}

/// A session whose probes are answered, until it is dropped.
pub(super) struct ProbingSession<'a> {
    probes: &'a MtuProbes,
    /// What its probes have to name.
    pub(super) token: TestToken,
}

impl<'a> ProbingSession<'a> {
    /// # Errors
    /// When the kernel gives no random bytes.
    pub(super) fn new(probes: &'a MtuProbes) -> io::Result<Self> {
        let token = TestToken(random_bytes()?);
        probes.lock().insert(token, MAX_PROBE_BYTES);
        Ok(Self { probes, token })
    }
}

impl Drop for ProbingSession<'_> {
    fn drop(&mut self) {
        self.probes.lock().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn probe(token: TestToken, length: usize) -> Vec<u8> {
        let mut datagram = vec![0; length];
        let probe = MtuProbe {
            is_answer: false,
            token,
            number: 3,
            sent_ns: 9,
            known_mtu: 0,
        };
        probe.write(&mut datagram);
        datagram
    }

    #[test]
    fn a_probe_is_answered_at_its_length_and_only_with_the_token_of_a_session() {
        let (server, client) = (
            UdpSocket::bind("127.0.0.1:0").unwrap(),
            UdpSocket::bind("127.0.0.1:0").unwrap(),
        );
        client
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let peer = client.local_addr().unwrap();
        let token = TestToken([7; 16]);
        let probes = MtuProbes::default();
        let ask = |datagram: &mut Vec<u8>| probes.answer(&server, datagram, peer, None);
        let mut answer = [0; 4096];
        assert!(ask(&mut probe(token, 1000)), "it is a probe all the same");
        assert!(client.recv(&mut answer).is_err());
        probes.lock().insert(token, 3000);
        for length in [1000, MIN_PROBE_BYTES] {
            assert!(ask(&mut probe(token, length)));
            let size = client.recv(&mut answer).unwrap();
            let read = MtuProbe::read(&answer[..size]).unwrap();
            assert_eq!((size, read.number, read.is_answer), (length, 3, true));
            assert_eq!(read.known_mtu > 0, length == MIN_PROBE_BYTES);
        }
        // An answer is not answered, a session has its limit, and what is cut short is no probe.
        let mut answered = answer[..MIN_PROBE_BYTES].to_vec();
        assert!(ask(&mut answered) && ask(&mut probe(token, 3000)));
        assert!(client.recv(&mut answer).is_err());
        assert!(!ask(&mut probe(token, 1000)[..999].to_vec()));
        assert!(!ask(&mut vec![0; 1000]));
    }
}
