//! Spreading packets over time: a token bucket for bytes.

use super::window::{NS_PER_S, datagram_bytes};

/// Time's worth of data in a burst, ns, as far as a batch allows.
const QUANTUM_NS: u64 = 500_000;
/// Maximum lateness after a wait for which a sender catches up, ns; beyond it the sender was idle.
const MAX_LATENESS_NS: u64 = 1_000_000;

/// Spreads datagrams over time in bursts of half a millisecond.
///
/// A burst leaves whole, so that batches of datagrams stay large. Idleness earns one burst, no more. Lateness of up to a millisecond
/// is made up, so that coarse timers do not lower the rate; where a batch lasts a few microseconds only, as on loopback, a sender that
/// is always late is therefore never slowed down.
#[derive(Debug, Clone)]
pub struct DatagramPacer {
    datagram_bytes: u64,
    batch_bytes: u64,
    rate: Option<u64>,
    /// The time of the latest count of credit; `None` before the first rate.
    counted_ns: Option<u64>,
    /// What may leave, bytes × 10⁹: bytes a second times nanoseconds.
    credit: u128,
    /// Whether the latest answer was to wait.
    is_waiting: bool,
}

impl DatagramPacer {
    /// A pacer for datagrams with `packet_bytes` of payload in batches of at most `batch_bytes`, headers of RBT included in these.
    #[must_use]
    pub fn new(packet_bytes: u32, batch_bytes: u64) -> Self {
        Self {
            datagram_bytes: datagram_bytes(packet_bytes),
            batch_bytes,
            rate: None,
            counted_ns: None,
            credit: 0,
            is_waiting: false,
        }
    }

    /// The bytes that may leave now at `rate` bytes a second, at most `max_bytes`; without a rate all of them. Zero until a burst,
    /// or `max_bytes` if that is less, may leave whole.
    pub fn allowance(&mut self, now_ns: u64, rate: Option<u64>, max_bytes: u64) -> u64 {
        self.rate = rate.map(|rate| rate.max(1));
        let Some(rate) = self.rate else {
            self.counted_ns = None;
            self.is_waiting = false;
            return max_bytes;
        };
        self.fill(now_ns, rate);
        let allowed = u64::try_from(self.credit / u128::from(NS_PER_S)).unwrap_or(u64::MAX);
        self.is_waiting = allowed < self.quantum(rate).min(max_bytes);
        if self.is_waiting {
            0
        } else {
            allowed.min(max_bytes)
        }
    }

    /// Counts bytes that have left. Probes that did not ask may take the credit of others.
    pub fn on_sent(&mut self, bytes: u64) {
        let taken = u128::from(bytes) * u128::from(NS_PER_S);
        self.credit = self.credit.saturating_sub(taken);
    }

