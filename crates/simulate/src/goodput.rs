//! Bytes that arrived, by interval: those behind a gap when they did, not when it was closed.

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};
use caudal_link::time::{SimTime, duration_to_ns};

use crate::result::GoodputInterval;

/// Received bytes by interval.
#[derive(Debug)]
pub(crate) struct ReceivedBytes {
    interval_ns: u64,
    by_interval: Vec<u64>,
    total: u64,
}

impl ReceivedBytes {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval_ns: duration_to_ns(interval).max(1),
            by_interval: Vec::new(),
            total: 0,
        }
    }

    /// Adds `bytes` received at `now`.
    pub(crate) fn add(&mut self, now: SimTime, bytes: u64) {
        let index = (now.as_ns() / self.interval_ns) as usize;
        if self.by_interval.len() <= index {
            self.by_interval.resize(index + 1, 0);
        }
        self.by_interval[index] += bytes;
        self.total += bytes;
    }

    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The intervals up to `end`, those without bytes included; the last may be shorter, and includes bytes received at `end`.
    pub(crate) fn intervals(&self, end: SimTime) -> Vec<GoodputInterval> {
        let count = end.as_ns().div_ceil(self.interval_ns).max(1);
        (0..count)
            .map(|index| {
                let start = index * self.interval_ns;
                let until = (start + self.interval_ns).min(end.as_ns());
                let mut later = self.by_interval.iter().skip(index as usize);
                let bytes = if index + 1 == count {
                    later.sum()
                } else {
                    later.next().copied().unwrap_or(0)
                };
                let bytes = ByteCount::new(bytes);
                GoodputInterval {
                    start: SimTime::from_ns(start),
                    end: SimTime::from_ns(until),
                    bytes,
                    goodput: bytes
                        .per(Duration::from_nanos(until - start))
                        .unwrap_or(BitRate::ZERO),
                }
            })
            .collect()
    }
}
