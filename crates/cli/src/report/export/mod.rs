//! `caudal report export`: a kept run or study as a file for others.

mod csv;
mod html;
mod markdown;
mod page;
mod pictures;
mod run;
mod study;
mod trial;
mod words;
mod write;

pub use csv::COLUMNS as CSV_COLUMNS;
pub use page::{Drawn, Page};
pub use pictures::Material;
pub use write::{ExportArgs, export};

use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;
use caudal_plot::STYLE_SHEET;
use caudal_store::SampleSeries;
use serde_json::Value;
use std::fmt::Write as _;

/// What a run or a study is exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One file for people: no scripts, nothing to fetch.
    Html,
    /// Text with tables.
    Markdown,
    /// Tidy values, a row each.
    Csv,
    /// The document itself.
    Json,
    /// The figures.
    Svg,
}

impl Format {
    /// The usual ending of such a file.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Svg => "svg",
        }
    }
}

/// The file of findings beside a report.
pub const FINDINGS: &str = "findings.json";
/// The file of a run's document beside its report.
pub const RUN: &str = "run.json";
/// The directory of figures beside a report in Markdown.
pub const FIGURES: &str = "figures";

/// A study in a format. A report in HTML links to [`FINDINGS`] beside it; of figures, all stand on one sheet.
#[must_use]
pub fn study(
    findings: &Findings,
    trials: &[Trial],
    series: &dyn Fn(&str) -> Vec<SampleSeries>,
    to: Format,
) -> String {
    let material = Material {
        findings,
        trials,
        series,
    };
    match to {
        Format::Html => html::html(&study::page(&material, Some(FINDINGS))),
        Format::Markdown => markdown::markdown(&study::page(&material, None), None),
        Format::Csv => csv::study(findings, trials),
        Format::Json => json(findings),
        Format::Svg => sheet(&study::page(&material, None)),
    }
}

/// A run in a format: a document `caudal.run/1`, ours or imported, and its raw samples.
#[must_use]
pub fn run(document: &Value, series: &[SampleSeries], to: Format) -> String {
    match to {
        Format::Html => html::html(&run::page(document, series, Some(RUN))),
        Format::Markdown => markdown::markdown(&run::page(document, series, None), None),
        Format::Csv => csv::run(document, series),
        Format::Json => json(document),
        Format::Svg => sheet(&run::page(document, series, None)),
    }
}

/// The figures of a study, each a file of its name.
#[must_use]
pub fn study_figures(
    findings: &Findings,
    trials: &[Trial],
    series: &dyn Fn(&str) -> Vec<SampleSeries>,
) -> Vec<(String, String)> {
    let material = Material {
        findings,
        trials,
        series,
    };
    files(&study::page(&material, None))
}

fn files(page: &Page) -> Vec<(String, String)> {
    page.figures()
        .map(|drawn| (format!("{}.svg", drawn.name), drawn.figure.svg()))
        .collect()
}

fn json(document: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// All figures of a page one under the other, as one picture; a lone one as it is.
fn sheet(page: &Page) -> String {
    let figures: Vec<&Drawn> = page.figures().collect();
    if let [only] = figures.as_slice() {
        return only.figure.svg();
    }
    let (mut inner, mut wide, mut high) = (String::new(), 0.0_f64, 0.0);
    for drawn in &figures {
        let svg = drawn.figure.inline_svg();
        let (w, h) = view_box(&svg).unwrap_or((800.0, 450.0));
        let _ = write!(inner, "<g transform=\"translate(0 {high})\">\n{svg}</g>\n");
        wide = wide.max(w);
        high += h;
    }
    let (wide, high) = (wide.max(1.0), high.max(1.0));
    let title = caudal_plot::escaped(&page.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" width=\"{wide}\" height=\"{high}\" \
         viewBox=\"0 0 {wide} {high}\"><title>{title}</title><style>{STYLE_SHEET}</style>\n{inner}</svg>\n"
    )
}

/// The size of a drawn figure, which may be higher than was asked for.
fn view_box(svg: &str) -> Option<(f64, f64)> {
    let inside = svg.split("viewBox=\"").nth(1)?.split('"').next()?;
    let mut numbers = inside.split(' ').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
