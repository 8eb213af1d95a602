//! Payload that has arrived over TCP behind a gap, which nobody can read yet.

use caudal_sys::tcp::{TcpInfo, tcp_info};
use caudal_sys::udp;
use std::net::TcpStream;

/// The kernel's counters of what arrived at a receiver; they only grow, and those of segments wrap at 2³².
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ReceivedSegments {
    /// Payload bytes in order.
    in_order: u64,
    /// Segments with payload, in order or not, and those that were there already.
    segments: u32,
    /// Segments that arrived out of order.
    out_of_order: u32,
}

impl ReceivedSegments {
    /// `None` before Linux 4.6 and 5.4, which do not count segments and those out of order.
    fn from_info(info: &TcpInfo) -> Option<Self> {
        Some(Self {
            in_order: info.bytes_received?,
            segments: info.data_segs_in?,
            out_of_order: info.rcv_ooopack?,
        })
    }

    /// What arrived since `earlier`: bytes in order, segments, and segments out of order.
    const fn since(&self, earlier: &Self) -> (u64, u32, u32) {
        (
            self.in_order.saturating_sub(earlier.in_order),
            self.segments.wrapping_sub(earlier.segments),
            self.out_of_order.wrapping_sub(earlier.out_of_order),
        )
    }
}

/// An estimate of the payload that a receiver's kernel holds behind a gap.
///
/// The kernel counts bytes as they come into order: those that arrived behind a lost segment all at once, when that is retransmitted. It
/// counts segments as they arrive, so that their number times their usual size, less the bytes in order, is what waits. Nothing waits when
/// the kernel holds nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OutOfOrderBytes {
    last: Option<ReceivedSegments>,
    /// The last reading at which nothing waited.
    clear: ReceivedSegments,
    /// The payload of a segment, bytes; 0 before it is known.
    segment_bytes: f64,
    waiting: u64,
    /// In order and waiting, at most so far.
    arrived: u64,
}

impl OutOfOrderBytes {
    /// The payload that waits on `stream` now.
    pub(super) fn read(&mut self, stream: &TcpStream) -> u64 {
        let Ok(info) = tcp_info(stream) else {
            return self.waiting;
        };
        let Some(now) = ReceivedSegments::from_info(&info) else {
            return 0;
        };
        let held = udp::meminfo(stream).map_or(u64::MAX, |memory| u64::from(memory.rmem_alloc));
        self.add(now, held, info.rcv_mss)
    }

    /// The payload that waits at a reading at which the kernel holds `held` bytes, its own overhead included. `mss` is the kernel's guess of
    /// the sender's maximum segment size.
    fn add(&mut self, now: ReceivedSegments, held: u64, mss: u32) -> u64 {
        let last = self.last.replace(now);
        let (in_order, segments, out_of_order) = now.since(&last.unwrap_or_default());
        if self.waiting == 0 && out_of_order == 0 {
            if segments > 0 {
                self.segment_bytes = in_order as f64 / f64::from(segments);
            }
            self.clear = now;
        } else if held == 0 {
            (self.clear, self.waiting) = (now, 0);
        } else if segments > 0 {
            self.waiting = self.since_clear(&now, mss).min(held);
            if out_of_order == 0 && (self.waiting as f64) < self.segment_bytes {
                (self.clear, self.waiting) = (now, 0);
            }
        }
        // What has arrived does not become less: retransmissions of what was there already are segments as well.
        self.arrived = self.arrived.max(now.in_order + self.waiting);
        self.waiting = self.arrived - now.in_order;
        self.waiting
    }

    /// What has arrived since nothing waited, less what is in order.
    fn since_clear(&self, now: &ReceivedSegments, mss: u32) -> u64 {
        let (in_order, segments, out_of_order) = now.since(&self.clear);
        let segment_bytes = match self.segment_bytes {
            known if known > 0.0 => known,
            _ => f64::from(mss),
        };
        let arrived = f64::from(segments) * segment_bytes;
        let max = f64::from(out_of_order) * segment_bytes;
        (arrived - in_order as f64).min(max).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    fn at(in_order: u64, segments: u32, out_of_order: u32) -> ReceivedSegments {
        ReceivedSegments {
            in_order: in_order * u64::from(MSS),
            segments,
            out_of_order,
        }
    }

    #[test]
    fn what_waits_behind_a_lost_segment_has_arrived() {
        let mut state = OutOfOrderBytes::default();
        let full = u64::MAX;
        // 100 segments in order; one lost, and 99 behind it; 100 more behind it; it comes, and all is in order.
        let waiting: Vec<u64> = [
            (at(100, 100, 0), full),
            (at(100, 199, 99), full),
            (at(100, 299, 199), full),
            // Nothing arrives.
            (at(100, 299, 199), full),
            // One of two lost segments comes, and 50 of the others are in order.
            (at(150, 300, 199), full),
            (at(301, 301, 199), full),
            (at(500, 500, 199), full),
        ]
        .map(|(now, held)| state.add(now, held, 536) / u64::from(MSS))
        .to_vec();
        assert_eq!(waiting, [0, 99, 199, 199, 150, 0, 0]);
    }

    #[test]
    fn a_gap_that_opened_and_closed_between_two_readings_leaves_nothing_waiting() {
        let mut state = OutOfOrderBytes::default();
        assert_eq!(state.add(at(100, 100, 0), 1 << 20, MSS), 0);
        assert_eq!(state.add(at(200, 200, 50), 0, MSS), 0);
        assert_eq!(state.add(at(300, 300, 80), 1 << 20, MSS), 0);
    }

    #[test]
    fn there_waits_no_more_than_the_kernel_holds_and_what_has_arrived_does_not_become_less() {
        let mut state = OutOfOrderBytes::default();
        state.add(at(100, 100, 0), 1 << 20, MSS);
        // Segments that were there already count as segments.
        assert_eq!(state.add(at(100, 300, 200), 10_000, MSS), 10_000);
        let mut arrived = 0;
        for nth in 0..200_u32 {
            let out_of_order = 200 + nth * 7 % 50;
            let now = at(u64::from(100 + nth), 300 + 3 * nth, out_of_order);
            let waiting = state.add(now, 100_000, MSS);
            assert!(now.in_order + waiting >= arrived);
            arrived = now.in_order + waiting;
        }
    }

    #[test]
    fn counters_that_wrap_are_no_jump() {
        let mut state = OutOfOrderBytes::default();
        let near_end = ReceivedSegments {
            in_order: 1 << 40,
            segments: u32::MAX - 10,
            out_of_order: u32::MAX - 5,
        };
        state.add(near_end, 0, MSS);
        let after = ReceivedSegments {
            in_order: (1 << 40) + 10 * u64::from(MSS),
            segments: 29,
            out_of_order: 14,
        };
        // 40 segments came, 10 of them in order and 20 out of order: no more than those wait.
        assert_eq!(state.add(after, 1 << 20, MSS), 20 * u64::from(MSS));
    }
}
