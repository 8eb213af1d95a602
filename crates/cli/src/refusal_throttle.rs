//! The refusals that a log shows one by one, and those that it only counts. Time is an argument.

use std::collections::BTreeMap;

/// Refusals in a row that are shown one by one.
const BURST: u64 = 100;
/// The time after which one more is, ns.
const REFILL_NS: u64 = 1_000_000_000;

/// The refusals of a log: as many as a token bucket has tokens are shown.
#[derive(Debug)]
pub struct RefusalThrottle {
    tokens: u64,
    refilled_ns: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Default for RefusalThrottle {
    fn default() -> Self {
        Self {
            tokens: BURST,
            refilled_ns: 0,
            left_out: BTreeMap::new(),
        }
    }
}

impl RefusalThrottle {
    /// `true` where a refusal for this reason at `now_ns` is to be shown; otherwise it is counted.
    pub fn shows(&mut self, reason: &'static str, now_ns: u64) -> bool {
        let more = now_ns.saturating_sub(self.refilled_ns) / REFILL_NS;
        if more > 0 {
            self.tokens = self.tokens.saturating_add(more).min(BURST);
            self.refilled_ns = now_ns;
        }
        let shown = self.tokens > 0;
        if shown {
            self.tokens -= 1;
        } else {
            *self.left_out.entry(reason).or_default() += 1;
        }
        shown
    }

    /// The refusals by reason that were counted since the last time; each is told once.
    pub fn take_left_out(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_flood_is_counted_and_single_refusals_are_shown() {
        let mut throttle = RefusalThrottle::default();
        let start_ns = 5 * SECOND;
        let of_flood = (0..80_000).filter(|nth| throttle.shows("full", start_ns + nth * 100_000));
        // 8 s of it.
        assert_eq!(of_flood.count() as u64, BURST + 7);
        let left_out = throttle.take_left_out();
        assert_eq!(left_out, BTreeMap::from([("full", 80_000 - BURST - 7)]));
        assert!(throttle.take_left_out().is_empty());
        let hourly =
            (1..50).filter(|hour| throttle.shows("denied", start_ns + hour * 3600 * SECOND));
        assert_eq!(hourly.count(), 49);
        // A clock that is set back shows what there is left.
        assert!(throttle.shows("denied", 0));
    }
}
