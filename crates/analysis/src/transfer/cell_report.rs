//! The result of a cell: its runs added up.

use caudal_core::transfer::{
    TransferCell, TransferCellReport, TransferGoal, TransferHalves, TransferSummary, TransferTimes,
};
use caudal_stats::{
    Estimate, MIN_TRIALS_OF_INTERVAL, Welford, lag1, mean_of_trials, nearest_rank, runs_needed,
    two_stage_interval, two_stage_runs, welch,
};

/// The result of a cell with these runs, in the order in which they happened. Runs that are no result do not count.
#[must_use]
pub fn cell_report(
    cell: TransferCell,
    runs: &[&TransferSummary],
    goal: &TransferGoal,
) -> TransferCellReport {
    let runs: Vec<&TransferSummary> = runs
        .iter()
        .copied()
        .filter(|run| run.time_s().is_some())
        .collect();
    let times: Vec<f64> = runs.iter().filter_map(|run| run.time_s()).collect();
    let statistics: Welford = times.iter().collect();
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let time_s = time_estimate(&times, goal);
    let error = time_s
        .filter(|time| times.len() >= MIN_TRIALS_OF_INTERVAL && time.confidence > 0.0)
        .and_then(|time| time.relative_half_width());
    let bytes = runs.first().map(|run| run.bytes as f64);
    TransferCellReport {
        cell,
        n: times.len() as u64,
        sd_s: statistics.sd(),
        min_s: sorted.first().copied(),
        median_s: nearest_rank(&sorted, 0.5),
        max_s: sorted.last().copied(),
        variation: variation(&statistics),
        error,
        goal_met: error.map(|error| error <= goal.error),
        runs_needed: runs_of_goal(&times, goal),
        goodput_bps: time_s
            .filter(|time| time.mean > 0.0)
            .zip(bytes)
            .map(|(time, bytes)| bytes * 8.0 / time.mean),
        times: mean_times(&runs),
        datagrams: mean(&runs, |run| run.datagrams.map(|count| count as f64)),
        retransmitted: mean(&runs, |run| run.retransmitted.map(|count| count as f64)),
        loss: mean(&runs, |run| run.loss),
        socket_drops: runs.iter().map(|run| run.socket_drops).sum::<Option<u64>>(),
        sender_cpu_ns_per_byte: mean(&runs, |run| run.sender_cpu_ns_per_byte),
        receiver_cpu_ns_per_byte: mean(&runs, |run| run.receiver_cpu_ns_per_byte),
        lag1: lag1(&times).filter(|_| times.len() >= MIN_TRIALS_OF_INTERVAL),
        halves: halves(&times, goal.confidence),
        time_s,
    }
}

/// Minimum number of runs whose halves are compared.
const MIN_RUNS_OF_HALVES: usize = 2 * MIN_TRIALS_OF_INTERVAL;

/// The mean time with its interval: of two stages, when there were, with the spread of the first.
fn time_estimate(times: &[f64], goal: &TransferGoal) -> Option<Estimate> {
    let of_stages = goal
        .pilot_runs
        .and_then(|pilot| two_stage_interval(times, pilot as usize, goal.confidence));
    of_stages.or_else(|| mean_of_trials(times, goal.confidence))
}

/// The number of runs that the goal takes; of two stages, the number that the pilot decided on.
fn runs_of_goal(times: &[f64], goal: &TransferGoal) -> Option<u64> {
    if times.len() < MIN_TRIALS_OF_INTERVAL {
        return None;
    }
    let pilot = goal
        .pilot_runs
        .and_then(|pilot| times.get(..pilot as usize));
    if let Some(pilot) = pilot {
        return two_stage_runs(pilot, goal.error, goal.confidence);
    }
    let statistics: Welford = times.iter().collect();
    runs_needed(
        statistics.sd()?,
        statistics.mean()?,
        goal.error,
        goal.confidence,
    )
}

fn variation(statistics: &Welford) -> Option<f64> {
    let variation = statistics.sd()? / statistics.mean()?;
    variation.is_finite().then_some(variation)
}

/// The mean of a figure over the runs; `None` when one of them lacks it.
fn mean(
    runs: &[&TransferSummary],
    figure: impl Fn(&TransferSummary) -> Option<f64>,
) -> Option<f64> {
    let values: Vec<f64> = runs.iter().map(|run| figure(run)).collect::<Option<_>>()?;
    values.iter().collect::<Welford>().mean()
}

