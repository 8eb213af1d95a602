//! The TCP flows of iperf 2.

use super::wall_clock::wall_clock;
use caudal_core::units::BitRate;
use caudal_flow::{
    ByteBudget, Payload, ReceiveMode, StampBlock, TcpClose, TcpReceiver, TcpSender, WritePace,
};
use caudal_wire::iperf2::{BURST_BYTES, fill_pattern, write_burst_header};
use std::sync::Arc;
use std::time::Duration;

/// The time a sender waits for the other end's close after its own.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The writer of the times that every block begins with when trip times are measured (2.1).
struct BurstStamper {
    start: (u32, u32),
    next: u32,
}

impl StampBlock for BurstStamper {
    fn header_bytes(&self) -> usize {
        BURST_BYTES
    }

    fn stamp(&mut self, block: &mut [u8]) {
        write_burst_header(block, self.next, self.start, wall_clock());
        self.next = self.next.wrapping_add(1);
    }
}

/// The payload of blocks of `length` bytes filled with iperf 2's pattern; with the time of departure in each where
/// `trip_times` is set.
pub(super) fn pattern_payload(length: usize, trip_times: bool) -> Payload {
    let min = if trip_times { BURST_BYTES } else { 1 };
    let mut block = vec![0; length.max(min)];
    fill_pattern(&mut block);
    if trip_times {
        return Payload::Stamped {
            block,
            stamper: Box::new(BurstStamper {
                start: wall_clock(),
                next: 1,
            }),
        };
    }
    Payload::Block(Arc::new(block))
}

/// A sender of blocks of `length` bytes, at `rate` bit/s or as fast as possible.
pub(super) fn tcp_sender(
    payload: Payload,
    length: usize,
    rate: Option<u64>,
    bytes: Option<u64>,
    close: TcpClose,
) -> TcpSender {
    let rate = rate.filter(|rate| *rate > 0).map(BitRate::from_bps);
    let length = match &payload {
        Payload::Stamped { block, .. } => block.len(),
        _ => length.max(1),
    };
    TcpSender {
        payload,
        length,
        // The other end counts blocks.
        pace: rate.map(WritePace::in_whole_blocks),
        budget: ByteBudget::new(bytes),
        close,
        // The other end may close when it has what it asked for.
        peer_may_close: true,
        bytes_before: 0,
    }
}

/// The options of a receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadOptions {
    /// `true` to count reads by size.
    pub(super) count_reads: bool,
    /// `true` to let the kernel drop what is received.
    pub(super) discard: bool,
}

/// A receiver that reads up to `length` bytes at once.
pub(super) fn tcp_receiver(length: usize, options: ReadOptions) -> TcpReceiver {
    let mode = match options {
        ReadOptions {
            count_reads: true, ..
        } => ReceiveMode::CountReads {
            buffer: length.clamp(64, 1 << 20),
        },
        ReadOptions { discard: true, .. } => ReceiveMode::Discard,
        _ => ReceiveMode::Copy {
            buffer: caudal_flow::receive_buffer(length as u32),
            coalesce: true,
        },
    };
    TcpReceiver::new(mode)
}
