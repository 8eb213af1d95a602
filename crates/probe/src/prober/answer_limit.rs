//! The limit that a router sets on its answers, from when it was asked and what it answered.
//!
//! Routers limit ICMP errors by token buckets: one more answer is allowed for each period, and some are saved up (RFC 1812 section
//! 4.3.2.8, RFC 4443 section 2.4(f); Linux: `icmp_ratelimit`, six at most). A period and a burst explain a history where the number of
//! answers saved up, whatever it was at first, is at least one at every answer and below one at every silence. Where none does, packets
//! were lost.

use std::collections::VecDeque;

/// Maximum probes of a hop in its history: the latest.
const MAX_ASKED: usize = 200;
/// Minimum unanswered probes of a limit with a period below `MIN_SLOW_PERIOD_NS`.
const MIN_UNANSWERED: usize = 6;
/// Minimum unanswered probes that the limit predicts: those it merely allows may be losses.
const MIN_FORETOLD: usize = 4;
/// Minimum period for which few unanswered probes show a limit, ns: losses that keep to it are rare.
const MIN_SLOW_PERIOD_NS: f64 = 100e6;
/// Step of the clock by which routers count, ns: 1 to 10 ms in Linux. This program may be interrupted as long between noting the time and
/// sending.
const TICK_NS: f64 = 10e6;
/// Maximum uncertainty of the answers saved up.
const MAX_SLACK: f64 = 0.5;
/// Usual periods, ms; those of IPv6 in Linux depend on the length of the prefix (net/ipv6/icmp.c, `icmpv6_xrlim_allow`).
const USUAL_MS: [f64; 12] = [
    1000.0, 500.0, 100.0, 250.0, 200.0, 2000.0, 125.0, 62.0, 60.0, 50.0, 25.0, 5000.0,
];
/// Usual bursts, answers: six in Linux.
const USUAL_BURSTS: [f64; 6] = [6.0, 1.0, 10.0, 3.0, 2.0, 5.0];
/// Shortest and longest period looked for, ns, and the ratio of one to the next.
const PERIODS_NS: (f64, f64) = (20e6, 6e9);
const PERIOD_STEP: f64 = 1.01;

/// When a hop was asked, and whether it answered.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerHistory {
    asked: VecDeque<Asked>,
    limit: Option<AnswerLimit>,
}

/// A probe: when it was sent, ns, and the round-trip time where it was answered, ns.
#[derive(Debug, Clone, Copy)]
struct Asked {
    sent_ns: u64,
    rtt_ns: Option<u64>,
}

/// A limit that explains a history.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AnswerLimit {
    period_ns: f64,
    /// Unanswered probes that could not have been answered.
    foretold: usize,
}

impl AnswerHistory {
    /// Notes a probe that was sent at `sent_ns`, with the round-trip time where it was answered.
    pub(super) fn note(&mut self, sent_ns: u64, rtt_ns: Option<u64>) {
        let at = self.asked.partition_point(|known| known.sent_ns <= sent_ns);
        self.asked.insert(at, Asked { sent_ns, rtt_ns });
        while self.asked.len() > MAX_ASKED {
            self.asked.pop_front();
        }
        self.limit = if self.unanswered() > 0 {
            self.find()
        } else {
            None
        };
    }

    /// `true` where the last probes were not answered, too few for it to show whether they were lost.
    pub(super) fn is_open(&self) -> bool {
        let unanswered = self.unanswered();
        let after_last = self
            .asked
            .iter()
            .rev()
            .take_while(|probe| probe.rtt_ns.is_some());
        unanswered > 0 && unanswered < MIN_UNANSWERED && after_last.count() < 2
    }

    /// The period of the limit that explains the answers, ns; `None` where every probe was answered, none explains them, or losses explain
    /// them as well.
    pub(super) fn period_ns(&self) -> Option<u64> {
        let limit = self.limit?;
        let is_enough = if self.unanswered() >= MIN_UNANSWERED {
            limit.foretold >= MIN_FORETOLD && limit.foretold * 3 >= self.unanswered()
        } else {
            self.is_slow()
        };
        is_enough.then_some(limit.period_ns as u64)
    }

