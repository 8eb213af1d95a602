//! The lines of the closing block of a throughput test.

use super::detail;
use super::headline::{self, DirectionHeadline};
use crate::emphasis::EmphasizedLine;
use crate::interval_table::Detail;
use crate::text::{fold, warnings};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::run::{Repeat, Run};
use caudal_core::summary::DirectionSummary;

/// A line of a closing block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosingLine {
    /// The result of a direction.
    Headline(DirectionHeadline),
    /// A line with its most important part in bold.
    Emphasized(EmphasizedLine),
    /// Any other line.
    Text(String),
}

impl ClosingLine {
    /// The line as text, folded to a width.
    #[must_use]
    pub fn text(&self, width: LineWidth) -> String {
        match self {
            Self::Headline(headline) => fold(&headline.to_string(), 4, width),
            Self::Emphasized(line) => fold(&line.to_string(), 4, width),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The closing block of a throughput test: each direction, the warnings, and the result over several runs. A quiet one has a line a
/// direction, and one with every detail the evidence too.
#[must_use]
pub fn closing_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = run_lines(run, form);
    lines.extend(warnings(run, form.width).into_iter().map(ClosingLine::Text));
    lines.extend(over_runs(run));
    lines
}

/// The same without the warnings.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = run_lines(run, form);
    lines.extend(over_runs(run));
    lines
}

/// The lines on the run: of several, on the last complete one, which quiet text leaves out.
fn run_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let runs = run.repeats.len();
    if runs < 2 {
        let directions = run.directions().iter();
        return directions
            .flat_map(|direction| {
                let headline = ClosingLine::Headline(DirectionHeadline::new(direction));
                [headline]
                    .into_iter()
                    .chain(explanation(run, direction, form))
            })
            .collect();
    }
    if form.quiet {
        return Vec::new();
    }
    let is_complete = |repeat: &Repeat| repeat.cut_short.is_none();
    let last_complete = run.repeats.iter().rposition(is_complete);
    let shown = last_complete.map_or(runs, |at| at + 1);
    let name = if shown < runs {
        format!("run {shown}, the last complete one")
    } else {
        "the last run".to_owned()
    };
    let mut lines = Vec::new();
    for direction in run.directions() {
        let headline = DirectionHeadline::new(direction);
        lines.push(ClosingLine::Text(fold(
            &format!("{name}, {headline}"),
            4,
            form.width,
        )));
        lines.extend(explanation(run, direction, form));
    }
    if shown < runs {
        let text = format!("run {runs} was cut short and is not counted below");
        lines.push(ClosingLine::Text(text));
    }
    lines
}

/// What explains the result of a direction, as far as the text shows it.
fn explanation(run: &Run, direction: &DirectionSummary, form: TextForm) -> Vec<ClosingLine> {
    let lines = match form.detail {
        _ if form.quiet => Vec::new(),
        Detail::Usual => headline::explanation(run, direction, form.width),
        Detail::Every => detail::direction_lines(run, direction, form.width),
    };
    let folded = lines
        .iter()
        .map(|line| ClosingLine::Text(fold(line, 4, form.width)));
    folded.collect()
}

/// The result over all runs, where there are several.
fn over_runs(run: &Run) -> impl Iterator<Item = ClosingLine> {
    run.over_repeats
        .iter()
        .map(|over| ClosingLine::Headline(DirectionHeadline::over_runs(over)))
}
