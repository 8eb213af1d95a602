//! The frames that a device receives, through a ring shared with the kernel, and frames to send by it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use socket2::{Domain, Socket, Type};

use super::address::bind_to_device;
use crate::raw;

/// Maximum number of frames in the ring.
const MAX_SLOTS: usize = 1024;
/// Maximum size of the ring, bytes: large slots are fewer.
const MAX_BYTES: usize = 4 << 20;
/// Offsets in a `struct tpacket2_hdr`, include/uapi/linux/if_packet.h.
mod header {
    pub(super) const STATUS: usize = 0;
    pub(super) const LENGTH: usize = 4;
    pub(super) const CAPTURED: usize = 8;
    pub(super) const FRAME: usize = 12;
    pub(super) const SECONDS: usize = 16;
    pub(super) const NANOSECONDS: usize = 20;
    pub(super) const SIZE: usize = 32;
}

/// A socket that receives all frames of a device, and sends frames by it without queueing.
#[derive(Debug)]
pub struct PacketRing {
    socket: Socket,
    start: *mut u8,
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the ring is owned by this value alone, and the status word passes each slot between the kernel and it.
unsafe impl Send for PacketRing {}

/// A frame in the ring.
#[derive(Debug, Clone, Copy)]
pub struct RingFrame<'a> {
    /// From destination address to the end of the payload.
    pub bytes: &'a [u8],
    /// The time the kernel received it, ns on the wall clock.
    pub realtime_ns: u64,
    /// `true` when it was longer than a slot.
    pub is_truncated: bool,
}

impl PacketRing {
    /// A ring for the device of this index, in the namespace of the calling thread, for frames of up to `max_frame` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without the capability `CAP_NET_RAW`; `ENOMEM` without memory.
    pub fn open(index: u32, max_frame: usize) -> io::Result<Self> {
        const VERSION_2: i32 = 1;
        let slot = (max_frame + header::SIZE + 64)
            .next_power_of_two()
            .max(2048);
        // No protocol yet, so that nothing is received before the ring is there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, VERSION_2)?;
        raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // Where this is missing frames take the device's queue, which is empty.
        let _ = raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
        let block = slot.max(65_536);
        // A whole number of blocks, as all are powers of two.
        let slots = (MAX_BYTES / slot).clamp(32, MAX_SLOTS);
        let words =
            [block, slots * slot / block, slot, slots].map(|word| (word as u32).to_ne_bytes());
        raw::set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            &words.concat(),
        )?;
        let (protection, length) = (libc::PROT_READ | libc::PROT_WRITE, slots * slot);
        let fd = socket.as_raw_fd();
        // SAFETY: the kernel chooses the place; the ring is as long as was just set.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = Self {
            socket,
            start: start.cast(),
            slot,
            slots,
            next: 0,
        };
        bind_to_device(&ring.socket, index)?;
        Ok(ring)
    }

    /// Passes the next frame to `look`, then its slot back to the kernel; `None` when there is none.
    pub fn receive<T>(&mut self, look: impl FnOnce(RingFrame<'_>) -> T) -> Option<T> {
        // SAFETY: the slot lies in the ring, whose slots are aligned far beyond a word.
        let status = unsafe {
            let word = self.start.add(self.next * self.slot + header::STATUS);
            &*word.cast::<AtomicU32>()
        };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot lies in the ring and belongs to this side until the status changes.
        let slot =
            unsafe { std::slice::from_raw_parts(self.start.add(self.next * self.slot), self.slot) };
        let word = |at: usize| raw::u32_at(slot, at).unwrap_or(0);
        let from = usize::from(raw::u16_at(slot, header::FRAME).unwrap_or(0));
        let captured = word(header::CAPTURED) as usize;
        let seconds = u64::from(word(header::SECONDS));
        let result = look(RingFrame {
            bytes: slot.get(from..from + captured).unwrap_or_default(),
            realtime_ns: seconds * 1_000_000_000 + u64::from(word(header::NANOSECONDS)),
            is_truncated: word(header::LENGTH) as usize > captured,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(result)
    }

    /// Sends a frame by the device.
    ///
    /// # Errors
    /// When the device is down or accepts no more.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.socket
            .send_with_flags(frame, libc::MSG_DONTWAIT)
            .map(drop)
    }

    /// The frames dropped for want of a free slot since the last call.
    ///
    /// # Errors
    /// Any error of getsockopt(2).
    pub fn dropped(&self) -> io::Result<u32> {
        let mut statistics = [0; 8];
        raw::get_option(
            &self.socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut statistics,
        )?;
        Ok(raw::u32_at(&statistics, 4).unwrap_or(0))
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no borrow of it outlives this value.
        unsafe { libc::munmap(self.start.cast(), self.slots * self.slot) };
    }
}