    /// `true` where a limit explains the probes without an answer as well as losses do.
    pub(super) fn is_uncertain(&self) -> bool {
        self.limit.is_some() && self.period_ns().is_none()
    }

    /// `true` where a limit explains the probes without an answer.
    pub(super) fn is_explained(&self) -> bool {
        self.limit.is_some()
    }

    /// `true` where a limit explains several probes without an answer.
    pub(super) fn may_be_limited(&self) -> bool {
        self.limit.is_some() && self.unanswered() >= MIN_FORETOLD
    }

    fn unanswered(&self) -> usize {
        let unanswered = |probe: &&Asked| probe.rtt_ns.is_none();
        self.asked.iter().filter(unanswered).count()
    }

    /// The variation of the time after which a probe reaches the hop, ns: that of most round trips.
    fn jitter_ns(&self) -> f64 {
        let mut rtts: Vec<u64> = self.asked.iter().filter_map(|probe| probe.rtt_ns).collect();
        rtts.sort_unstable();
        let most = rtts.get(rtts.len() * 9 / 10).copied().unwrap_or(0);
        (most - rtts.first().copied().unwrap_or(0)) as f64
    }

    /// `true` where no short period explains the history.
    fn is_slow(&self) -> bool {
        let slack_ns = TICK_NS + self.jitter_ns();
        let mut short = grid().take_while(|period_ns| *period_ns < MIN_SLOW_PERIOD_NS);
        !short.any(|period_ns| {
            let mut bursts = USUAL_BURSTS.iter();
            bursts.any(|burst| self.explain(period_ns, *burst, slack_ns).is_some())
        })
    }

    /// A limit that explains the history: one that foretells silences rather than one that allows them, and a usual one rather than another.
    fn find(&self) -> Option<AnswerLimit> {
        let usual = USUAL_MS.iter().map(|ms| ms * 1e6);
        let slack_ns = TICK_NS + self.jitter_ns();
        let mut possible = None;
        for period_ns in usual.chain(grid()) {
            for burst in USUAL_BURSTS {
                let Some(found) = self.explain(period_ns, burst, slack_ns) else {
                    continue;
                };
                // Of few silences no more can be foretold.
                if found.foretold >= MIN_FORETOLD.min(self.unanswered()) {
                    return Some(found);
                }
                possible = possible.or(Some(found));
            }
        }
        possible
    }

    /// A limit of this period and burst, where it explains the history by times that are uncertain by `slack_ns`.
    fn explain(&self, period_ns: f64, burst: f64, slack_ns: f64) -> Option<AnswerLimit> {
        let slack = (slack_ns / period_ns).min(MAX_SLACK);
        let (mut low, mut high) = (0.0_f64, burst);
        let mut foretold = 0;
        let mut before_ns = self.asked.front()?.sent_ns;
        for probe in &self.asked {
            let gain = (probe.sent_ns - before_ns) as f64 / period_ns;
            before_ns = probe.sent_ns;
            let is_full = low + gain - slack >= burst;
            (low, high) = ((low + gain).min(burst), (high + gain).min(burst));
            if probe.rtt_ns.is_some() {
                if high + slack < 1.0 {
                    return None;
                }
                (low, high) = ((low - 1.0).max(0.0), (high - 1.0).max(0.0));
            } else {
                if is_full || low - slack >= 1.0 {
                    return None;
                }
                foretold += usize::from(high + slack < 1.0);
                (low, high) = (low.min(1.0), high.min(1.0));
            }
        }
        Some(AnswerLimit {
            period_ns,
            foretold,
        })
    }
}

