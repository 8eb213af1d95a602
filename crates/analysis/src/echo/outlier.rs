//! The slowest round trips, and where they waited by what the kernel knows.

use caudal_core::echo::{RoundTripOutlier, WaitPlace};

/// Maximum number of round trips of a series that are kept with the kernel's account of them.
pub(super) const MAX_KEPT: usize = 16;

/// The multiple of the 99th percentile beyond which a round trip is an outlier.
pub const OUTLIER_FACTOR: f64 = 10.0;

/// Minimum number of round trips of which not all are within the 99th percentile.
pub(super) const MIN_FOR_OUTLIERS: usize = 100;

/// The kernel's account of a round trip, taken when its reply was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelAccount {
    /// The time from the arrival of the reply until the program had read it, ns; `None` where the kernel does not tell.
    pub unread_ns: Option<u64>,
    /// The time from the start of the round trip until the kernel last sent data of this connection, ns (TCP); `None` where
    /// that may be other messages' data.
    pub last_sent_ns: Option<u64>,
    /// Segments retransmitted since the account before (TCP).
    pub retransmits: Option<u32>,
    /// The maximum error of the two times, ns.
    pub error_ns: u64,
}

/// One of the longest round trips of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowRoundTrip {
    /// The number of its message in the series: 0 for the first, which counts apart.
    pub message: u64,
    /// The round-trip time, ns.
    pub rtt_ns: u64,
    /// What the kernel knew of it.
    pub account: KernelAccount,
}

/// The longest round trips of a series, so many that the memory for them is bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowestRoundTrips {
    trips: Vec<SlowRoundTrip>,
    floor_ns: u64,
}

impl SlowestRoundTrips {
    /// The round-trip time beyond which a round trip is among the longest so far, ns.
    #[inline]
    #[must_use]
    pub const fn floor_ns(&self) -> u64 {
        self.floor_ns
    }

    /// Keeps a round trip in the place of the shortest that is kept.
    #[cold]
    pub fn keep(&mut self, trip: SlowRoundTrip) {
        if self.trips.len() < MAX_KEPT {
            self.trips.reserve_exact(MAX_KEPT - self.trips.len());
            self.trips.push(trip);
        } else if let Some(shortest) = self.trips.iter_mut().min_by_key(|kept| kept.rtt_ns) {
            *shortest = trip;
        }
        if self.trips.len() == MAX_KEPT {
            let shortest = self.trips.iter().map(|kept| kept.rtt_ns).min();
            self.floor_ns = shortest.unwrap_or_default();
        }
    }

    /// The round trips kept, in no order.
    #[must_use]
    pub fn trips(&self) -> &[SlowRoundTrip] {
        &self.trips
    }
}

/// The outlier that a slow round trip is, where its message left `late_ns` behind its schedule.
pub(super) fn outlier(client: u32, trip: &SlowRoundTrip, late_ns: Option<u64>) -> RoundTripOutlier {
    let micros = |ns: u64| ns as f64 / 1e3;
    RoundTripOutlier {
        client,
        message: trip.message,
        rtt_us: micros(trip.rtt_ns),
        waited_at: place(trip, late_ns.unwrap_or_default()),
        unread_us: trip.account.unread_ns.map(micros),
        last_sent_us: trip.account.last_sent_ns.map(micros),
        retransmits: trip.account.retransmits,
        late_us: late_ns.map(micros),
        error_us: micros(trip.account.error_ns),
    }
}

/// The place at which more than half of a round trip was spent, whatever the error of the kernel's times.
fn place(trip: &SlowRoundTrip, late_ns: u64) -> WaitPlace {
    let (account, half) = (trip.account, trip.rtt_ns / 2);
    let at_least = |ns: Option<u64>| ns.unwrap_or_default().saturating_sub(account.error_ns);
    let is_retransmitted = account.retransmits.is_some_and(|segments| segments > 0);
    if late_ns > half {
        WaitPlace::Schedule
    } else if at_least(account.unread_ns) > half {
        WaitPlace::OwnSocket
    } else if is_retransmitted && at_least(account.last_sent_ns) > 0 {
        WaitPlace::Retransmission
    } else if at_least(account.last_sent_ns) > half {
        WaitPlace::OwnSendQueue
    } else if account
        .unread_ns
        .is_some_and(|unread| unread + account.error_ns <= half)
    {
        WaitPlace::BeforeArrival
    } else {
        WaitPlace::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn trip(rtt_ms: u64, account: KernelAccount) -> SlowRoundTrip {
        SlowRoundTrip {
            message: 7,
            rtt_ns: rtt_ms * MS,
            account,
        }
    }

    #[test]
    fn the_longest_are_kept_and_no_more() {
        let mut slowest = SlowestRoundTrips::default();
        for nth in 0..1000_u64 {
            // Every number below 1000 once, in an order that is neither rising nor falling.
            let rtt_ns = nth * 377 % 1000;
            if rtt_ns >= slowest.floor_ns() {
                slowest.keep(SlowRoundTrip {
                    message: nth,
                    rtt_ns,
                    account: KernelAccount::default(),
                });
            }
        }
        let mut kept: Vec<u64> = slowest.trips().iter().map(|kept| kept.rtt_ns).collect();
        kept.sort_unstable();
        assert_eq!(kept, (984..1000).collect::<Vec<u64>>());
        assert_eq!(slowest.floor_ns(), 984);
    }

    #[test]
    fn a_round_trip_waited_where_most_of_it_was_spent() {
        let udp = |unread_ms: Option<u64>| KernelAccount {
            unread_ns: unread_ms.map(|ms| ms * MS),
            ..KernelAccount::default()
        };
        let tcp = |unread_ms: u64, sent_ms: u64, retransmits| KernelAccount {
            last_sent_ns: Some(sent_ms * MS),
            retransmits: Some(retransmits),
            error_ns: 5 * MS,
            ..udp(Some(unread_ms))
        };
        let table = [
            (643, udp(Some(640)), 0, WaitPlace::OwnSocket),
            (643, udp(Some(1)), 0, WaitPlace::BeforeArrival),
            (643, udp(None), 0, WaitPlace::Unknown),
            (643, udp(Some(1)), 600, WaitPlace::Schedule),
            (643, tcp(640, 0, 0), 0, WaitPlace::OwnSocket),
            (643, tcp(0, 0, 0), 0, WaitPlace::BeforeArrival),
            (643, tcp(0, 204, 1), 0, WaitPlace::Retransmission),
            (643, tcp(0, 640, 0), 0, WaitPlace::OwnSendQueue),
            // A retransmission before this message was sent is not one of it.
            (643, tcp(0, 3, 1), 0, WaitPlace::BeforeArrival),
            // A tick of the kernel's clock is as long as the round trip.
            (6, tcp(4, 0, 0), 0, WaitPlace::Unknown),
            (6, tcp(0, 0, 0), 0, WaitPlace::Unknown),
        ];
        for (rtt_ms, account, late_ms, expected) in table {
            let slow = trip(rtt_ms, account);
            let found = outlier(3, &slow, Some(late_ms * MS)).waited_at;
            assert_eq!(
                found, expected,
                "{rtt_ms} ms, {account:?}, {late_ms} ms late"
            );
        }
    }
}
