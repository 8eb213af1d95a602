//! The limits that losses set.

/// No limit.
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// Minimum share kept after a reaction to loss, percent.
pub(super) const BETA_PERCENT: u64 = 70;

/// The limits of what the path carries, as losses showed them (section 5.5.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathBounds {
    /// `inflight_longterm` (`inflight_hi`): bytes in flight that probing found to be too many.
    pub inflight_hi: u64,
    /// `inflight_shortterm` (`inflight_lo`): bytes in flight, after losses since the latest probe.
    pub inflight_lo: u64,
    /// `bw_shortterm` (`bw_lo`): bytes a second, after losses since the latest probe.
    pub bw_lo: u64,
}

impl PathBounds {
    /// No limits.
    pub const NONE: Self = Self {
        inflight_hi: UNBOUNDED,
        inflight_lo: UNBOUNDED,
        bw_lo: UNBOUNDED,
    };

    /// Forgets the losses since the latest probe.
    pub fn reset_lower(&mut self) {
        self.inflight_lo = UNBOUNDED;
        self.bw_lo = UNBOUNDED;
    }

    /// Lowers the limits after a round with losses to what it delivered, from the bandwidth and window before, by 30 % at most.
    pub fn lower(&mut self, max_bw: u64, window: u64, bw_latest: u64, inflight_latest: u64) {
        if self.bw_lo == UNBOUNDED {
            self.bw_lo = max_bw;
        }
        if self.inflight_lo == UNBOUNDED {
            self.inflight_lo = window;
        }
        self.bw_lo = bw_latest.max(percent_of(self.bw_lo, BETA_PERCENT));
        self.inflight_lo = inflight_latest.max(percent_of(self.inflight_lo, BETA_PERCENT));
    }

    /// The wider limits of both.
    pub fn widest(self, other: Self) -> Self {
        Self {
            inflight_hi: self.inflight_hi.max(other.inflight_hi),
            inflight_lo: self.inflight_lo.max(other.inflight_lo),
            bw_lo: self.bw_lo.max(other.bw_lo),
        }
    }
}

/// `percent` of a number.
pub(super) fn percent_of(value: u64, percent: u64) -> u64 {
    let product = u128::from(value) * u128::from(percent) / 100;
    u64::try_from(product).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_with_losses_lowers_the_limits_to_what_it_delivered_and_no_further_than_thirty_percent()
     {
        let mut bounds = PathBounds::NONE;
        bounds.lower(1000, 100, 980, 99);
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (980, 99));
        bounds.lower(1000, 100, 100, 10);
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (686, 69));
        bounds.reset_lower();
        assert_eq!(bounds, PathBounds::NONE);
    }
}