fn mean_times(runs: &[&TransferSummary]) -> TransferTimes {
    let part = |part: fn(&TransferTimes) -> Option<u64>| {
        let mean = mean(runs, |run| part(&run.times).map(|ns| ns as f64))?;
        Some(mean.round() as u64)
    };
    TransferTimes {
        handshake_ns: part(|times| Some(times.handshake_ns)).unwrap_or(0),
        transfer_ns: part(|times| times.transfer_ns),
        write_ns: part(|times| times.write_ns),
        sync_ns: part(|times| times.sync_ns),
        verify_ns: part(|times| times.verify_ns),
    }
}

fn halves(times: &[f64], confidence: f64) -> Option<TransferHalves> {
    if times.len() < MIN_RUNS_OF_HALVES {
        return None;
    }
    let (first, second) = times.split_at(times.len() / 2);
    Some(TransferHalves {
        first_s: first.iter().collect::<Welford>().mean()?,
        second_s: second.iter().collect::<Welford>().mean()?,
        p: welch(first, second, confidence)?.p,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::TransferVia;
    use caudal_stats::IntervalMethod;

    const GOAL: TransferGoal = TransferGoal {
        error: 0.1,
        confidence: 0.95,
        pilot_runs: None,
        max_runs: None,
    };

    fn cell() -> TransferCell {
        TransferCell {
            via: TransferVia::Quic,
            size_bytes: None,
            file: None,
        }
    }

    fn runs(times_ms: &[f64]) -> Vec<TransferSummary> {
        let run = |ms: &f64| TransferSummary {
            bytes: 1_000_000,
            time_ns: Some((ms * 1e6) as u64),
            datagrams: Some(1000),
            verified: true,
            ..TransferSummary::default()
        };
        times_ms.iter().map(run).collect()
    }

    fn report(times_ms: &[f64], goal: &TransferGoal) -> TransferCellReport {
        let runs = runs(times_ms);
        cell_report(cell(), &runs.iter().collect::<Vec<_>>(), goal)
    }

    #[test]
    fn the_error_says_whether_the_goal_is_met_and_how_many_runs_it_takes() {
        let found = report(&[8.0, 12.0, 10.0, 9.0, 11.0, 10.0], &GOAL);
        let time = found.time_s.unwrap();
        assert_eq!(
            (found.n, format!("{:.4}", time.mean)),
            (6, "0.0100".to_owned())
        );
        // s = √2 ms, t(0.975, 5) = 2.5706: 2.5706 · 1.4142 / √6 / 10.
        assert_eq!(format!("{:.4}", found.error.unwrap()), "0.1484");
        assert_eq!((found.goal_met, found.runs_needed), (Some(false), Some(11)));
        assert_eq!(found.goodput_bps.map(f64::round), Some(800e6));
        assert_eq!(
            (found.median_s, found.datagrams),
            (Some(0.01), Some(1000.0))
        );
        assert_eq!(found.halves, None);
    }

    #[test]
    fn fewer_than_five_runs_have_no_error() {
        let found = report(&[8.0, 12.0, 10.0], &GOAL);
        assert_eq!(found.time_s.unwrap().method, IntervalMethod::Range);
        assert_eq!((found.error, found.goal_met), (None, None));
        assert_eq!((found.runs_needed, found.lag1), (None, None));
        assert!(found.sd_s.is_some());
        assert_eq!(report(&[], &GOAL).time_s, None);
    }

    #[test]
    fn two_stages_keep_the_spread_of_the_pilot() {
        let goal = TransferGoal {
            pilot_runs: Some(5),
            max_runs: Some(100),
            ..GOAL
        };
        let found = report(&[8.0, 12.0, 10.0, 9.0, 11.0, 10.0, 10.0, 10.0, 10.0], &goal);
        assert_eq!(found.time_s.unwrap().method, IntervalMethod::TwoStageT);
        // s₁ = √2.5 ms, t(0.975, 4) = 2.7764: (2.7764 · 1.5811)² = 19.3.
        assert_eq!((found.runs_needed, found.goal_met), (Some(20), Some(false)));
    }

    #[test]
    fn a_run_that_was_not_verified_is_no_data_point() {
        let mut all = runs(&[10.0; 6]);
        all[3].verified = false;
        let found = cell_report(cell(), &all.iter().collect::<Vec<_>>(), &GOAL);
        assert_eq!(found.n, 5);
    }

    #[test]
    fn a_machine_that_slows_down_shows_in_the_halves() {
        let times: Vec<f64> = (0..20)
            .map(|nth| if nth < 10 { 10.0 } else { 15.0 } + f64::from(nth % 3) * 0.1)
            .collect();
        let found = report(&times, &GOAL);
        let halves = found.halves.unwrap();
        assert!(
            halves.p < 1e-6 && halves.second_s > halves.first_s,
            "{halves:?}"
        );
        assert!(found.lag1.unwrap() > 0.8);
    }
}
