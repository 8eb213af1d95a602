//! Handing batches of equal datagrams to the kernel, by the fastest way that it grants.

use caudal_core::plan::SendTier;
use caudal_flow::socket::segmentation;
use caudal_sys::poll::{PollState, poll_ready};
use caudal_sys::udp::{GsoSender, ManySender, send_segments};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

/// Datagrams in a call of sendmmsg.
const DATAGRAMS_PER_CALL: usize = 64;
/// Wait for room in the queue of the interface.
const NO_ROOM: Duration = Duration::from_micros(200);
/// Maximum wait for room in the socket's buffer.
const WRITABLE: Duration = Duration::from_millis(10);

/// Why a batch was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransmitError {
    /// A datagram is larger than the path carries.
    #[error("a datagram does not fit the path")]
    TooLarge,
    /// The peer has closed its port.
    #[error("the peer has closed its port")]
    PeerClosed,
    /// Anything else.
    #[error(transparent)]
    Kernel(#[from] io::Error),
}

impl From<TransmitError> for io::Error {
    fn from(error: TransmitError) -> Self {
        match error {
            TransmitError::TooLarge => Self::from_raw_os_error(libc::EMSGSIZE),
            TransmitError::PeerClosed => Self::from_raw_os_error(libc::ECONNREFUSED),
            TransmitError::Kernel(cause) => cause,
        }
    }
}

/// The way batches are handed to the kernel.
#[derive(Debug)]
enum Tier {
    Plain,
    Mmsg(ManySender),
    Gso(GsoSender),
}

/// A sender of batches of equal datagrams on a connected socket.
#[derive(Debug)]
pub(super) struct Transmitter {
    tier: Tier,
    /// System calls so far.
    pub(super) calls: u64,
    /// The largest number of datagrams in one call.
    pub(super) max_datagrams_per_call: u32,
    /// What was done otherwise than asked.
    pub(super) notes: Vec<String>,
}

impl Transmitter {
    /// The way `asked` for, or the next one that the kernel grants.
    pub(super) fn new(socket: &UdpSocket, asked: SendTier) -> Self {
        let mut notes = Vec::new();
        let many = || Tier::Mmsg(ManySender::new(DATAGRAMS_PER_CALL));
        let tier = match asked {
            SendTier::Plain => Tier::Plain,
            SendTier::Mmsg => many(),
            SendTier::Auto | SendTier::Gso => {
                let gso = segmentation(socket);
                if gso.max_segments() > 1 {
                    Tier::Gso(gso)
                } else {
                    if asked == SendTier::Gso {
                        notes.push(
                            "no segmentation offload on this path: sendmmsg was used".to_owned(),
                        );
                    }
                    many()
                }
            }
        };
        Self {
            tier,
            calls: 0,
            max_datagrams_per_call: 0,
            notes,
        }
    }

    /// `plain`, `mmsg` or `gso`.
    pub(super) const fn name(&self) -> &'static str {
        match self.tier {
            Tier::Plain => "plain",
            Tier::Mmsg(_) => "mmsg",
            Tier::Gso(_) => "gso",
        }
    }

    /// The maximum number of datagrams of `segment` bytes in a batch.
    pub(super) fn max_datagrams(&self, segment: usize) -> usize {
        match &self.tier {
            Tier::Plain => 1,
            Tier::Mmsg(many) => many.max_datagrams(),
            Tier::Gso(gso) => gso.max_datagrams(segment),
        }
    }

    /// Sends a batch as datagrams of `segment` bytes, the last one the rest. What the kernel does not grant is done in the next
    /// slower way, with a note.
    ///
    /// # Errors
    /// When no way leads to the peer.
    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        batch: &[u8],
        segment: usize,
    ) -> Result<(), TransmitError> {
        let mut sent = 0;
        while sent < batch.len() {
            match self.send_some(socket, &batch[sent..], segment) {
                Ok(bytes) => sent += bytes,
                Err(error) => self.recover(socket, error)?,
            }
        }
        Ok(())
    }

    /// Sends as much in one call as the way allows: the bytes sent.
    fn send_some(&mut self, socket: &UdpSocket, batch: &[u8], segment: usize) -> io::Result<usize> {
        let size = u16::try_from(segment).unwrap_or(u16::MAX);
        let bytes = match &mut self.tier {
            Tier::Plain => send_segments(socket, &batch[..segment.min(batch.len())], size)?,
            Tier::Mmsg(many) => (many.send(socket, batch, size)? * segment).min(batch.len()),
            Tier::Gso(gso) => {
                let most = gso.max_datagrams(segment) * segment;
                send_segments(socket, &batch[..most.min(batch.len())], size)?
            }
        };
        self.calls += 1;
        let datagrams = bytes.div_ceil(segment) as u32;
        self.max_datagrams_per_call = self.max_datagrams_per_call.max(datagrams);
        Ok(bytes)
    }

    /// Prepares for the batch to be tried again.
    fn recover(&mut self, socket: &UdpSocket, error: io::Error) -> Result<(), TransmitError> {
        let is_gso = matches!(self.tier, Tier::Gso(_));
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(()),
            Some(libc::EAGAIN) => {
                poll_ready([(socket.as_fd(), PollState::Writable)], Some(WRITABLE))?;
                Ok(())
            }
            Some(libc::ENOBUFS) => {
                std::thread::sleep(NO_ROOM);
                Ok(())
            }
            // Segments beyond the path's MTU, a device that cannot compute checksums, or too many of them.
            Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE) if is_gso => {
                self.notes.push(format!(
                    "the kernel refused segmentation offload ({error}): sendmmsg was used"
                ));
                self.tier = Tier::Mmsg(ManySender::new(DATAGRAMS_PER_CALL));
                Ok(())
            }
            Some(libc::ENOSYS) if matches!(self.tier, Tier::Mmsg(_)) => {
                self.notes
                    .push("the kernel has no sendmmsg: send was used".to_owned());
                self.tier = Tier::Plain;
                Ok(())
            }
            Some(libc::EMSGSIZE) => Err(TransmitError::TooLarge),
            Some(libc::ECONNREFUSED) => Err(TransmitError::PeerClosed),
            _ => Err(error.into()),
        }
    }
}
