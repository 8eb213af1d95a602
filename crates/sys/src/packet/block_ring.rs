//! A ring of blocks shared with the kernel: `TPACKET_V3`, Documentation/networking/packet_mmap.rst.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use socket2::Socket;

use crate::raw;

/// The size of a block, bytes.
const BLOCK: usize = 1 << 20;
/// Minimum room that the kernel reserves for a frame, bytes.
const FRAME: usize = 2048;
/// Maximum time the kernel holds back a block that is not full, ms.
pub(super) const RETIRE_MS: u32 = 10;
/// `TPACKET_V3`.
const VERSION_3: i32 = 2;
/// Offsets in a `struct tpacket_block_desc`, include/uapi/linux/if_packet.h.
mod block {
    pub(super) const STATUS: usize = 8;
    pub(super) const FRAMES: usize = 12;
    pub(super) const FIRST: usize = 16;
}

/// Blocks with frames, each of which belongs to the kernel or to this side.
#[derive(Debug)]
pub(super) struct BlockRing {
    start: *mut u8,
    blocks: usize,
    next: usize,
}

// SAFETY: the ring is owned by this value alone, and the status word passes each block between the kernel and it.
unsafe impl Send for BlockRing {}

/// The frames of a block.
pub(super) struct RingBlock<'a> {
    bytes: &'a [u8],
    left: u32,
    at: usize,
}

impl BlockRing {
    /// Gives a packet socket that is not bound yet a ring of this many bytes.
    pub(super) fn open(socket: &Socket, bytes: usize) -> io::Result<Self> {
        raw::set_int(socket, libc::SOL_PACKET, libc::PACKET_VERSION, VERSION_3)?;
        let blocks = bytes.div_ceil(BLOCK).max(2);
        // `struct tpacket_req3`: blocks, frames, the timeout of a block; then private room and features, of which there are none.
        let words = [
            BLOCK as u32,
            blocks as u32,
            FRAME as u32,
            (blocks * (BLOCK / FRAME)) as u32,
            RETIRE_MS,
            0,
            0,
        ]
        .map(u32::to_ne_bytes);
        raw::set_option(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            &words.concat(),
        )?;
        let (protection, length) = (libc::PROT_READ | libc::PROT_WRITE, blocks * BLOCK);
        let fd = socket.as_raw_fd();
        // SAFETY: the kernel chooses the place; the ring is as long as was just set.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            blocks,
            next: 0,
        })
    }

    /// Passes the frames of the next block to `each`, then the block back to the kernel; `false` when no block is ready.
    pub(super) fn take(&mut self, each: &mut dyn FnMut(RingBlock<'_>)) -> bool {
        let from = self.next * BLOCK;
        // SAFETY: the block lies in the ring, and blocks are aligned far beyond a word.
        let status = unsafe { &*self.start.add(from + block::STATUS).cast::<AtomicU32>() };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block lies in the ring and belongs to this side until the status changes.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.add(from), BLOCK) };
        let word = |at| raw::u32_at(bytes, at).unwrap_or(0);
        each(RingBlock {
            left: word(block::FRAMES),
            at: word(block::FIRST) as usize,
            bytes,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }
}

impl<'a> RingBlock<'a> {
    /// The next frame with its headers: the block from the `struct tpacket3_hdr` of the frame on.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let frame = self.bytes.get(self.at..)?;
        self.at += raw::u32_at(frame, 0)? as usize;
        Some(frame)
    }
}

impl Drop for BlockRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no borrow of it outlives this value.
        unsafe { libc::munmap(self.start.cast(), self.blocks * BLOCK) };
    }
}
