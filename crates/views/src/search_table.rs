//! The trials of a search for the highest rate, and its result.

use super::column::Column;
use super::fitted_row::{FittedCell, fitted_row};
use super::text::{bits, fold, percent, warnings};
use super::width::LineWidth;
use caudal_core::run::{Run, SearchResult};
use caudal_core::search::{SearchTrial, TrialOutcome};

/// The columns of the trials as comma-separated values.
pub const CSV_COLUMNS: [Column<SearchTrial>; 7] = [
    Column::new(
        "rate_bps",
        "bit/s",
        "the rate tried, payload a flow",
        |trial| trial.rate_bps.to_string(),
    ),
    Column::new("sent", "datagrams", "sent in this trial", |trial| {
        trial.sent.to_string()
    }),
    Column::new("lost", "datagrams", "lost in this trial", |trial| {
        trial.lost.to_string()
    }),
    Column::new(
        "loss",
        "fraction",
        "lost of sent, over all trials of this rate so far",
        |trial| format!("{:.9}", trial.loss),
    ),
    Column::new(
        "loss_low",
        "fraction",
        "lower end of Wilson's interval of that",
        |trial| format!("{:.9}", trial.low),
    ),
    Column::new("loss_high", "fraction", "upper end of the same", |trial| {
        format!("{:.9}", trial.high)
    }),
    Column::new(
        "outcome",
        "",
        "`held`, `failed`, `queueing` (a queue was still filling: failed), `unreached` (the sender could not send that fast) or `undecided` (tried again)",
        |trial| trial.outcome.name().to_owned(),
    ),
];

/// The header of the table of trials.
#[must_use]
pub fn header(width: LineWidth) -> String {
    cells(
        ["rate", "sent", "lost", "loss", "interval", "outcome"],
        width,
    )
}

/// One row of the table of trials.
#[must_use]
pub fn row(trial: &SearchTrial, width: LineWidth) -> String {
    let (low, high) = (percent(trial.low), percent(trial.high));
    let values = [
        &bits(trial.rate_bps as f64),
        &trial.sent.to_string(),
        &trial.lost.to_string(),
        &percent(trial.loss),
        &format!("{low} to {high}"),
        trial.outcome.in_text(),
    ];
    cells(values, width)
}

fn cells(cells: [&str; 6], width: LineWidth) -> String {
    let [rate, sent, lost, loss, interval, outcome] = cells;
    let cells = [
        FittedCell::new(rate, 12, 0),
        FittedCell::new(sent, 11, 2),
        FittedCell::new(lost, 10, 1),
        FittedCell::new(loss, 9, 0),
        FittedCell::new(format!("  {interval:<20}"), 22, 3),
        FittedCell::new(format!(" {outcome:<14}"), 15, 0),
    ];
    fitted_row(&cells, width).trim_end().to_owned()
}

/// The closing block of a search: its result and the warnings.
#[must_use]
pub fn closing_lines(run: &Run, width: LineWidth) -> Vec<String> {
    let mut lines: Vec<String> = run
        .search()
        .into_iter()
        .map(|search| fold(&result(search), 4, width))
        .collect();
    lines.extend(warnings(run, width));
    lines
}

/// The result of a search as text.
#[must_use]
pub fn result(search: &SearchResult) -> String {
    let limit = percent(search.loss_limit);
    let failed = search.found.failed_bps.map(|rate| {
        let last = search.trials.iter().rev().find(|t| t.rate_bps == rate);
        let why = match last.map(|trial| trial.outcome) {
            Some(TrialOutcome::Queueing) => "was more than arrived: it was still filling a queue",
            _ => "was too much",
        };
        format!("; {} {why}", bits(rate as f64))
    });
    let Some(rate) = search.found.rate_bps else {
        return format!(
            "found: no rate down to 1 kbit/s loses at most {limit}{}",
            failed.unwrap_or_default()
        );
    };
    let rate = bits(rate as f64);
    let unsure = if search.found.undecided {
        " (decided by point estimates: the trials were too short to be sure)"
    } else {
        ""
    };
    match (search.found.sender_bound, failed) {
        (true, failed) => format!(
            "found: {rate} of payload a flow, the maximum the sender reached; the path may carry more{}{unsure}",
            failed.unwrap_or_default()
        ),
        (false, Some(failed)) => format!("found: {rate} of payload a flow{failed}{unsure}"),
        (false, None) => {
            format!(
                "found: {rate} held, and no more was asked for (--rate bounds the search){unsure}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::column;
    use super::super::text::WIDTH;
    use super::*;
    use caudal_analysis::search::{Search, TrialObservation};
    use caudal_core::units::BitRate;

    fn search(limit: f64, max: u64, observe: impl Fn(f64) -> TrialObservation) -> SearchResult {
        let mut search = Search::new(limit, BitRate::from_bps(max), 0.95);
        while let Some(rate) = search.next_rate() {
            search.record(observe(rate.as_f64()));
        }
        SearchResult {
            loss_limit: limit,
            confidence: 0.95,
            found: search.outcome(),
            trials: search.trials().to_vec(),
        }
    }

    #[test]
    fn the_table_of_trials_fits_the_terminal() {
        let trial = SearchTrial {
            rate_bps: 98_760_000,
            sent: 4_000_000_000,
            lost: 100_000_000,
            loss: 0.000_012_3,
            low: 0.000_011,
            high: 0.000_014,
            outcome: TrialOutcome::Queueing,
        };
        let line = row(&trial, LineWidth::UNLIMITED);
        assert!(line.chars().count() <= WIDTH, "{line}");
        assert_eq!(
            column::row(&CSV_COLUMNS, &trial),
            "98760000,4000000000,100000000,0.000012300,0.000011000,0.000014000,queueing"
        );
    }

    #[test]
    fn the_result_says_of_each_rate_what_was_seen_of_it() {
        let good = |rate| TrialObservation {
            sent: 100_000,
            lost: 0,
            reached_bps: rate,
            undelivered: Some(0.0),
        };
        let queue = search(0.0, 98_000_000, |rate| TrialObservation {
            undelivered: Some((1.0 - 50e6 / rate).max(0.0)),
            ..good(rate)
        });
        assert!(result(&queue).contains("still filling a queue"));
        let slow = search(0.0, 100_000_000, |rate| TrialObservation {
            lost: if rate > 90e6 { 10 } else { 0 },
            reached_bps: if rate > 90e6 { rate } else { rate.min(40e6) },
            ..good(rate)
        });
        let text = result(&slow);
        assert!(
            text.contains("the maximum the sender reached") && text.contains("Mbit/s was too much"),
            "{text}"
        );
        let held = search(0.0, 5_000_000, good);
        assert!(result(&held).contains("no more was asked for"));
    }
}
