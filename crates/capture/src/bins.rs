//! Bytes over time in a bounded number of bins.

use crate::model::RateBins;

/// Maximum number of bins.
const MAX_BINS: u64 = 256;
/// The width of a bin at the beginning, ns.
const FIRST_WIDTH_NS: u64 = 1_000_000;

/// A bin with bytes in it.
#[derive(Debug, Clone, Copy)]
struct ByteBin {
    at: u64,
    payload: u64,
    unique: u64,
}

/// Payload over the time of a flow, in bins whose width doubles when they do not suffice. Empty bins take no memory.
#[derive(Debug, Clone)]
pub(crate) struct ByteBins {
    width_ns: u64,
    /// In the order of time.
    bins: Vec<ByteBin>,
}

impl Default for ByteBins {
    fn default() -> Self {
        Self {
            width_ns: FIRST_WIDTH_NS,
            bins: Vec::new(),
        }
    }
}

impl ByteBins {
    /// Adds bytes `at_ns` after the beginning of the flow.
    #[inline]
    pub(crate) fn add(&mut self, at_ns: u64, payload: u64, unique: u64) {
        let mut at = at_ns / self.width_ns;
        while at >= MAX_BINS {
            self.double();
            at = at_ns / self.width_ns;
        }
        if let Some(latest) = self.bins.last_mut()
            && latest.at == at
        {
            latest.payload += payload;
            latest.unique += unique;
            return;
        }
        self.add_to(ByteBin {
            at,
            payload,
            unique,
        });
    }

    /// Adds to another bin than the latest: nearly always a new one behind it.
    fn add_to(&mut self, bin: ByteBin) {
        match self.bins.binary_search_by_key(&bin.at, |known| known.at) {
            Ok(place) => {
                self.bins[place].payload += bin.payload;
                self.bins[place].unique += bin.unique;
            }
            Err(place) => self.bins.insert(place, bin),
        }
    }

    fn double(&mut self) {
        for bin in &mut self.bins {
            bin.at /= 2;
        }
        self.bins.dedup_by(|later, earlier| {
            let is_same = later.at == earlier.at;
            if is_same {
                earlier.payload += later.payload;
                earlier.unique += later.unique;
            }
            is_same
        });
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    /// The bins as documents have them, of a flow that began `start_s` after the capture.
    pub(crate) fn document(&self, start_s: f64) -> RateBins {
        let count = self.bins.last().map_or(0, |last| last.at as usize + 1);
        let (mut payload_bytes, mut unique_bytes) = (vec![0; count], vec![0; count]);
        for bin in &self.bins {
            let at = bin.at as usize;
            (payload_bytes[at], unique_bytes[at]) = (bin.payload, bin.unique);
        }
        RateBins {
            start_s,
            bin_s: self.width_ns as f64 / 1e9,
            payload_bytes,
            unique_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_any_order_fall_into_their_bins() {
        let mut bins = ByteBins::default();
        for ms in [3, 1, 0, 3, 300, 2] {
            bins.add(ms * 1_000_000, 1 + ms, ms);
        }
        let document = bins.document(0.0);
        assert_eq!(document.bin_s, 0.002);
        assert_eq!(document.payload_bytes[..2], [1 + 2, 4 + 4 + 3]);
        assert_eq!(document.unique_bytes[150], 300);
        assert_eq!(document.payload_bytes.len(), 151);
        assert_eq!(bins.bins.len(), 3);
    }

    #[test]
    fn bins_double_and_keep_every_byte() {
        let mut bins = ByteBins::default();
        for ms in 0..1_000 {
            bins.add(ms * 1_000_000, 10, 9);
        }
        let document = bins.document(0.0);
        assert_eq!(document.bin_s, 0.004);
        assert_eq!(document.payload_bytes.len(), 250);
        assert!(document.payload_bytes.iter().all(|bytes| *bytes == 40));
        bins.add(u64::MAX, 1, 1);
        assert_eq!(bins.document(0.0).unique_bytes.iter().sum::<u64>(), 9_001);
    }
}
