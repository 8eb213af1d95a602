//! Bytes that came to an application, by interval.

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};
use caudal_link::moment::Moment;

use crate::outcome::Interval;
use crate::span::whole_ns;

/// Bytes over time, in as many intervals as the run has.
#[derive(Debug)]
pub(crate) struct Tally {
    width_ns: u64,
    bytes: Vec<u64>,
    total: u64,
}

impl Tally {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            width_ns: whole_ns(interval).max(1),
            bytes: Vec::new(),
            total: 0,
        }
    }

    /// `bytes` came at `now`.
    pub(crate) fn add(&mut self, now: Moment, bytes: u64) {
        let index = (now.ns() / self.width_ns) as usize;
        if self.bytes.len() <= index {
            self.bytes.resize(index + 1, 0);
        }
        self.bytes[index] += bytes;
        self.total += bytes;
    }

    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The intervals up to `end`, also those in which nothing came; the last may be shorter, and has what came at `end`.
    pub(crate) fn intervals(&self, end: Moment) -> Vec<Interval> {
        let count = end.ns().div_ceil(self.width_ns).max(1);
        (0..count)
            .map(|index| {
                let start = index * self.width_ns;
                let until = (start + self.width_ns).min(end.ns());
                let mut came = self.bytes.iter().skip(index as usize);
                let bytes = if index + 1 == count {
                    came.sum()
                } else {
                    came.next().copied().unwrap_or(0)
                };
                let bytes = ByteCount::new(bytes);
                Interval {
                    start: Moment::from_ns(start),
                    end: Moment::from_ns(until),
                    bytes,
                    goodput: bytes
                        .per(Duration::from_nanos(until - start))
                        .unwrap_or(BitRate::ZERO),
                }
            })
            .collect()
    }
}
