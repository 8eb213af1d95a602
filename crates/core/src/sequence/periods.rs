//! Runs of missing numbers in their places.

use serde::{Deserialize, Serialize};

/// Maximum number of runs that are kept.
const MAX_RUNS: usize = 100;

/// A run of consecutive missing numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRun {
    /// The first number.
    pub first: u64,
    /// Numbers.
    pub count: u64,
}

/// Sums over cycles: a cycle reaches from the first number of a run to the one before the next run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossCycles {
    /// Complete cycles.
    pub count: u64,
    /// The numbers lost in them.
    pub lost: f64,
    /// All numbers in them.
    pub numbers: f64,
    /// The sum of the squares of the numbers lost in each.
    pub lost_squares: f64,
    /// The sum of the squares of the numbers in each.
    pub number_squares: f64,
    /// The sum of the products of both.
    pub products: f64,
}

/// The longest runs of missing numbers, and what the distances of all say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossPeriods {
    /// The longest runs of more than one number, up to 100, in the order of their numbers.
    pub longest: Vec<LossRun>,
    /// The cycles of all runs.
    pub cycles: LossCycles,
    /// The length below which runs are not kept any more.
    #[serde(skip)]
    min_count: u64,
    #[serde(skip)]
    last: Option<LossRun>,
}

impl LossPeriods {
    /// `true` without any loss that has another after it or beside it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.longest.is_empty() && self.cycles.count == 0
    }

    /// Adds a run that follows the others.
    pub fn push(&mut self, run: LossRun) {
        if let Some(last) = self.last.replace(run) {
            let (lost, numbers) = (
                last.count as f64,
                run.first.saturating_sub(last.first) as f64,
            );
            let cycles = &mut self.cycles;
            cycles.count += 1;
            cycles.lost += lost;
            cycles.numbers += numbers;
            cycles.lost_squares += lost * lost;
            cycles.number_squares += numbers * numbers;
            cycles.products += lost * numbers;
        }
        if run.count < self.min_count.max(2) {
            return;
        }
        self.longest.push(run);
        if self.longest.len() > MAX_RUNS {
            let shortest = self.longest.iter().map(|run| run.count).min().unwrap_or(0);
            self.min_count = shortest + 1;
            let mut excess = self.longest.len() - MAX_RUNS;
            self.longest.retain(|run| {
                let is_excess = run.count == shortest && excess > 0;
                excess -= usize::from(is_excess);
                !is_excess
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_runs_are_kept_and_all_cycles_counted() {
        let mut periods = LossPeriods::default();
        for nth in 0..1000 {
            let count = if nth % 100 == 7 { 50 } else { 1 + nth % 3 };
            periods.push(LossRun {
                first: nth * 1000,
                count,
            });
        }
        assert_eq!(periods.longest.len(), MAX_RUNS);
        let long = periods.longest.iter().filter(|run| run.count == 50);
        assert_eq!(long.count(), 10);
        assert!(
            periods
                .longest
                .windows(2)
                .all(|pair| pair[0].first < pair[1].first)
        );
        assert_eq!(
            (periods.cycles.count, periods.cycles.numbers),
            (999, 999_000.0)
        );
        let mut single = LossPeriods::default();
        single.push(LossRun { first: 5, count: 1 });
        assert!(single.is_empty());
    }
}
