//! The definitions of docs/captures.md and Wireshark's, applied to the frames of one TCP connection, and what each makes of a frame.

use super::tshark::TsharkFrame;

/// Without a round-trip time, what fills a gap within this time is out of order.
const OUT_OF_ORDER_NS: u64 = 3_000_000;
/// Wireshark's time for a fast retransmission after a duplicate ACK.
const FAST_NS: u64 = 20_000_000;
/// The shortest silence before a retransmission after a timeout.
const TIMEOUT_NS: u64 = 190_000_000;

/// What was captured of one direction.
#[derive(Debug, Default)]
struct DirectionModel {
    started: bool,
    /// Behind the highest sequence number, and when it was captured.
    next: i64,
    next_ns: u64,
    /// Begin, end and time of what was skipped.
    gaps: Vec<(i64, i64, u64)>,
    /// What was captured below the highest number.
    late: Vec<(i64, i64)>,
    /// Where segments end that were captured in order, and when.
    ends: Vec<(i64, u64)>,
    last_payload_ns: u64,
    /// The highest acknowledgement of this end.
    acked: i64,
    /// That of its latest frame, which another may have overtaken.
    latest_ack: i64,
    last_duplicate_ack_ns: u64,
    /// Duplicate ACKs of tshark in a row.
    duplicate_acks: u32,
    sacked: Vec<(i64, i64)>,
}

/// A connection followed frame by frame. Directions are 0 for the client's frames and 1 for the server's.
#[derive(Debug)]
pub struct SequenceModel {
    directions: [DirectionModel; 2],
    rtt_ns: Option<u64>,
}

/// What `caudal pcap` said of a frame, in the words of the sequence diagram.
#[derive(Debug, Default, Clone)]
pub struct FrameLabels(Vec<String>);

impl FrameLabels {
    pub fn of(text: &str) -> Self {
        Self(text.split(", ").map(str::to_owned).collect())
    }

    pub fn has(&self, label: &str) -> bool {
        self.0.iter().any(|known| known == label)
    }

    pub fn is_retransmission(&self) -> bool {
        let kinds = [
            "retransmission",
            "fast retransmission",
            "spurious retransmission",
        ];
        kinds.iter().any(|kind| self.has(kind)) || self.has("retransmission after timeout")
    }
}

impl SequenceModel {
    pub fn new(rtt_ns: Option<u64>) -> Self {
        Self {
            directions: Default::default(),
            rtt_ns,
        }
    }

    /// `true` for a segment below the highest sequence number.
    pub fn is_late(&self, direction: usize, frame: &TsharkFrame) -> bool {
        let me = &self.directions[direction];
        me.started && frame.length() > 0 && frame.seq < me.next && !frame.notes.keep_alive
    }

