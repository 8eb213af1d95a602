//! The opening dialogue of a native UDP flow: the client proves that it receives at its address.

use crate::address_validation::{AddressProof, UnvalidatedSocket};
use crate::error::RunError;
use crate::socket::SocketSettings;
use caudal_core::plan::PlannedFlow;
use caudal_sys::poll::poll_readable;
use caudal_sys::udp;
use caudal_wire::datagram::{DatagramKind, OPENING_BYTES, OpeningDatagram};
use caudal_wire::preamble::TestToken;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Random bytes from the kernel.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Answers a proof, also one that is repeated because the answer was lost.
pub fn reply_to_proof(socket: &UdpSocket, datagram: &OpeningDatagram) {
    if datagram.kind == DatagramKind::Proof {
        let ready = OpeningDatagram {
            kind: DatagramKind::Ready,
            ..*datagram
        };
        let _ = udp::send_segments(socket, &ready.encode(), OPENING_BYTES as u16);
    }
}

/// The next datagram of the opening dialogue that has arrived; `None` when there is none.
pub fn next_opening_datagram(socket: &UdpSocket) -> Option<OpeningDatagram> {
    let ready = poll_readable(&[socket.as_fd()], Some(Duration::ZERO)).ok()?;
    if !ready.contains(&true) {
        return None;
    }
    let mut datagram = [0; OPENING_BYTES + 1];
    let size = socket.recv(&mut datagram).ok()?;
    OpeningDatagram::decode(&datagram[..size])
}

/// A server's UDP flow towards an address that is not validated yet.
pub struct UnvalidatedFlow {
    /// The flow.
    pub flow: PlannedFlow,
    /// Its socket.
    pub socket: UnvalidatedSocket,
    /// The address that it leads to.
    pub peer: SocketAddr,
    expected: OpeningDatagram,
}

impl UnvalidatedFlow {
    /// Sets the socket up and sends the challenge; `None` when that cannot be sent.
    ///
    /// # Errors
    /// When the kernel does not grant the settings, or no random bytes.
    pub fn challenge(
        flow: PlannedFlow,
        socket: UnvalidatedSocket,
        peer: SocketAddr,
        token: TestToken,
        settings: &SocketSettings,
    ) -> Result<Option<Self>, RunError> {
        settings.apply(socket.as_socket())?;
        let challenge =
            random_bytes().map_err(|cause| RunError::local("preparing a test", cause))?;
        let question = OpeningDatagram {
            kind: DatagramKind::Challenge,
            flow: flow.id,
            token,
            challenge,
        };
        let expected = OpeningDatagram {
            kind: DatagramKind::Proof,
            ..question
        };
        if socket.as_socket().set_nonblocking(true).is_err()
            || socket.send(&question.encode()).is_err()
        {
            return Ok(None);
        }
        Ok(Some(Self {
            flow,
            socket,
            peer,
            expected,
        }))
    }

    /// Reads what has arrived: the proof of the address, where it has sent the challenge back.
    pub fn proof(&self) -> Option<AddressProof> {
        let mut datagram = [0; OPENING_BYTES + 1];
        while let Ok(size) = self.socket.recv(&mut datagram) {
            match OpeningDatagram::decode(&datagram[..size]) {
                Some(opening) if opening == self.expected => {
                    let socket = self.socket.as_socket();
                    reply_to_proof(socket, &opening);
                    socket.set_nonblocking(false).ok()?;
                    return Some(AddressProof::Challenge);
                }
                Some(opening) if opening.kind == DatagramKind::Hello => {
                    let question = OpeningDatagram {
                        kind: DatagramKind::Challenge,
                        ..self.expected
                    };
                    let _ = self.socket.send(&question.encode());
                }
                _ => {}
            }
        }
        None
    }
}
