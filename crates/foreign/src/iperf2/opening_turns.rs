//! The order in which the UDP flows of a client open.
//!
//! A server of iperf 2 takes the first datagram of a flow from the socket on which it listens, connects that socket to the
//! client's port, and listens on another. Whatever arrives of other flows meanwhile ends up in the first one's socket: of flows
//! that begin at once some datagrams count as lost in one and out of order in another, and a flow that is to be answered with
//! payload can be missing altogether.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The time after a flow has opened in which the server begins to listen again, ns.
const LISTEN_NS: u64 = 10_000_000;
/// The time a flow may take to open before the next one goes ahead, ns.
const MAX_TURN_NS: u64 = 100_000_000;
/// Maximum time any of a few flows waits for its turn, ns.
const MAX_WAIT_NS: u64 = 500_000_000;
/// The part of the maximum wait that each of many flows before adds, ns.
const MIN_TURN_NS: u64 = 2 * LISTEN_NS;

/// The maximum time a flow waits for its turn after `before` others, ns.
pub(super) fn max_wait_ns(before: u32) -> u64 {
    let before = u64::from(before);
    (before * MAX_TURN_NS).min(MAX_WAIT_NS.max(before * MIN_TURN_NS))
}

/// The flows that have opened.
#[derive(Debug, Default)]
pub(super) struct OpeningTurns {
    /// The time at which the first one asked for its turn, ns; 0 before.
    began_ns: AtomicU64,
    opened: AtomicU32,
    /// The time at which the latest one opened, ns.
    opened_ns: AtomicU64,
}

/// The turn of one flow.
#[derive(Debug, Clone)]
pub(super) struct OpeningTurn {
    pub(super) turns: Arc<OpeningTurns>,
    /// The flows that open before.
    pub(super) before: u32,
}

impl OpeningTurn {
    /// `true` when the flow may open at `now_ns`.
    pub(super) fn has_come(&self, now_ns: u64) -> bool {
        let turns = &self.turns;
        let began = turns
            .began_ns
            .compare_exchange(0, now_ns.max(1), Relaxed, Relaxed);
        let began_ns = match began {
            Ok(_) => now_ns,
            Err(began_ns) => began_ns,
        };
        let are_open = turns.opened.load(Relaxed) >= self.before
            && now_ns >= turns.opened_ns.load(Relaxed) + LISTEN_NS;
        self.before == 0 || are_open || now_ns >= began_ns.saturating_add(max_wait_ns(self.before))
    }

    /// Takes note that the flow has opened.
    pub(super) fn end(&self, now_ns: u64) {
        self.turns.opened_ns.store(now_ns, Relaxed);
        self.turns.opened.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_opens_after_those_before_it_or_after_a_while() {
        let turns = Arc::default();
        let turn = |before| OpeningTurn {
            turns: Arc::clone(&turns),
            before,
        };
        let began_ns = 7_000_000_000;
        assert!(!turn(2).has_come(began_ns), "it asks first");
        let came = |now_ns: u64| [0, 1, 2].map(|before| turn(before).has_come(began_ns + now_ns));
        assert_eq!(came(0), [true, false, false]);
        turn(0).end(began_ns + 1_000_000);
        assert_eq!(
            came(1_000_000),
            [true, false, false],
            "it does not listen yet"
        );
        assert_eq!(came(1_000_000 + LISTEN_NS), [true, true, false]);
        assert_eq!(came(2 * MAX_TURN_NS), [true, true, true]);
        assert!(turn(20).has_come(began_ns + MAX_WAIT_NS));
        assert!(
            !turn(100).has_come(began_ns + MAX_WAIT_NS),
            "a hundred take longer"
        );
        assert!(turn(100).has_come(began_ns + 100 * MIN_TURN_NS));
    }
}
