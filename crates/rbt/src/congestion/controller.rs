//! The input of a congestion controller, and what it decides.

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub struct SentPackets {
    /// The time, ns.
    pub now_ns: u64,
    /// Payload bytes of RBT in them, headers included.
    pub bytes: u64,
    /// Bytes in flight before them.
    pub in_flight: u64,
}

/// What the acknowledgement of one or more packets showed. One value for each acknowledgement datagram, however many packets it
/// acknowledges.
#[derive(Debug, Clone, Copy)]
pub struct AckedPackets {
    /// The time, ns.
    pub now_ns: u64,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// The departure of the newest of them, ns.
    pub newest_sent_ns: u64,
    /// The number of the newest of them.
    pub newest_pn: u64,
    /// The number of the next packet to be sent: the end of a round is its acknowledgement.
    pub next_pn: u64,
    /// The round-trip time of the newest packet; `None` when the acknowledgement gives no sample.
    pub rtt_ns: Option<u64>,
    /// The smoothed round-trip time, ns.
    pub smoothed_rtt_ns: u64,
    /// The minimum round-trip time, ns.
    pub min_rtt_ns: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// The delivery rate over the packets acknowledged; `None` without an interval.
    pub rate: Option<DeliveryRateSample>,
    /// `true` when the window was used up since the last acknowledgement: a window that nobody needs does not grow.
    pub is_window_limited: bool,
    /// Packets that the acknowledgement newly reports as marked with Congestion Experienced.
    pub marked: u64,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Debug, Clone, Copy)]
pub struct DeliveryRateSample {
    /// Bytes a second.
    pub bytes_per_s: u64,
    /// Bytes delivered when the newest packet of the sample left.
    pub prior_delivered: u64,
    /// Bytes delivered in all.
    pub delivered: u64,
    /// `true` when the sender had nothing to send for a part of it.
    pub is_app_limited: bool,
}

/// Packets that were declared lost.
#[derive(Debug, Clone, Copy)]
pub struct LostPackets {
    /// The time, ns.
    pub now_ns: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The departure of the newest of them, ns: one reaction for each round trip.
    pub newest_sent_ns: u64,
    /// The number of the newest of them.
    pub newest_pn: u64,
    /// Bytes in flight after them.
    pub in_flight: u64,
    /// `true` when nothing sent over three probe timeouts arrived (RFC 9002, section 7.6).
    pub is_persistent: bool,
}

/// A congestion controller: it limits the bytes in flight and the rate at which they leave.
pub trait CongestionController {
    /// Packets were sent.
    fn on_sent(&mut self, sent: &SentPackets);

    /// Packets were acknowledged.
    fn on_acked(&mut self, acked: &AckedPackets);

    /// Packets were declared lost.
    fn on_lost(&mut self, lost: &LostPackets);

    /// Every packet of the latest reaction to loss arrived after all: the reaction is undone.
    fn on_spurious_loss(&mut self, now_ns: u64);

    /// The maximum bytes in flight.
    fn window(&self) -> u64;

    /// The rate at which packets are to leave, bytes a second; `None` before there is a round-trip time.
    fn pacing_rate(&self) -> Option<u64>;

    /// `true` while the window grows exponentially.
    fn is_slow_start(&self) -> bool;

    /// Its name: `cubic`, `newreno`, `bbr`, `fixed`.
    fn name(&self) -> &'static str;
}

/// An acknowledgement for tests: one packet of `bytes` that left 50 ms before `now_ns`, by a sender that uses its window.
#[cfg(test)]
pub(super) fn sample_ack(now_ns: u64, bytes: u64) -> AckedPackets {
    AckedPackets {
        now_ns,
        bytes,
        newest_sent_ns: now_ns.saturating_sub(50_000_000),
        newest_pn: 0,
        next_pn: 1,
        rtt_ns: Some(50_000_000),
        smoothed_rtt_ns: 50_000_000,
        min_rtt_ns: 50_000_000,
        in_flight: 0,
        rate: None,
        is_window_limited: true,
        marked: 0,
    }
}

/// A loss for tests: a packet that left at `newest_sent_ns` was declared lost at `now_ns`.
#[cfg(test)]
pub(super) fn sample_loss(now_ns: u64, newest_sent_ns: u64) -> LostPackets {
    LostPackets {
        now_ns,
        bytes: 1420,
        newest_sent_ns,
        newest_pn: 0,
        in_flight: 0,
        is_persistent: false,
    }
}
