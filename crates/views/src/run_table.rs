//! The table of several runs of one test: a row for each, and the progress towards the precision asked for.

use super::sink::TextSink;
use super::text::{bits, fold};
use super::width::LineWidth;
use caudal_core::interval::IntervalRow;
use caudal_core::plan::Direction;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_stats::{Estimate, mean_of_trials};

/// The number of runs, as far as it is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunGoal {
    /// So many runs.
    Count(u32),
    /// Until half the width of the interval is at most this part of the mean, in at most so many runs.
    Precision(f64, u32),
}

/// The goodput of each completed run in a direction, the last one being the run that the row is of.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResults {
    /// The direction.
    pub direction: Direction,
    /// The goodput of each run, bit/s.
    pub goodputs_bps: Vec<f64>,
}

/// The table of the runs on its way to a sink.
#[derive(Debug)]
pub struct RunTable {
    goal: RunGoal,
    confidence: f64,
    /// The run that is going on, from 1.
    number: u32,
    has_header: bool,
    has_live_line: bool,
}

impl RunTable {
    /// The table of runs towards a goal, with intervals at `confidence`.
    #[must_use]
    pub const fn new(goal: RunGoal, confidence: f64) -> Self {
        Self {
            goal,
            confidence,
            number: 1,
            has_header: false,
            has_live_line: false,
        }
    }

    /// Shows the latest interval of the run that is going on, in a terminal.
    pub fn live(&mut self, sink: &mut impl TextSink, row: &IntervalRow) {
        if !sink.is_terminal() {
            return;
        }
        let rates: Vec<String> = Direction::BOTH
            .into_iter()
            .map(|direction| (direction, row.sum(direction)))
            .filter(|(_, sum)| sum.flows > 0)
            .map(|(direction, sum)| format!("{} {}", direction.name(), bits(sum.goodput_bps)))
            .collect();
        let end_s = row.flows.first().map_or(0.0, |flow| flow.interval.end_s);
        let line = format!(
            "{:>11}  {} at {end_s:.0} s",
            self.run_name(self.number),
            rates.join(", ")
        );
        sink.write_with_controls(&format!("\r\x1b[K\x1b[2m{line}\x1b[0m"));
        self.has_live_line = true;
    }

    /// Adds the row of a run that has ended, for each direction.
    pub fn row(&mut self, sink: &mut impl TextSink, number: u32, results: &[RunResults]) {
        self.end(sink);
        if !std::mem::replace(&mut self.has_header, true) {
            let header = format!("{:>11}  {:<4} {:>13}", "run", "", "goodput");
            sink.line(&beside(&header, "over the runs so far", sink.line_width()));
        }
        for (nth, result) in results.iter().enumerate() {
            let name = match nth {
                0 => self.run_name(number),
                _ => String::new(),
            };
            let rate = result
                .goodputs_bps
                .last()
                .map_or_else(|| "–".to_owned(), |bps| bits(*bps));
            let row = format!("{name:>11}  {:<4} {rate:>13}", result.direction.name());
            let so_far = self.so_far(&result.goodputs_bps);
            sink.line(&beside(&row, &so_far, sink.line_width()));
        }
        self.number = number + 1;
    }

    /// Removes the line of the run that is going on.
    pub fn end(&mut self, sink: &mut impl TextSink) {
        if std::mem::take(&mut self.has_live_line) {
            sink.write_with_controls("\r\x1b[K");
        }
    }

    fn run_name(&self, number: u32) -> String {
        match self.goal {
            RunGoal::Count(total) => format!("{number} of {total}"),
            RunGoal::Precision(..) => number.to_string(),
        }
    }

    /// The mean so far, and how far it is from the goal.
    fn so_far(&self, goodputs_bps: &[f64]) -> String {
        let Some(mean) = mean_of_trials(goodputs_bps, self.confidence).filter(|mean| mean.n > 1)
        else {
            return String::new();
        };
        let shown = EstimateInUnit::new(&mean, Unit::BitPerSecond);
        match self.goal {
            RunGoal::Count(_) => shown.plus_minus(),
            RunGoal::Precision(goal, _) => format!("{}{}", shown.mean(), progress(&mean, goal)),
        }
    }
}

/// A row with what stands beside it: below it where the line is too short for both.
fn beside(row: &str, more: &str, width: LineWidth) -> String {
    let columns = width.columns().unwrap_or(usize::MAX);
    if more.is_empty() {
        return row.to_owned();
    }
    if row.chars().count() + 2 + more.chars().count() <= columns {
        return format!("{row}  {more}");
    }
    format!("{row}\n    {}", fold(more, 4, width))
}

/// The width reached beside the goal, both as parts of the mean.
fn progress(mean: &Estimate, goal: f64) -> String {
    let goal = Unit::Share.show(goal);
    match mean.relative_half_width() {
        Some(reached) if mean.confidence > 0.0 => {
            format!(" ± {} (goal ± {goal})", about(reached))
        }
        _ => format!(" (goal ± {goal})"),
    }
}

/// A share in percent with two decimals.
fn about(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn so_far(goal: RunGoal, goodputs_bps: &[f64]) -> String {
        RunTable::new(goal, 0.95).so_far(goodputs_bps)
    }

    #[test]
    fn few_runs_have_their_extremes_and_many_an_interval() {
        let count = RunGoal::Count(10);
        assert_eq!(so_far(count, &[9e6]), "");
        assert_eq!(
            so_far(count, &[9e6, 9.2e6]),
            "9.10 Mbit/s (9.00–9.20 Mbit/s)"
        );
        let six = [9e6, 9.2e6, 9.1e6, 9.05e6, 9.15e6, 9.1e6];
        assert_eq!(so_far(count, &six), "9.100 Mbit/s ± 0.074 Mbit/s");
    }

    #[test]
    fn what_is_known_so_far_stands_below_where_the_terminal_is_narrow() {
        let row = format!("{:>11}  up    9.1 Mbit/s", "2 of 10");
        let of = |columns| {
            beside(
                &row,
                "9.10 Mbit/s (9.00–9.20 Mbit/s)",
                LineWidth::of_columns(columns),
            )
        };
        assert_eq!(of(80), format!("{row}  9.10 Mbit/s (9.00–9.20 Mbit/s)"));
        assert_eq!(of(40), format!("{row}\n    9.10 Mbit/s (9.00–9.20 Mbit/s)"));
        assert_eq!(beside(&row, "", LineWidth::of_columns(40)), row);
    }

    #[test]
    fn the_precision_reached_stands_beside_the_goal() {
        let goal = RunGoal::Precision(0.05, 100);
        assert!(so_far(goal, &[9e6, 9.2e6]).ends_with(" (goal ± 5 %)"));
        let six = [9e6, 9.2e6, 9.1e6, 9.05e6, 9.15e6, 9.1e6];
        assert_eq!(so_far(goal, &six), "9.100 Mbit/s ± 0.82 % (goal ± 5 %)");
    }
}
