//! One reaction to congestion for each round trip.

/// The period in which packets that left before the latest reaction to congestion are still being reported.
///
/// Their loss is part of the congestion already reacted to, and their acknowledgement is no reason to grow (RFC 9002 section 7.3.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RecoveryPeriod {
    start_ns: Option<u64>,
}

impl RecoveryPeriod {
    /// A reaction at `now_ns` begins a period.
    pub fn begin(&mut self, now_ns: u64) {
        self.start_ns = Some(now_ns);
    }

    /// Ends the period early: its reason was none.
    pub fn end(&mut self) {
        self.start_ns = None;
    }

    /// Whether a packet that left at `sent_ns` left before the reaction.
    pub fn covers(&self, sent_ns: u64) -> bool {
        self.start_ns.is_some_and(|start| sent_ns <= start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_left_before_the_reaction_belong_to_it() {
        let mut recovery = RecoveryPeriod::default();
        assert!(!recovery.covers(5));
        recovery.begin(10);
        assert!(recovery.covers(10) && !recovery.covers(11));
        recovery.end();
        assert!(!recovery.covers(10));
    }
}
