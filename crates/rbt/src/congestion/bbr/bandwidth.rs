//! The maximum delivery rate over two cycles.

/// `max_bw`: the maximum of the delivery rate in this and the previous cycle of ProbeBW, bytes a second (section 5.5.6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BandwidthFilter {
    previous: u64,
    current: u64,
}

impl BandwidthFilter {
    /// The maximum.
    pub fn max(&self) -> u64 {
        self.previous.max(self.current)
    }

    /// Takes a sample. Samples of a flow that its application limits count only when they raise the maximum.
    pub fn add(&mut self, bytes_per_s: u64, is_app_limited: bool) {
        if !is_app_limited || bytes_per_s >= self.max() {
            self.current = self.current.max(bytes_per_s);
        }
    }

    /// A new cycle begins. A cycle without samples is no reason to forget.
    pub fn advance(&mut self) {
        if self.current > 0 {
            self.previous = self.current;
            self.current = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_remembered_for_two_cycles() {
        let mut filter = BandwidthFilter::default();
        filter.add(100, false);
        filter.advance();
        filter.add(60, false);
        assert_eq!(filter.max(), 100);
        filter.advance();
        assert_eq!(filter.max(), 60);
        filter.advance();
        assert_eq!(filter.max(), 60);
    }

    #[test]
    fn samples_limited_by_the_application_only_raise_it() {
        let mut filter = BandwidthFilter::default();
        filter.add(100, false);
        filter.advance();
        filter.add(60, true);
        filter.advance();
        assert_eq!(filter.max(), 100);
        filter.add(120, true);
        assert_eq!(filter.max(), 120);
    }
}
