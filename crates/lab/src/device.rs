//! Where a host's frames come out and go in.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use caudal_sys::clock;
use caudal_sys::packet::PacketRing;
use caudal_sys::tap::Tap;

/// An interface of a host, seen from its wire.
#[derive(Debug)]
pub(crate) enum Device {
    /// A TAP device in the host.
    Tap(Tap),
    /// The far end of a veth pair, in the emulator's own namespace.
    Packet(PacketRing),
}

impl Device {
    /// Hands the next frame the host sent to `look`, with the time it was sent as far as that is known: the kernel's for
    /// a packet ring, `now` for a TAP device. `None` when there is none.
    pub(crate) fn receive<T>(
        &mut self,
        buffer: &mut [u8],
        now: u64,
        look: impl FnOnce(&[u8], u64) -> T,
    ) -> io::Result<Option<T>> {
        match self {
            Self::Tap(tap) => match tap.read(buffer) {
                Ok(length) => Ok(Some(look(&buffer[..length], now))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                Err(error) => Err(error),
            },
            Self::Packet(ring) => Ok(ring.receive(|frame| {
                // The stamp is of the wall clock, which may step: never trust it for more than a second.
                let age = clock::realtime_ns().saturating_sub(frame.realtime_ns);
                let age = if age > 1_000_000_000 { 0 } else { age };
                look(frame.bytes, clock::monotonic_ns().saturating_sub(age))
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

    /// Frames the ring had no room for since the last time this was asked.
    pub(crate) fn unread(&self) -> u64 {
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
