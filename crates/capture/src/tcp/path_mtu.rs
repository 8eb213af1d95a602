//! Segments too large for their path, as retransmissions show them.

use crate::model::Finding;

/// Minimum payload of a large segment: small ones pass where full ones do not.
const LARGE_BYTES: u32 = 1_000;
/// Minimum payload to which a sender shrinks its segments: MTU probing of Linux begins at 1024 B, Windows goes to 536 B.
const MIN_SHRUNK_BYTES: u32 = 400;
/// Minimum timeouts for a smaller segment to show that the sender doubts the MTU.
const MIN_TIMEOUTS: u64 = 2;

/// What an ICMP message said about a packet of this direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportedMtu {
    /// The MTU; `None` from old routers, which name none (RFC 1191 section 3).
    pub(crate) mtu: Option<u32>,
    /// The bytes of the packet, as its header has them.
    pub(crate) packet_bytes: u32,
    /// The sequence number of its segment.
    pub(crate) seq: Option<u32>,
}

/// A segment that was sent again after timeouts: the first frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RepeatedSegment {
    seq: i64,
    payload: u32,
    pub(crate) timeouts: u64,
    frames: [u64; Finding::MAX_FRAMES],
}

impl RepeatedSegment {
    /// The first frames of the retransmissions.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let kept = self.timeouts.min(Finding::MAX_FRAMES as u64) as usize;
        self.frames[..kept].to_vec()
    }
}

/// A segment that was sent again with less payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShrunkSegment {
    pub(crate) frame: u64,
    /// The payload before; `None` where only the size of its packet is known.
    pub(crate) before_bytes: Option<u32>,
    pub(crate) payload: u32,
    /// Behind the smaller segment.
    end: i64,
    pub(crate) timeouts: u64,
    /// The smaller segment was acknowledged.
    pub(crate) acknowledged: bool,
}

/// One retransmission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentSentAgain {
    pub(crate) frame: u64,
    /// The sequence number on the wire, and relative.
    pub(crate) raw_seq: u32,
    pub(crate) seq: i64,
    pub(crate) payload: u32,
    /// With the headers of IP and TCP.
    pub(crate) packet_bytes: u32,
    pub(crate) after_timeout: bool,
}

/// What one direction shows of its path MTU.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathMtuWatch {
    pub(crate) reported: Option<ReportedMtu>,
    /// The large segment that is repeated without an acknowledgement of new data, and the one repeated most often.
    repeated: RepeatedSegment,
    pub(crate) most_repeated: RepeatedSegment,
    /// The first of this kind.
    pub(crate) shrunk: Option<ShrunkSegment>,
}

impl PathMtuWatch {
    /// ICMP said that a packet was too big.
    pub(crate) fn report(&mut self, report: ReportedMtu) {
        self.reported = Some(report);
    }

    /// A segment was sent again.
    pub(crate) fn sent_again(&mut self, again: &SegmentSentAgain) {
        if self.shrunk.is_none_or(|shrunk| !shrunk.acknowledged)
            && again.payload >= MIN_SHRUNK_BYTES
            && let Some((before_bytes, timeouts)) = self.larger_before(again)
        {
            self.shrunk = Some(ShrunkSegment {
                frame: again.frame,
                before_bytes,
                payload: again.payload,
                end: again.seq + i64::from(again.payload),
                timeouts,
                acknowledged: false,
            });
        }
        if again.after_timeout && again.payload >= LARGE_BYTES {
            self.repeat(again);
        }
    }

    /// The payload of the same segment before, where it was larger and the sender had a reason to make it smaller.
    fn larger_before(&self, again: &SegmentSentAgain) -> Option<(Option<u32>, u64)> {
        let repeated = &self.repeated;
        if repeated.timeouts >= MIN_TIMEOUTS
            && repeated.seq == again.seq
            && again.payload < repeated.payload
        {
            return Some((Some(repeated.payload), repeated.timeouts));
        }
        let report = self.reported?;
        let fits = report.mtu.is_none_or(|mtu| again.packet_bytes <= mtu);
        let is_same = report.seq == Some(again.raw_seq);
        (is_same && fits && again.packet_bytes < report.packet_bytes).then_some((None, 0))
    }

    fn repeat(&mut self, again: &SegmentSentAgain) {
        let repeated = &mut self.repeated;
        if (repeated.seq, repeated.payload) != (again.seq, again.payload) {
            *repeated = RepeatedSegment {
                seq: again.seq,
                payload: again.payload,
                ..RepeatedSegment::default()
            };
        }
        if let Some(frame) = repeated.frames.get_mut(repeated.timeouts as usize) {
            *frame = again.frame;
        }
        repeated.timeouts += 1;
        if repeated.timeouts > self.most_repeated.timeouts {
            self.most_repeated = *repeated;
        }
    }

    /// New data was acknowledged.
    pub(crate) fn acknowledged(&mut self, ack: i64) {
        self.repeated = RepeatedSegment::default();
        if let Some(shrunk) = &mut self.shrunk {
            shrunk.acknowledged |= ack >= shrunk.end;
        }
    }
}
