//! Frames of a device through a packet socket, received by a ring that is shared with the kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};

use crate::raw::{self, count};

/// Frames that wait for the reader, and the bytes they may take: large slots are fewer.
const SLOTS: usize = 1024;
const BYTES: usize = 4 << 20;
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

/// A socket that receives every frame a device receives, and sends frames by it past all queues.
#[derive(Debug)]
pub struct PacketRing {
    socket: Socket,
    start: *mut u8,
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the ring is owned by this value alone, and what the kernel writes is handed over by the status word.
unsafe impl Send for PacketRing {}

/// A frame in the ring.
#[derive(Debug, Clone, Copy)]
pub struct Ringed<'a> {
    /// From destination address to the end of the payload.
    pub bytes: &'a [u8],
    /// When the kernel saw it, on the wall clock.
    pub realtime_ns: u64,
    /// Whether it was longer than a slot.
    pub is_cut: bool,
}

impl PacketRing {
    /// A ring for the device of this number, in the namespace of the calling thread, with room for frames of `largest` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without the capability `CAP_NET_RAW`; when memory is short.
    pub fn open(index: u32, largest: usize) -> io::Result<Self> {
        const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();
        const VERSION_2: i32 = 1;
        let slot = (largest + header::SIZE + 64).next_power_of_two().max(2048);
        // No protocol yet, so that nothing is received before the ring is there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, VERSION_2)?;
        raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // Where this is missing frames take the queue, which is empty.
        let _ = raw::set_int(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
        let block = slot.max(65_536);
        // A whole number of blocks, as all are powers of two.
        let slots = (BYTES / slot).clamp(32, SLOTS);
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
        // `struct sockaddr_ll`: family, protocol, index, then what only senders fill.
        let mut storage = SockAddrStorage::zeroed();
        // SAFETY: the storage is as large and aligned as any socket address, and all zero is a value.
        let address = unsafe { storage.view_as::<libc::sockaddr_ll>() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL;
        address.sll_ifindex = index.cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: a `struct sockaddr_ll` of that length was just written.
        let address = unsafe { SockAddr::new(storage, length) };
        ring.socket.bind(&address)?;
        Ok(ring)
    }

    /// Hands the next frame to `look` and its slot back to the kernel; `None` when there is none.
    pub fn receive<T>(&mut self, look: impl FnOnce(Ringed<'_>) -> T) -> Option<T> {
        // SAFETY: the slot lies in the ring, whose slots are aligned far beyond a word.
        let status = unsafe {
            let word = self.start.add(self.next * self.slot + header::STATUS);
            &*word.cast::<AtomicU32>()
        };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot lies in the ring and is ours until the status says otherwise.
        let slot =
            unsafe { std::slice::from_raw_parts(self.start.add(self.next * self.slot), self.slot) };
        let word = |at: usize| raw::u32_at(slot, at).unwrap_or(0);
        let from = usize::from(raw::u16_at(slot, header::FRAME).unwrap_or(0));
        let captured = word(header::CAPTURED) as usize;
        let seconds = u64::from(word(header::SECONDS));
        let answer = look(Ringed {
            bytes: slot.get(from..from + captured).unwrap_or_default(),
            realtime_ns: seconds * 1_000_000_000 + u64::from(word(header::NANOSECONDS)),
            is_cut: word(header::LENGTH) as usize > captured,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(answer)
    }

    /// Sends a frame by the device.
    ///
    /// # Errors
    /// When the device is down or takes no more.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: `frame` is readable for its length and the descriptor is borrowed for the call.
        count(unsafe { libc::send(fd, frame.as_ptr().cast(), frame.len(), flags) }).map(drop)
    }

    /// The frames that found no free slot since the last time this was asked.
    ///
    /// # Errors
    /// None that is known.
    pub fn dropped(&self) -> io::Result<u32> {
        let mut counted = [0; 8];
        raw::option(
            &self.socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut counted,
        )?;
        Ok(raw::u32_at(&counted, 4).unwrap_or(0))
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.slots * self.slot) };
    }
}
