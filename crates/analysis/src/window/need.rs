//! The window that fills a path.

use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The largest window without window scaling, bytes. Source: RFC 9293 section 3.1, a field of 16 bits.
pub const MAX_UNSCALED_WINDOW: ByteCount = ByteCount::new(65_535);
/// The largest window with it, bytes. Source: RFC 7323 section 2.3, a shift of at most 14.
pub const MAX_SCALED_WINDOW: ByteCount = ByteCount::new(65_535 << 14);

/// The numerator and the denominator of the window advised, as a multiple of the bandwidth-delay product.
const ADVISED: (u64, u64) = (5, 4);

/// The bandwidth-delay product: the bytes in flight when a path of `rate` and `rtt` is full.
///
/// `rate · rtt / 8`, to the nearest byte. Source: RFC 6349 section 3.3.1; RFC 1072.
#[must_use]
pub fn bandwidth_delay_product(rate: BitRate, rtt: Duration) -> ByteCount {
    let bit_nanos = u128::from(rate.bps()).saturating_mul(rtt.as_nanos());
    let bytes = bit_nanos.saturating_add(4_000_000_000) / 8_000_000_000;
    ByteCount::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The highest rate that a window allows: one window per round trip.
///
/// `8 · window / rtt`; `None` for a round-trip time of zero. Source: RFC 6349 section 3.3.1; RFC 7323 section 1.1.
#[must_use]
pub fn window_rate(window: ByteCount, rtt: Duration) -> Option<BitRate> {
    window.per(rtt)
}

/// The number of flows of `window` each that fill a path; `None` for a window of zero.
///
/// `⌈BDP / window⌉`, at least 1. Source: RFC 6349 section 3.3.1, the number of connections.
#[must_use]
pub fn flows_needed(product: ByteCount, window: ByteCount) -> Option<u64> {
    (window.get() > 0).then(|| product.get().div_ceil(window.get()).max(1))
}

/// The window that a path needs, from the rate of its bottleneck and its baseline round-trip time.
///
/// The rate is that of RFC 6349, the bottleneck bandwidth: the line rate of the slowest link. A window counts payload, of which that link
/// carries a little less (94.9 % with full frames of 1500 bytes), so this errs on the safe side. The round-trip time is the lowest one of
/// the path, without queues: a queue adds to the data in flight and nothing to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowNeed {
    rate: BitRate,
    rtt: Duration,
    mss: Option<u32>,
}

impl WindowNeed {
    /// The need of a path with this bottleneck bandwidth and baseline round-trip time.
    #[must_use]
    pub const fn new(rate: BitRate, rtt: Duration) -> Self {
        Self {
            rate,
            rtt,
            mss: None,
        }
    }

    /// The same with windows of whole segments of `mss` bytes of payload; of 0 bytes as without.
    #[must_use]
    pub const fn with_mss(self, mss: u32) -> Self {
        Self {
            mss: if mss > 0 { Some(mss) } else { None },
            ..self
        }
    }

    /// The rate of the bottleneck.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// The baseline round-trip time.
    #[must_use]
    pub const fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The bandwidth-delay product, as [`bandwidth_delay_product`] has it.
    #[must_use]
    pub fn bdp(&self) -> ByteCount {
        bandwidth_delay_product(self.rate, self.rtt)
    }

    /// The same in full segments, rounded up; `None` where their size is not known.
    #[must_use]
    pub fn segments(&self) -> Option<u64> {
        Some(self.bdp().get().div_ceil(u64::from(self.mss?)))
    }

    /// The window to set: 1.25 times the bandwidth-delay product, rounded up to whole segments where their size is known.
    ///
    /// A window of exactly that product fills the path only where no acknowledgement is ever late. Those of a second segment wait for
    /// it, hosts take time to answer, and the baseline is measured with packets shorter than full segments; a window without reserve
    /// leaves the path idle for each such delay. A quarter more is the upper end of the windows that RFC 6349 tests (25 % to 125 % of
    /// the product), and as a queue it is short: a quarter of a round trip.
    #[must_use]
    pub fn window(&self) -> ByteCount {
        let (times, of) = ADVISED;
        let bytes = u128::from(self.bdp().get()) * u128::from(times);
        let bytes = u64::try_from(bytes.div_ceil(u128::from(of))).unwrap_or(u64::MAX);
        let whole = self
            .mss
            .and_then(|mss| bytes.checked_next_multiple_of(u64::from(mss)));
        ByteCount::new(whole.unwrap_or(bytes))
    }

    /// The same for each of `flows` at once, which share the path; of none as of one.
    #[must_use]
    pub fn window_of_each(&self, flows: u64) -> ByteCount {
        Self {
            rate: BitRate::from_bps(self.rate.bps().div_ceil(flows.max(1))),
            ..*self
        }
        .window()
    }

