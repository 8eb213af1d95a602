//! The bytes a direction still has to send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The bytes a direction still has to send, shared by its flows.
#[derive(Debug)]
pub struct ByteBudget {
    left: AtomicU64,
    /// `true` while a budget that is used up may be extended.
    may_grow: AtomicBool,
}

impl ByteBudget {
    /// A budget of this many bytes; `None` for one without end.
    pub fn new(bytes: Option<u64>) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(bytes.unwrap_or(u64::MAX)),
            may_grow: AtomicBool::new(false),
        })
    }

    /// A budget of this many bytes, after which its flows wait until it is [extended](Self::extend) or they are stopped.
    pub fn extensible(bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(bytes),
            may_grow: AtomicBool::new(true),
        })
    }

    /// `true` when a flow that found the budget used up is to wait.
    pub fn may_grow(&self) -> bool {
        self.may_grow.load(Relaxed)
    }

    /// `true` when nothing is left to send.
    pub fn is_used_up(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    /// Adds bytes to a budget that has an end.
    pub fn extend(&self, bytes: u64) {
        self.refund(bytes);
    }

    /// Takes up to `wanted` bytes; 0 when the budget is used up.
    pub(crate) fn claim(&self, wanted: u64) -> u64 {
        if self.left.load(Relaxed) == u64::MAX {
            return wanted;
        }
        let mut claimed = 0;
        let _ = self.left.fetch_update(Relaxed, Relaxed, |left| {
            claimed = left.min(wanted);
            Some(left - claimed)
        });
        claimed
    }

    /// Puts back bytes that were claimed and not used.
    pub(crate) fn refund(&self, unused: u64) {
        let _ = self.left.fetch_update(Relaxed, Relaxed, |left| {
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

    #[test]
    fn a_budget_that_is_used_up_can_be_extended() {
        let budget = ByteBudget::extensible(10);
        assert_eq!((budget.claim(10), budget.claim(1)), (10, 0));
        assert!(budget.is_used_up() && budget.may_grow());
        budget.extend(7);
        assert_eq!(
            (budget.claim(5), budget.claim(5), budget.claim(5)),
            (5, 2, 0)
        );
        assert!(!ByteBudget::new(Some(10)).may_grow());
    }
}
