//! The bisection of the rates between one that held and one that failed.

use super::observation::TrialObservation;
use caudal_core::search::{SearchOutcome, SearchTrial, TrialOutcome};
use caudal_core::units::BitRate;
use caudal_stats::wilson;
use std::collections::BTreeMap;

/// The trials of one rate before the point estimate decides.
const MAX_TRIALS_OF_A_RATE: u32 = 3;
/// The bracket, relative to its upper end, at which the search is over.
const RESOLUTION: f64 = 0.01;
/// The fraction of the second half of a trial that may stay undelivered beyond the loss allowed: half the
/// resolution, so that a rate a whole step above the link's stands out.
const MAX_QUEUED_FRACTION: f64 = 0.005;
/// The part of a rate that a sender must reach.
const REACHED: f64 = 0.98;
/// The rates in a row that may fail before the rate of arrival is taken to say nothing.
const MAX_FAILURES_NEAR_ARRIVED: u32 = 3;
/// Minimum rate tried, bit/s.
const MIN_BPS: u64 = 1000;
/// Maximum number of trials of one search.
pub const MAX_TRIALS: usize = 60;

/// The evidence by which a rate was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The interval of the loss lies on one side of the limit.
    Interval,
    /// The interval contains the limit after as many trials as there may be.
    PointEstimate,
}

/// A search in progress: it proposes a rate and takes the observation of the trial at that rate.
#[derive(Debug, Clone)]
pub struct Search {
    limit: f64,
    confidence: f64,
    /// The rates that held and have not failed since.
    held: BTreeMap<u64, Basis>,
    /// The lowest rate that failed.
    failed: Option<(u64, Basis)>,
    /// The lowest rate that could not be sent.
    unreached: Option<u64>,
    /// The rate at which payload arrived when a rate failed: about what the path carries.
    arrived: Option<u64>,
    /// The number of rates that failed since one held.
    failures: u32,
    next: Option<u64>,
    /// The trials at the present rate, and what they sent and lost.
    tries: u32,
    sent: u64,
    lost: u64,
    confirmed: bool,
    trials: Vec<SearchTrial>,
}

