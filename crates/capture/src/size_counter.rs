//! Counts by size, of as many sizes as are worth their memory.

/// Maximum number of sizes kept apart.
const MAX_SIZES: usize = 64;

/// Counts by size; of more sizes than are kept, those seen first.
#[derive(Debug, Clone, Default)]
pub(crate) struct SizeCounter {
    sizes: Vec<(u64, u64)>,
    latest: usize,
    other: u64,
}

impl SizeCounter {
    /// Counts one of this size.
    #[inline]
    pub(crate) fn add(&mut self, size: u64) {
        if let Some((latest, count)) = self.sizes.get_mut(self.latest)
            && *latest == size
        {
            *count += 1;
            return;
        }
        match self.sizes.iter().position(|(known, _)| *known == size) {
            Some(at) => {
                self.sizes[at].1 += 1;
                self.latest = at;
            }
            None if self.sizes.len() < MAX_SIZES => {
                self.latest = self.sizes.len();
                self.sizes.push((size, 1));
            }
            None => self.other += 1,
        }
    }

    /// The sizes with their counts, the smallest first.
    pub(crate) fn sorted(&self) -> Vec<(u64, u64)> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes
    }

    /// The most frequent size, of several the largest; `None` where those that are not kept may be as frequent.
    pub(crate) fn most_frequent(&self) -> Option<u64> {
        let most = self
            .sizes
            .iter()
            .max_by_key(|(size, count)| (*count, *size))?;
        (most.1 > self.other).then_some(most.0)
    }

    /// The number of those of other sizes.
    pub(crate) const fn other(&self) -> u64 {
        self.other
    }
}