/// The periods looked for, ns, ascending.
fn grid() -> impl Iterator<Item = f64> {
    let (shortest, longest) = PERIODS_NS;
    std::iter::successors(Some(shortest), |period| Some(period * PERIOD_STEP))
        .take_while(move |period| *period <= longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_stats::random::SplitMix64;

    /// A hop that is asked every `gap_ms`, and a tenth of that later at random, and answers one in `period_ms`, six at once.
    fn limited(period_ms: f64, gaps_ms: &[(usize, f64)]) -> AnswerHistory {
        let (mut history, mut rng) = (AnswerHistory::default(), SplitMix64::new(7));
        let (mut now_ms, mut saved) = (0.0, 6.0_f64);
        for (count, gap_ms) in gaps_ms {
            for _ in 0..*count {
                let passed_ms = gap_ms * (1.0 + rng.below(100) as f64 / 1000.0);
                now_ms += passed_ms;
                saved = (saved + passed_ms / period_ms).min(6.0);
                let is_answered = saved >= 1.0;
                saved -= f64::from(u8::from(is_answered));
                history.note((now_ms * 1e6) as u64, is_answered.then_some(20_000_000));
            }
        }
        history
    }

    #[test]
    fn the_period_of_a_limit_is_told() {
        for (period_ms, gaps) in [
            (1000.0, &[(12, 50.0), (6, 200.0), (20, 900.0)][..]),
            (1000.0, &[(12, 50.0), (12, 400.0)]),
            (500.0, &[(60, 50.0)]),
            (100.0, &[(100, 50.0)]),
            (125.0, &[(200, 50.0)]),
        ] {
            let history = limited(period_ms, gaps);
            let found = history.period_ns().map(|ns| ns as f64 / 1e6);
            assert_eq!(found, Some(period_ms), "{history:?}");
        }
    }

    /// A probe that is not answered is waited for, and what is saved up meanwhile is no more than a burst.
    #[test]
    fn a_limit_shows_through_the_waits_for_its_silences() {
        for (period_ms, per_wait) in [(100.0, 13), (75.0, 30), (200.0, 8)] {
            let cycle = [(per_wait, 54.0), (1, 3000.0)];
            let gaps: Vec<(usize, f64)> = cycle.into_iter().cycle().take(24).collect();
            let history = limited(period_ms, &gaps);
            let found = history.period_ns().map(|ns| ns as f64 / 1e6);
            assert!(
                found.is_some_and(|ms| (ms / period_ms - 1.0).abs() < 0.1),
                "{period_ms} ms: {found:?} {history:?}"
            );
        }
    }

    #[test]
    fn losses_are_no_limit() {
        for percent in [2, 10, 40] {
            for seed in 0..50 {
                let (mut history, mut rng) = (AnswerHistory::default(), SplitMix64::new(seed));
                let mut now_ns = 0;
                for _ in 0..200 {
                    now_ns += 50_000_000 + rng.below(12_500_000);
                    let is_answered = rng.below(100) >= percent;
                    history.note(now_ns, is_answered.then_some(20_000_000));
                }
                assert_eq!(history.period_ns(), None, "{percent} {seed}: {history:?}");
            }
        }
    }

    #[test]
    fn few_probes_without_an_answer_leave_it_open() {
        let answered = |is_answered: bool| is_answered.then_some(1_000_000);
        let mut history = AnswerHistory::default();
        for (nth, is_answered) in [true, true, false].into_iter().enumerate() {
            history.note(nth as u64 * 50_000_000, answered(is_answered));
        }
        assert!(history.is_open() && history.period_ns().is_none());
        history.note(200_000_000, answered(true));
        history.note(250_000_000, answered(true));
        assert!(!history.is_open() && history.period_ns().is_none());
        // A limit of one in 50 ms explains it as well, and no limit explains a loss after a pause.
        assert!(history.is_uncertain());
        history.note(5_000_000_000, answered(false));
        history.note(5_050_000_000, answered(true));
        history.note(5_100_000_000, answered(true));
        assert!(!history.is_uncertain());
    }
}
