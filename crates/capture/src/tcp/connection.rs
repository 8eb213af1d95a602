//! A connection followed segment by segment.

use super::classify::{classify, classify_ack};
use super::half::TcpHalf;
use super::opening::{OpeningTimes, offer};
use super::path_mtu::SegmentSentAgain;
use super::segment::{AckClass, SegmentClass, SegmentOutcome, TrackedSegment, pseudo_header_sum};
use super::stamps::SentStamps;
use crate::dissect::TcpFlags;
use crate::evidence::EvidenceLog;
use crate::model::{FindingCode, FrameDirection};
use crate::read::FrameOrigin;
use crate::responses::{NewPayload, ResponseTracker};

/// The state of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct TcpTracker {
    pub(crate) client: TcpHalf,
    pub(crate) server: TcpHalf,
    pub(crate) opening: OpeningTimes,
    pub(crate) responses: ResponseTracker,
    pub(crate) reset: Option<(u64, FrameDirection)>,
    pub(crate) evidence: EvidenceLog,
    /// The smallest round-trip time known, ns: that of the handshake.
    pub(crate) rtt_ns: Option<u64>,
    /// Both SYNs were captured: windows can be scaled.
    pub(crate) scale_known: bool,
}

impl TcpTracker {
    /// `true` when a SYN of the client would begin another connection: this one is over, or it has other sequence numbers.
    pub(crate) fn is_succeeded_by(&self, direction: FrameDirection, seq: u32) -> bool {
        let half = match direction {
            FrameDirection::ToServer => &self.client,
            FrameDirection::ToClient => &self.server,
        };
        half.sent_any && half.base != Some(seq)
    }

    /// `true` when both ends have closed, or one reset it.
    pub(crate) fn is_over(&self) -> bool {
        self.reset.is_some() || (self.client.fin_seen && self.server.fin_seen)
    }

    /// `true` when the handshake is complete, or was before the capture.
    pub(crate) fn is_open(&self) -> bool {
        self.client.sent_any && self.server.sent_any
    }

    /// The smallest round-trip time known, ns: that of the handshake, or those of acknowledgements in both directions together.
    pub(crate) fn min_rtt_ns(&self) -> Option<u64> {
        let halves = [&self.client.ack_rtt, &self.server.ack_rtt];
        let both: u64 = halves.iter().filter_map(|half| half.min_ns()).sum();
        [self.rtt_ns, Some(both)]
            .into_iter()
            .flatten()
            .filter(|ns| *ns > 0)
            .min()
    }

    /// The clock was set: no time since what was sent before is known.
    pub(crate) fn forget_times(&mut self) {
        for half in [&mut self.client, &mut self.server] {
            half.unacked.forget();
            half.stamps = SentStamps::default();
            half.late_ack_ns = None;
        }
        self.responses.forget_open();
        self.opening.forget_times();
    }

    /// Takes in a segment.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        direction: FrameDirection,
        segment: &TrackedSegment<'_>,
    ) -> SegmentOutcome {
        if !self.opening.is_complete() {
            self.opening.segment(direction, segment);
            self.rtt_ns = self.opening.rtt_ns();
        }
        let (me, other) = match direction {
            FrameDirection::ToServer => (&mut self.client, &mut self.server),
            FrameDirection::ToClient => (&mut self.server, &mut self.client),
        };
        let flags = segment.header.flags;
        if flags.any(TcpFlags::SYN) {
            me.offer.get_or_insert_with(|| offer(segment));
        }
        if !self.scale_known {
            self.scale_known = me.offer.is_some() && other.offer.is_some();
        }
        let mut step = Step {
            me,
            other,
            segment,
            evidence: &mut self.evidence,
            rtt_ns: self.rtt_ns,
            scale_known: self.scale_known,
            is_partial: segment.header.checksum == pseudo_header_sum(segment),
        };
        let outcome = step.run();
        if outcome.new_bytes > 0 {
            self.responses.push(&NewPayload {
                direction,
                at_ns: segment.at_ns,
                bytes: outcome.new_bytes,
                push: flags.any(TcpFlags::PSH | TcpFlags::FIN),
                acks_all: match direction {
                    FrameDirection::ToServer => self.client.acked >= Some(self.server.next),
                    FrameDirection::ToClient => self.server.acked >= Some(self.client.next),
                },
            });
        }
        if flags.any(TcpFlags::RST) {
            self.reset.get_or_insert((segment.frame, direction));
            self.evidence.note(FindingCode::Reset, segment.frame);
        }
        outcome
    }
}

/// One segment on its way through the state of both directions.
struct Step<'a, 's> {
    me: &'a mut TcpHalf,
    other: &'a mut TcpHalf,
    segment: &'a TrackedSegment<'s>,
    evidence: &'a mut EvidenceLog,
    rtt_ns: Option<u64>,
    scale_known: bool,
    /// The checksum is that of the pseudo-header alone.
    is_partial: bool,
}

