//! One-way transit times, written by a flow's thread and read by another.

use caudal_core::transit::TransitTimes;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The transit times of a flow. One thread writes, without locks; a reading in between may see one time more in one field than
/// in another.
#[derive(Debug)]
pub struct TransitCounters {
    count: AtomicU64,
    mean_bits: AtomicU64,
    m2_bits: AtomicU64,
    min_bits: AtomicU64,
    max_bits: AtomicU64,
    recent_min_ns: AtomicI64,
    recent_max_ns: AtomicI64,
}

impl Default for TransitCounters {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            mean_bits: AtomicU64::new(0),
            m2_bits: AtomicU64::new(0),
            min_bits: AtomicU64::new(0),
            max_bits: AtomicU64::new(0),
            recent_min_ns: AtomicI64::new(i64::MAX),
            recent_max_ns: AtomicI64::new(i64::MIN),
        }
    }
}

impl TransitCounters {
    /// Stores the times so far, of which the last was `latest_ns`.
    pub fn store(&self, times: &TransitTimes, latest_ns: i64) {
        self.mean_bits.store(times.mean_s.to_bits(), Relaxed);
        self.m2_bits.store(times.m2.to_bits(), Relaxed);
        self.min_bits.store(times.min_s.to_bits(), Relaxed);
        self.max_bits.store(times.max_s.to_bits(), Relaxed);
        self.recent_min_ns.fetch_min(latest_ns, Relaxed);
        self.recent_max_ns.fetch_max(latest_ns, Relaxed);
        self.count.store(times.count, Relaxed);
    }

    /// Reads the times, and resets the recent ones. `None` while there is none.
    pub(crate) fn read(&self) -> Option<TransitTimes> {
        let count = self.count.load(Relaxed);
        if count == 0 {
            return None;
        }
        let seconds = |bits: &AtomicU64| f64::from_bits(bits.load(Relaxed));
        let recent = (
            self.recent_min_ns.swap(i64::MAX, Relaxed),
            self.recent_max_ns.swap(i64::MIN, Relaxed),
        );
        let (recent_min_ns, recent_max_ns) = match recent {
            (i64::MAX, _) | (_, i64::MIN) => (0, 0),
            recent => recent,
        };
        Some(TransitTimes {
            count,
            mean_s: seconds(&self.mean_bits),
            min_s: seconds(&self.min_bits),
            max_s: seconds(&self.max_bits),
            m2: seconds(&self.m2_bits),
            recent_min_s: recent_min_ns as f64 / 1e9,
            recent_max_s: recent_max_ns as f64 / 1e9,
        })
    }
}