    /// The rate that a window of this size allows on the path; `None` for a round-trip time of zero.
    #[must_use]
    pub fn rate_of(&self, window: ByteCount) -> Option<BitRate> {
        window_rate(window, self.rtt)
    }

    /// The number of flows that fill the path where none can have a larger window than `largest`, as [`flows_needed`] has it.
    #[must_use]
    pub fn flows(&self, largest: ByteCount) -> Option<u64> {
        flows_needed(self.bdp(), largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn need(bps: u64, micros: u64) -> WindowNeed {
        WindowNeed::new(BitRate::from_bps(bps), Duration::from_micros(micros))
    }

    #[test]
    fn bandwidth_delay_products_are_those_of_rfc_6349() {
        for (bps, millis, bytes) in [
            (60_000_000, 50, 375_000),
            // A T3: about 138 KB.
            (44_210_000, 25, 138_156),
            (100_000_000, 2, 25_000),
            (1_000_000_000, 1, 125_000),
            (1_000_000_000, 20, 2_500_000),
            (0, 50, 0),
            (u64::MAX, 1_000_000_000, u64::MAX),
        ] {
            assert_eq!(need(bps, millis * 1000).bdp().get(), bytes);
        }
        assert_eq!(
            need(60_000_000, 50_000).with_mss(1460).segments(),
            Some(257)
        );
        assert_eq!(need(60_000_000, 50_000).segments(), None);
    }

    #[test]
    fn the_window_advised_is_a_quarter_more_in_whole_segments() {
        let path = need(60_000_000, 50_000);
        assert_eq!(path.window().get(), 468_750);
        // 322 segments: 321.06 rounded up.
        assert_eq!(path.with_mss(1460).window().get(), 322 * 1460);
        assert_eq!(path.with_mss(0).window().get(), 468_750);
        assert_eq!(need(0, 50_000).with_mss(1460).window().get(), 0);
        let each = path.with_mss(1460).window_of_each(4);
        assert_eq!(each.get(), 81 * 1460);
        assert_eq!(path.window_of_each(0), path.window());
    }

    #[test]
    fn a_window_over_a_round_trip_is_a_rate() {
        // Windows that Linux advertised on a path of 50.5 ms; it delivered 3.22, 13.73, 27.41 and 52.8 Mbit/s.
        for (window, megabits) in [
            (20_272, "3.21"),
            (86_446, "13.69"),
            (173_360, "27.46"),
            (347_184, "55.00"),
        ] {
            let allowed = need(100_000_000, 50_500).rate_of(ByteCount::new(window));
            assert_eq!(format!("{:.2}", allowed.unwrap().as_f64() / 1e6), megabits);
        }
        assert_eq!(need(1, 0).rate_of(ByteCount::new(1)), None);
    }

    #[test]
    fn several_flows_make_up_for_a_window_that_cannot_grow() {
        let path = need(60_000_000, 50_000);
        assert_eq!(path.flows(MAX_UNSCALED_WINDOW), Some(6));
        assert_eq!(path.flows(ByteCount::new(375_000)), Some(1));
        assert_eq!(path.flows(ByteCount::new(374_999)), Some(2));
        assert_eq!(path.flows(ByteCount::ZERO), None);
        assert_eq!(need(0, 0).flows(ByteCount::new(1)), Some(1));
    }

    proptest! {
        #[test]
        fn the_window_advised_allows_the_rate_of_the_path(bps in 1_u64..1 << 44, micros in 1_u64..1 << 36, mss in 0_u32..70_000) {
            let path = need(bps, micros).with_mss(mss);
            let allowed = path.rate_of(path.window()).unwrap();
            // To the nearest byte: below a byte in flight there is none.
            prop_assert!(path.bdp().get() < 100 || allowed.bps() >= bps);
            prop_assert!(path.window() >= path.bdp());
            prop_assert!(mss == 0 || path.window().get().is_multiple_of(u64::from(mss)));
        }

        #[test]
        fn no_input_overflows(bps: u64, nanos: u64, mss: u32, window: u64, flows: u64) {
            let path = WindowNeed::new(BitRate::from_bps(bps), Duration::from_nanos(nanos)).with_mss(mss);
            let window = ByteCount::new(window);
            prop_assert!(path.window() >= path.bdp());
            prop_assert!(path.window_of_each(flows) <= path.window());
            prop_assert_eq!(path.flows(window).is_some(), window.get() > 0);
            prop_assert_eq!(path.rate_of(window).is_some(), nanos > 0);
        }

        #[test]
        fn the_flows_needed_fill_the_path_and_one_fewer_does_not(bps in 1_u64..1 << 40, micros in 1_u64..1 << 30, window in 1_u64..1 << 32) {
            let product = need(bps, micros).bdp();
            let flows = flows_needed(product, ByteCount::new(window)).unwrap();
            prop_assert!(flows.saturating_mul(window) >= product.get());
            prop_assert!(flows == 1 || (flows - 1) * window < product.get());
        }
    }
}