    /// The time when so many bytes, but at most a burst, may leave; it is past when they may leave now. `None` without a rate.
    #[must_use]
    pub fn next_ns(&self, bytes: u64) -> Option<u64> {
        let rate = self.rate?;
        let counted = self.counted_ns?;
        let needed = u128::from(bytes.min(self.quantum(rate))) * u128::from(NS_PER_S);
        let wait = needed
            .saturating_sub(self.credit)
            .div_ceil(u128::from(rate));
        Some(counted.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    /// The bytes of a burst.
    fn quantum(&self, rate: u64) -> u64 {
        let bytes = u128::from(rate) * u128::from(QUANTUM_NS) / u128::from(NS_PER_S);
        let max = self.batch_bytes.max(self.datagram_bytes);
        u64::try_from(bytes)
            .unwrap_or(u64::MAX)
            .clamp(self.datagram_bytes, max)
    }

    fn fill(&mut self, now_ns: u64, rate: u64) {
        let burst = u128::from(self.quantum(rate)) * u128::from(NS_PER_S);
        let Some(counted) = self.counted_ns else {
            self.counted_ns = Some(now_ns);
            self.credit = burst;
            return;
        };
        let elapsed = now_ns.saturating_sub(counted);
        let earned = u128::from(rate) * u128::from(elapsed);
        let credit = self.credit.saturating_add(earned);
        let late = u128::from(rate) * u128::from(MAX_LATENESS_NS);
        self.credit = if self.is_waiting && credit <= burst.saturating_add(late) {
            credit
        } else if elapsed <= QUANTUM_NS {
            // What lateness left to be caught up is spent batch by batch.
            self.credit.max(credit.min(burst))
        } else {
            credit.min(burst)
        };
        self.counted_ns = Some(counted.max(now_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const BATCH: u64 = 64_000;

    /// The bytes that leave in a second when the sender asks again `late_ns` after it may.
    fn sent_in_a_second(packet_bytes: u32, rate: u64, late_ns: u64) -> u64 {
        let mut pacer = DatagramPacer::new(packet_bytes, BATCH);
        let (mut now, mut sent) = (0, 0);
        while now < NS_PER_S {
            let allowed = pacer.allowance(now, Some(rate), BATCH);
            pacer.on_sent(allowed);
            sent += allowed;
            if allowed == 0 {
                now = pacer.next_ns(BATCH).expect("there is a rate") + late_ns;
            }
        }
        sent
    }

    #[test]
    fn the_rate_is_kept_by_a_sender_that_wakes_up_late() {
        for rate in [10_000, 1_250_000, 125_000_000, 1_250_000_000] {
            for late in [0, 60_000, 700_000] {
                let sent = sent_in_a_second(1400, rate, late);
                let most = rate + rate / 500 + BATCH + 1420;
                assert!(
                    (rate - rate / 500..=most).contains(&sent),
                    "{rate} {late}: {sent}"
                );
            }
        }
    }

    #[test]
    fn on_loopback_a_sender_that_is_always_late_is_not_slowed_down() {
        // 10 GB/s with a timer that is 60 µs late: a batch lasts 6.4 µs.
        let sent = sent_in_a_second(1400, 10_000_000_000, 60_000);
        assert!(sent >= 9_900_000_000, "{sent}");
    }

    #[test]
    fn a_burst_is_half_a_millisecond_between_a_datagram_and_a_batch() {
        for (rate, burst) in [
            (1_250_000, 1420),
            (12_500_000, 6250),
            (1_250_000_000, BATCH),
        ] {
            let mut pacer = DatagramPacer::new(1400, BATCH);
            assert_eq!(pacer.allowance(0, Some(rate), 1 << 20), burst);
        }
    }

    #[test]
    fn idleness_earns_one_burst() {
        let mut pacer = DatagramPacer::new(1400, BATCH);
        pacer.allowance(0, Some(12_500_000), BATCH);
        pacer.on_sent(6250);
        assert_eq!(pacer.allowance(0, Some(12_500_000), BATCH), 0);
        assert_eq!(pacer.allowance(100 * MS, Some(12_500_000), BATCH), 6250);
        pacer.on_sent(6250);
        assert_eq!(pacer.allowance(100 * MS, Some(12_500_000), BATCH), 0);
    }

    #[test]
    fn the_end_of_a_content_need_not_wait_for_a_whole_burst() {
        let mut pacer = DatagramPacer::new(1400, BATCH);
        pacer.allowance(0, Some(12_500_000), BATCH);
        pacer.on_sent(6250);
        assert_eq!(pacer.next_ns(BATCH), Some(500_000));
        assert_eq!(pacer.next_ns(100), Some(8_000));
        assert_eq!(pacer.allowance(8_000, Some(12_500_000), 100), 100);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = DatagramPacer::new(1400, BATCH);
        assert_eq!(pacer.allowance(0, None, 14_480), 14_480);
        pacer.on_sent(14_480);
        assert_eq!(pacer.next_ns(1420), None);
    }

    proptest! {
        #[test]
        fn no_input_overflows(
            calls in prop::collection::vec((any::<u64>(), any::<Option<u64>>(), any::<u64>()), 1..50),
            batch in any::<u64>(),
        ) {
            let mut pacer = DatagramPacer::new(1400, batch);
            for (now, rate, bytes) in calls {
                prop_assert!(pacer.allowance(now, rate, bytes) <= bytes);
                pacer.on_sent(bytes);
                prop_assert!(pacer.next_ns(bytes).is_some() == rate.is_some());
            }
        }

        #[test]
        fn no_second_carries_more_than_its_rate_and_a_burst(
            rate in 10_000u64..2_000_000_000,
            waits in prop::collection::vec(0u64..5_000_000, 1..200),
        ) {
            let mut pacer = DatagramPacer::new(1400, BATCH);
            let (mut now, mut sent) = (0, 0);
            for wait in waits {
                now += wait;
                let allowed = pacer.allowance(now, Some(rate), BATCH);
                pacer.on_sent(allowed);
                sent += allowed;
            }
            let most = u128::from(rate) * u128::from(now) / 1_000_000_000 + 64_000;
            prop_assert!(u128::from(sent) <= most, "{sent} {most}");
        }
    }
}
