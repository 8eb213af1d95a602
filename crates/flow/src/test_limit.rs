//! The limits of a running test: what its flows may still receive and send, and until when. Time is an argument.

use super::signals::FlowSignals;
use crate::memory::MemoryExhausted;
use crate::session_limits::SessionLimits;
use caudal_core::units::{BitRate, ByteCount};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Excess over the maximum duration allowed to a test that ends by itself, ns: its last payload is on the way.
const GRACE_NS: u64 = 1_000_000_000;
/// Time for which a TCP receiver that read less than allowed may catch up, ns.
const CATCH_UP_NS: u64 = 100_000_000;
/// Time's worth of bytes that a rate-limited TCP receiver reads at once, ns.
const READ_NS: u64 = 10_000_000;
/// Minimum read of such a receiver, bytes.
const MIN_READ: u64 = 1448;
/// Sustained rate of arriving datagrams that is allowed, in tenths of the limit.
const DATAGRAM_TENTHS: u64 = 12;
/// Burst of datagrams allowed beyond a second's worth of the rate, bytes.
const DATAGRAM_BURST_BYTES: u64 = 64 << 10;
/// Excess over the maximum allowed to each received flow, bytes: its sender counts whole blocks.
const LAST_BLOCK_BYTES: u64 = 128 << 10;
/// Maximum sleep between two checks of the signals, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// The limit of the server that a test reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
    /// The duration.
    #[error("the server's time limit was reached")]
    Time,
    /// The rate.
    #[error("it sent faster than the {0} that the server allows")]
    Rate(BitRate),
    /// Connections per second.
    #[error("it opened connections faster than the server allows")]
    Connections,
    /// The amount of payload.
    #[error("the server's limit of {0} a test was reached")]
    Bytes(ByteCount),
    /// The memory of all clients.
    #[error(transparent)]
    Memory(#[from] MemoryExhausted),
}

/// The end of a test that its plan gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedEnd {
    /// It ends by itself, within the maximum duration or soon after it.
    ByItself,
    /// It may go on.
    Unknown,
}

/// The limits of a running test, shared by its flows.
///
/// A flow that receives over TCP reads no faster than the rate, so that its sender is held by the window. What arrives over UDP
/// cannot be held: a test whose datagrams arrive faster than 1.2 times the rate, and a second's worth more, is ended.
#[derive(Debug)]
pub struct TestLimit {
    limits: SessionLimits,
    grace_ns: u64,
    /// The start, ns of the monotonic clock; 0 before.
    start_ns: AtomicU64,
    /// The time at which what was received is within the rate, ns of the monotonic clock.
    within_rate_ns: AtomicU64,
    /// Payload received.
    received: AtomicU64,
    max_received: AtomicU64,
    /// Payload sent.
    sent: AtomicU64,
    reached: OnceLock<LimitReached>,
}

impl TestLimit {
    /// The limits of a test that has not begun.
    pub fn new(limits: &SessionLimits, end: PlannedEnd) -> Self {
        let max_bytes = limits.max_bytes.map_or(u64::MAX, ByteCount::get);
        Self {
            limits: limits.clone(),
            grace_ns: match end {
                PlannedEnd::ByItself => GRACE_NS,
                PlannedEnd::Unknown => 0,
            },
            start_ns: AtomicU64::new(0),
            within_rate_ns: AtomicU64::new(0),
            received: AtomicU64::new(0),
            max_received: AtomicU64::new(max_bytes),
            sent: AtomicU64::new(0),
            reached: OnceLock::new(),
        }
    }

    /// The limits of the server, which hold for every test.
    pub const fn server(&self) -> &SessionLimits {
        &self.limits
    }

    /// `true` when flows need not look at rate and amount.
    pub const fn is_unlimited(&self) -> bool {
        self.limits.max_rate.is_none() && self.limits.max_bytes.is_none()
    }

    /// Starts the clock of the maximum duration at `now_ns`; the first time counts.
    pub fn start(&self, now_ns: u64) {
        let _ = self
            .start_ns
            .compare_exchange(0, now_ns.max(1), Relaxed, Relaxed);
    }

    /// Takes note of a flow that will be received.
    pub fn add_receiver(&self) {
        let _ = self.max_received.fetch_update(Relaxed, Relaxed, |max| {
            (max != u64::MAX).then(|| max.saturating_add(LAST_BLOCK_BYTES))
        });
    }

    /// The time at which the test is to be ended, ns of the monotonic clock.
    pub fn due_ns(&self) -> Option<u64> {
        let max_ns = u64::try_from(self.limits.max_time?.as_nanos()).unwrap_or(u64::MAX / 4);
        match self.start_ns.load(Relaxed) {
            0 => None,
            start_ns => Some(
                start_ns
                    .saturating_add(max_ns)
                    .saturating_add(self.grace_ns),
            ),
        }
    }

