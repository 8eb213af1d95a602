//! Clients whose UDP test was ended by a limit of the server: what they go on to send begins no other test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The time without a datagram after which a client that was cut off may begin another test, ns.
const QUIET_NS: u64 = 1_000_000_000;

/// The mark of a client whose test was ended by a limit of the server. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct CutOff {
    /// The time of its latest datagram since, ns of the monotonic clock; 0 while it is not cut off.
    latest_ns: Arc<AtomicU64>,
}

impl CutOff {
    /// Cuts the client off.
    pub(super) fn set(&self, now_ns: u64) {
        self.latest_ns.store(now_ns.max(1), Relaxed);
    }

    /// `true` while the client is cut off.
    pub(super) fn holds(&self, now_ns: u64) -> bool {
        match self.latest_ns.load(Relaxed) {
            0 => false,
            latest_ns => now_ns < latest_ns.saturating_add(QUIET_NS),
        }
    }

    /// Takes note of a datagram of the client.
    pub(super) fn refresh(&self, now_ns: u64) {
        if self.holds(now_ns) {
            self.latest_ns.store(now_ns, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_cut_off_until_it_was_quiet() {
        let cut_off = CutOff::default();
        cut_off.refresh(5);
        assert!(!cut_off.holds(5));
        cut_off.clone().set(10);
        cut_off.refresh(QUIET_NS);
        assert!(cut_off.holds(2 * QUIET_NS - 1));
        assert!(!cut_off.holds(2 * QUIET_NS));
        cut_off.refresh(2 * QUIET_NS);
        assert!(!cut_off.holds(2 * QUIET_NS));
    }
}
