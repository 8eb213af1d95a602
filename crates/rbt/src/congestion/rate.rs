//! The delivery rate: what arrives between the departure of a packet and its acknowledgement.
//!
//! Source: draft-ietf-ccwg-bbr, section 4.1.

use super::controller::DeliveryRateSample;
use super::window::NS_PER_S;

/// What is stored with every packet that is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateStamp {
    /// Bytes delivered when the packet left.
    pub delivered: u64,
    /// When they had been delivered, ns.
    pub delivered_time_ns: u64,
    /// The departure of the packet whose acknowledgement was the latest at that time, ns: the beginning of the flight.
    pub first_sent_ns: u64,
    /// `true` when the sender had nothing to send shortly before.
    pub is_app_limited: bool,
}

/// The newest packet of an acknowledgement so far.
#[derive(Debug, Clone, Copy)]
struct NewestPacket {
    sent_ns: u64,
    stamp: RateStamp,
}

/// Estimates the delivery rate, acknowledgement by acknowledgement.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time_ns: u64,
    first_sent_ns: u64,
    /// The flow is limited by its application until more than this is delivered.
    app_limited_until: Option<u64>,
    newest: Option<NewestPacket>,
}

impl DeliveryRate {
    /// An estimator of a session that has sent nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The stamp of a packet that leaves at `now_ns` with `in_flight` bytes before it.
    pub fn on_sent(&mut self, now_ns: u64, in_flight: u64) -> RateStamp {
        if in_flight == 0 {
            self.first_sent_ns = now_ns;
            self.delivered_time_ns = now_ns;
        }
        RateStamp {
            delivered: self.delivered,
            delivered_time_ns: self.delivered_time_ns,
            first_sent_ns: self.first_sent_ns,
            is_app_limited: self.app_limited_until.is_some(),
        }
    }

    /// Notes that there is nothing to send although window and pacing would allow it, with `in_flight` bytes in flight.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered.saturating_add(in_flight));
    }

    /// Counts a newly acknowledged packet of `bytes`; or all of an acknowledgement at once, with the newest of them.
    pub fn on_acked(&mut self, now_ns: u64, bytes: u64, sent_ns: u64, stamp: &RateStamp) {
        self.delivered = self.delivered.saturating_add(bytes);
        self.delivered_time_ns = now_ns;
        let is_newest = self.newest.is_none_or(|newest| {
            (sent_ns, stamp.delivered) >= (newest.sent_ns, newest.stamp.delivered)
        });
        if is_newest {
            self.newest = Some(NewestPacket {
                sent_ns,
                stamp: *stamp,
            });
        }
    }

    /// The sample of the packets counted since the last one. `None` when there were none, or when their interval is shorter than
    /// the minimum round-trip time: such a rate would be too high.
    pub fn sample(&mut self, min_rtt_ns: u64) -> Option<DeliveryRateSample> {
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
        let NewestPacket { sent_ns, stamp } = self.newest.take()?;
        self.first_sent_ns = self.first_sent_ns.max(sent_ns);
        let send_elapsed = sent_ns.saturating_sub(stamp.first_sent_ns);
        let ack_elapsed = self
            .delivered_time_ns
            .saturating_sub(stamp.delivered_time_ns);
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min_rtt_ns {
            return None;
        }
        let bytes = u128::from(self.delivered.saturating_sub(stamp.delivered));
        let rate = (bytes * u128::from(NS_PER_S)).checked_div(u128::from(interval))?;
        Some(DeliveryRateSample {
            bytes_per_s: u64::try_from(rate).unwrap_or(u64::MAX),
            prior_delivered: stamp.delivered,
            delivered: self.delivered,
            is_app_limited: stamp.is_app_limited,
        })
    }

    /// Bytes delivered in all.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_packet_every_millisecond_is_its_bytes_each_millisecond() {
        let mut rate = DeliveryRate::new();
        let mut stamps = std::collections::VecDeque::new();
        let mut last = None;
        for ms in 0..100_u64 {
            if let Some((sent_ns, stamp)) = stamps.front().copied()
                && sent_ns + 20 * MS <= ms * MS
            {
                stamps.pop_front();
                rate.on_acked(ms * MS, 1000, sent_ns, &stamp);
                last = rate.sample(20 * MS);
            }
            let in_flight = stamps.len() as u64 * 1000;
            stamps.push_back((ms * MS, rate.on_sent(ms * MS, in_flight)));
        }
        let last = last.expect("packets were acknowledged");
        assert_eq!(last.bytes_per_s, 1_000_000);
        assert_eq!(last.delivered - last.prior_delivered, 20_000);
    }

    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate_above_that_of_sending() {
        let mut rate = DeliveryRate::new();
        let stamps: Vec<_> = (0..10_u64)
            .map(|ms| (ms * MS, rate.on_sent(ms * MS, ms * 1000)))
            .collect();
        // The first is acknowledged after 20 ms; the others all at 30 ms.
        rate.on_acked(20 * MS, 1000, 0, &stamps[0].1);
        rate.sample(0);
        for (sent_ns, stamp) in &stamps[1..] {
            rate.on_acked(30 * MS, 1000, *sent_ns, stamp);
        }
        let sample = rate.sample(20 * MS).expect("30 ms passed");
        assert_eq!(sample.bytes_per_s, 10_000 * 1000 / 30);
    }

    #[test]
    fn packets_of_an_acknowledgement_may_be_counted_together() {
        let mut single = DeliveryRate::new();
        let stamps: Vec<_> = (0..10_u64)
            .map(|ms| (ms * MS, single.on_sent(ms * MS, ms * 1000)))
            .collect();
        let mut together = single.clone();
        for (sent_ns, stamp) in &stamps {
            single.on_acked(30 * MS, 1000, *sent_ns, stamp);
        }
        together.on_acked(30 * MS, 10_000, stamps[9].0, &stamps[9].1);
        let rates = [&mut single, &mut together].map(|rate| rate.sample(0).map(|s| s.bytes_per_s));
        assert_eq!(rates[0], rates[1]);
    }

    #[test]
    fn an_interval_below_the_minimum_round_trip_time_gives_no_sample() {
        let mut rate = DeliveryRate::new();
        let stamp = rate.on_sent(0, 0);
        rate.on_acked(5 * MS, 1000, 0, &stamp);
        assert!(rate.sample(6 * MS).is_none());
        assert!(rate.sample(0).is_none());
    }

    #[test]
    fn a_flow_is_limited_by_its_application_until_what_was_in_flight_is_delivered() {
        let mut rate = DeliveryRate::new();
        let before = rate.on_sent(0, 0);
        rate.on_app_limited(1000);
        let after = rate.on_sent(MS, 1000);
        assert!(!before.is_app_limited && after.is_app_limited);
        rate.on_acked(10 * MS, 1000, 0, &before);
        assert_eq!(
            rate.sample(0).map(|sample| sample.is_app_limited),
            Some(false)
        );
        rate.on_acked(11 * MS, 1000, MS, &after);
        assert_eq!(
            rate.sample(0).map(|sample| sample.is_app_limited),
            Some(true)
        );
        assert!(!rate.on_sent(12 * MS, 0).is_app_limited);
    }

    proptest! {
        #[test]
        fn no_input_overflows(calls in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..50)) {
            let mut rate = DeliveryRate::new();
            for (now, bytes, sent) in calls {
                let stamp = rate.on_sent(now, bytes % 3);
                rate.on_app_limited(bytes);
                rate.on_acked(now, bytes, sent, &stamp);
                rate.sample(sent);
            }
        }
    }
}
