//! A barrier at which the connections of a round-trip test wait for one another before each message size.

use std::sync::{Condvar, Mutex, PoisonError};

/// A barrier whose members may leave.
#[derive(Debug)]
pub struct SizeBarrier {
    state: Mutex<BarrierState>,
    released: Condvar,
}

#[derive(Debug)]
struct BarrierState {
    members: u32,
    arrived: u32,
    round: u64,
}

impl SizeBarrier {
    /// A barrier with so many members.
    #[must_use]
    pub fn new(members: u32) -> Self {
        Self {
            state: Mutex::new(BarrierState {
                members,
                arrived: 0,
                round: 0,
            }),
            released: Condvar::new(),
        }
    }

    /// Waits until all other members have arrived or left.
    pub(super) fn wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.round;
        state.arrived += 1;
        self.release_if_complete(&mut state);
        while state.round == round {
            state = self
                .released
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves: the others wait for one member less.
    pub fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.members = state.members.saturating_sub(1);
        self.release_if_complete(&mut state);
    }

    fn release_if_complete(&self, state: &mut BarrierState) {
        if state.arrived >= state.members {
            state.arrived = 0;
            state.round += 1;
            self.released.notify_all();
        }
    }

    /// The members that have not left.
    pub fn members(&self) -> u32 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;

    #[test]
    fn no_member_begins_a_round_before_all_have_arrived_or_left() {
        let barrier = Arc::new(SizeBarrier::new(4));
        let count = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..3)
            .map(|nth| {
                let (barrier, count) = (Arc::clone(&barrier), Arc::clone(&count));
                thread::spawn(move || {
                    for round in 0..100 {
                        if nth == 0 && round == 50 {
                            break;
                        }
                        barrier.wait();
                        // Three a round, then two: no member is ahead of the slowest by more than one round.
                        let before = count.fetch_add(1, Relaxed);
                        let min = if round <= 50 {
                            round * 3
                        } else {
                            150 + (round - 50) * 2
                        };
                        assert!(before >= min, "round {round} began after {before}");
                    }
                    barrier.leave();
                })
            })
            .collect();
        assert_eq!(count.load(Relaxed), 0);
        barrier.leave();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((barrier.members(), count.load(Relaxed)), (0, 250));
    }
}
