//! The times of a server's tests, for what each is told of the others.

use caudal_wire::message::OtherTest;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of other tests that a client is told of, the longest first.
const MAX_TOLD: usize = 100;
/// Maximum number of tests that ended beside one that runs and are kept.
const MAX_ENDED: usize = 1000;
/// Minimum time that two tests have in common, ns.
const MIN_COMMON_NS: u64 = 10_000_000;

/// The time of one test, ns of the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct TestTime {
    number: u64,
    start_ns: u64,
    /// `None` while it runs.
    end_ns: Option<u64>,
}

/// The times of the tests that run, and of those that ended while one of these ran.
#[derive(Debug, Default)]
pub(super) struct TestTimes(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    next: u64,
    all: Vec<TestTime>,
}

/// A test that runs; it has ended when this is dropped.
#[derive(Debug)]
pub(super) struct RunningTest {
    times: Arc<TestTimes>,
    number: u64,
    start_ns: u64,
    clock: fn() -> u64,
}

impl TestTimes {
    /// Notes the beginning of a test, by a clock in ns.
    pub(super) fn begin(self: &Arc<Self>, clock: fn() -> u64) -> RunningTest {
        let start_ns = clock();
        let mut times = self.lock();
        let number = times.next;
        times.next += 1;
        times.all.push(TestTime {
            number,
            start_ns,
            end_ns: None,
        });
        drop(times);
        RunningTest {
            times: Arc::clone(self),
            number,
            start_ns,
            clock,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Times {
    /// The tests beside test `number`, which began at `start_ns`, until `now_ns`.
    fn beside(&self, number: u64, start_ns: u64, now_ns: u64) -> Vec<OtherTest> {
        let common = |test: &TestTime| {
            let from_ns = test.start_ns.max(start_ns);
            let to_ns = test.end_ns.unwrap_or(now_ns).min(now_ns);
            (to_ns.saturating_sub(from_ns) >= MIN_COMMON_NS)
                .then(|| (from_ns - start_ns, to_ns - start_ns))
        };
        let others = self.all.iter().filter(|test| test.number != number);
        let mut found: Vec<(u64, u64)> = others.filter_map(common).collect();
        found.sort_by_key(|(from_ns, to_ns)| std::cmp::Reverse(to_ns - from_ns));
        found.truncate(MAX_TOLD);
        found.sort_unstable();
        let told = found.into_iter().map(|(from_ns, to_ns)| OtherTest {
            from_s: from_ns as f64 / 1e9,
            to_s: to_ns as f64 / 1e9,
        });
        told.collect()
    }

    /// Notes the end of a test, and forgets those that ended before all that run began.
    fn end(&mut self, number: u64, now_ns: u64) {
        if let Some(test) = self.all.iter_mut().find(|test| test.number == number) {
            test.end_ns = Some(now_ns);
        }
        let running = self.all.iter().filter(|test| test.end_ns.is_none());
        let oldest_ns = running.map(|test| test.start_ns).min();
        self.all.retain(|test| match (test.end_ns, oldest_ns) {
            (None, _) => true,
            (Some(end_ns), Some(oldest_ns)) => end_ns > oldest_ns,
            (Some(_), None) => false,
        });
        let ended = |test: &TestTime| test.end_ns.is_some();
        if self.all.iter().filter(|test| ended(test)).count() > MAX_ENDED
            && let Some(oldest) = self.all.iter().position(ended)
        {
            self.all.remove(oldest);
        }
    }
}

impl RunningTest {
    /// The other tests beside this one, so far.
    pub(super) fn others(&self) -> Vec<OtherTest> {
        let now_ns = (self.clock)();
        self.times.lock().beside(self.number, self.start_ns, now_ns)
    }
}

impl Drop for RunningTest {
    fn drop(&mut self) {
        let now_ns = (self.clock)();
        self.times.lock().end(self.number, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_test_is_told_of_those_that_ran_beside_it() {
        let mut times = Times::default();
        for (number, start_ns) in [(0, 0), (1, 2 * S), (2, 3 * S)] {
            times.all.push(TestTime {
                number,
                start_ns,
                end_ns: None,
            });
        }
        times.end(1, 5 * S);
        let spans = |number, start_ns, now_ns| -> Vec<(f64, f64)> {
            let told = times.beside(number, start_ns, now_ns);
            told.iter().map(|one| (one.from_s, one.to_s)).collect()
        };
        assert_eq!(spans(0, 0, 10 * S), [(2.0, 5.0), (3.0, 10.0)]);
        assert_eq!(spans(2, 3 * S, 10 * S), [(0.0, 2.0), (0.0, 7.0)]);
        assert_eq!(spans(3, 11 * S, 11 * S), []);
        assert_eq!(spans(3, 9 * S, 9 * S + S / 2), [(0.0, 0.5), (0.0, 0.5)]);
        times.end(0, 10 * S);
        assert_eq!(times.all.len(), 3, "the two that ended ran beside the last");
        times.end(2, 11 * S);
        assert!(times.all.is_empty());
    }

    #[test]
    fn many_short_tests_beside_a_long_one_are_not_all_kept() {
        let mut times = Times::default();
        let begin = |times: &mut Times, number, start_ns| {
            times.all.push(TestTime {
                number,
                start_ns,
                end_ns: None,
            });
        };
        begin(&mut times, 0, 0);
        for number in 1..5000 {
            begin(&mut times, number, number * S);
            times.end(number, number * S + S / 2);
        }
        assert_eq!(times.all.len(), MAX_ENDED + 1);
        assert_eq!(times.all[0].number, 0, "the one that runs stays");
    }
}
