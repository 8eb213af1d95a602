//! What the loops of both ends share: their control, their end, and waiting.

use super::transmitter::TransmitError;
use crate::TransferFailure;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

/// Maximum wait spent reading the clock, ns: the kernel's timers are less precise.
const SPIN_NS: u64 = 50_000;
/// Maximum wait between two checks of the stop signal, ns.
const MAX_WAIT_NS: u64 = 20_000_000;
/// Refusals in a row for the peer's port to count as closed.
const MAX_REFUSALS: u32 = 64;

/// The refusals of the peer's kernel, which a peer that is about to start or to end may cause some of.
#[derive(Debug, Default)]
pub(super) struct Refusals(u32);

impl Refusals {
    /// Counts one.
    ///
    /// # Errors
    /// When there were too many in a row.
    pub(super) fn count(&mut self) -> Result<(), TransferFailure> {
        self.0 += 1;
        if self.0 > MAX_REFUSALS {
            return Err(TransferFailure::PeerClosed);
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// A datagram has arrived.
    pub(super) const fn clear(&mut self) {
        self.0 = 0;
    }

    /// Takes the outcome of a send.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    pub(super) fn check(
        &mut self,
        outcome: Result<(), TransmitError>,
    ) -> Result<(), TransferFailure> {
        match outcome {
            Ok(()) => Ok(()),
            Err(TransmitError::PeerClosed) => self.count(),
            Err(error) => Err(TransferFailure::Kernel {
                doing: "send a datagram",
                cause: error.into(),
            }),
        }
    }
}

/// Waits until a datagram has arrived, `until_ns` has come, or it is time to look around: whether one has arrived.
pub(super) fn wait(socket: &UdpSocket, until_ns: Option<u64>) -> bool {
    let now_ns = monotonic_ns();
    let left_ns = until_ns.map_or(MAX_WAIT_NS, |until| until.saturating_sub(now_ns));
    if left_ns < SPIN_NS {
        std::hint::spin_loop();
        return false;
    }
    let timeout = Duration::from_nanos(left_ns.min(MAX_WAIT_NS));
    // An error shows in the next receive.
    poll_readable(&[socket.as_fd()], Some(timeout)).is_ok_and(|ready| ready.contains(&true))
}
