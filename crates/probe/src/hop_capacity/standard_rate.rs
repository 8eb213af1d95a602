//! Rates of Ethernet, and what several links of one such rate in series read as.

use crate::rate_estimate::RateEstimate;
use caudal_core::units::BitRate;

/// Rates of Ethernet, Mbit/s (IEEE 802.3 and, for 2.5 and 5 Gbit/s, 802.3bz).
const ETHERNET_MBPS: [u64; 6] = [10, 100, 1000, 2500, 5000, 10_000];
/// Maximum number of links in series that is considered.
const MAX_IN_SERIES: u64 = 4;
/// Maximum relative half-width for a match: rates a third apart must not both fit.
const MAX_RELATIVE_HALF_WIDTH: f64 = 0.1;

/// Links of one rate in series, with store-and-forward devices between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InSeries {
    pub(super) links: u64,
    pub(super) rate: BitRate,
}

/// The links of a standard rate in series that read as `capacity`; `None` when none do, or when one such link does.
///
/// k links of rate C read as C/k. Source: Prasad, Dovrolis and Mah, "The Effect of Layer-2 Store-and-Forward Devices on
/// Per-Hop Capacity Estimation", 2003.
pub(super) fn in_series(capacity: &RateEstimate) -> Option<InSeries> {
    capacity
        .relative_half_width()
        .filter(|width| *width <= MAX_RELATIVE_HALF_WIDTH)?;
    let rates = ETHERNET_MBPS.map(|mbps| BitRate::from_bps(mbps * 1_000_000));
    if rates.iter().any(|rate| capacity.contains(*rate)) {
        return None;
    }
    (2..=MAX_IN_SERIES)
        .flat_map(|links| rates.map(|rate| InSeries { links, rate }))
        .find(|series| capacity.contains(BitRate::from_bps(series.rate.bps() / series.links)))
}