impl Step<'_, '_> {
    #[inline]
    fn run(&mut self) -> SegmentOutcome {
        let segment = self.segment;
        let (header, flags) = (segment.header, segment.header.flags);
        self.begin();
        let seq = self.me.relative(header.seq);
        let class = classify(self.me, self.other, segment, seq, self.rtt_ns);
        self.count_frame();
        let new_bytes = self.sequence(seq, class);
        let mut outcome = SegmentOutcome {
            seq,
            ack: None,
            window: 0,
            class,
            ack_class: AckClass::Plain,
            zero_window: false,
            window_full: false,
            wire_segments: self.me.segments.push(segment, self.mss()),
            in_flight: None,
            ack_rtt_ns: None,
            timestamp_rtt_ns: None,
            new_bytes,
        };
        if segment.payload_bytes > 0 {
            self.payload(&mut outcome);
        }
        let is_ack = flags.any(TcpFlags::ACK) && !flags.any(TcpFlags::RST);
        if is_ack {
            self.acknowledge(seq, &mut outcome);
        }
        self.window(&mut outcome);
        self.me.silence.heard(segment.since_start_ns);
        if class.is_retransmission() {
            self.other.silence.repeated(segment.frame);
            self.retransmission(seq, class);
        }
        self.me.last_was_keep_alive = class == SegmentClass::KeepAlive;
        self.me.sent_any = true;
        outcome
    }

    /// The MSS both ends agreed on, when both SYNs were captured.
    #[inline]
    fn mss(&self) -> Option<u16> {
        if !self.scale_known {
            return None;
        }
        let of = |half: &TcpHalf| half.offer.as_ref().and_then(|offer| offer.mss_bytes);
        // RFC 9293 section 3.7.1: an end that offers none takes 536.
        Some(
            of(self.me)
                .unwrap_or(536)
                .min(of(self.other).unwrap_or(536)),
        )
    }

    /// Sets what counts as 0 for both directions, as Wireshark does without a SYN: the first byte seen is 1.
    #[inline]
    fn begin(&mut self) {
        let (header, flags) = (self.segment.header, self.segment.header.flags);
        if self.me.base.is_none() {
            let syn = flags.any(TcpFlags::SYN);
            self.me.base = Some(header.seq.wrapping_sub(u32::from(!syn)));
            self.me.next = i64::from(!syn);
        } else if !self.me.sent_any
            && let Some(acked) = self.other.acked
        {
            // What the other end acknowledged before was not captured.
            self.me.next = acked;
            self.me.next = self.me.relative(header.seq);
        }
        if self.other.base.is_none() && flags.any(TcpFlags::ACK) && !flags.any(TcpFlags::RST) {
            self.other.base = Some(header.ack.wrapping_sub(1));
            self.other.next = 1;
        }
    }

    #[inline]
    fn count_frame(&mut self) {
        let (segment, flags) = (self.segment, self.segment.header.flags);
        let counts = &mut self.me.counts;
        counts.frames += 1;
        match segment.origin {
            FrameOrigin::Sent => counts.sent_here += 1,
            FrameOrigin::Received => counts.received_here += 1,
            FrameOrigin::Unknown => {}
        }
        if !flags.any(TcpFlags::SYN) {
            counts.ece += u64::from(flags.any(TcpFlags::ECE));
            counts.cwr += u64::from(flags.any(TcpFlags::CWR));
        }
        counts.partial_checksums += u64::from(self.is_partial);
        let closes = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;
        if segment.payload_bytes == 0 && !flags.any(closes) {
            counts.pure_acks += 1;
        }
    }

    /// Moves on in the sequence numbers; returns the payload that was not captured before.
    #[inline]
    fn sequence(&mut self, seq: i64, class: SegmentClass) -> u64 {
        let (me, segment) = (&mut *self.me, self.segment);
        let length = segment.length();
        let end = seq + length;
        if segment.header.flags.any(TcpFlags::FIN) {
            me.fin_seen = true;
            me.fin_frame = me.fin_frame.or(Some(segment.frame));
            me.fin_end = Some(end);
        }
        match class {
            SegmentClass::Empty | SegmentClass::KeepAlive => return 0,
            SegmentClass::ZeroWindowProbe => {
                me.probing = true;
                return 0;
            }
            SegmentClass::BeyondGap => {
                me.counts.beyond_gap += 1;
                me.gaps.open(me.next, seq, segment.at_ns);
                self.evidence
                    .note(FindingCode::SegmentsMissing, segment.frame);
            }
            SegmentClass::OutOfOrder => {
                me.counts.out_of_order += 1;
                me.unacked.sent_again(seq, end);
                self.evidence.note(FindingCode::OutOfOrder, segment.frame);
            }
            _ => {}
        }
        let mut new = (end - me.next.max(seq)).max(0);
        if seq < me.next && !me.gaps.is_empty() {
            new += me.gaps.fill(seq, end.min(me.next)).0 as i64;
        }
        if end > me.next {
            if length > 0 {
                me.unacked.sent(seq.max(me.next), end, segment.at_ns);
            }
            me.next = end;
            me.probing = false;
        }
        if let Some((value, _)) = segment.header.options.timestamps {
            me.stamps.sent(value, segment.at_ns);
        }
        // SYN and FIN count in sequence numbers and are no payload.
        let without_flags = new - (length - i64::from(segment.payload_bytes));
        without_flags.clamp(0, i64::from(segment.payload_bytes)) as u64
    }

