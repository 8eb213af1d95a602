//! Jitter and delay variation from transit times, each by its named definition.
//!
//! A transit time is the receiver's clock at arrival less the sender's at departure; a constant offset between the two
//! clocks does not matter here.

use serde::{Deserialize, Serialize};

use caudal_stats::histogram::LatencyHistogram;

/// The interarrival jitter of RFC 3550: a moving average of how much transit times change, in ns.
///
/// `J += (|D| - J) / 16` from J = 0. Source: RFC 3550 section 6.4.1 and appendix A.8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct JitterRfc3550 {
    latest: Option<i64>,
    jitter: f64,
    changes: u64,
}

impl JitterRfc3550 {
    /// No datagram yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            latest: None,
            jitter: 0.0,
            changes: 0,
        }
    }

    /// Takes in the transit time of the next datagram to arrive, in ns.
    #[inline]
    pub fn push(&mut self, transit_ns: i64) {
        if let Some(latest) = self.latest.replace(transit_ns) {
            self.jitter += (transit_ns.abs_diff(latest) as f64 - self.jitter) / 16.0;
            self.changes += 1;
        }
    }

    /// The jitter in ns after the latest datagram; `None` before the second.
    #[must_use]
    pub fn jitter_ns(&self) -> Option<f64> {
        (self.changes > 0).then_some(self.jitter)
    }
}

/// The variation of transit times: from one datagram to the next (RFC 3393) and above the minimum (RFC 5481).
#[derive(Debug, Clone)]
pub struct DelayVariation {
    n: u64,
    latest: i64,
    change_sum: f64,
    min: i64,
    max: i64,
    /// The first transit times, kept until their minimum is a good guess for the minimum of all.
    first: [i64; FIRST],
    /// Transit times above `base`.
    above: LatencyHistogram,
    base: i64,
    /// Datagrams until the histogram may be moved to a lower base again.
    until_move: u32,
}

/// The transit times kept before the histogram is begun.
const FIRST: usize = 256;
/// The datagrams between two moves of the histogram, each of which takes some 100 µs.
const MIN_BETWEEN_MOVES: u32 = 65_536;

/// The variation of a flow's transit times; all in ns, percentiles absent with too few datagrams for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayVariationSummary {
    /// Datagrams.
    pub n: u64,
    /// Mean change of transit time, regardless of sign, from one arrival to the next (RFC 3393); absent below two.
    pub ipdv_mean_abs_ns: Option<f64>,
    /// Median transit time above the minimum (RFC 5481 section 4.2); absent without datagrams, as is the maximum.
    pub pdv_p50_ns: Option<u64>,
    /// The 90th percentile of the same.
    pub pdv_p90_ns: Option<u64>,
    /// The 99th percentile of the same.
    pub pdv_p99_ns: Option<u64>,
    /// The 99.9th percentile of the same.
    pub pdv_p99_9_ns: Option<u64>,
    /// The maximum transit time above the minimum, exact.
    pub pdv_max_ns: Option<u64>,
    /// The 95th percentile of transit times above their median, as OWAMP reports it.
    pub delay_p95_minus_p50_ns: Option<u64>,
}

impl Default for DelayVariation {
    fn default() -> Self {
        Self::new()
    }
}