impl Search {
    /// A search for the highest rate up to `max` with at most the fraction `limit` of the datagrams lost, by
    /// intervals of this confidence.
    #[must_use]
    pub const fn new(limit: f64, max: BitRate, confidence: f64) -> Self {
        Self {
            limit,
            confidence,
            held: BTreeMap::new(),
            failed: None,
            unreached: None,
            arrived: None,
            failures: 0,
            next: Some(max.bps()),
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
            .filter(|_| self.trials.len() < MAX_TRIALS)
            .map(BitRate::from_bps)
    }

    /// The trials so far.
    #[must_use]
    pub fn trials(&self) -> &[SearchTrial] {
        &self.trials
    }

    /// Takes the observation of a trial at [`next_rate`](Self::next_rate) and returns the trial with its outcome;
    /// `None` when the search is over.
    pub fn record(&mut self, observation: TrialObservation) -> Option<SearchTrial> {
        let rate = self.next?;
        self.sent += observation.sent;
        self.lost += observation.lost.min(observation.sent);
        self.tries += 1;
        let interval = wilson(self.lost, self.sent, self.confidence);
        let (low, high) = interval.map_or((0.0, 1.0), |interval| (interval.low, interval.high));
        let mut trial = SearchTrial {
            rate_bps: rate,
            sent: observation.sent,
            lost: observation.lost,
            loss: self.lost as f64 / self.sent.max(1) as f64,
            low,
            high,
            outcome: TrialOutcome::Undecided,
        };
        let (outcome, basis) = self.outcome_of(&trial, observation);
        trial.outcome = outcome;
        self.trials.push(trial);
        if self.apply_outcome(rate, observation, outcome, basis) {
            (self.tries, self.sent, self.lost) = (0, 0, 0);
            self.next = self.choose();
        }
        Some(trial)
    }

    /// The outcome of a trial, and its basis.
    fn outcome_of(
        &self,
        trial: &SearchTrial,
        observation: TrialObservation,
    ) -> (TrialOutcome, Basis) {
        let max_undelivered = self.limit + (1.0 - self.limit) * MAX_QUEUED_FRACTION;
        let is_queueing = observation
            .undelivered
            .is_some_and(|undelivered| undelivered > max_undelivered);
        let is_reached = observation.reached_bps >= REACHED * trial.rate_bps as f64;
        let within_limit = |basis| match (is_queueing, is_reached) {
            (true, _) => (TrialOutcome::Queueing, Basis::Interval),
            (false, true) => (TrialOutcome::Held, basis),
            (false, false) => (TrialOutcome::Unreached, basis),
        };
        if observation.sent == 0 {
            return (TrialOutcome::Failed, Basis::Interval);
        }
        if self.limit == 0.0 {
            // No number of trials proves the absence of loss: RFC 2544 takes a trial without loss.
            return if self.lost == 0 {
                within_limit(Basis::Interval)
            } else {
                (TrialOutcome::Failed, Basis::Interval)
            };
        }
        match (trial.high <= self.limit, trial.low > self.limit) {
            (true, _) => within_limit(Basis::Interval),
            (_, true) => (TrialOutcome::Failed, Basis::Interval),
            _ if is_queueing => within_limit(Basis::Interval),
            _ if self.tries < MAX_TRIALS_OF_A_RATE => (TrialOutcome::Undecided, Basis::Interval),
            _ if trial.loss <= self.limit => within_limit(Basis::PointEstimate),
            _ => (TrialOutcome::Failed, Basis::PointEstimate),
        }
    }

    /// Applies an outcome to the bracket; `true` when the rate is decided, `false` when it is to be tried again.
    fn apply_outcome(
        &mut self,
        rate: u64,
        observation: TrialObservation,
        outcome: TrialOutcome,
        basis: Basis,
    ) -> bool {
        match outcome {
            TrialOutcome::Undecided => return false,
            TrialOutcome::Held => {
                self.failures = 0;
                self.confirmed |= self.held.contains_key(&rate);
                self.held.insert(rate, basis);
            }
            TrialOutcome::Failed | TrialOutcome::Queueing => {
                self.failures += 1;
                self.arrived = arrived_bps(observation);
                // A rate that held once and fails when confirmed is removed; the rates that held below it are the
                // answer so far.
                self.held.retain(|held, _| *held < rate);
                if self.failed.is_none_or(|(failed, _)| rate <= failed) {
                    self.failed = Some((rate, basis));
                }
            }
            TrialOutcome::Unreached => {
                // The rate the sender reached held; it cannot send more now. Where it has sent more before, the
                // machine may only have been busy: the rate is tried again.
                self.held
                    .entry((observation.reached_bps as u64).min(rate))
                    .or_insert(basis);
                if self.failed.is_some() && self.tries < MAX_TRIALS_OF_A_RATE {
                    (self.sent, self.lost) = (0, 0);
                    return false;
                }
                self.unreached = Some(rate);
            }
        }
        true
    }

    /// The highest rate that held; 0 when none did.
    fn highest_held(&self) -> u64 {
        self.held.last_key_value().map_or(0, |(rate, _)| *rate)
    }

    /// The upper end of the bracket: the lowest rate that failed or could not be sent.
    fn upper_end(&self) -> Option<u64> {
        let failed = self.failed.map(|(rate, _)| rate);
        failed.into_iter().chain(self.unreached).min()
    }

    fn choose(&self) -> Option<u64> {
        let held = self.highest_held();
        // Without a failure the upper bound held, or the sender reached no more.
        self.failed?;
        let upper = self.upper_end()?;
        let bracket = upper.saturating_sub(held) as f64 / upper.max(1) as f64;
        if bracket <= RESOLUTION || upper <= 2 * MIN_BPS {
            // The answer is tried once more: a rate that held by chance is removed.
            return (held > 0 && !self.confirmed).then_some(held);
        }
        Some(
            self.near_arrived(held, upper)
                .unwrap_or(held + (upper - held) / 2),
        )
        .filter(|rate| *rate >= MIN_BPS)
    }

    /// A rate beside that at which payload arrived, from below and then from above, while the bracket reaches further than
    /// both: what arrives of far too much tells more of a path than half of it does. `None` where such rates keep failing,
    /// as they do on a path that always loses.
    fn near_arrived(&self, held: u64, upper: u64) -> Option<u64> {
        let is_informative =
            |arrived: &u64| *arrived > 0 && self.failures <= MAX_FAILURES_NEAR_ARRIVED;
        let arrived = self.arrived.filter(is_informative)? as f64;
        let below = (arrived * (1.0 - RESOLUTION)) as u64;
        let above = (arrived * (1.0 + RESOLUTION)) as u64;
        if held < below && below < upper {
            return Some(below);
        }
        (held < above && above < upper && (upper - held) as f64 > 3.0 * RESOLUTION * arrived)
            .then_some(above)
    }

    /// The rates found so far.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let best = self.held.last_key_value();
        let is_upper_end = |rate: u64| self.upper_end() == Some(rate);
        let sender_bound = self.unreached.is_some_and(is_upper_end);
        let failed_by_point_estimate = !sender_bound
            && self
                .failed
                .is_some_and(|(_, basis)| basis == Basis::PointEstimate);
        SearchOutcome {
            rate_bps: best.map(|(rate, _)| *rate),
            failed_bps: self.failed.map(|(rate, _)| rate),
            sender_bound,
            undecided: best.is_some_and(|(_, basis)| *basis == Basis::PointEstimate)
                || failed_by_point_estimate
                || self.trials.len() >= MAX_TRIALS,
        }
    }
}

