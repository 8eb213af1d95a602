//! The times of frames, without the steps of the clocks that took them.

/// Maximum step back between frames of several queues or interfaces, ns; larger steps mean that the clock was set.
const MAX_BACKWARDS_NS: i64 = 1_000_000_000;
/// Maximum plausible pause of a capture, ns: 30 days.
const MAX_PAUSE_NS: i64 = 30 * 86_400 * 1_000_000_000;
/// A day, ns: times on the first of 1970 are from a clock that was not set.
const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// What the time of a frame says beside when it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeStep {
    /// It follows that of the frame before.
    Steady,
    /// It is a little older than that of the frame before.
    Backwards,
    /// The clock was set by so much, ns, or another capture begins at another time.
    Set(i64),
    /// The file has none.
    Missing,
}

/// The time of a capture, which goes on from frame to frame: where a clock was set, no time passes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameClock {
    /// The latest time as the file has it.
    raw_ns: Option<u64>,
    at_ns: u64,
    /// The first time as the file has it.
    pub(crate) first_raw_ns: Option<u64>,
    /// How often the clock was set.
    pub(crate) epoch: u32,
    /// Frames without a time.
    pub(crate) untimed: u64,
}

impl FrameClock {
    /// The time of the next frame, of which the file says `raw`.
    #[inline]
    pub(crate) fn read(&mut self, raw: Option<u64>) -> (u64, TimeStep) {
        let (Some(raw), Some(before)) = (raw, self.raw_ns) else {
            return self.begin(raw);
        };
        // Zero, the beginning of 1970, stands for a time that is not known.
        if raw == 0 && (before == 0 || before > DAY_NS) {
            self.untimed += 1;
            return (self.at_ns, TimeStep::Missing);
        }
        self.raw_ns = Some(raw);
        let passed = raw.wrapping_sub(before).cast_signed();
        if !(-MAX_BACKWARDS_NS..=MAX_PAUSE_NS).contains(&passed) {
            self.epoch = self.epoch.wrapping_add(1);
            return (self.at_ns, TimeStep::Set(passed));
        }
        self.at_ns = self.at_ns.saturating_add_signed(passed);
        let step = match passed < 0 {
            true => TimeStep::Backwards,
            false => TimeStep::Steady,
        };
        (self.at_ns, step)
    }

    /// The first time that the files have, or none.
    fn begin(&mut self, raw: Option<u64>) -> (u64, TimeStep) {
        let Some(raw) = raw else {
            self.untimed += 1;
            return (self.at_ns, TimeStep::Missing);
        };
        (self.raw_ns, self.first_raw_ns) = (Some(raw), Some(raw));
        // Frames without a time in front of it have none to compare it with.
        if self.untimed == 0 {
            self.at_ns = raw;
        }
        (self.at_ns, TimeStep::Steady)
    }

    /// The latest time as the file has it.
    pub(crate) const fn latest_raw_ns(&self) -> Option<u64> {
        self.raw_ns
    }

    /// `true` while the times are those of the file.
    pub(crate) const fn is_that_of_the_file(&self) -> bool {
        self.epoch == 0 && self.untimed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const NOW: u64 = 1_700_000_000 * S;

    fn read(times: &[Option<u64>]) -> Vec<(u64, TimeStep)> {
        let mut clock = FrameClock::default();
        times.iter().map(|raw| clock.read(*raw)).collect()
    }

    #[test]
    fn a_clock_that_is_set_lets_no_time_pass() {
        use TimeStep::{Backwards, Set, Steady};
        let times =
            [5, 7, 7 + 40 * 365 * 86_400, 8 + 40 * 365 * 86_400, 100, 101].map(|s| Some(s * S));
        let read = read(&times);
        assert_eq!(
            read.iter().map(|(at, _)| at / S).collect::<Vec<_>>(),
            [5, 7, 7, 8, 8, 9]
        );
        assert!(matches!(read[2].1, Set(by) if by > 0));
        assert!(matches!(read[4].1, Set(by) if by < 0));
        assert_eq!((read[1].1, read[3].1), (Steady, Steady));
        let queues = [Some(NOW), Some(NOW + S), Some(NOW + S - 5)];
        assert_eq!(self::read(&queues)[2], (NOW + S - 5, Backwards));
    }

    #[test]
    fn a_frame_without_a_time_is_at_that_of_the_one_before() {
        use TimeStep::{Missing, Steady};
        let times = [Some(NOW), None, Some(0), Some(NOW + S)];
        let expected = [
            (NOW, Steady),
            (NOW, Missing),
            (NOW, Missing),
            (NOW + S, Steady),
        ];
        assert_eq!(read(&times), expected);
        assert_eq!(read(&[Some(0), Some(0)])[1], (0, Missing));
        // Simulations begin at zero.
        assert_eq!(read(&[Some(0), Some(S)])[1], (S, Steady));
        assert_eq!(read(&[None, Some(NOW), Some(NOW + S)])[2], (S, Steady));
    }
}
