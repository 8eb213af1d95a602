//! Address validation: the rule that the server sends no more to an address than arrived from it, until the address has proven
//! that it receives what is sent to it (RFC 9000, section 8).
//!
//! The source of a datagram may be forged, so every datagram of the server to an address and port that is not validated is claimed
//! from the [`AntiAmplificationLimit`] of that address and port. Where QUIC allows three times what was received, this server
//! allows once. An [`AddressProof`] belongs to one flow and ends with it; none is remembered for an address.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The part of the limit that payload leaves for the datagrams that end a flow and report on it, bytes.
pub(crate) const END_RESERVE: u64 = 512;

/// The reason why an address counts as validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressProof {
    /// It has sent back the random bytes of a challenge.
    Challenge,
    /// The flow belongs to a TCP connection from that address, which is open, and ends with it.
    ControlConnection,
    /// A TCP connection from that address was open shortly before, and has validated no other flow.
    Handshake,
    /// Its network is one the operator trusts.
    TrustedNetwork,
    /// It is an address of this machine, from which nobody outside can send.
    OwnMachine,
}

impl AddressProof {
    /// The proof that lies in an open TCP connection from `address`, where `connection` is one.
    pub fn of_connection(connection: IpAddr, address: IpAddr) -> Option<Self> {
        (connection.to_canonical() == address.to_canonical()).then_some(Self::ControlConnection)
    }
}

/// The bytes received from one address and port that is not validated, and those sent to it, which are never more.
#[derive(Debug, Default)]
pub struct AntiAmplificationLimit {
    received: AtomicU64,
    sent: AtomicU64,
    is_final: AtomicBool,
}

impl AntiAmplificationLimit {
    /// Adds payload bytes that have arrived.
    pub fn add_received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Relaxed);
    }

    /// Takes note that nothing more will arrive.
    pub fn set_final(&self) {
        self.is_final.store(true, Relaxed);
    }

    /// `true` when nothing more will arrive.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final.load(Relaxed)
    }

    /// The bytes that may still be sent.
    pub fn room(&self) -> u64 {
        let sent = self.sent.load(Relaxed);
        self.received.load(Relaxed).saturating_sub(sent)
    }

    /// Claims all of `bytes`; `false`, and nothing claimed, when fewer may be sent.
    pub fn claim(&self, bytes: u64) -> bool {
        self.claim_with(|room| (room >= bytes).then_some(bytes)) == bytes && bytes > 0
    }

    /// Claims up to `count` datagrams of payload, each of `length` bytes: the number claimed.
    pub(crate) fn claim_datagrams(&self, count: u64, length: u64) -> u64 {
        let length = length.max(1);
        let claimed = self.claim_with(|room| {
            let fitting = room.saturating_sub(END_RESERVE) / length;
            Some(fitting.min(count) * length)
        });
        claimed / length
    }

    /// Gives back what was claimed for datagrams that did not leave.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.sent.fetch_sub(bytes, Relaxed);
    }

    /// Claims what `choose` takes of the room, which is never more than that: the bytes claimed.
    fn claim_with(&self, choose: impl Fn(u64) -> Option<u64>) -> u64 {
        let mut claimed = 0;
        let _ = self.sent.fetch_update(Relaxed, Relaxed, |sent| {
            let room = self.received.load(Relaxed).saturating_sub(sent);
            claimed = choose(room).unwrap_or(0).min(room);
            (claimed > 0).then(|| sent + claimed)
        });
        claimed
    }
}

/// A server's UDP socket connected to an address and port that is not validated.
#[derive(Debug)]
pub struct UnvalidatedSocket {
    socket: UdpSocket,
    limit: Arc<AntiAmplificationLimit>,
}

impl UnvalidatedSocket {
    /// A socket connected to an address and port from which `received` bytes have arrived so far.
    pub(crate) fn new(socket: UdpSocket, received: usize) -> Self {
        let limit = AntiAmplificationLimit::default();
        limit.add_received(received as u64);
        Self {
            socket,
            limit: Arc::new(limit),
        }
    }