/// The rate at which payload arrived in a trial, bit/s; `None` where all of it did.
fn arrived_bps(observation: TrialObservation) -> Option<u64> {
    let lost = observation.lost as f64 / observation.sent.max(1) as f64;
    let missing = observation.undelivered.unwrap_or(0.0).max(lost);
    (missing > 0.0).then_some((observation.reached_bps * (1.0 - missing).max(0.0)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(sent: u64, lost: u64, reached_bps: f64) -> TrialObservation {
        TrialObservation {
            sent,
            lost,
            reached_bps,
            undelivered: None,
        }
    }

    fn rates(search: &Search) -> Vec<u64> {
        search.trials().iter().map(|trial| trial.rate_bps).collect()
    }

    /// A search of a link that carries `capacity` and drops the rest, in trials of `datagrams`.
    fn search(limit: f64, max: u64, capacity: u64, datagrams: u64, base_loss: f64) -> Search {
        let mut search = Search::new(limit, BitRate::from_bps(max), 0.95);
        while let Some(rate) = search.next_rate() {
            let over = (rate.as_f64() - capacity as f64).max(0.0) / rate.as_f64();
            let loss = over + (1.0 - over) * base_loss;
            let lost = (loss * datagrams as f64).round() as u64;
            search.record(observation(datagrams, lost, rate.as_f64()));
        }
        search
    }

    /// A search of a link that carries `capacity` and queues the rest without limit.
    fn search_before_a_deep_queue(max: u64, capacity: f64) -> Search {
        let mut search = Search::new(0.0, BitRate::from_bps(max), 0.95);
        while let Some(rate) = search.next_rate() {
            let undelivered = (1.0 - capacity / rate.as_f64()).max(0.0);
            search.record(TrialObservation {
                undelivered: Some(undelivered),
                ..observation(10_000, 0, rate.as_f64())
            });
        }
        search
    }

    #[test]
    fn a_link_is_found_to_within_a_hundredth() {
        for capacity in [1_000_000, 37_000_000, 940_000_000_u64] {
            let outcome = search(0.001, 1_000_000_000, capacity, 100_000, 0.0).outcome();
            let rate = outcome.rate_bps.unwrap() as f64;
            assert!(
                (rate / capacity as f64 - 1.0).abs() < 0.015,
                "{capacity}: {outcome:?}"
            );
            assert!(!outcome.sender_bound);
        }
    }

    #[test]
    fn a_link_far_below_the_first_rate_is_found_in_a_few_trials() {
        let search = search(0.001, 5_000_000_000, 11_300_000, 2000, 0.0);
        let outcome = search.outcome();
        let rate = outcome.rate_bps.unwrap() as f64;
        assert!((0.985..1.001).contains(&(rate / 11.3e6)), "{outcome:?}");
        assert!(search.trials().len() <= 10, "{:?}", rates(&search));
    }

    #[test]
    fn a_queue_that_absorbs_the_excess_does_not_count_as_capacity() {
        let above = search_before_a_deep_queue(98_000_000, 97.2e6);
        assert_eq!(above.trials()[0].outcome, TrialOutcome::Queueing);
        let outcome = above.outcome();
        assert_eq!(outcome.failed_bps, Some(98_000_000));
        let rate = outcome.rate_bps.unwrap() as f64;
        assert!((0.985..1.0051).contains(&(rate / 97.2e6)), "{outcome:?}");
        let carried = search_before_a_deep_queue(97_000_000, 97.2e6);
        assert_eq!(carried.outcome().rate_bps, Some(97_000_000));
    }

    #[test]
    fn a_maximum_that_holds_is_the_answer_after_one_trial() {
        let search = search(0.0, 100_000_000, 1_000_000_000, 1000, 0.0);
        assert_eq!(search.outcome().rate_bps, Some(100_000_000));
        assert_eq!(search.trials().len(), 1);
    }

    #[test]
    fn a_path_that_always_loses_more_has_no_such_rate() {
        let search = search(0.001, 100_000_000, 1_000_000_000, 100_000, 0.05);
        assert_eq!(search.outcome().rate_bps, None);
        assert!(search.trials().len() < MAX_TRIALS);
    }

    #[test]
    fn an_inconclusive_trial_is_repeated_and_its_counts_are_added() {
        let mut search = Search::new(0.01, BitRate::from_bps(1_000_000), 0.95);
        let first = search.record(observation(100, 1, 1e6)).unwrap();
        assert_eq!(first.outcome, TrialOutcome::Undecided);
        search.record(observation(100, 1, 1e6));
        let third = search.record(observation(100, 0, 1e6)).unwrap();
        assert_eq!(third.outcome, TrialOutcome::Held, "2 of 300 is within 1 %");
        assert!(search.outcome().undecided);
    }

    #[test]
    fn a_point_estimate_far_from_the_answer_does_not_make_it_undecided() {
        let mut search = Search::new(0.01, BitRate::from_bps(64_000_000), 0.95);
        for _ in 0..MAX_TRIALS_OF_A_RATE {
            search.record(observation(100, 2, 64e6));
        }
        assert!(search.outcome().undecided, "64M failed by a point estimate");
        while let Some(rate) = search.next_rate() {
            let lost = if rate.bps() > 20_000_000 { 50_000 } else { 0 };
            search.record(observation(100_000, lost, rate.as_f64()));
        }
        assert!(!search.outcome().undecided, "{:?}", search.outcome());
    }

    #[test]
    fn a_rate_that_fails_when_confirmed_is_replaced_by_the_next_that_held() {
        let mut search = Search::new(0.0, BitRate::from_bps(100_000_000), 0.95);
        let mut tried = Vec::new();
        let mut lucky = None;
        while let Some(rate) = search.next_rate() {
            let again = tried.contains(&rate);
            if again && lucky.is_none() {
                lucky = Some(rate);
            }
            tried.push(rate);
            let fails = rate.bps() > 80_000_000 || lucky == Some(rate);
            search.record(observation(1000, u64::from(fails), rate.as_f64()));
        }
        let lucky = lucky.unwrap().bps();
        let outcome = search.outcome();
        assert_eq!(outcome.failed_bps, Some(lucky));
        assert!(outcome.rate_bps.unwrap() > lucky * 98 / 100, "{outcome:?}");
        let after = rates(&search).into_iter().skip_while(|rate| *rate != lucky);
        assert!(
            after.clone().min() >= Some(74_000_000),
            "the search started again: {:?}",
            after.collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_sender_that_was_slow_once_does_not_end_a_search_that_had_sent_faster() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000), 0.95);
        search.record(observation(100_000, 50_000, 100e6));
        let rate = search.next_rate().unwrap();
        search.record(observation(100_000, 0, rate.as_f64() * 0.9));
        assert_eq!(search.next_rate(), Some(rate), "the machine was busy");
        assert!(!search.outcome().sender_bound);
    }

    #[test]
    fn a_rate_that_was_never_sent_has_not_failed() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000), 0.95);
        search.record(observation(100_000, 50_000, 100e6));
        while let Some(rate) = search.next_rate() {
            search.record(observation(100_000, 0, rate.as_f64().min(40e6)));
        }
        let outcome = search.outcome();
        assert_eq!(outcome.failed_bps, Some(100_000_000));
        assert!(outcome.sender_bound, "{outcome:?}");
        let rate = outcome.rate_bps.unwrap() as f64;
        assert!((rate / 40e6 - 1.0).abs() < 0.03, "{outcome:?}");
    }

    #[test]
    fn a_sender_that_cannot_keep_up_is_named_and_not_the_network() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000_000), 0.95);
        search.record(observation(1_000_000, 0, 40e9));
        assert_eq!(search.next_rate(), None);
        let outcome = search.outcome();
        assert_eq!(
            (outcome.rate_bps, outcome.sender_bound),
            (Some(40_000_000_000), true)
        );
    }
}
