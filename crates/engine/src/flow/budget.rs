//! The bytes a direction still has to send.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes a direction still has to send, shared by its flows.
#[derive(Debug)]
pub(crate) struct ByteBudget(AtomicU64);

impl ByteBudget {
    /// A budget of this many bytes; `None` for one without end.
    pub(crate) fn new(bytes: Option<u64>) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes.unwrap_or(u64::MAX))))
    }

    /// Takes up to `wanted` bytes; 0 when the budget is used up.
    pub(crate) fn claim(&self, wanted: u64) -> u64 {
        if self.0.load(Relaxed) == u64::MAX {
            return wanted;
        }
        let mut claimed = 0;
        let _ = self.0.fetch_update(Relaxed, Relaxed, |left| {
            claimed = left.min(wanted);
            Some(left - claimed)
        });
        claimed
    }

    /// Puts back bytes that were claimed and not used.
    pub(crate) fn refund(&self, unused: u64) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |left| {
            (left != u64::MAX).then(|| left + unused)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_claimed_to_the_last_byte_and_no_further() {
        let budget = ByteBudget::new(Some(100_000));
        assert_eq!(budget.claim(65_536), 65_536);
        assert_eq!(budget.claim(65_536), 34_464);
        assert_eq!(budget.claim(1), 0);
        budget.refund(464);
        assert_eq!(budget.claim(1000), 464);
        let endless = ByteBudget::new(None);
        endless.refund(1);
        assert_eq!(endless.claim(7), 7);
    }
}