impl DelayVariation {
    /// No datagram yet; all memory is taken here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            n: 0,
            latest: 0,
            change_sum: 0.0,
            min: i64::MAX,
            max: i64::MIN,
            first: [0; FIRST],
            above: LatencyHistogram::new(),
            base: 0,
            until_move: 0,
        }
    }

    /// Takes in the transit time of the next datagram to arrive, in ns.
    #[inline]
    pub fn push(&mut self, transit_ns: i64) {
        if self.n > 0 {
            self.change_sum += transit_ns.abs_diff(self.latest) as f64;
        }
        self.latest = transit_ns;
        self.min = self.min.min(transit_ns);
        self.max = self.max.max(transit_ns);
        if self.n < FIRST as u64 {
            self.first[self.n as usize] = transit_ns;
            self.n += 1;
            if self.n == FIRST as u64 {
                self.begin_histogram();
            }
            return;
        }
        self.n += 1;
        self.until_move = self.until_move.saturating_sub(1);
        if self.base > self.min && self.until_move == 0 {
            self.move_base();
        }
        self.above.record_ns(above(transit_ns, self.base));
    }

    /// The number of datagrams taken in.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The variation so far.
    ///
    /// Percentiles are good to three digits; where the minimum keeps decreasing, as under clock drift, the values of up to
    /// 65 536 datagrams at a time may be too low by its decrease in that time.
    #[must_use]
    pub fn summary(&self) -> DelayVariationSummary {
        if self.n == 0 {
            return DelayVariationSummary::default();
        }
        let histogram = self.histogram();
        let max = above(self.max, self.min);
        // A bucket's upper edge can lie above the maximum of the values in it.
        let percentile = |q| histogram.supported_quantile_ns(q).map(|ns| ns.min(max));
        let median = histogram.quantile_ns(0.5).map(|ns| ns.min(max));
        DelayVariationSummary {
            n: self.n,
            ipdv_mean_abs_ns: (self.n > 1).then(|| self.change_sum / (self.n - 1) as f64),
            pdv_p50_ns: median,
            pdv_p90_ns: percentile(0.9),
            pdv_p99_ns: percentile(0.99),
            pdv_p99_9_ns: percentile(0.999),
            pdv_max_ns: Some(max),
            delay_p95_minus_p50_ns: percentile(0.95)
                .zip(median)
                .map(|(high, middle)| high.saturating_sub(middle)),
        }
    }

    /// The histogram of transit times above their minimum, to merge with others.
    #[must_use]
    pub fn histogram(&self) -> LatencyHistogram {
        let mut complete = self.clone();
        if self.n < FIRST as u64 {
            complete.begin_histogram();
        } else {
            complete.move_base();
        }
        complete.above
    }

    /// Puts the first transit times into the histogram.
    fn begin_histogram(&mut self) {
        self.base = self.min;
        for &transit in &self.first[..self.n as usize] {
            self.above.record_ns(above(transit, self.base));
        }
    }

    /// Shifts the histogram so that it begins at the minimum transit time.
    #[cold]
    fn move_base(&mut self) {
        let shift = above(self.base, self.min);
        if shift == 0 {
            return;
        }
        let mut moved = LatencyHistogram::new();
        for (ns, count) in self.above.iter() {
            moved.record_ns_n(ns.saturating_add(shift), count);
        }
        self.above = moved;
        self.base = self.min;
        self.until_move = MIN_BETWEEN_MOVES;
    }
}

