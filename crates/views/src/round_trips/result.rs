//! The result of a round-trip test as text for people.

use super::closing::Closing;
use super::size_table::{header, rows};
use super::statistics_table::{legend, table};
use crate::idle_windows::{DirectionWindow, change_lines, window_lines};
use crate::interval_table::Detail;
use crate::text::warnings;
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::plan::Direction;
use caudal_core::run::{RoundTripSummary, Run};

/// The confidence level of intervals where the run does not record it.
const CONFIDENCE: f64 = 0.95;

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
            // Where every column was asked for, every one is shown.
            let width = match form.detail {
                Detail::Usual => form.width,
                Detail::Every => LineWidth::UNLIMITED,
            };
            lines.push(header(confidence, width));
            for size in &summary.sizes {
                lines.extend(rows(size, form.detail == Detail::Every, width));
            }
        }
        let closing = Closing { run, summary };
        let windows = windows(summary);
        match form.detail {
            Detail::Every => {
                lines.extend(closing.every_line(form.width));
                lines.extend(window_lines(run, &windows, form));
            }
            _ => {
                lines.extend(closing.lines(form.width));
                lines.extend(change_lines(run, &windows, form.width));
            }
        }
    }
    lines.extend(warnings(run, form.width));
    lines
}