    /// Adds bytes that have arrived from there at another socket.
    pub fn add_received(&self, bytes: usize) {
        self.limit.add_received(bytes as u64);
    }

    /// Receives one datagram.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(crate) fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.socket.recv(buffer)?;
        self.add_received(size);
        Ok(size)
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// Those of the kernel, and `PermissionDenied` when fewer bytes have arrived than would be sent.
    pub fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        if !self.limit.claim(datagram.len() as u64) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the address is not validated, and fewer bytes have arrived from it",
            ));
        }
        self.socket.send(datagram)
    }

    /// The socket, of an address that is validated.
    pub fn into_validated(self, _proof: AddressProof) -> UdpSocket {
        self.socket
    }

    /// The socket together with its limit, for flows that claim from it what they send.
    pub fn into_limited(self) -> (UdpSocket, Arc<AntiAmplificationLimit>) {
        (self.socket, self.limit)
    }

    /// The socket, to be set up.
    pub const fn as_socket(&self) -> &UdpSocket {
        &self.socket
    }
}

impl AsFd for UnvalidatedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What may happen to a limit.
    #[derive(Debug, Clone)]
    enum Step {
        Receive(u64),
        Claim(u64),
        ClaimDatagrams(u64, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..70_000_u64).prop_map(Step::Receive),
            (0..70_000_u64).prop_map(Step::Claim),
            (0..100_u64, 0..70_000_u64)
                .prop_map(|(count, length)| Step::ClaimDatagrams(count, length)),
        ]
    }

    proptest! {
        #[test]
        fn no_more_is_sent_than_was_received(steps in prop::collection::vec(step(), 0..64)) {
            let limit = AntiAmplificationLimit::default();
            let (mut received, mut sent) = (0, 0);
            for step in steps {
                match step {
                    Step::Receive(bytes) => {
                        limit.add_received(bytes);
                        received += bytes;
                    }
                    Step::Claim(bytes) => sent += if limit.claim(bytes) { bytes } else { 0 },
                    Step::ClaimDatagrams(count, length) => {
                        let claimed = limit.claim_datagrams(count, length);
                        prop_assert!(claimed <= count);
                        sent += claimed * length;
                    }
                }
                prop_assert!(sent <= received);
            }
        }
    }

    #[test]
    fn payload_leaves_room_for_the_end_of_its_flow() {
        let limit = AntiAmplificationLimit::default();
        limit.add_received(END_RESERVE + 2500);
        assert_eq!(limit.claim_datagrams(64, 1000), 2);
        assert_eq!(limit.claim_datagrams(64, 1000), 0);
        assert_eq!(limit.room(), END_RESERVE + 500);
        limit.give_back(1000);
        assert_eq!(limit.claim_datagrams(64, 1000), 1);
        assert!(limit.claim(16) && !limit.claim(1470));
    }

    #[test]
    fn a_socket_sends_no_more_than_it_received_before_its_address_is_validated() {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(client.local_addr().unwrap()).unwrap();
        client.connect(socket.local_addr().unwrap()).unwrap();
        let socket = UnvalidatedSocket::new(socket, 4);
        assert!(socket.send(b"12345").is_err());
        socket.send(b"1234").unwrap();
        assert!(socket.send(b"1").is_err());
        client.send(b"again").unwrap();
        assert_eq!(socket.recv(&mut [0; 16]).unwrap(), 5);
        socket.send(b"again").unwrap();
        let socket = socket.into_validated(AddressProof::Challenge);
        socket.send(&[0; 1000]).unwrap();
    }

    #[test]
    fn a_connection_proves_its_own_address_only() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let proof = |text: &str| AddressProof::of_connection(address("192.0.2.1"), address(text));
        assert_eq!(
            proof("::ffff:192.0.2.1"),
            Some(AddressProof::ControlConnection)
        );
        assert_eq!(proof("192.0.2.2"), None);
    }
}
