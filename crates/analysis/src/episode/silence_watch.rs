//! The watch over a running test, from one end: whether the peer answers, and whether this end runs. Time is an argument.
//!
//! A peer that has nothing to send is asked for its clock, so that one that answers is heard every half second. Silence is told
//! from a late look at the socket, and a program that stands still from a path that is interrupted: the kernel of a
//! stopped program goes on acknowledging.

use caudal_core::episode::{ClockStep, Episode, EpisodeKind, MAX_EPISODES, keep_longest};
use std::time::Duration;

/// Minimum silence that counts, ns.
const MIN_SILENCE_NS: u64 = 1_000_000_000;
/// The same in round trips.
const MIN_SILENCE_ROUND_TRIPS: u64 = 3;
/// The time after which a peer that was not heard is asked for an answer, ns.
const ASK_AFTER_NS: u64 = 500_000_000;
/// Minimum delay of this end's own wake-up that counts as a stop, ns.
const MIN_STOP_NS: u64 = 200_000_000;
/// Minimum time a host was suspended for that counts, ns.
const MIN_SUSPENSION_NS: u64 = 200_000_000;
/// Minimum step of the wall clock that counts, ns: adjustments of its rate change it by 0.05 % at most between two looks (adjtimex(2)).
const MIN_CLOCK_STEP_NS: u64 = 10_000_000;
/// Maximum number of steps of the wall clock that are kept, the first ones.
const MAX_CLOCK_STEPS: usize = 100;
/// The time over which the peer's kernel must have acknowledged in a silence for its program to be what stands still, ns.
const MIN_ACKNOWLEDGED_NS: u64 = 300_000_000;
/// The time after a silence became one by which the peer's kernel must have acknowledged, ns. After an outage, it acknowledges before
/// the program is heard: what that sent waits for a timer that has backed off.
const ACKNOWLEDGED_WITHIN_NS: u64 = 200_000_000;

/// One look at the test; times in ns of the monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct WatchReading {
    /// The time at which this end began to wait.
    pub waited_from_ns: u64,
    /// The time at which it was to wake up at the latest.
    pub due_ns: u64,
    /// The time at which it did.
    pub now_ns: u64,
    /// The time at which the peer's program was heard last: a message or payload.
    pub heard_ns: u64,
    /// The time at which the peer's kernel acknowledged something last; `None` where this kernel does not tell.
    pub acknowledged_ns: Option<u64>,
    /// The time this thread has waited for a processor; `None` where the kernel does not tell.
    pub cpu_wait_ns: Option<u64>,
    /// The time this host has been suspended since it booted; `None` where the kernel does not tell.
    pub suspended_ns: Option<u64>,
    /// What the wall clock is ahead of the monotonic clock; `None` where the two could not be read at one time.
    pub wall_offset_ns: Option<i64>,
}

/// A silence under way.
#[derive(Debug, Clone, Copy)]
struct Silence {
    from_ns: u64,
    /// The first look that found that the peer's kernel acknowledged in the silence.
    acknowledged_from_ns: Option<u64>,
}

/// The watch over a running test.
#[derive(Debug)]
pub struct SilenceWatch {
    start_ns: u64,
    min_silence_ns: u64,
    asked_ns: u64,
    /// The time before which a silence is this end's own: it was not there to hear.
    excused_ns: u64,
    heard_ns: u64,
    earlier: Option<WatchReading>,
    /// The last offset of the wall clock that is known.
    wall_offset_ns: Option<i64>,
    clock_steps: Vec<ClockStep>,
    silence: Option<Silence>,
    episodes: Vec<Episode>,
}

