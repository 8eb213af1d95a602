//! The wait for the next departure of a UDP sender: asleep, and awake for its last part. Times are arguments.

use super::wake_up_error::WakeUpError;
use caudal_core::plan::Pacing;

/// Maximum busy wait of a precise sender before a departure, ns; a balanced one never exceeds it either.
const MAX_AWAKE_NS: u64 = 60_000;
/// Maximum gap of a precise schedule for a busy wait, ns: with larger ones a late departure is a small error.
const AWAKE_BELOW_GAP_NS: f64 = 1_000_000.0;
/// Maximum sleep between two checks of the signals, ns.
const MAX_SLEEP_NS: u64 = 50_000_000;
/// Maximum share of its time that a balanced sender spends in busy waits.
const AWAKE_PART: f64 = 1.0 / 40.0;
/// Maximum busy wait that a balanced sender earns in one part of a wait, ns: slow schedules stay cheap.
const MAX_EARNED_NS: f64 = 3_000.0;
/// Maximum busy wait that a balanced sender saves up, ns.
const MAX_SAVED_NS: f64 = 500_000.0;
/// Share of its savings by which it wakes up early.
const LEAD_PART: f64 = 1.0 / 16.0;

/// The next part of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitStep {
    /// To sleep until this time, ns.
    Sleep(u64),
    /// To look at the clock until this time, ns.
    Awake(u64),
}

/// The way in which a sender waits for its departures.
#[derive(Debug, Clone, Copy)]
pub(super) enum DepartureWait {
    /// Asleep but for the last part, of this many ns.
    Precise(u64),
    /// Asleep until the learnt wake-up error before the departure.
    Balanced(BalancedWait),
}

impl DepartureWait {
    /// The wait of a sender whose departures are `period_ns` apart, from `now_ns` on.
    pub(super) fn new(pacing: Pacing, period_ns: f64, now_ns: u64) -> Self {
        match pacing {
            Pacing::Precise if period_ns <= AWAKE_BELOW_GAP_NS => Self::Precise(MAX_AWAKE_NS),
            Pacing::Precise => Self::Precise(0),
            Pacing::Balanced => Self::Balanced(BalancedWait::new(now_ns)),
        }
    }

    /// The next part of the wait at `now_ns` for a departure that is due at `due_ns`.
    pub(super) fn step(&mut self, now_ns: u64, due_ns: u64) -> WaitStep {
        let step = match self {
            Self::Precise(awake_ns) => {
                let asleep_ns = due_ns.saturating_sub(*awake_ns);
                if now_ns < asleep_ns {
                    WaitStep::Sleep(asleep_ns)
                } else {
                    WaitStep::Awake(due_ns)
                }
            }
            Self::Balanced(wait) => wait.step(now_ns, due_ns),
        };
        match step {
            WaitStep::Sleep(until_ns) => WaitStep::Sleep(until_ns.min(now_ns + MAX_SLEEP_NS)),
            awake => awake,
        }
    }

    /// Takes note that a sleep until `asked_ns` ended at `woken_ns`: the usual wake-up error, where it is learnt, ns.
    pub(super) fn woken(&mut self, asked_ns: u64, woken_ns: u64) -> Option<f64> {
        match self {
            Self::Precise(_) => None,
            Self::Balanced(wait) => {
                wait.error.learn(asked_ns, woken_ns);
                Some(wait.error.usual_ns())
            }
        }
    }
}

/// The wait of a balanced sender.
///
/// It asks to be woken ahead of a departure by the wake-up error it has learnt, and waits awake for what is left then. The
/// time awake is saved up as a fixed part of all time, so that it is bounded whatever the machine does; a sender without
/// savings sleeps until the departure, and is late by the wake-up error.
#[derive(Debug, Clone, Copy)]
pub(super) struct BalancedWait {
    error: WakeUpError,
    saved_ns: f64,
    last_ns: u64,
}

impl BalancedWait {
    fn new(now_ns: u64) -> Self {
        Self {
            error: WakeUpError::default(),
            saved_ns: 0.0,
            last_ns: now_ns,
        }
    }

    /// The time before a departure at which to be woken, ns: the usual error, and more while much is saved up.
    fn lead_ns(&self) -> u64 {
        let affordable = self.error.usual_ns() + self.saved_ns * LEAD_PART;
        let lead_ns = affordable.min(self.error.high_ns()).min(self.saved_ns);
        (lead_ns as u64).min(MAX_AWAKE_NS)
    }