/// The excess of `transit` over `base`, zero when below.
fn above(transit: i64, base: i64) -> u64 {
    if transit > base {
        transit.abs_diff(base)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSIT_MS: [i64; 5] = [10, 12, 11, 15, 11];
    const NS_PER_MS: i64 = 1_000_000;

    #[test]
    fn rfc_3550_jitter_moves_a_sixteenth_of_the_way_to_each_change() {
        let mut jitter = JitterRfc3550::new();
        let mut after = vec![];
        for transit in TRANSIT_MS {
            jitter.push(transit * NS_PER_MS);
            after.extend(jitter.jitter_ns().map(|ns| format!("{:.6}", ns / 1e6)));
        }
        assert_eq!(after, ["0.125000", "0.179688", "0.418457", "0.642303"]);
    }

    /// The integer form of RFC 3550 appendix A.8, its state scaled by 16.
    fn integer_jitter(transits: &[i64]) -> Vec<i64> {
        let mut scaled = 0;
        let step = |pair: &[i64]| {
            scaled += (pair[1] - pair[0]).abs() - ((scaled + 8) >> 4);
            scaled
        };
        transits.windows(2).map(step).collect()
    }

    #[test]
    fn the_integer_form_needs_a_finer_unit_than_the_jitter() {
        let scaled = integer_jitter(&TRANSIT_MS);
        assert_eq!(scaled, [2, 3, 7, 11]);
        assert!(scaled.iter().all(|jitter| jitter >> 4 == 0));
        let nanos = TRANSIT_MS.map(|ms| ms * NS_PER_MS);
        let last = integer_jitter(&nanos)[3] >> 4;
        assert!((last - 642_303).abs() < 2);
    }

    #[test]
    fn starting_at_the_first_change_gives_a_different_jitter() {
        // As rperf does it; the two results are not comparable.
        let mut changes = TRANSIT_MS
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).abs() as f64);
        let mut jitter = changes.next().unwrap();
        let mut after = vec![format!("{jitter}")];
        for change in changes {
            jitter += (change - jitter) / 16.0;
            after.push(format!("{jitter:.6}"));
        }
        assert_eq!(after, ["2", "1.937500", "2.066406", "2.187256"]);
    }

    #[test]
    fn one_datagram_has_no_jitter() {
        let mut jitter = JitterRfc3550::new();
        jitter.push(5);
        assert_eq!(jitter.jitter_ns(), None);
        jitter.push(i64::MIN);
        jitter.push(i64::MAX);
        assert!(jitter.jitter_ns().unwrap().is_finite());
    }

    #[test]
    fn delay_variation_is_measured_between_datagrams_and_above_the_minimum() {
        let mut variation = DelayVariation::new();
        for transit in TRANSIT_MS {
            variation.push(transit * NS_PER_MS);
        }
        let summary = variation.summary();
        // Changes +2, -1, +4, -4; above the minimum 0, 2, 1, 5, 1.
        assert_eq!(summary.ipdv_mean_abs_ns, Some(2_750_000.0));
        assert_eq!(summary.pdv_max_ns, Some(5_000_000));
        assert_eq!(summary.pdv_p90_ns, None);
        let above: Vec<(u64, u64)> = variation.histogram().iter().collect();
        let rounded: Vec<(u64, u64)> = above
            .iter()
            .map(|(ns, n)| ((ns + 500_000) / 1_000_000, *n))
            .collect();
        assert_eq!(rounded, [(0, 1), (1, 2), (2, 1), (5, 1)]);
    }

    #[test]
    fn without_datagrams_there_is_no_variation() {
        assert_eq!(
            DelayVariation::new().summary(),
            DelayVariationSummary::default()
        );
    }

    #[test]
    fn a_late_minimum_shifts_the_values_before_it() {
        let mut variation = DelayVariation::new();
        for _ in 0..1000 {
            variation.push(NS_PER_MS);
        }
        variation.push(0);
        let median = variation.summary().pdv_p50_ns.unwrap();
        assert!(median.abs_diff(1_000_000) <= 1000, "{median}");
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_transits(transits in proptest::collection::vec(0..1_000_000_i64, 300..2000), offset in -1_000_000_000_000..1_000_000_000_000_i64) {
            let mut variation = DelayVariation::new();
            for transit in &transits {
                variation.push(transit + offset);
            }
            let mut sorted = transits;
            sorted.sort_unstable();
            let summary = variation.summary();
            for (found, q) in [(summary.pdv_p50_ns, 0.5), (summary.pdv_p99_ns, 0.99)] {
                let rank = (q * sorted.len() as f64 - 1e-9).ceil() as usize;
                let exact = (sorted[rank - 1] - sorted[0]) as f64;
                // A late minimum may not have moved the base twice within so few datagrams.
                prop_assert!((found.unwrap() as f64 - exact).abs() <= 0.003 * exact + 20_000.0);
            }
        }

        #[test]
        fn no_transit_times_make_it_panic(transits: Vec<i64>) {
            let mut variation = DelayVariation::new();
            let mut jitter = JitterRfc3550::new();
            for transit in transits {
                variation.push(transit);
                jitter.push(transit);
            }
            let _ = variation.summary();
        }
    }
}