impl SilenceWatch {
    /// The watch over a test that starts at `start_ns` on a path with this round-trip time.
    #[must_use]
    pub fn new(start_ns: u64, rtt: Duration) -> Self {
        let rtt_ns = u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX);
        Self {
            start_ns,
            min_silence_ns: MIN_SILENCE_NS.max(rtt_ns.saturating_mul(MIN_SILENCE_ROUND_TRIPS)),
            asked_ns: start_ns,
            excused_ns: start_ns,
            heard_ns: start_ns,
            earlier: None,
            wall_offset_ns: None,
            clock_steps: Vec::new(),
            silence: None,
            episodes: Vec::new(),
        }
    }

    /// `true` when the peer is to be asked for an answer at `now_ns`: then it is taken for asked.
    pub const fn is_question_due(&mut self, now_ns: u64) -> bool {
        let later = if self.heard_ns > self.asked_ns {
            self.heard_ns
        } else {
            self.asked_ns
        };
        let is_due = now_ns.saturating_sub(later) >= ASK_AFTER_NS;
        if is_due {
            self.asked_ns = now_ns;
        }
        is_due
    }

    /// Takes a look.
    pub fn read(&mut self, reading: &WatchReading) {
        if self.find_suspension(reading) {
            self.wall_offset_ns = reading.wall_offset_ns;
        } else {
            self.find_clock_step(reading);
        }
        self.find_stop(reading);
        self.heard_ns = self.heard_ns.max(reading.heard_ns);
        let quiet_from_ns = self.heard_ns.max(self.excused_ns);
        let is_silent = reading.now_ns.saturating_sub(quiet_from_ns) >= self.min_silence_ns;
        match (&mut self.silence, is_silent) {
            (Some(silence), _) if self.heard_ns > silence.from_ns => {
                let (silence, heard_ns) = (*silence, self.heard_ns);
                self.end(silence, Some(heard_ns), heard_ns);
            }
            (Some(silence), _) => silence.add(reading, self.min_silence_ns),
            (None, true) => {
                let mut silence = Silence {
                    from_ns: quiet_from_ns,
                    acknowledged_from_ns: None,
                };
                silence.add(reading, self.min_silence_ns);
                self.silence = Some(silence);
            }
            (None, false) => {}
        }
        self.earlier = Some(*reading);
    }

    /// The number of episodes so far.
    #[must_use]
    pub fn episodes(&self) -> usize {
        self.episodes.len()
    }

    /// The steps of the wall clock so far.
    #[must_use]
    pub fn clock_steps(&self) -> &[ClockStep] {
        &self.clock_steps
    }

    /// The episodes of the test that ends at `now_ns`: a silence under way lasted to its end.
    #[must_use]
    pub fn finish(mut self, now_ns: u64) -> Vec<Episode> {
        if let Some(silence) = self.silence {
            self.end(silence, None, now_ns);
        }
        let steps = self.clock_steps.iter().map(ClockStep::episode);
        self.episodes.extend(steps);
        keep_longest(&mut self.episodes);
        self.episodes
    }

    fn find_stop(&mut self, reading: &WatchReading) {
        let due_ns = reading.due_ns.max(reading.waited_from_ns);
        let late_ns = reading.now_ns.saturating_sub(due_ns);
        if late_ns < MIN_STOP_NS {
            return;
        }
        self.excused_ns = reading.now_ns;
        let before = self.earlier.and_then(|earlier| earlier.cpu_wait_ns);
        let waited_ns = reading
            .cpu_wait_ns
            .zip(before)
            .map(|(now, before)| now.saturating_sub(before));
        let (kind, evidence) = match waited_ns {
            Some(waited_ns) if waited_ns >= late_ns / 2 => (
                EpisodeKind::ProgramStarved,
                format!("its own timer was {:.1} s late", seconds(late_ns)),
            ),
            Some(_) => (
                EpisodeKind::ProgramStopped,
                format!(
                    "its own timer was {:.1} s late, and it did not wait for a processor",
                    seconds(late_ns)
                ),
            ),
            None => (
                EpisodeKind::ProgramStopped,
                format!("its own timer was {:.1} s late", seconds(late_ns)),
            ),
        };
        let from_s = self.after_start(reading.waited_from_ns);
        let to_s = Some(self.after_start(reading.now_ns));
        self.add(kind, from_s, to_s, evidence);
    }

    /// `true` where this host was suspended since the look before, which moves the wall clock too.
    fn find_suspension(&mut self, reading: &WatchReading) -> bool {
        let before = self.earlier.and_then(|earlier| earlier.suspended_ns);
        let Some((now, before)) = reading.suspended_ns.zip(before) else {
            return false;
        };
        let suspended_ns = now.saturating_sub(before);
        if suspended_ns < MIN_SUSPENSION_NS {
            return false;
        }
        self.excused_ns = reading.now_ns;
        let at_s = self.after_start(reading.now_ns);
        self.add(
            EpisodeKind::HostSuspended,
            at_s,
            Some(at_s),
            format!(
                "for {:.1} s, in which the clock of the test stood still",
                seconds(suspended_ns)
            ),
        );
        true
    }

    /// A step of the wall clock, as by an administrator or a time service.
    fn find_clock_step(&mut self, reading: &WatchReading) {
        if let Some(offset_ns) = reading.wall_offset_ns {
            let step_ns = self
                .wall_offset_ns
                .map_or(0, |before| offset_ns.saturating_sub(before));
            self.wall_offset_ns = Some(offset_ns);
            if step_ns.unsigned_abs() >= MIN_CLOCK_STEP_NS
                && self.clock_steps.len() < MAX_CLOCK_STEPS
            {
                self.clock_steps.push(ClockStep {
                    at_s: self.after_start(reading.now_ns),
                    by_s: step_ns as f64 / 1e9,
                });
            }
        }
    }

    fn end(&mut self, silence: Silence, to_ns: Option<u64>, end_ns: u64) {
        self.silence = None;
        let acknowledged_ns = silence
            .acknowledged_from_ns
            .map_or(0, |from_ns| end_ns.saturating_sub(from_ns));
        let (kind, evidence) = if acknowledged_ns >= MIN_ACKNOWLEDGED_NS {
            (
                EpisodeKind::PeerStopped,
                "its host acknowledged what was sent to it, and the program did not answer",
            )
        } else {
            (
                EpisodeKind::PathSilent,
                "its host acknowledged nothing either: the path is interrupted, or the host is down",
            )
        };
        let from_s = self.after_start(silence.from_ns);
        let to_s = to_ns.map(|to_ns| self.after_start(to_ns));
        self.add(kind, from_s, to_s, evidence.to_owned());
    }

    fn add(&mut self, kind: EpisodeKind, from_s: f64, to_s: Option<f64>, evidence: String) {
        self.episodes.push(Episode {
            kind,
            from_s,
            to_s,
            direction: None,
            evidence,
        });
        if self.episodes.len() >= 2 * MAX_EPISODES {
            keep_longest(&mut self.episodes);
        }
    }

    fn after_start(&self, at_ns: u64) -> f64 {
        seconds(at_ns.saturating_sub(self.start_ns))
    }
}

