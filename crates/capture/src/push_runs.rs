//! The payload between two PSH flags.

use crate::model::{PushRunSize, PushRuns};
use crate::size_counter::SizeCounter;
use caudal_core::units::ByteCount;

/// Runs of payload that end with a PSH flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct PushRunCounter {
    open: u64,
    count: u64,
    min: u64,
    max: u64,
    sizes: SizeCounter,
}

impl PushRunCounter {
    /// Takes in payload that was not sent before.
    #[inline]
    pub(crate) fn push(&mut self, bytes: u64, ends: bool) {
        self.open += bytes;
        if ends && self.open > 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        let bytes = std::mem::take(&mut self.open);
        self.min = if self.count == 0 {
            bytes
        } else {
            self.min.min(bytes)
        };
        self.max = self.max.max(bytes);
        self.count += 1;
        self.sizes.add(bytes);
    }

    /// The runs as documents have them.
    pub(crate) fn document(&self) -> PushRuns {
        PushRuns {
            count: self.count,
            min_bytes: (self.count > 0).then(|| ByteCount::new(self.min)),
            max_bytes: (self.count > 0).then(|| ByteCount::new(self.max)),
            sizes: self
                .sizes
                .sorted()
                .into_iter()
                .map(|(bytes, count)| PushRunSize {
                    bytes: ByteCount::new(bytes),
                    count,
                })
                .collect(),
            other_sizes: self.sizes.other(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_with_push_and_the_sizes_are_counted() {
        let mut runs = PushRunCounter::default();
        for (bytes, ends) in [(1_448, false), (600, true), (2_048, true), (1, true)] {
            runs.push(bytes, ends);
        }
        let document = runs.document();
        assert_eq!(document.count, 3);
        let sizes: Vec<_> = document
            .sizes
            .iter()
            .map(|s| (s.bytes.get(), s.count))
            .collect();
        assert_eq!(sizes, [(1, 1), (2_048, 2)]);
    }
}
