//! The closing block of a throughput test, from its run: the result of each direction first, then what explains it.

mod detail;
mod headline;

pub use headline::Headline;

use super::interval_table::Detail;
use super::text::{fold, warning};
use super::text_form::TextForm;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::{Repeat, Run};

/// A line of a closing block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosingLine {
    /// The result of a direction.
    Headline(Headline),
    /// Any other line.
    Text(String),
}

impl ClosingLine {
    /// The line as text, folded.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Headline(headline) => fold(&headline.to_string(), 4),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The closing block of a throughput test: each direction, the result over several runs, and the warnings. A quiet one has a line a
/// direction, and one with every detail the evidence too.
#[must_use]
pub fn closing_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = result_lines(run, form);
    if !form.quiet {
        lines.extend(run.warnings.iter().map(warning).map(ClosingLine::Text));
    }
    lines
}

/// The same without the warnings.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = Vec::new();
    let runs = run.repeats.len();
    let is_complete = |repeat: &Repeat| repeat.cut_short.is_none();
    let shown = run
        .repeats
        .iter()
        .rposition(is_complete)
        .map_or(runs, |at| at + 1);
    for direction in run.directions() {
        let name = direction.direction.name();
        if shown < runs {
            let text = format!("run {shown}, the last complete one, {name}:");
            lines.push(ClosingLine::Text(text));
        } else if runs > 1 {
            lines.push(ClosingLine::Text(format!("the last run, {name}:")));
        }
        lines.push(ClosingLine::Headline(Headline::new(direction)));
        if form.quiet {
            continue;
        }
        let more = match form.detail {
            Detail::Usual => headline::explanation(run, direction),
            Detail::Every => detail::direction_lines(run, direction),
        };
        lines.extend(more.iter().map(|line| ClosingLine::Text(fold(line, 4))));
    }
    for over in &run.over_repeats {
        let result = over.goodput_bps.map_or_else(
            || "no run was completed".to_owned(),
            |goodput| EstimateInUnit::new(&goodput, Unit::BitPerSecond).to_string(),
        );
        let line = format!("over all runs, {}: {result}", over.direction.name());
        lines.push(ClosingLine::Text(fold(&line, 4)));
    }
    if shown < runs {
        let text = format!("run {runs} was cut short and is not counted above");
        lines.push(ClosingLine::Text(text));
    }
    lines
}
