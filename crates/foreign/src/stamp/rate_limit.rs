//! The packets that each source may have answered in a second, in memory that does not grow with the number of sources.

use caudal_flow::ClientSource;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

/// The number of buckets. Sources that share one share its rate, and which they are nobody can choose.
const BUCKETS: usize = 4096;
const NS_PER_S: u64 = 1_000_000_000;

/// The packets left of a source, in parts of a packet.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Packets, times `NS_PER_S`.
    credit: u64,
    /// The time of that, ns.
    at_ns: u64,
}

/// A limit for each source.
pub(super) struct SourceRates {
    per_s: u64,
    buckets: Vec<Bucket>,
    keys: RandomState,
}

impl SourceRates {
    /// At most `per_s` packets a second of each source, and as many at once.
    pub(super) fn new(per_s: u32) -> Self {
        Self {
            per_s: per_s.max(1).into(),
            buckets: vec![Bucket::default(); BUCKETS],
            keys: RandomState::new(),
        }
    }

    /// `true` where a packet from this address may be answered at `now_ns`, which it then is.
    pub(super) fn take(&mut self, address: IpAddr, now_ns: u64) -> bool {
        let place = self.keys.hash_one(ClientSource::from(address)) as usize % BUCKETS;
        let Some(bucket) = self.buckets.get_mut(place) else {
            return false;
        };
        let most = self.per_s.saturating_mul(NS_PER_S);
        let earned = now_ns
            .saturating_sub(bucket.at_ns)
            .saturating_mul(self.per_s);
        bucket.credit = bucket.credit.saturating_add(earned).min(most);
        bucket.at_ns = now_ns;
        let has_credit = bucket.credit >= NS_PER_S;
        if has_credit {
            bucket.credit -= NS_PER_S;
        }
        has_credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_rate_and_another_one_its_own() {
        let mut rates = SourceRates::new(100);
        let [one, other] = ["192.0.2.1", "2001:db8::1"].map(|text| text.parse().unwrap());
        let second = 7 * NS_PER_S;
        let taken = |rates: &mut SourceRates, address, from_ns: u64| {
            (0..1000)
                .filter(|nth| rates.take(address, from_ns + nth * 1_000_000))
                .count()
        };
        // 100 at once, and 100 in the second.
        assert_eq!(taken(&mut rates, one, second), 199);
        assert_eq!(taken(&mut rates, one, second * 2), 199);
        // Another bucket, but for one key in 4096.
        assert!(taken(&mut rates, other, second) >= 199 || BUCKETS == 1);
    }
}
