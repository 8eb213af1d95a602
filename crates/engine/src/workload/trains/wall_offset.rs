//! The wall clock against the monotonic one, so that a step of the wall clock moves no times.

/// The minimum change of the offset that is a step, ns. Rate corrections change both clocks alike; what remains is the time between the
/// two readings, in which the reader may be interrupted.
const MIN_STEP_NS: i64 = 50_000_000;

/// What the wall clock is ahead of the monotonic clock, before its last step and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WallOffset {
    before_ns: i64,
    now_ns: i64,
}

impl WallOffset {
    /// The offset by readings of both clocks, ns.
    pub(super) const fn new(wall_ns: u64, monotonic_ns: u64) -> Self {
        let offset_ns = wall_ns.wrapping_sub(monotonic_ns) as i64;
        Self {
            before_ns: offset_ns,
            now_ns: offset_ns,
        }
    }

    /// Takes later readings of both clocks.
    pub(super) const fn update(&mut self, wall_ns: u64, monotonic_ns: u64) {
        let offset_ns = wall_ns.wrapping_sub(monotonic_ns) as i64;
        if offset_ns.abs_diff(self.now_ns) >= MIN_STEP_NS as u64 {
            self.before_ns = self.now_ns;
            self.now_ns = offset_ns;
        }
    }

    /// The time on the monotonic clock of a time on the wall clock, ns: at or before the reading `monotonic_ns` and as close to it as the
    /// offset before the step or that after it has it.
    pub(super) fn monotonic_ns(self, wall_ns: u64, monotonic_ns: u64) -> u64 {
        let by = |offset_ns: i64| wall_ns.wrapping_sub(offset_ns as u64);
        let latest_ns = monotonic_ns.saturating_add(MIN_STEP_NS as u64);
        let candidates = [by(self.now_ns), by(self.before_ns)];
        let possible = candidates.into_iter().filter(|at_ns| *at_ns <= latest_ns);
        possible.max().unwrap_or(monotonic_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const HOUR: u64 = 3600 * SECOND;
    const WALL: u64 = 1_700_000_000 * SECOND;

    #[test]
    fn times_keep_their_distances_while_nothing_is_set() {
        let mut offset = WallOffset::new(WALL, 5 * SECOND);
        // The reader was interrupted for 3 ms between the two readings.
        offset.update(WALL + SECOND, 6 * SECOND + 3_000_000);
        for after_ns in [0, 40_000, 990_000_000] {
            let at_ns = offset.monotonic_ns(WALL + after_ns, 6 * SECOND);
            assert_eq!(at_ns, 5 * SECOND + after_ns);
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_no_time() {
        for stepped in [WALL + HOUR, WALL - HOUR] {
            let mut offset = WallOffset::new(WALL, 5 * SECOND);
            offset.update(stepped + SECOND, 6 * SECOND);
            let taken = [WALL + 400_000_000, stepped + 600_000_000];
            let times = taken.map(|at_ns| offset.monotonic_ns(at_ns, 6 * SECOND));
            assert_eq!(times, [5_400_000_000, 5_600_000_000]);
        }
    }
}
