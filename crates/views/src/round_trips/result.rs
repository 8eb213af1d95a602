//! The result of a round-trip test as text for people.

use super::closing::Closing;
use super::size_table::{header, rows};
use super::statistics_table::{legend, table};
use crate::idle_windows::{DirectionWindow, window_lines};
use crate::interval_table::Detail;
use crate::text::{time_us, warnings};
use crate::text_form::TextForm;
use caudal_core::echo::ReplySummary;
use caudal_core::plan::Direction;
use caudal_core::run::{RoundTripSummary, Run};

/// The confidence level of intervals where the run does not record it.
const CONFIDENCE: f64 = 0.98;

/// The statistics of one size in a line, each in the unit that fits it; the mean is that of the usual round trips.
fn statistics(replies: &ReplySummary) -> Option<String> {
    let rtt = replies.rtt_us.as_ref()?;
    let mean_us = replies.mean_us.map_or(rtt.mean, |mean| mean.mean);
    let p99 = rtt.p99.map_or_else(|| "–".to_owned(), time_us);
    Some(format!(
        "rtt: min {}, avg {}, p50 {}, p99 {p99}, max {}",
        time_us(rtt.min),
        time_us(mean_us),
        time_us(rtt.p50),
        time_us(rtt.max)
    ))
}

/// What is known of the window of each direction.
fn windows(summary: &RoundTripSummary) -> Vec<DirectionWindow<'_>> {
    let directions = [
        (Direction::Up, &summary.window_up, &summary.next_step_up),
        (
            Direction::Down,
            &summary.window_down,
            &summary.next_step_down,
        ),
    ];
    let known = directions
        .into_iter()
        .filter_map(|(direction, window, step)| {
            Some(DirectionWindow {
                direction,
                window: window.as_deref()?,
                step: &step.as_ref()?.remedy,
            })
        });
    known.collect()
}

/// The result of a round-trip test: its table, the closing block, and the warnings.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<String> {
    let Some(summary) = run.round_trips() else {
        return Vec::new();
    };
    let confidence = summary.loss.map_or(CONFIDENCE, |loss| loss.confidence);
    let mut lines = Vec::new();
    if form.size_columns {
        let transport = run
            .plan
            .transport()
            .map_or_else(String::new, |t| t.to_string());
        let plan = run.plan.rtt();
        let clients = plan.and_then(|plan| plan.clients).unwrap_or(1);
        let count = plan.and_then(|plan| plan.count).unwrap_or(0);
        lines.extend(table(&summary.sizes, &transport, clients, count));
        lines.push(legend(confidence, form.width));
    } else {
        let is_table = summary.sizes.len() > 1 || form.detail == Detail::Every;
        if !form.quiet && is_table {
            lines.push(header(confidence));
            for size in &summary.sizes {
                lines.extend(rows(size, form.detail == Detail::Every));
            }
        }
        if let ([only], false) = (summary.sizes.as_slice(), is_table) {
            lines.extend(statistics(&only.pooled));
        }
        lines.extend(Closing { run, summary }.lines(form.width));
        if !form.quiet {
            lines.extend(window_lines(run, &windows(summary), form));
        }
    }
    lines.extend(warnings(run, form.width));
    lines
}
