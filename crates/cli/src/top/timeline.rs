//! The results of a watched path over days, with the times at which they changed.

use super::args::TopArgs;
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::line_width;
use crate::output::sink::Sink;
use crate::report::open_store;
use caudal_report::stored_text::entry_lines;
use caudal_stats::change_points;
use caudal_store::{Filter, Store, StoreEntry, StoreError};
use caudal_sys::signal::Interrupt;
use caudal_top::{Band, Model, Replay, TestPoint, ViewState, show, unusable_terminal};
use caudal_views::text::counted;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of tests shown.
const MAX_TESTS: usize = 2000;
/// Minimum number of tests between two changes.
const MIN_SEGMENT: usize = 5;
/// The least noise that is assumed, as a part of the mean: smaller steps are no changes.
const MIN_NOISE: f64 = 0.01;
/// A test counts until the next, at most for so many times the usual distance: what is longer is a gap.
const MAX_DISTANCE: f64 = 3.0;

/// Shows the tests of a path that `caudal watch` repeats.
pub(super) fn show_timeline(
    name: &str,
    args: &TopArgs,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let store = open_store(args.store.as_deref())?;
    let mut entries = tests_of(&store, name)?;
    if entries.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            format!("no test of a watched path {name:?} is recorded"),
            "see `caudal report list` for the tags there are, watch:NAME",
        ));
    }
    if let Some(why) = unusable_terminal() {
        diagnostic(&format!("{why}: the tests are listed"));
        let mut out = Sink::stdout();
        for line in entry_lines(&entries, false, line_width()) {
            out.line(&line);
        }
        out.finish()?;
        return Ok(Exit::Done);
    }
    entries.reverse();
    if let Some(mut replay) = Replay::new(vec![timeline(name, &entries)], 1.0) {
        show(&mut replay, &mut ViewState::default(), interrupt)?;
    }
    Ok(Exit::Done)
}

/// The tests of a path, the newest first.
fn tests_of(store: &Store, name: &str) -> Result<Vec<StoreEntry>, StoreError> {
    store.list(&Filter {
        tag: Some(format!("watch:{name}")),
        limit: Some(MAX_TESTS),
        ..Filter::default()
    })
}

/// The tests of a path for a page: their results with times since 1970, and the times at which these changed.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn watched_document(store: &Path, name: &str) -> Result<Value, StoreError> {
    let mut entries = tests_of(&Store::open_to_read(store)?, name)?;
    entries.reverse();
    let (points, began_s) = test_points(&entries);
    let changes_s = changes(&points);
    let shown = points.iter().map(|point| {
        json!({
            "at_s": began_s + point.start_s,
            "up_bps": point.up_bps,
            "down_bps": point.down_bps,
            "rtt_us": point.rtt_us.map(|band| band.middle),
            "loss": point.loss,
        })
    });
    Ok(json!({
        "points": shown.collect::<Vec<Value>>(),
        "changes_s": changes_s.iter().map(|at_s| began_s + at_s).collect::<Vec<f64>>(),
        "failed": entries.len() - points.len(),
    }))
}

/// The model of tests, the oldest first.
fn timeline(name: &str, entries: &[StoreEntry]) -> Model {
    let (points, began_s) = test_points(entries);
    let failed = entries.len() - points.len();
    let changes_s = changes(&points);
    let headline = format!(
        "{name}: {}, {failed} failed, {}",
        counted(entries.len() as u64, "test"),
        counted(changes_s.len() as u64, "change")
    );
    Model::timeline(headline, began_s, points, changes_s)
}

/// The tests that have a result, the oldest first, with times after the first of all; that is s since 1970.
fn test_points(entries: &[StoreEntry]) -> (Vec<TestPoint>, f64) {
    let began_s = entries.first().map_or(0.0, started_s);
    let starts: Vec<f64> = entries.iter().map(|one| started_s(one) - began_s).collect();
    let mut distances: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let usual_s = distances.get(distances.len() / 2).copied().unwrap_or(60.0);
    let ends = starts.iter().skip(1).copied();
    let last_s = starts.last().copied().unwrap_or(0.0) + usual_s;
    let points: Vec<TestPoint> = entries
        .iter()
        .zip(&starts)
        .zip(ends.chain([last_s]))
        .filter(|((entry, _), _)| entry.outcome == "done")
        .map(|((entry, &start_s), end_s)| {
            point(entry, start_s, end_s.min(start_s + MAX_DISTANCE * usual_s))
        })
        .collect();
    (points, began_s)
}

fn started_s(entry: &StoreEntry) -> f64 {
    entry.started_ns as f64 / 1e9
}

fn point(entry: &StoreEntry, start_s: f64, end_s: f64) -> TestPoint {
    let headline = &entry.headline;
    let command = entry.command.to_string();
    let mut words = command.split(' ');
    let is_reverse = words.any(|word| word == "-R" || word == "--reverse");
    let one = headline
        .goodput_bps
        .filter(|_| headline.up_bps.is_none() && headline.down_bps.is_none());
    TestPoint {
        start_s,
        end_s,
        up_bps: headline.up_bps.or(one.filter(|_| !is_reverse)),
        down_bps: headline.down_bps.or(one.filter(|_| is_reverse)),
        rtt_us: headline.rtt_us.map(|us| Band {
            low: us,
            middle: us,
            high: us,
        }),
        loss: headline.loss,
        ..TestPoint::default()
    }
}

/// The times at which the goodput changed; of tests without one, the round-trip time.
fn changes(points: &[TestPoint]) -> Vec<f64> {
    let series: [fn(&TestPoint) -> Option<f64>; 3] = [
        |point| point.down_bps,
        |point| point.up_bps,
        |point| point.rtt_us.map(|band| band.middle),
    ];
    let known = series.into_iter().find_map(|value| {
        let known: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| Some((point.start_s, value(point)?)))
            .collect();
        (known.len() >= 2 * MIN_SEGMENT).then_some(known)
    });
    let Some(known) = known else {
        return Vec::new();
    };
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let starts = change_points(&values, MIN_SEGMENT, MIN_NOISE * mean).unwrap_or_default();
    let later = starts.into_iter().filter(|start| *start > 0);
    later.map(|start| known[start].0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64]) -> Vec<TestPoint> {
        let point = |(nth, rate): (usize, &f64)| TestPoint {
            start_s: nth as f64 * 300.0,
            end_s: (nth + 1) as f64 * 300.0,
            up_bps: Some(*rate),
            ..TestPoint::default()
        };
        rates.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_step_is_a_change_and_noise_is_none() {
        let noise = [0.1, -0.2, 0.05, 0.2, -0.1, 0.0, 0.15, -0.05];
        let quiet: Vec<f64> = (0..40).map(|nth| 50.0 + noise[nth % 8]).collect();
        assert!(changes(&points(&quiet)).is_empty());
        let step: Vec<f64> = quiet
            .iter()
            .enumerate()
            .map(|(nth, rate)| if nth < 25 { *rate } else { rate / 2.0 })
            .collect();
        assert_eq!(changes(&points(&step)), [25.0 * 300.0]);
        assert!(changes(&points(&[1.0, 2.0])).is_empty());
    }
}
