//! The state of one direction of a connection.

use super::gaps::Gaps;
use super::path_mtu::PathMtuWatch;
use super::segmentation::SegmentCounter;
use super::stamps::SentStamps;
use super::unacked::UnackedSegments;
use super::unanswered::UnansweredWatch;
use crate::bins::ByteBins;
use crate::model::{RetransmissionCounts, TcpOffer};
use crate::push_runs::PushRunCounter;
use crate::sketch::TimeSketch;

/// What one end sent, and what it acknowledged of the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct TcpHalf {
    /// The sequence number that counts as 0; `None` before the first segment.
    pub(crate) base: Option<u32>,
    /// Behind the highest sequence number sent, relative.
    pub(crate) next: i64,
    /// It sent something itself: `base` is not taken from the other end's acknowledgements alone.
    pub(crate) sent_any: bool,
    /// The highest acknowledgement that this end sent, relative to the other end's sequence numbers.
    pub(crate) acked: Option<i64>,
    pub(crate) raw_window: u16,
    /// The window in bytes, scaled where the scale is known.
    pub(crate) window: u64,
    /// Duplicate acknowledgements of this end since its acknowledgement advanced.
    pub(crate) duplicates: u32,
    pub(crate) last_duplicate_ns: u64,
    pub(crate) last_data_ns: Option<u64>,
    pub(crate) first_data_ns: Option<u64>,
    /// When a delayed acknowledgement of this end's segment arrived, until it sends again.
    pub(crate) late_ack_ns: Option<u64>,
    pub(crate) last_was_keep_alive: bool,
    /// A probe of a window of zero is under way: one byte beyond `next`.
    pub(crate) probing: bool,
    pub(crate) fin_seen: bool,
    /// The sequence number behind the FIN.
    pub(crate) fin_end: Option<i64>,
    pub(crate) fin_frame: Option<u64>,
    pub(crate) offer: Option<TcpOffer>,
    pub(crate) gaps: Gaps,
    pub(crate) unacked: UnackedSegments,
    pub(crate) stamps: SentStamps,
    /// From the first report of ICMP or the first retransmission on.
    pub(crate) path_mtu: Option<Box<PathMtuWatch>>,
    pub(crate) counts: HalfCounts,
    /// Times in which this end was not heard.
    pub(crate) silence: UnansweredWatch,
    pub(crate) segments: SegmentCounter,
    pub(crate) runs: PushRunCounter,
    pub(crate) bins: ByteBins,
    pub(crate) ack_rtt: TimeSketch,
    pub(crate) timestamp_rtt: TimeSketch,
}

/// The counters of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct HalfCounts {
    pub(crate) data_frames: u64,
    pub(crate) pure_acks: u64,
    pub(crate) payload: u64,
    pub(crate) unique: u64,
    pub(crate) retransmissions: RetransmissionCounts,
    pub(crate) out_of_order: u64,
    pub(crate) beyond_gap: u64,
    pub(crate) acked_unseen: u64,
    pub(crate) duplicate_acks: u64,
    pub(crate) sack_frames: u64,
    pub(crate) sack_blocks: u64,
    pub(crate) duplicate_sacks: u64,
    pub(crate) window_min: Option<u64>,
    pub(crate) window_max: u64,
    pub(crate) zero_windows: u64,
    pub(crate) window_filled: u64,
    /// How often the window was filled since it last grew beyond all before it: a receiver raises it while the sender speeds up.
    pub(crate) largest_window_filled: u64,
    pub(crate) window_updates: u64,
    pub(crate) zero_window_probes: u64,
    pub(crate) keep_alives: u64,
    pub(crate) ece: u64,
    pub(crate) cwr: u64,
    pub(crate) max_in_flight: Option<u64>,
    pub(crate) partial_checksums: u64,
    /// Frames with payload of one segment, and those of them whose checksum no device has completed. GRO leaves such checksums
    /// too, in the frames it joins.
    pub(crate) single_data: u64,
    pub(crate) partial_single: u64,
    pub(crate) frames: u64,
    pub(crate) sent_here: u64,
    pub(crate) received_here: u64,
    pub(crate) max_idle_ns: u64,
    /// Segments that were sent as soon as a delayed acknowledgement came.
    pub(crate) ack_stalls: u64,
}

impl TcpHalf {
    /// `true` where this end was silent for a time, at most to the end of the flow after `flow_ns`, and was heard again.
    pub(crate) fn is_heard_again(&self, flow_ns: u64) -> bool {
        let silence = self.silence.finish(flow_ns);
        silence.is_some_and(|(_, longest)| longest.to_ns.is_some())
    }

    /// A sequence number of this direction, relative and unwrapped: the one nearest to `next`.
    #[inline]
    pub(crate) fn relative(&self, seq: u32) -> i64 {
        self.relative_near(self.next, seq)
    }

    /// The same, nearest to another number: where nothing of this direction was captured, its acknowledgements show how far it is.
    #[inline]
    pub(crate) fn relative_near(&self, number: i64, seq: u32) -> i64 {
        let known = self.base.unwrap_or(seq).wrapping_add(number as u32);
        number + i64::from(seq.wrapping_sub(known).cast_signed())
    }
}