impl Silence {
    /// Takes note of acknowledgements that came well after the silence began, when what was under way then had its time.
    fn add(&mut self, reading: &WatchReading, min_silence_ns: u64) {
        let has_acknowledged = reading
            .acknowledged_ns
            .is_some_and(|at_ns| at_ns > self.from_ns + min_silence_ns / 4);
        let is_in_time = reading.now_ns <= self.from_ns + min_silence_ns + ACKNOWLEDGED_WITHIN_NS;
        if has_acknowledged && is_in_time {
            self.acknowledged_from_ns.get_or_insert(reading.now_ns);
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START: u64 = 50_000 * MS;

    /// A test that is looked at every 100 ms for `until_ms`, with the readings that `look` makes of a usual one.
    fn watched(until_ms: u64, rtt_ms: u64, look: impl Fn(u64, &mut WatchReading)) -> Vec<Episode> {
        let mut watch = SilenceWatch::new(START, Duration::from_millis(rtt_ms));
        for ms in (0..until_ms).step_by(100) {
            let now_ns = START + ms * MS;
            let mut reading = WatchReading {
                waited_from_ns: now_ns.saturating_sub(100 * MS),
                due_ns: now_ns,
                now_ns,
                heard_ns: now_ns - 50 * MS,
                acknowledged_ns: Some(now_ns - 50 * MS),
                cpu_wait_ns: Some(0),
                suspended_ns: Some(0),
                wall_offset_ns: Some(1_000_000_000 + ms as i64 * 500),
            };
            look(ms, &mut reading);
            watch.read(&reading);
        }
        watch.finish(START + until_ms * MS)
    }

    fn summary(episodes: &[Episode]) -> Vec<(EpisodeKind, f64, Option<f64>)> {
        let tenth = |s: f64| (s * 10.0).round() / 10.0;
        episodes
            .iter()
            .map(|one| (one.kind, tenth(one.from_s), one.to_s.map(tenth)))
            .collect()
    }

    #[test]
    fn a_step_of_the_wall_clock_is_told_with_its_size() {
        let stepped = |step_ms: i64| {
            watched(5000, 20, move |ms, reading| {
                // Not read at one time once.
                if ms == 3000 {
                    reading.wall_offset_ns = None;
                } else if ms > 3000 {
                    let offset_ns = reading.wall_offset_ns.as_mut().unwrap();
                    *offset_ns += step_ms * MS as i64;
                }
            })
        };
        let found = stepped(-1500);
        assert_eq!(
            summary(&found),
            [(EpisodeKind::ClockStepped, 3.1, Some(3.1))]
        );
        assert!(found[0].evidence.starts_with("by -1.500 s;"));
        assert_eq!(stepped(5), []);
        // A suspension moves it as well.
        let resumed = watched(5000, 20, |ms, reading| {
            if ms >= 3000 {
                reading.suspended_ns = Some(2000 * MS);
                reading.wall_offset_ns = Some(3_000_000_000);
            }
        });
        let kinds: Vec<EpisodeKind> = resumed.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [EpisodeKind::HostSuspended]);
    }

    #[test]
    fn a_path_that_dies_is_silent_from_the_last_answer_on() {
        let found = watched(10_000, 20, |ms, reading| {
            if ms > 4000 {
                reading.heard_ns = START + 3950 * MS;
                reading.acknowledged_ns = Some(START + 3960 * MS);
            }
        });
        assert_eq!(summary(&found), [(EpisodeKind::PathSilent, 4.0, None)]);
    }

    #[test]
    fn a_path_that_comes_back_was_silent_until_it_was_heard_again() {
        let found = watched(10_000, 20, |ms, reading| {
            if (4001..6500).contains(&ms) {
                reading.heard_ns = START + 3950 * MS;
                // The kernel hears the path before the program does.
                let acknowledged_ms = if ms > 5800 { 5800 } else { 3960 };
                reading.acknowledged_ns = Some(START + acknowledged_ms * MS);
            }
        });
        assert_eq!(summary(&found), [(EpisodeKind::PathSilent, 4.0, Some(6.5))]);
    }

    #[test]
    fn a_peer_whose_kernel_answers_stands_still() {
        for until_ms in [6500, 20_000] {
            let found = watched(10_000, 20, |ms, reading| {
                if (4001..until_ms).contains(&ms) {
                    reading.heard_ns = START + 3950 * MS;
                }
            });
            let to_s = (until_ms == 6500).then_some(6.5);
            assert_eq!(summary(&found), [(EpisodeKind::PeerStopped, 4.0, to_s)]);
        }
    }

    #[test]
    fn this_program_stopped_is_no_silence_of_the_path() {
        let stopped = |waited_ms: u64| {
            watched(12_000, 20, move |ms, reading| {
                if ms == 4000 {
                    // It stood still from 4.0 to 9.0 s, and nothing was heard meanwhile.
                    reading.now_ns = START + 9000 * MS;
                    reading.heard_ns = START + 3950 * MS;
                    reading.cpu_wait_ns = Some(waited_ms * MS);
                } else if ms > 4000 {
                    reading.now_ns = START + (ms + 5000) * MS;
                    reading.due_ns = reading.now_ns;
                    reading.heard_ns = reading.now_ns;
                    reading.cpu_wait_ns = Some(waited_ms * MS);
                }
            })
        };
        let times = |kind| vec![(kind, 3.9, Some(9.0))];
        assert_eq!(summary(&stopped(0)), times(EpisodeKind::ProgramStopped));
        assert_eq!(summary(&stopped(4900)), times(EpisodeKind::ProgramStarved));
    }

    #[test]
    fn a_suspended_host_is_told_by_the_clock_that_went_on() {
        let found = watched(10_000, 20, |ms, reading| {
            if ms >= 5000 {
                reading.suspended_ns = Some(5000 * MS);
            }
        });
        assert_eq!(
            summary(&found),
            [(EpisodeKind::HostSuspended, 5.0, Some(5.0))]
        );
        assert!(found[0].evidence.contains("for 5.0 s"), "{found:?}");
    }

    #[test]
    fn a_long_path_may_be_silent_for_longer() {
        let gap = |rtt_ms| {
            watched(10_000, rtt_ms, |ms, reading| {
                if (2001..4000).contains(&ms) {
                    reading.heard_ns = START + 2000 * MS;
                }
            })
        };
        assert_eq!(gap(20).len(), 1);
        assert_eq!(gap(1000), []);
    }

    #[test]
    fn a_peer_that_is_heard_is_not_asked() {
        let mut watch = SilenceWatch::new(START, Duration::ZERO);
        assert!(!watch.is_question_due(START + 400 * MS));
        assert!(watch.is_question_due(START + 500 * MS));
        assert!(!watch.is_question_due(START + 900 * MS));
        watch.read(&WatchReading {
            waited_from_ns: START + 900 * MS,
            due_ns: START + 950 * MS,
            now_ns: START + 950 * MS,
            heard_ns: START + 950 * MS,
            ..WatchReading::default()
        });
        assert!(!watch.is_question_due(START + 1400 * MS));
        assert!(watch.is_question_due(START + 1450 * MS));
    }
}
