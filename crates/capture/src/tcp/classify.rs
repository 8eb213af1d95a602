//! What a segment is, by its sequence number, its acknowledgement and its time.
//!
//! Source: Wireshark's `tcp_analyze_sequence_number` (User's Guide, section 7.5); docs/captures.md has the differences.

use super::half::TcpHalf;
use super::segment::{AckClass, SegmentClass, TrackedSegment};
use crate::dissect::TcpFlags;

/// Maximum time after the last duplicate acknowledgement for a retransmission to be fast, ns.
const FAST_NS: u64 = 20_000_000;
/// Maximum time to fill a gap for a segment to be out of order where no round-trip time is known, ns.
const OUT_OF_ORDER_NS: u64 = 3_000_000;
/// Minimum retransmission timeout of Linux (TCP_RTO_MIN, 200 ms), less the rounding of a timer tick, ns.
const TIMEOUT_NS: u64 = 190_000_000;

/// What a segment of `me` is. `rtt` is the smallest round-trip time known.
#[inline]
pub(crate) fn classify(
    me: &mut TcpHalf,
    other: &TcpHalf,
    segment: &TrackedSegment<'_>,
    seq: i64,
    rtt: Option<u64>,
) -> SegmentClass {
    let flags = segment.header.flags;
    let length = segment.length();
    let opens_or_closes = flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST);
    if !me.sent_any {
        return if length > 0 {
            SegmentClass::Next
        } else {
            SegmentClass::Empty
        };
    }
    if !opens_or_closes && segment.payload_bytes <= 1 && seq == me.next - 1 && !me.fin_seen {
        return SegmentClass::KeepAlive;
    }
    if length == 0 {
        // An acknowledgement carries the number of what its end sends next: what lies below it was sent.
        let is_beyond = seq > me.next + i64::from(me.probing) && !flags.any(TcpFlags::RST);
        return if is_beyond {
            SegmentClass::BeyondGap
        } else {
            SegmentClass::Empty
        };
    }
    if !opens_or_closes
        && segment.payload_bytes == 1
        && seq == me.next
        && other.window == 0
        && other.sent_any
    {
        return SegmentClass::ZeroWindowProbe;
    }
    if seq >= me.next {
        return if seq > me.next && !flags.any(TcpFlags::RST) {
            SegmentClass::BeyondGap
        } else {
            SegmentClass::Next
        };
    }
    repeated(me, other, seq, seq + length, segment.at_ns, rtt)
}

/// A segment below the highest sequence number: it was sent again, or overtaken.
fn repeated(
    me: &TcpHalf,
    other: &TcpHalf,
    seq: i64,
    end: i64,
    now: u64,
    rtt: Option<u64>,
) -> SegmentClass {
    // What fills a gap was not captured before: it is late, unless a sender had the time to send it again. A gap that an acknowledgement
    // alone shows is older than that acknowledgement, and nothing behind it tells since when.
    let (filled, opened) = me.gaps.peek(seq, end);
    if filled > 0
        && end < me.next
        && opened.is_some_and(|opened| now.saturating_sub(opened) < rtt.unwrap_or(OUT_OF_ORDER_NS))
    {
        return SegmentClass::OutOfOrder;
    }
    let acked = other.acked;
    if filled == 0 && acked.is_some_and(|acked| end <= acked) {
        return SegmentClass::SpuriousRetransmission;
    }
    let since_duplicate = now.saturating_sub(other.last_duplicate_ns);
    if other.duplicates >= 2
        && acked == Some(seq)
        && since_duplicate <= FAST_NS.max(rtt.unwrap_or(0).saturating_mul(2))
    {
        return SegmentClass::FastRetransmission;
    }
    let idle = me.last_data_ns.map(|last| now.saturating_sub(last));
    if idle.is_some_and(|idle| idle >= TIMEOUT_NS.max(rtt.unwrap_or(0))) {
        return SegmentClass::TimeoutRetransmission;
    }
    SegmentClass::Retransmission
}

/// What the acknowledgement of a segment of `me` is beside its number.
#[inline]
pub(crate) fn classify_ack(
    me: &TcpHalf,
    other: &TcpHalf,
    segment: &TrackedSegment<'_>,
    seq: i64,
    ack: i64,
) -> AckClass {
    let flags = segment.header.flags;
    if other.sent_any && ack > other.next + i64::from(other.probing) {
        return AckClass::Unseen;
    }
    if segment.payload_bytes > 0
        || flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST)
        || !me.sent_any
        || seq != me.next
        || me.acked != Some(ack)
    {
        return AckClass::Plain;
    }
    let window = segment.header.window;
    if other.last_was_keep_alive && window == me.raw_window {
        return AckClass::KeepAliveAnswer;
    }
    if window != me.raw_window {
        return if window > 0 {
            AckClass::WindowUpdate
        } else {
            AckClass::Plain
        };
    }
    if window > 0 && other.next > ack {
        return AckClass::Duplicate;
    }
    AckClass::Plain
}