    #[inline]
    fn payload(&mut self, outcome: &mut SegmentOutcome) {
        let (me, segment) = (&mut *self.me, self.segment);
        let bytes = u64::from(segment.payload_bytes);
        me.counts.data_frames += 1;
        me.counts.payload += bytes;
        me.counts.unique += outcome.new_bytes;
        let ends = segment.header.flags.any(TcpFlags::PSH | TcpFlags::FIN);
        me.runs.push(outcome.new_bytes, ends);
        me.bins
            .add(segment.since_start_ns, bytes, outcome.new_bytes);
        if let Some(last) = me.last_data_ns {
            let idle = segment.at_ns.saturating_sub(last);
            me.counts.max_idle_ns = me.counts.max_idle_ns.max(idle);
        }
        me.first_data_ns = me.first_data_ns.or(Some(segment.at_ns));
        if let Some(late) = me.late_ack_ns.take()
            && segment.at_ns.saturating_sub(late) < 2_000_000
        {
            me.counts.ack_stalls += 1;
            self.evidence
                .note(FindingCode::DelayedAckStall, segment.frame);
        }
        if outcome.wire_segments > 1 {
            self.evidence.note(FindingCode::SuperPackets, segment.frame);
        } else {
            me.counts.single_data += 1;
            me.counts.partial_single += u64::from(self.is_partial);
        }
        if let Some(acked) = self.other.acked {
            let flight = (me.next - acked).max(0) as u64;
            outcome.in_flight = Some(flight);
            me.counts.max_in_flight = me.counts.max_in_flight.max(Some(flight));
            let end = outcome.seq + i64::from(segment.payload_bytes);
            outcome.window_full = self.other.window > 0
                && self.scale_known
                && end == acked + self.other.window as i64;
            if outcome.window_full {
                self.other.counts.window_filled += 1;
                self.other.counts.largest_window_filled += 1;
                self.evidence.note(FindingCode::WindowFull, segment.frame);
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, seq: i64, outcome: &mut SegmentOutcome) {
        let segment = self.segment;
        let ack = match (self.other.sent_any, self.me.acked) {
            (false, Some(before)) => self.other.relative_near(before, segment.header.ack),
            _ => self.other.relative(segment.header.ack),
        };
        outcome.ack = Some(ack);
        outcome.ack_class = classify_ack(self.me, self.other, segment, seq, ack);
        match outcome.ack_class {
            AckClass::Unseen => {
                self.me.counts.acked_unseen += 1;
                let from = self.other.next;
                self.other.gaps.open(from, ack, segment.at_ns);
                self.other.next = ack;
                self.evidence
                    .note(FindingCode::AckedNotCaptured, segment.frame);
            }
            AckClass::Duplicate => {
                self.me.counts.duplicate_acks += 1;
                self.me.duplicates += 1;
                self.me.last_duplicate_ns = segment.at_ns;
            }
            AckClass::WindowUpdate => self.me.counts.window_updates += 1,
            AckClass::Plain | AckClass::KeepAliveAnswer => {}
        }
        let options = &segment.header.options;
        if options.sack_count > 0 {
            self.selective(ack);
        }
        if self.me.acked.is_none_or(|before| ack > before) {
            self.advance(ack, outcome);
        }
    }

    /// New data is acknowledged.
    #[inline]
    fn advance(&mut self, ack: i64, outcome: &mut SegmentOutcome) {
        let (me, other, segment) = (&mut *self.me, &mut *self.other, self.segment);
        me.acked = Some(ack);
        me.duplicates = 0;
        if let Some(watch) = &mut other.path_mtu {
            watch.acknowledged(ack);
        }
        if other.probing && ack > other.next {
            // The probe was taken: its byte counts now.
            other.counts.unique += 1;
            (other.next, other.probing) = (ack, false);
        }
        outcome.ack_rtt_ns = other.unacked.acknowledged(ack, segment.at_ns);
        if let Some(ns) = outcome.ack_rtt_ns {
            other.ack_rtt.push(ns);
            // A delayed acknowledgement takes 40 to 200 ms longer than the path (Linux TCP_DELACK_MIN and TCP_DELACK_MAX).
            let beyond = ns.saturating_sub(self.rtt_ns.unwrap_or(u64::MAX));
            let is_late = (30_000_000..300_000_000).contains(&beyond);
            // With more in flight, a queue on the way explains it as well.
            let is_all = ack == other.next && segment.payload_bytes == 0;
            other.late_ack_ns = (is_late && is_all).then_some(segment.at_ns);
        }
        if let Some((_, echo)) = segment.header.options.timestamps {
            outcome.timestamp_rtt_ns = other.stamps.echoed(echo, segment.at_ns);
            if let Some(ns) = outcome.timestamp_rtt_ns {
                other.timestamp_rtt.push(ns);
            }
        }
    }

    fn selective(&mut self, ack: i64) {
        let options = &self.segment.header.options;
        let blocks = &options.sack[..usize::from(options.sack_count)];
        let counts = &mut self.me.counts;
        counts.sack_frames += 1;
        counts.sack_blocks += blocks.len() as u64;
        // RFC 2883 section 4: the first block is below the acknowledgement, or inside the second.
        let end = |block: &(u32, u32)| self.other.relative(block.1);
        let begin = |block: &(u32, u32)| self.other.relative(block.0);
        let inside =
            |outer: &(u32, u32)| begin(&blocks[0]) >= begin(outer) && end(&blocks[0]) <= end(outer);
        if end(&blocks[0]) <= ack || blocks.get(1).is_some_and(inside) {
            counts.duplicate_sacks += 1;
        }
    }

    /// Takes in the window that the segment advertises.
    #[inline]
    fn window(&mut self, outcome: &mut SegmentOutcome) {
        let (me, segment) = (&mut *self.me, self.segment);
        let (flags, raw) = (segment.header.flags, segment.header.window);
        let shift = match (&me.offer, &self.other.offer) {
            _ if flags.any(TcpFlags::SYN) => 0,
            (Some(mine), Some(theirs)) if theirs.window_scale.is_some() => {
                mine.window_scale.unwrap_or(0)
            }
            _ => 0,
        };
        let window = u64::from(raw) << shift;
        outcome.window = window;
        let opens_or_closes = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;
        if !flags.any(opens_or_closes) {
            let counts = &mut me.counts;
            counts.window_min = Some(counts.window_min.unwrap_or(window).min(window));
            if window > counts.window_max {
                counts.window_max = window;
                counts.largest_window_filled = 0;
            }
            if raw == 0 {
                outcome.zero_window = true;
                counts.zero_windows += 1;
                self.evidence.note(FindingCode::ZeroWindow, segment.frame);
            }
        }
        if !flags.any(TcpFlags::RST) {
            (me.raw_window, me.window) = (raw, window);
        }
        match outcome.class {
            SegmentClass::KeepAlive => me.counts.keep_alives += 1,
            SegmentClass::ZeroWindowProbe => self.other.counts.zero_window_probes += 1,
            _ => {}
        }
        if segment.payload_bytes > 0 {
            me.last_data_ns = Some(segment.at_ns);
        }
    }

    fn retransmission(&mut self, seq: i64, class: SegmentClass) {
        let (me, segment) = (&mut *self.me, self.segment);
        let end = seq + segment.length();
        me.unacked.sent_again(seq, end);
        if segment.header.flags.any(TcpFlags::SYN) {
            self.evidence
                .note(FindingCode::HandshakeRepeated, segment.frame);
            return;
        }
        let counts = &mut me.counts;
        let (count, code) = match class {
            SegmentClass::FastRetransmission => (
                &mut counts.retransmissions.fast,
                FindingCode::Retransmissions,
            ),
            SegmentClass::TimeoutRetransmission => {
                (&mut counts.retransmissions.timeout, FindingCode::Timeouts)
            }
            SegmentClass::SpuriousRetransmission => (
                &mut counts.retransmissions.spurious,
                FindingCode::SpuriousRetransmissions,
            ),
            _ => (
                &mut counts.retransmissions.other,
                FindingCode::Retransmissions,
            ),
        };
        *count += 1;
        self.evidence.note(code, segment.frame);
        let bytes = &mut counts.retransmissions.bytes;
        *bytes += caudal_core::units::ByteCount::new(u64::from(segment.payload_bytes));
        let header = segment.header;
        me.path_mtu
            .get_or_insert_default()
            .sent_again(&SegmentSentAgain {
                frame: segment.frame,
                raw_seq: header.seq,
                seq,
                payload: segment.payload_bytes,
                packet_bytes: segment.ip.header_bytes + header.header_bytes + segment.payload_bytes,
                after_timeout: class == SegmentClass::TimeoutRetransmission,
            });
    }
}
