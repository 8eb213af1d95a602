//! The jumps of a flow over missing numbers.

use super::window::WINDOW;

/// Every jump over missing numbers skips at least one, so this many jumps span the window.
const JUMPS: usize = (WINDOW / 2) as usize;

/// The jumps of a flow over missing numbers, for the reordering extent of datagrams that arrive there later.
///
/// The first datagram to overtake a missing number is the one that jumped over it.
#[derive(Debug, Clone)]
pub(super) struct Jumps {
    /// The number jumped to, and the datagrams received before it.
    ring: Box<[(u64, u64)]>,
    pushed: u64,
}

impl Jumps {
    /// No jump yet; all memory is taken here.
    pub(super) fn new() -> Self {
        Self {
            ring: vec![(0, 0); JUMPS].into_boxed_slice(),
            pushed: 0,
        }
    }

    /// Adds a jump to `number`, with the datagrams received before it.
    pub(super) fn push(&mut self, number: u64, position: u64) {
        self.ring[(self.pushed % JUMPS as u64) as usize] = (number, position);
        self.pushed += 1;
    }

    /// The number of datagrams received before the first that jumped over `seq`.
    pub(super) fn first_over(&self, seq: u64) -> Option<u64> {
        let at = |index: u64| self.ring[(index % JUMPS as u64) as usize];
        let (mut low, mut high) = (self.pushed.saturating_sub(JUMPS as u64), self.pushed);
        while low < high {
            let middle = low + (high - low) / 2;
            if at(middle).0 > seq {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (low < self.pushed).then(|| at(low).1)
    }
}
