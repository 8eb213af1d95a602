//! The opening dialogue of a native UDP flow: the client proves that it receives at its address.

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
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Answers a proof, also one that is repeated because the answer was lost.
pub(crate) fn reply_to_proof(socket: &UdpSocket, datagram: &OpeningDatagram) {
    if datagram.kind == DatagramKind::Proof {
        let ready = OpeningDatagram {
            kind: DatagramKind::Ready,
            ..*datagram
        };
        let _ = udp::send_segments(socket, &ready.encode(), OPENING_BYTES as u16);
    }
}

/// The next datagram of the opening dialogue that has arrived; `None` when there is none.
pub(crate) fn next_opening_datagram(socket: &UdpSocket) -> Option<OpeningDatagram> {
    let ready = poll_readable(&[socket.as_fd()], Some(Duration::ZERO)).ok()?;
    if !ready.contains(&true) {
        return None;
    }
    let mut datagram = [0; OPENING_BYTES + 1];
    let size = socket.recv(&mut datagram).ok()?;
    OpeningDatagram::decode(&datagram[..size])
}

/// A server's UDP socket towards an address that has not yet proven that it receives.
pub(crate) struct UnprovenFlow {
    pub(crate) flow: PlannedFlow,
    pub(crate) socket: UdpSocket,
    pub(crate) peer: SocketAddr,
    expected: OpeningDatagram,
}

impl UnprovenFlow {
    /// Sets the socket up and sends the challenge; `None` when that cannot be sent.
    ///
    /// # Errors
    /// When the kernel does not grant the settings, or no random bytes.
    pub(crate) fn challenge(
        flow: PlannedFlow,
        socket: UdpSocket,
        peer: SocketAddr,
        token: TestToken,
        settings: &SocketSettings,
    ) -> Result<Option<Self>, RunError> {
        settings.apply(&socket)?;
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
        if socket.set_nonblocking(true).is_err() || socket.send(&question.encode()).is_err() {
            return Ok(None);
        }
        Ok(Some(Self {
            flow,
            socket,
            peer,
            expected,
        }))
    }

    /// Reads what has arrived; `true` when the address has proven that it receives.
    pub(crate) fn is_proven(&self) -> bool {
        let mut datagram = [0; OPENING_BYTES + 1];
        while let Ok(size) = self.socket.recv(&mut datagram) {
            match OpeningDatagram::decode(&datagram[..size]) {
                Some(opening) if opening == self.expected => {
                    reply_to_proof(&self.socket, &opening);
                    return self.socket.set_nonblocking(false).is_ok();
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
        false
    }
}
