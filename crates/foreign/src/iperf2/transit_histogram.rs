//! Histograms of one-way times, written by the threads of flows and read by others.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The bins of a histogram, from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramBins {
    /// The width of a bin; above zero.
    pub width: Duration,
    /// The number of bins.
    pub count: u32,
}

/// A histogram of the one-way times of a flow. One thread writes, without locks.
#[derive(Debug)]
pub(super) struct TransitHistogram {
    width_ns: i64,
    bins: Box<[AtomicU64]>,
    /// Times below 0: the clocks of both ends differ.
    below: AtomicU64,
    /// Times beyond the last bin.
    above: AtomicU64,
}

impl TransitHistogram {
    fn new(bins: HistogramBins) -> Self {
        Self {
            width_ns: (bins.width.as_nanos() as i64).max(1),
            bins: (0..bins.count).map(|_| AtomicU64::new(0)).collect(),
            below: AtomicU64::new(0),
            above: AtomicU64::new(0),
        }
    }

    /// Counts a time.
    #[inline]
    pub(super) fn record(&self, transit_ns: i64) {
        let bin = usize::try_from(transit_ns / self.width_ns).unwrap_or(usize::MAX);
        let count = match self.bins.get(bin) {
            _ if transit_ns < 0 => &self.below,
            Some(bin) => bin,
            None => &self.above,
        };
        count.fetch_add(1, Relaxed);
    }

    fn read(&self) -> HistogramCounts {
        HistogramCounts {
            bins: self.bins.iter().map(|bin| bin.load(Relaxed)).collect(),
            below: self.below.load(Relaxed),
            above: self.above.load(Relaxed),
        }
    }
}

/// The counts of a histogram at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistogramCounts {
    /// The counts of the bins.
    pub bins: Vec<u64>,
    /// Times below 0.
    pub below: u64,
    /// Times beyond the last bin.
    pub above: u64,
}

/// The histograms of the flows of a session.
#[derive(Debug, Clone)]
pub struct FlowHistograms {
    bins: HistogramBins,
    /// Those of flows that have begun.
    flows: Arc<[OnceLock<Arc<TransitHistogram>>]>,
}

impl FlowHistograms {
    /// Empty histograms of the flows with numbers below `flows`.
    #[must_use]
    pub fn new(bins: HistogramBins, flows: u32) -> Self {
        Self {
            bins,
            flows: (0..flows).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The histogram of a flow, for its thread.
    pub(super) fn of(&self, flow: u32) -> Option<Arc<TransitHistogram>> {
        let histogram = self.flows.get(flow as usize)?;
        let new = || Arc::new(TransitHistogram::new(self.bins));
        Some(Arc::clone(histogram.get_or_init(new)))
    }

    /// The counts of the histogram of a flow that has begun, at present.
    #[must_use]
    pub fn read(&self, flow: u32) -> Option<HistogramCounts> {
        self.flows
            .get(flow as usize)?
            .get()
            .map(|histogram| histogram.read())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_in_its_bin_or_outside_of_all() {
        let bins = HistogramBins {
            width: Duration::from_micros(100),
            count: 3,
        };
        let histograms = FlowHistograms::new(bins, 1);
        let histogram = histograms.of(0).unwrap();
        for transit_ns in [0, 99_999, 100_000, 299_999, 300_000, -1, i64::MAX] {
            histogram.record(transit_ns);
        }
        let counts = histograms.read(0).unwrap();
        assert_eq!(
            (counts.bins, counts.below, counts.above),
            (vec![2, 1, 1], 1, 2)
        );
        assert_eq!(histograms.read(1), None);
    }
}