    /// What contradicts the definitions in what both programs said of a segment below the highest sequence number.
    pub fn late_segment(
        &self,
        direction: usize,
        frame: &TsharkFrame,
        ours: &FrameLabels,
    ) -> Option<&'static str> {
        let (me, other) = (&self.directions[direction], &self.directions[1 - direction]);
        let (theirs, at) = (&frame.notes, frame.at_ns);
        let limit = self.rtt_ns.unwrap_or(OUT_OF_ORDER_NS);
        let overtaken = me.fills_a_recent_gap(frame, limit);
        // tshark starts again at a window update, and counts frames that are the one before them once more.
        let are_two = other.duplicate_acks >= 2;
        let is_sacked = other.has_sacked(frame);
        let is_spurious = ours.has("spurious retransmission");
        let (is_late, is_again) = (ours.has("out of order"), ours.is_retransmission());
        let wrong = [
            (
                is_late != overtaken,
                "out of order is what fills a gap within a round trip",
            ),
            (
                is_late == is_again,
                "what is not out of order is a retransmission",
            ),
            (
                !theirs.out_of_order && !theirs.retransmission,
                "tshark knows it as neither",
            ),
            (
                is_late && !theirs.out_of_order && !theirs.fast,
                "tshark has a retransmission that is not fast",
            ),
            (
                is_again && theirs.out_of_order && at - me.next_ns >= limit,
                "tshark's out of order is within a round trip of the highest number",
            ),
            (
                theirs.fast && are_two && !is_late && !ours.has("fast retransmission"),
                "tshark has a fast one",
            ),
            (
                ours.has("fast retransmission")
                    && !theirs.fast
                    && !theirs.spurious
                    && are_two
                    && at - other.last_duplicate_ack_ns <= FAST_NS,
                "tshark has none that is fast",
            ),
            (
                is_spurious != theirs.spurious && frame.payload > 0 && !is_sacked,
                "spurious retransmission",
            ),
            (
                ours.has("retransmission after timeout") && at - me.last_payload_ns < TIMEOUT_NS,
                "a timeout takes longer",
            ),
        ];
        wrong.into_iter().find(|rule| rule.0).map(|rule| rule.1)
    }

    /// What contradicts the definitions in what both programs said of the acknowledgement of a frame.
    pub fn acknowledgement(
        &self,
        direction: usize,
        frame: &TsharkFrame,
        ours: &FrameLabels,
    ) -> Option<&'static str> {
        let me = &self.directions[direction];
        let outstanding = self.directions[1 - direction].next > frame.ack;
        let expected = frame.notes.duplicate_ack && outstanding && frame.ack == me.acked;
        // Behind an acknowledgement that was overtaken, only Wireshark's rule sees a number that is new.
        let is_hidden = frame.ack == me.acked && me.latest_ack != me.acked;
        let is_wrong = ours.has("duplicate ACK") != expected && !is_hidden;
        let wrong = [
            (is_wrong, "duplicate ACK"),
            (
                ours.has("zero window") != frame.notes.zero_window,
                "zero window",
            ),
            (
                ours.has("zero-window probe") != frame.notes.zero_window_probe,
                "zero-window probe",
            ),
            (
                ours.has("previous segment not captured") != frame.notes.lost_segment,
                "previous segment not captured",
            ),
        ];
        wrong.into_iter().find(|rule| rule.0).map(|rule| rule.1)
    }

    /// `true` when the acknowledgement of a frame says nothing of a round trip: it acknowledges nothing new, or what was sent again or
    /// came late.
    pub fn tells_no_rtt(&self, direction: usize, frame: &TsharkFrame) -> bool {
        let (me, other) = (&self.directions[direction], &self.directions[1 - direction]);
        let is_new = |range: &&(i64, i64)| range.1 > me.acked && range.0 < frame.ack;
        frame.ack <= me.acked || other.late.iter().any(|range| is_new(&range))
    }

    /// The time since the last segment that ends at the acknowledgement of a frame or before it, ns, and whether it ends there.
    pub fn acknowledged(&self, direction: usize, frame: &TsharkFrame) -> Option<(u64, bool)> {
        let other = &self.directions[1 - direction];
        let ended = other.ends.iter().rev().find(|end| end.0 <= frame.ack);
        ended.map(|end| (frame.at_ns - end.1, end.0 == frame.ack))
    }

    /// Takes in a frame after it was judged.
    pub fn push(&mut self, direction: usize, frame: &TsharkFrame) {
        let is_late = self.is_late(direction, frame);
        let me = &mut self.directions[direction];
        let (begin, end) = (frame.seq, frame.seq + frame.length());
        if is_late {
            me.late.push((begin, end));
            me.fill(begin, end);
        }
        let is_probe = frame.notes.keep_alive || frame.notes.zero_window_probe;
        if !is_probe && !frame.is_reset() && end > me.next {
            if me.started && begin > me.next {
                me.gaps.push((me.next, begin, frame.at_ns));
            }
            (me.next, me.next_ns) = (end, frame.at_ns);
            if frame.length() > 0 {
                me.ends.push((end, frame.at_ns));
            }
        }
        if frame.payload > 0 {
            me.last_payload_ns = frame.at_ns;
        }
        if frame.has_ack() && !frame.is_reset() {
            me.acked = me.acked.max(frame.ack);
            me.latest_ack = frame.ack;
            me.sacked.extend(&frame.sack);
        }
        if frame.notes.duplicate_ack {
            me.last_duplicate_ack_ns = frame.at_ns;
            me.duplicate_acks += 1;
        } else {
            me.duplicate_acks = 0;
        }
        me.started = true;
    }
}

impl DirectionModel {
    /// `true` for bytes that were not captured before, when the gap was opened less than `limit` ago.
    fn fills_a_recent_gap(&self, frame: &TsharkFrame, limit: u64) -> bool {
        let (begin, end) = (frame.seq, frame.seq + frame.length());
        let filled = self.gaps.iter().find(|gap| gap.0 < end && begin < gap.1);
        end < self.next && filled.is_some_and(|gap| frame.at_ns - gap.2 < limit)
    }

    /// `true` when this end has reported that it has the bytes of a frame.
    fn has_sacked(&self, frame: &TsharkFrame) -> bool {
        let (begin, end) = (frame.seq, frame.seq + frame.length());
        let mut blocks = self.sacked.iter();
        blocks.any(|block| block.0 <= begin && end <= block.1)
    }

    /// Takes a range out of the gaps.
    fn fill(&mut self, begin: i64, end: i64) {
        let left = self
            .gaps
            .iter()
            .flat_map(|&(low, high, at)| [(low, high.min(begin), at), (low.max(end), high, at)]);
        self.gaps = left.filter(|gap| gap.0 < gap.1).collect();
    }
}