    /// The limit that the test has reached at `now_ns`.
    pub fn reached(&self, now_ns: u64) -> Option<LimitReached> {
        if self.due_ns().is_some_and(|due_ns| now_ns >= due_ns) {
            return Some(self.reach(LimitReached::Time));
        }
        self.exceeded()
    }

    /// The limit that flows have exceeded.
    pub fn exceeded(&self) -> Option<LimitReached> {
        self.reached.get().copied()
    }

    /// Takes note that a limit was reached: the first one that was.
    pub fn reach(&self, limit: LimitReached) -> LimitReached {
        *self.reached.get_or_init(|| limit)
    }

    /// The time to wait at `now_ns` before a TCP receiver may read, ns.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        match self.limits.max_rate {
            Some(_) => self.within_rate_ns.load(Relaxed).saturating_sub(now_ns),
            None => 0,
        }
    }

    /// Waits until a TCP receiver may read; `false` when its flow is stopped meanwhile.
    pub fn wait_to_read(&self, signals: &FlowSignals) -> bool {
        loop {
            if signals.is_stopped() {
                return false;
            }
            if self.limits.max_rate.is_none() {
                return true;
            }
            let now_ns = monotonic_ns();
            match self.wait_ns(now_ns) {
                0 => return true,
                wait_ns => sleep_until(now_ns + wait_ns.min(MAX_SLEEP_NS)),
            }
        }
    }

    /// The maximum that a TCP receiver with this much room may read at once: one byte beyond the amount shows that it is exceeded.
    pub fn max_read(&self, room: usize) -> usize {
        let by_rate = self.limits.max_rate.map_or(u64::MAX, |rate| {
            (rate.bps() / 8 * (READ_NS / 1_000_000) / 1000).max(MIN_READ)
        });
        let left = self
            .max_received
            .load(Relaxed)
            .saturating_sub(self.received.load(Relaxed));
        let max = by_rate.min(left.saturating_add(1));
        room.min(usize::try_from(max).unwrap_or(usize::MAX))
    }

    /// Takes `bytes` that were received over TCP, for which the next read waits.
    ///
    /// # Errors
    /// When they exceed the amount.
    pub fn take_stream(&self, bytes: u64, now_ns: u64) -> Result<(), LimitReached> {
        if let Some(rate) = self.limits.max_rate {
            self.charge(bytes, rate.bps(), now_ns.saturating_sub(CATCH_UP_NS));
        }
        self.take_payload(bytes)
    }

    /// Takes datagrams of `bytes` in total that arrived, of which `payload` bytes count.
    ///
    /// # Errors
    /// When they exceed the amount, or arrived too fast.
    pub fn take_datagrams(
        &self,
        bytes: u64,
        payload: u64,
        now_ns: u64,
    ) -> Result<(), LimitReached> {
        if let Some(rate) = self.limits.max_rate {
            let tolerated = (rate.bps() / 10).saturating_mul(DATAGRAM_TENTHS).max(1);
            let within_ns = self.charge(bytes, tolerated, now_ns);
            let burst_bytes = rate.bps() / 8 + DATAGRAM_BURST_BYTES;
            let burst_ns = transmission_ns(burst_bytes, tolerated);
            if within_ns > now_ns.saturating_add(burst_ns) {
                return Err(self.reach(LimitReached::Rate(rate)));
            }
        }
        self.take_payload(payload)
    }

    /// Adds the time that `bytes` take at `bps` to the schedule, which is not before `floor_ns`: its new end.
    fn charge(&self, bytes: u64, bps: u64, floor_ns: u64) -> u64 {
        let took_ns = transmission_ns(bytes, bps);
        let next = |within_ns: u64| within_ns.max(floor_ns).saturating_add(took_ns);
        let before = self
            .within_rate_ns
            .fetch_update(Relaxed, Relaxed, |within_ns| Some(next(within_ns)));
        next(before.unwrap_or(0))
    }

    fn take_payload(&self, bytes: u64) -> Result<(), LimitReached> {
        let received = self.received.fetch_add(bytes, Relaxed) + bytes;
        match self.limits.max_bytes {
            Some(max) if received > self.max_received.load(Relaxed) => {
                Err(self.reach(LimitReached::Bytes(max)))
            }
            _ => Ok(()),
        }
    }

    /// The payload that may still be sent, bytes.
    ///
    /// # Errors
    /// When that is none.
    pub fn room_to_send(&self) -> Result<u64, LimitReached> {
        let Some(max) = self.limits.max_bytes else {
            return Ok(u64::MAX);
        };
        match max.get().saturating_sub(self.sent.load(Relaxed)) {
            0 => Err(self.reach(LimitReached::Bytes(max))),
            room => Ok(room),
        }
    }

    /// Takes note of `bytes` that were sent.
    pub fn add_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Relaxed);
    }
}