    fn step(&mut self, now_ns: u64, due_ns: u64) -> WaitStep {
        let passed = now_ns.saturating_sub(self.last_ns) as f64;
        self.last_ns = now_ns.max(self.last_ns);
        self.saved_ns =
            (self.saved_ns + (passed * AWAKE_PART).min(MAX_EARNED_NS)).min(MAX_SAVED_NS);
        let wake_ns = due_ns.saturating_sub(self.lead_ns());
        if now_ns < wake_ns {
            return WaitStep::Sleep(wake_ns);
        }
        let left = due_ns.saturating_sub(now_ns) as f64;
        if left > self.saved_ns {
            return WaitStep::Sleep(due_ns);
        }
        self.saved_ns -= left;
        WaitStep::Awake(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What became of a sender that waited for departures at fixed gaps.
    struct Waited {
        asleep_ns: u64,
        awake_ns: u64,
        /// How late departures were, sorted, ns.
        late_ns: Vec<u64>,
    }

    /// Waits for 20 000 departures that are `gap_ns` apart on a machine on which sleeps end late by `late(n)` ns.
    fn wait(pacing: Pacing, gap_ns: u64, late: impl Fn(u64) -> u64) -> Waited {
        let mut wait = DepartureWait::new(pacing, gap_ns as f64, 0);
        let (mut now, mut sleeps) = (0, 0);
        let mut waited = Waited {
            asleep_ns: 0,
            awake_ns: 0,
            late_ns: Vec::new(),
        };
        for due in (1..=20_000).map(|n| n * gap_ns) {
            while now < due {
                match wait.step(now, due) {
                    WaitStep::Sleep(until) => {
                        assert!(now < until && until <= due, "a sleep past a departure");
                        let woken = until + late(sleeps);
                        sleeps += 1;
                        wait.woken(until, woken);
                        waited.asleep_ns += woken - now;
                        now = woken;
                    }
                    WaitStep::Awake(until) => {
                        assert_eq!(until, due);
                        waited.awake_ns += until - now;
                        now = until;
                    }
                }
            }
            waited.late_ns.push(now - due);
        }
        waited.late_ns.sort_unstable();
        waited
    }

    /// The part of its time that a sender waited awake.
    fn awake_part(waited: &Waited) -> f64 {
        waited.awake_ns as f64 / (waited.awake_ns + waited.asleep_ns) as f64
    }

    /// Sleeps that end 15 to 25 µs late.
    fn scattered(n: u64) -> u64 {
        15_000 + n * 7919 % 10_001
    }

    #[test]
    fn a_balanced_sender_wakes_up_in_time_and_is_hardly_ever_awake() {
        for gap_ns in [60_000, 116_000, 1_158_000, 11_584_000] {
            let waited = wait(Pacing::Balanced, gap_ns, scattered);
            assert!(awake_part(&waited) <= AWAKE_PART, "{gap_ns}");
            assert!(waited.awake_ns <= 20_000 * 6_000, "{gap_ns}");
            assert!(waited.late_ns[10_000] <= 5_000, "{gap_ns}");
            assert!(waited.late_ns[19_800] <= 12_000, "{gap_ns}");
        }
    }

    #[test]
    fn a_wake_up_error_of_50_us_is_slept_through() {
        let waited = wait(Pacing::Balanced, 116_000, |_| 50_000);
        assert!(
            waited.late_ns[19_000] <= 4_000,
            "{}",
            waited.late_ns[19_000]
        );
        assert!(awake_part(&waited) <= AWAKE_PART);
    }

    #[test]
    fn a_wake_up_error_longer_than_the_gap_does_not_keep_a_sender_awake() {
        let waited = wait(Pacing::Balanced, 20_000, |_| 70_000);
        assert!(awake_part(&waited) <= AWAKE_PART);
    }

    #[test]
    fn a_precise_sender_is_never_late_by_a_wake_up_error() {
        let waited = wait(Pacing::Precise, 116_000, scattered);
        assert_eq!(waited.late_ns.last(), Some(&0));
        assert!(awake_part(&waited) > 0.3);
        let seldom = wait(Pacing::Precise, 2_000_000, scattered);
        assert_eq!(seldom.awake_ns, 0);
    }

    #[test]
    fn a_long_sleep_is_cut_up_so_that_signals_are_seen() {
        for pacing in [Pacing::Precise, Pacing::Balanced] {
            let mut wait = DepartureWait::new(pacing, 1e9, 0);
            assert_eq!(wait.step(0, 1_000_000_000), WaitStep::Sleep(MAX_SLEEP_NS));
        }
    }
}
