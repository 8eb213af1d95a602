//! The emulator's side of a host's interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use caudal_sys::clock;
use caudal_sys::packet::PacketRing;
use caudal_sys::tap::Tap;

/// The emulator's side of a host's interface.
#[derive(Debug)]
pub(crate) enum Device {
    /// A TAP device in the host.
    Tap(Tap),
    /// The far end of a veth pair, in the emulator's own namespace.
    Packet(PacketRing),
}

impl Device {
    /// Calls `handle` with the next frame that the host has sent and the monotonic time in nanoseconds at which it was sent:
    /// the kernel's timestamp for a packet ring, `now` for a TAP device. `None` when there is no frame.
    pub(crate) fn receive<T>(
        &mut self,
        buffer: &mut [u8],
        now: u64,
        handle: impl FnOnce(&[u8], u64) -> T,
    ) -> io::Result<Option<T>> {
        match self {
            Self::Tap(tap) => match tap.read(buffer) {
                Ok(length) => Ok(Some(handle(&buffer[..length], now))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                Err(error) => Err(error),
            },
            Self::Packet(ring) => Ok(ring.receive(|frame| {
                // The timestamp is of the real-time clock, which may be set: an age of more than a second is not credible.
                let age = clock::realtime_ns().saturating_sub(frame.realtime_ns);
                let age = if age > 1_000_000_000 { 0 } else { age };
                handle(frame.bytes, clock::monotonic_ns().saturating_sub(age))
            })),
        }
    }

    /// Delivers a frame to the host.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        match self {
            Self::Tap(tap) => tap.write(frame),
            Self::Packet(ring) => ring.send(frame),
        }
    }

    /// The frames dropped since the last call because the ring was full.
    pub(crate) fn take_unread(&self) -> u64 {
        match self {
            Self::Tap(_) => 0,
            Self::Packet(ring) => ring.dropped().unwrap_or(0).into(),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tap(tap) => tap.as_fd(),
            Self::Packet(ring) => ring.as_fd(),
        }
    }
}