/// The time that `bytes` take at `bps`, ns.
fn transmission_ns(bytes: u64, bps: u64) -> u64 {
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(bps.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn limit_of(limits: &SessionLimits) -> TestLimit {
        let limit = TestLimit::new(limits, PlannedEnd::ByItself);
        limit.add_receiver();
        limit
    }

    fn rate_limit(bps: u64) -> TestLimit {
        limit_of(&SessionLimits {
            max_rate: Some(BitRate::from_bps(bps)),
            ..SessionLimits::default()
        })
    }

    /// Offers datagrams of 1000 bytes at `bps` for `s` seconds: the bytes that were taken, and the limit that was reached.
    fn offer(limit: &TestLimit, bps: u64, s: u64) -> (u64, Option<LimitReached>) {
        let gap_ns = 8_000_000_000_000 / bps;
        let mut taken = 0;
        for nth in 0..s * 1_000_000_000 / gap_ns {
            if let Err(reached) = limit.take_datagrams(1000, 1000, 1 + nth * gap_ns) {
                return (taken, Some(reached));
            }
            taken += 1000;
        }
        (taken, None)
    }

    #[test]
    fn datagrams_far_beyond_the_rate_end_a_test_and_a_little_beyond_do_not() {
        let rate = BitRate::from_bps(8_000_000);
        for tenths in [5, 10, 11, 12] {
            let (_, reached) = offer(&rate_limit(rate.bps()), rate.bps() / 10 * tenths, 20);
            assert_eq!(reached, None, "{tenths} tenths");
        }
        for times in [2, 10, 1000] {
            let (taken, reached) = offer(&rate_limit(rate.bps()), rate.bps() * times, 20);
            assert_eq!(reached, Some(LimitReached::Rate(rate)), "{times} times");
            assert!(
                (1_000_000..3_000_000).contains(&taken),
                "{times} times: {taken}"
            );
        }
    }

    #[test]
    fn one_byte_beyond_the_amount_and_the_last_block_ends_a_test() {
        let max = ByteCount::new(1_000_000);
        let limit = limit_of(&SessionLimits {
            max_bytes: Some(max),
            ..SessionLimits::default()
        });
        let mut received = 0;
        let reached = loop {
            let read = limit.max_read(1 << 20) as u64;
            received += read;
            if let Err(reached) = limit.take_stream(read, 1) {
                break reached;
            }
        };
        assert_eq!(reached, LimitReached::Bytes(max));
        assert_eq!(received, 1_000_000 + LAST_BLOCK_BYTES + 1);
        assert_eq!(limit.reached(1), Some(reached));
    }

    #[test]
    fn the_amount_that_is_sent_is_exact() {
        let limit = limit_of(&SessionLimits {
            max_bytes: Some(ByteCount::new(1_000_000)),
            ..SessionLimits::default()
        });
        assert_eq!(limit.room_to_send(), Ok(1_000_000));
        limit.add_sent(999_999);
        assert_eq!(limit.room_to_send(), Ok(1));
        limit.add_sent(1);
        assert!(limit.room_to_send().is_err());
        assert!(limit.reached(1).is_some());
    }

    #[test]
    fn the_time_counts_from_the_start_with_a_grace_where_the_test_ends_by_itself() {
        let limits = SessionLimits {
            max_time: Some(Duration::from_nanos(500)),
            ..SessionLimits::default()
        };
        for (end, due_ns) in [
            (PlannedEnd::Unknown, 1500),
            (PlannedEnd::ByItself, 1500 + GRACE_NS),
        ] {
            let limit = TestLimit::new(&limits, end);
            assert_eq!(limit.reached(u64::MAX), None, "it has not begun");
            limit.start(1000);
            limit.start(2000);
            assert_eq!(limit.due_ns(), Some(due_ns));
            assert_eq!(limit.reached(due_ns - 1), None);
            assert_eq!(limit.reached(due_ns), Some(LimitReached::Time));
        }
    }

    proptest! {
        /// A reader that waits for as long as given reads no more than the rate, however irregularly it is scheduled.
        #[test]
        fn a_reader_that_waits_keeps_the_rate(
            bps in 1000_u64..10_000_000_000,
            pauses in prop::collection::vec(0_u64..300_000_000, 1..200),
        ) {
            let limit = rate_limit(bps);
            let begin_ns = 1_000_000_000;
            let (mut now_ns, mut received) = (begin_ns, 0);
            let mut largest = 0;
            for pause_ns in pauses {
                now_ns += limit.wait_ns(now_ns) + pause_ns;
                let read = limit.max_read(1 << 20) as u64;
                largest = largest.max(read);
                limit.take_stream(read, now_ns).unwrap();
                received += read;
            }
            let elapsed_s = (now_ns - begin_ns + CATCH_UP_NS) as f64 / 1e9;
            let max = elapsed_s * bps as f64 / 8.0 + 2.0 * largest as f64;
            prop_assert!(received as f64 <= max, "{received} of {max}");
        }
    }
}
