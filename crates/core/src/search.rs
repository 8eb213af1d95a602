//! The search for the highest rate that a path carries with at most a given loss.
//!
//! After RFC 2544 section 26.1: try a rate, go up where it holds and down where it does not, halving the
//! bracket. What RFC 2544 leaves open is when a trial says anything. Here a trial decides when Wilson's
//! interval of its loss lies on one side of the limit; otherwise it is repeated, and counts add up. And a
//! trial without loss decides nothing while a queue on the way still takes what the link does not carry:
//! what arrives must keep up with what is sent.

use crate::sample::{Counters, Sample};
use crate::units::BitRate;
use caudal_stats::wilson;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Trials of one rate before the point estimate decides.
const MOST_TRIALS: u32 = 3;
/// The bracket, relative to its upper end, at which the search is over.
const RESOLUTION: f64 = 0.01;
/// The part of the second half of a trial that may stay on the way, beyond the loss allowed: half the
/// resolution, so that a rate a whole step above what the link carries stands out.
const FILLING: f64 = 0.005;
/// Datagrams of a flow that may stay on the way whatever part they are: readings fall between departures.
const SOME_DATAGRAMS: f64 = 3.0;
/// The lowest rate tried, bit/s.
const LEAST_BPS: u64 = 1000;
/// The most trials of one search.
pub const MOST_STEPS: usize = 60;

/// What a trial says about its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// The loss is within the limit, and what was sent arrived as fast.
    Held,
    /// The loss is beyond the limit.
    Failed,
    /// The loss is within the limit, but less arrived than was sent: a queue was still filling.
    Queueing,
    /// The sender did not reach the rate: nothing is known about it, only that it is too high to send.
    Unreached,
    /// The interval holds the limit: it is tried again.
    Undecided,
}

impl TrialOutcome {
    /// The outcome as JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Queueing => "queueing",
            Self::Unreached => "unreached",
            Self::Undecided => "undecided",
        }
    }
}

/// What was seen in a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// Datagrams sent.
    pub sent: u64,
    /// Of these, datagrams lost.
    pub lost: u64,
    /// The rate the sender reached, bit/s of payload a flow.
    pub reached_bps: f64,
    /// What [`left_behind`] says of it.
    pub behind: Option<f64>,
}

/// The part of what was sent over the second half of a trial that did not arrive meanwhile, from 0 to 1:
/// lost, or kept in a queue that was filling. `None` with too few readings to tell.
///
/// Each end's rate is the median of the slopes between all pairs of its readings (Theil and Sen), so that
/// one reading made late does not count. `length` is the payload of a datagram, bytes.
#[must_use]
pub fn left_behind(samples: &[Sample], length: u32) -> Option<f64> {
    let mut flows: BTreeMap<u32, [Vec<(u64, u64)>; 2]> = BTreeMap::new();
    for sample in samples {
        let [sender, receiver] = flows.entry(sample.flow).or_default();
        match sample.counters {
            Counters::Sender(counters) => sender.push((sample.at_ns, counters.bytes)),
            Counters::Receiver(counters) => receiver.push((sample.at_ns, counters.bytes)),
        }
    }
    let (mut sent, mut behind) = (0.0, 0.0);
    for [sender, receiver] in flows.values() {
        let (sender, span_ns) = second_half_rate(sender)?;
        let (receiver, _) = second_half_rate(receiver)?;
        let missing = sender - receiver;
        if missing * span_ns > SOME_DATAGRAMS * f64::from(length) {
            behind += missing;
        }
        sent += sender;
    }
    (sent > 0.0).then(|| behind / sent)
}

