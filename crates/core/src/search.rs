//! The search for the highest rate that a path carries with at most a given loss.
//!
//! After RFC 2544 section 26.1: try a rate, go up where it holds and down where it does not, halving the
//! bracket. What RFC 2544 leaves open is when a trial says anything: here a trial decides when Wilson's
//! interval of its loss lies on one side of the limit; otherwise it is repeated, and counts add up.

use crate::stats::wilson;
use crate::units::BitRate;
use serde::Serialize;

/// Trials of one rate before the point estimate decides.
const MOST_TRIALS: u32 = 3;
/// The bracket, relative to its upper end, at which the search is over.
const RESOLUTION: f64 = 0.01;
/// The most trials of one search.
pub const MOST_STEPS: usize = 60;

/// What a trial says about its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The loss is within the limit.
    Held,
    /// The loss is beyond the limit.
    Failed,
    /// The sender did not reach the rate: nothing is known about it, only that it is too high to send.
    Unreached,
    /// The interval holds the limit: it is tried again.
    Undecided,
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trial {
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
    pub outcome: Outcome,
}

/// What a search has come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The highest rate that held, bit/s of payload; `None` when none did.
    pub rate_bps: Option<u64>,
    /// The lowest rate that failed, bit/s; `None` when the upper bound held.
    pub failed_bps: Option<u64>,
    /// Whether the rate was held back by the sender, not by loss.
    pub sender_bound: bool,
    /// Whether the last word on the rate rests on a point estimate only.
    pub undecided: bool,
}

/// A search under way: asks for a trial, is told what came of it.
#[derive(Debug, Clone)]
pub struct Search {
    limit: f64,
    confidence: f64,
    held: u64,
    failed: Option<u64>,
    next: Option<u64>,
    tries: u32,
    sent: u64,
    lost: u64,
    sender_bound: bool,
    undecided: bool,
    confirmed: bool,
    trials: Vec<Trial>,
}

impl Search {
    /// A search for the highest rate up to `most` with at most `limit` of the datagrams lost.
    #[must_use]
    pub const fn new(limit: f64, most: BitRate, confidence: f64) -> Self {
        Self {
            limit,
            confidence,
            held: 0,
            failed: None,
            next: Some(most.bps()),
            tries: 0,
            sent: 0,
            lost: 0,
            sender_bound: false,
            undecided: false,
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
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Takes the outcome of the trial that was asked for: datagrams sent and lost, and the rate the
    /// sender reached, bit/s.
    pub fn tell(&mut self, sent: u64, lost: u64, reached_bps: f64) -> Option<Trial> {
        let rate = self.next?;
        self.sent += sent;
        self.lost += lost.min(sent);
        self.tries += 1;
        let loss = self.lost as f64 / self.sent.max(1) as f64;
        let interval = wilson(self.lost, self.sent, self.confidence);
        let (low, high) = interval.map_or((0.0, 1.0), |interval| (interval.low, interval.high));
        let unreached = reached_bps < 0.98 * rate as f64;
        let outcome = if sent == 0 {
            Outcome::Failed
        } else if self.limit == 0.0 {
            // No number of trials proves the absence of loss: RFC 2544 takes a trial without loss.
            if self.lost == 0 {
                Outcome::Held
            } else {
                Outcome::Failed
            }
        } else if high <= self.limit {
            Outcome::Held
        } else if low > self.limit {
            Outcome::Failed
        } else if self.tries < MOST_TRIALS {
            Outcome::Undecided
        } else {
            self.undecided = true;
            if loss <= self.limit {
                Outcome::Held
            } else {
                Outcome::Failed
            }
        };
        let outcome = if unreached && outcome == Outcome::Held {
            Outcome::Unreached
        } else {
            outcome
        };
        let trial = Trial {
            rate_bps: rate,
            sent,
            lost,
            loss,
            low,
            high,
            outcome,
        };
        self.trials.push(trial);
        match outcome {
            Outcome::Undecided => return Some(trial),
            Outcome::Held => {
                if rate == self.held {
                    self.confirmed = true;
                }
                self.held = self.held.max(rate);
            }
            Outcome::Failed => {
                self.failed = Some(self.failed.map_or(rate, |failed| failed.min(rate)));
                if self.held >= rate {
                    // It held once and failed when confirmed: the search goes on below.
                    self.held = 0;
                }
            }
            Outcome::Unreached => {
                // What the sender reached held; more than that it cannot send now. Where a rate above
                // has been sent and failed, the machine was only busy: that bracket still stands.
                self.held = self.held.max((reached_bps as u64).min(rate));
                if self.failed.is_none() {
                    self.sender_bound = true;
                    self.confirmed = true;
                    self.next = None;
                    return Some(trial);
                }
                self.failed = Some(self.failed.map_or(rate, |failed| failed.min(rate)));
                self.undecided = true;
            }
        }
        (self.tries, self.sent, self.lost) = (0, 0, 0);
        self.next = self.choose();
        Some(trial)
    }

    fn choose(&self) -> Option<u64> {
        let Some(failed) = self.failed else {
            // The upper bound held at the first trial.
            return None;
        };
        let bracket = failed.saturating_sub(self.held) as f64 / failed.max(1) as f64;
        if bracket <= RESOLUTION || failed <= 2000 {
            // What was found is tried once more: a rate that held by luck goes down.
            return (self.held > 0 && !self.confirmed).then_some(self.held);
        }
        Some(self.held + (failed - self.held) / 2).filter(|rate| *rate >= 1000)
    }

    /// What the search has come to.
    #[must_use]
    pub fn found(&self) -> Found {
        Found {
            rate_bps: (self.held > 0).then_some(self.held),
            failed_bps: self.failed,
            sender_bound: self.sender_bound,
            undecided: self.undecided || self.trials.len() >= MOST_STEPS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that carries `capacity` and drops the rest, asked in trials of `datagrams`.
    fn search(limit: f64, most: u64, capacity: u64, datagrams: u64, base_loss: f64) -> Search {
        let mut search = Search::new(limit, BitRate::from_bps(most), 0.95);
        while let Some(rate) = search.next_rate() {
            let over = (rate.as_f64() - capacity as f64).max(0.0) / rate.as_f64();
            let loss = over + (1.0 - over) * base_loss;
            search.tell(
                datagrams,
                (loss * datagrams as f64).round() as u64,
                rate.as_f64(),
            );
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
        let first = search.tell(100, 1, 1e6).unwrap();
        assert_eq!(first.outcome, Outcome::Undecided);
        search.tell(100, 1, 1e6);
        let third = search.tell(100, 0, 1e6).unwrap();
        assert_eq!(third.outcome, Outcome::Held, "2 of 300 is within 1 %");
        assert!(search.found().undecided);
    }

    #[test]
    fn a_sender_that_was_slow_once_does_not_end_a_search_that_had_gone_higher() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000), 0.95);
        search.tell(100_000, 50_000, 100e6);
        let rate = search.next_rate().unwrap();
        search.tell(100_000, 0, rate.as_f64() * 0.9);
        assert!(search.next_rate().is_some());
        assert!(!search.found().sender_bound);
    }

    #[test]
    fn a_sender_that_cannot_keep_up_is_named_not_the_network() {
        let mut search = Search::new(0.001, BitRate::from_bps(100_000_000_000), 0.95);
        search.tell(1_000_000, 0, 40e9);
        assert_eq!(search.next_rate(), None);
        let found = search.found();
        assert_eq!(
            (found.rate_bps, found.sender_bound),
            (Some(40_000_000_000), true)
        );
    }
}