/// The rate over the second half of some readings (ns, bytes), bytes a ns, and the ns it rests on.
fn second_half_rate(reads: &[(u64, u64)]) -> Option<(f64, f64)> {
    let last_ns = reads.iter().map(|(at_ns, _)| *at_ns).max()?;
    let half: Vec<(f64, f64)> = reads
        .iter()
        .filter(|(at_ns, _)| *at_ns >= last_ns / 2)
        .map(|(at_ns, bytes)| (*at_ns as f64, *bytes as f64))
        .collect();
    let first_ns = half
        .iter()
        .map(|(at_ns, _)| *at_ns)
        .min_by(f64::total_cmp)?;
    let mut slopes: Vec<f64> = half
        .iter()
        .enumerate()
        .flat_map(|(nth, earlier)| half[nth + 1..].iter().map(move |later| (earlier, later)))
        .filter(|(earlier, later)| later.0 > earlier.0)
        .map(|(earlier, later)| (later.1 - earlier.1) / (later.0 - earlier.0))
        .collect();
    if slopes.len() < 3 {
        return None;
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    let median = if slopes.len() % 2 == 1 {
        slopes[middle]
    } else {
        f64::midpoint(slopes[middle - 1], slopes[middle])
    };
    Some((median, last_ns as f64 - first_ns))
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchTrial {
    /// The rate tried, bit/s of payload.
    pub rate_bps: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// The fraction lost, over all trials of this rate so far.
    pub loss: f64,
    /// Wilson's interval of that.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// What it says.
    pub outcome: TrialOutcome,
}

/// What a search has come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The highest rate that held, bit/s of payload; `None` when none did.
    pub rate_bps: Option<u64>,
    /// The lowest rate that failed, bit/s; `None` when none did.
    pub failed_bps: Option<u64>,
    /// Whether the sender, not the path, set the end: it did not reach the next rate up.
    pub sender_bound: bool,
    /// Whether a point estimate had the last word on one of the rates the answer lies between.
    pub undecided: bool,
}

/// A search under way: asks for a trial, is told what came of it.
#[derive(Debug, Clone)]
pub struct Search {
    limit: f64,
    confidence: f64,
    /// The rates that held and have not failed since, and whether a point estimate said so.
    held: BTreeMap<u64, bool>,
    /// The lowest rate that failed, and whether a point estimate said so.
    failed: Option<(u64, bool)>,
    /// The lowest rate that could not be sent.
    unreached: Option<u64>,
    next: Option<u64>,
    tries: u32,
    sent: u64,
    lost: u64,
    confirmed: bool,
    trials: Vec<SearchTrial>,
}

impl Search {
    /// A search for the highest rate up to `most` with at most `limit` of the datagrams lost.
    #[must_use]
    pub const fn new(limit: f64, most: BitRate, confidence: f64) -> Self {
        Self {
            limit,
            confidence,
            held: BTreeMap::new(),
            failed: None,
            unreached: None,
            next: Some(most.bps()),
            tries: 0,
            sent: 0,
            lost: 0,
            confirmed: false,
            trials: Vec::new(),
        }
    }

    /// The rate to try next; `None` when the search is over.
    #[must_use]
    pub fn next_rate(&self) -> Option<BitRate> {
        self.next
            .filter(|_| self.trials.len() < MOST_STEPS)
            .map(BitRate::from_bps)
    }

    /// The trials so far.
    #[must_use]
    pub fn trials(&self) -> &[SearchTrial] {
        &self.trials
    }

    /// Takes what was seen in the trial that was asked for.
    pub fn tell(&mut self, observed: Observed) -> Option<SearchTrial> {
        let rate = self.next?;
        self.sent += observed.sent;
        self.lost += observed.lost.min(observed.sent);
        self.tries += 1;
        let loss = self.lost as f64 / self.sent.max(1) as f64;
        let interval = wilson(self.lost, self.sent, self.confidence);
        let (low, high) = interval.map_or((0.0, 1.0), |interval| (interval.low, interval.high));
        let (outcome, by_point) = self.judge(rate, observed, loss, low, high);
        let trial = SearchTrial {
            rate_bps: rate,
            sent: observed.sent,
            lost: observed.lost,
            loss,
            low,
            high,
            outcome,
        };
        self.trials.push(trial);
        match outcome {
            TrialOutcome::Undecided => return Some(trial),
            TrialOutcome::Held => {
                self.confirmed |= self.held.contains_key(&rate);
                self.held.insert(rate, by_point);
            }
            TrialOutcome::Failed | TrialOutcome::Queueing => {
                // What held once and fails when confirmed goes, and what held below it is the answer so
                // far.
                self.held.retain(|held, _| *held < rate);
                if self.failed.is_none_or(|(failed, _)| rate <= failed) {
                    self.failed = Some((rate, by_point));
                }
            }
            TrialOutcome::Unreached => {
                // What the sender reached held; more than that it cannot send now. Where it has sent more
                // before, the machine may only have been busy: it is tried again.
                self.held
                    .entry((observed.reached_bps as u64).min(rate))
                    .or_insert(by_point);
                if self.failed.is_some() && self.tries < MOST_TRIALS {
                    (self.sent, self.lost) = (0, 0);
                    return Some(trial);
                }
                self.unreached = Some(rate);
            }
        }
        (self.tries, self.sent, self.lost) = (0, 0, 0);
        self.next = self.choose();
        Some(trial)
    }

    /// What a trial says, and whether only its point estimate does.
    fn judge(
        &self,
        rate: u64,
        observed: Observed,
        loss: f64,
        low: f64,
        high: f64,
    ) -> (TrialOutcome, bool) {
        let allowed = self.limit + (1.0 - self.limit) * FILLING;
        let filling = observed.behind.is_some_and(|behind| behind > allowed);
        let reached = observed.reached_bps >= 0.98 * rate as f64;
        let within = |by_point| match (filling, reached) {
            (true, _) => (TrialOutcome::Queueing, false),
            (false, true) => (TrialOutcome::Held, by_point),
            (false, false) => (TrialOutcome::Unreached, by_point),
        };
        if observed.sent == 0 {
            return (TrialOutcome::Failed, false);
        }
        if self.limit == 0.0 {
            // No number of trials proves the absence of loss: RFC 2544 takes a trial without loss.
            return if self.lost == 0 {
                within(false)
            } else {
                (TrialOutcome::Failed, false)
            };
        }
        match (high <= self.limit, low > self.limit) {
            (true, _) => within(false),
            (_, true) => (TrialOutcome::Failed, false),
            _ if filling => within(false),
            _ if self.tries < MOST_TRIALS => (TrialOutcome::Undecided, false),
            _ if loss <= self.limit => within(true),
            _ => (TrialOutcome::Failed, true),
        }
    }

    fn best(&self) -> u64 {
        self.held.last_key_value().map_or(0, |(rate, _)| *rate)
    }

    /// The upper end of the bracket: what failed, or what could not be sent.
    fn top(&self) -> Option<u64> {
        let failed = self.failed.map(|(rate, _)| rate);
        failed.into_iter().chain(self.unreached).min()
    }

    fn choose(&self) -> Option<u64> {
        let held = self.best();
        // Without a failure the upper bound held, or the sender reached no more.
        self.failed?;
        let top = self.top()?;
        let bracket = top.saturating_sub(held) as f64 / top.max(1) as f64;
        if bracket <= RESOLUTION || top <= 2 * LEAST_BPS {
            // What was found is tried once more: a rate that held by luck goes down.
            return (held > 0 && !self.confirmed).then_some(held);
        }
        Some(held + (top - held) / 2).filter(|rate| *rate >= LEAST_BPS)
    }

    /// What the search has come to.
    #[must_use]
    pub fn found(&self) -> Found {
        let best = self.held.last_key_value();
        let is_top = |rate: u64| self.top() == Some(rate);
        let sender_bound = self.unreached.is_some_and(is_top);
        let failed_by_point = !sender_bound && self.failed.is_some_and(|(_, by_point)| by_point);
        Found {
            rate_bps: best.map(|(rate, _)| *rate),
            failed_bps: self.failed.map(|(rate, _)| rate),
            sender_bound,
            undecided: best.is_some_and(|(_, by_point)| *by_point)
                || failed_by_point
                || self.trials.len() >= MOST_STEPS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ReceiverCounters, SenderCounters};

    fn seen(sent: u64, lost: u64, reached_bps: f64) -> Observed {
        Observed {
            sent,
            lost,
            reached_bps,
            behind: None,
        }
    }

    fn rates(search: &Search) -> Vec<u64> {
        search.trials().iter().map(|trial| trial.rate_bps).collect()
    }

    /// A link that carries `capacity` and drops the rest, asked in trials of `datagrams`.
    fn search(limit: f64, most: u64, capacity: u64, datagrams: u64, base_loss: f64) -> Search {
        let mut search = Search::new(limit, BitRate::from_bps(most), 0.95);
        while let Some(rate) = search.next_rate() {
            let over = (rate.as_f64() - capacity as f64).max(0.0) / rate.as_f64();
            let loss = over + (1.0 - over) * base_loss;
            let lost = (loss * datagrams as f64).round() as u64;
            search.tell(seen(datagrams, lost, rate.as_f64()));
        }
        search
    }

    /// A link that carries `capacity` and keeps the rest in a queue that never fills.
    fn search_before_a_deep_queue(most: u64, capacity: f64) -> Search {
        let mut search = Search::new(0.0, BitRate::from_bps(most), 0.95);
        while let Some(rate) = search.next_rate() {
            let behind = (1.0 - capacity / rate.as_f64()).max(0.0);
            search.tell(Observed {
                behind: Some(behind),
                ..seen(10_000, 0, rate.as_f64())
            });
        }
        search
    }

    #[test]
    fn a_link_is_found_to_within_a_hundredth() {
        for capacity in [1_000_000, 37_000_000, 940_000_000_u64] {
            let found = search(0.001, 1_000_000_000, capacity, 100_000, 0.0).found();
            let rate = found.rate_bps.unwrap() as f64;
            assert!(
                (rate / capacity as f64 - 1.0).abs() < 0.015,
                "{capacity}: {found:?}"
            );
            assert!(!found.sender_bound);
        }
    }

    #[test]
    fn a_queue_that_takes_what_the_link_does_not_carry_is_no_capacity() {
        let bound = search_before_a_deep_queue(98_000_000, 97.2e6);
        assert_eq!(bound.trials()[0].outcome, TrialOutcome::Queueing);
        let found = bound.found();
        assert_eq!(found.failed_bps, Some(98_000_000));
        let rate = found.rate_bps.unwrap() as f64;
        assert!((0.985..1.0051).contains(&(rate / 97.2e6)), "{found:?}");
        let carried = search_before_a_deep_queue(97_000_000, 97.2e6);
        assert_eq!(carried.found().rate_bps, Some(97_000_000));
    }

    #[test]
    fn a_bound_that_holds_is_the_answer_after_one_trial() {
        let search = search(0.0, 100_000_000, 1_000_000_000, 1000, 0.0);
        assert_eq!(search.found().rate_bps, Some(100_000_000));
        assert_eq!(search.trials().len(), 1);
    }

    #[test]
    fn a_path_that_always_loses_more_has_no_such_rate() {
        let search = search(0.001, 100_000_000, 1_000_000_000, 100_000, 0.05);
        assert_eq!(search.found().rate_bps, None);
        assert!(search.trials().len() < MOST_STEPS);
    }

    #[test]
    fn a_trial_that_cannot_tell_is_repeated_and_counts_add_up() {
        let mut search = Search::new(0.01, BitRate::from_bps(1_000_000), 0.95);
        let first = search.tell(seen(100, 1, 1e6)).unwrap();
        assert_eq!(first.outcome, TrialOutcome::Undecided);
        search.tell(seen(100, 1, 1e6));
        let third = search.tell(seen(100, 0, 1e6)).unwrap();
        assert_eq!(third.outcome, TrialOutcome::Held, "2 of 300 is within 1 %");
        assert!(search.found().undecided);
    }

    #[test]
    fn a_point_estimate_far_from_the_answer_leaves_no_doubt_on_it() {
        let mut search = Search::new(0.01, BitRate::from_bps(64_000_000), 0.95);
        for _ in 0..MOST_TRIALS {
            search.tell(seen(100, 2, 64e6));
        }
        assert!(search.found().undecided, "64M failed by a point estimate");
        while let Some(rate) = search.next_rate() {
            let lost = if rate.bps() > 20_000_000 { 50_000 } else { 0 };
            search.tell(seen(100_000, lost, rate.as_f64()));
        }
        assert!(!search.found().undecided, "{:?}", search.found());
    }

    #[test]
    fn a_rate_that_fails_when_confirmed_gives_way_to_the_next_that_held() {
        let mut search = Search::new(0.0, BitRate::from_bps(100_000_000), 0.95);
        let mut seen_before = Vec::new();
        let mut lucky = None;
        while let Some(rate) = search.next_rate() {
            let again = seen_before.contains(&rate);
            if again && lucky.is_none() {
                lucky = Some(rate);
            }
            seen_before.push(rate);
            let fails = rate.bps() > 80_000_000 || lucky == Some(rate);
            search.tell(seen(1000, u64::from(fails), rate.as_f64()));
        }
        let lucky = lucky.unwrap().bps();
        let found = search.found();
        assert_eq!(found.failed_bps, Some(lucky));
        assert!(found.rate_bps.unwrap() > lucky * 98 / 100, "{found:?}");
        let after = rates(&search).into_iter().skip_while(|rate| *rate != lucky);
        assert!(
            after.clone().min() >= Some(75_000_000),
            "it began anew: {:?}",
            after.collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_sender_that_was_slow_once_does_not_end_a_search_that_had_gone_higher() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000), 0.95);
        search.tell(seen(100_000, 50_000, 100e6));
        let rate = search.next_rate().unwrap();
        search.tell(seen(100_000, 0, rate.as_f64() * 0.9));
        assert_eq!(search.next_rate(), Some(rate), "the machine was busy");
        assert!(!search.found().sender_bound);
    }

    #[test]
    fn a_rate_that_was_never_sent_is_not_said_to_have_failed() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000), 0.95);
        search.tell(seen(100_000, 50_000, 100e6));
        while let Some(rate) = search.next_rate() {
            search.tell(seen(100_000, 0, rate.as_f64().min(40e6)));
        }
        let found = search.found();
        assert_eq!(found.failed_bps, Some(100_000_000));
        assert!(found.sender_bound, "{found:?}");
        let rate = found.rate_bps.unwrap() as f64;
        assert!((rate / 40e6 - 1.0).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn a_sender_that_cannot_keep_up_is_named_not_the_network() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000_000), 0.95);
        search.tell(seen(1_000_000, 0, 40e9));
        assert_eq!(search.next_rate(), None);
        let found = search.found();
        assert_eq!(
            (found.rate_bps, found.sender_bound),
            (Some(40_000_000_000), true)
        );
    }

    /// Readings every 50 ms for a second of one flow: bytes a ms sent, and arriving in each half.
    fn readings(sent: u64, first_half: u64, second_half: u64) -> Vec<Sample> {
        let sample = |tick: u64, counters| Sample {
            flow: 0,
            tick,
            at_ns: tick * 50_000_000,
            counters,
        };
        (0..=20_u64)
            .flat_map(|tick| {
                let (early, late) = (tick.min(10), tick.saturating_sub(10));
                [
                    sample(
                        tick,
                        Counters::Sender(SenderCounters {
                            bytes: tick * 50 * sent,
                            ..Default::default()
                        }),
                    ),
                    sample(
                        tick,
                        Counters::Receiver(ReceiverCounters {
                            bytes: 50 * (early * first_half + late * second_half),
                            ..Default::default()
                        }),
                    ),
                ]
            })
            .collect()
    }

    #[test]
    fn what_a_queue_keeps_shows_in_the_second_half() {
        // A bucket of tokens lets the first half through.
        let behind = left_behind(&readings(10_000, 10_000, 9_900), 1448).unwrap();
        assert!((behind - 0.01).abs() < 1e-9, "{behind}");
        // What was in the bucket does not count against the rate it settles at.
        assert_eq!(
            left_behind(&readings(10_000, 8_000, 10_000), 1448),
            Some(0.0)
        );
    }

    #[test]
    fn one_late_reading_and_a_few_datagrams_on_the_way_are_no_queue() {
        let mut reads = readings(10_000, 10_000, 10_000);
        if let Some(Sample {
            counters: Counters::Receiver(last),
            ..
        }) = reads.last_mut()
        {
            last.bytes -= 200_000;
        }
        assert_eq!(left_behind(&reads, 1448), Some(0.0));
        assert_eq!(left_behind(&readings(100, 100, 98), 1448), Some(0.0));
        assert_eq!(left_behind(&reads[..4], 1448), None);
    }
}
