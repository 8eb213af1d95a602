//! The subject of an export: a run, a trial or a study with everything its report needs.

use super::figures::StudyMaterial;
use super::html::to_html;
use super::markdown::markdown;
use super::page::{Page, PageFigure};
use super::run_page::run_page;
use super::sheet::sheet;
use super::study_page::study_page;
use super::trial_findings::trial_findings;
use super::values::{run_values, study_values};
use caudal_core::run::Run;
use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;
use caudal_store::SampleSeries;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A report for people in one file, without scripts or other files.
    Html,
    /// A report for people as text with tables.
    Markdown,
    /// All values, a row each.
    Csv,
    /// The document.
    Json,
    /// The figures.
    Svg,
}

/// The file of a report in HTML.
pub const REPORT_FILE: &str = "report.html";
/// The file of findings beside a report.
pub const FINDINGS_FILE: &str = "findings.json";
/// The file of a run's document beside its report.
pub const RUN_FILE: &str = "run.json";
/// The directory of figures beside a report in Markdown.
pub const FIGURES_DIRECTORY: &str = "figures";
/// The file of values.
const VALUES_FILE: &str = "values.csv";

/// The raw samples of a trial, by its id.
pub type SampleSource<'a> = dyn Fn(&str) -> Vec<SampleSeries> + 'a;

/// The subject of an export.
#[derive(Debug, Clone, Copy)]
pub enum ExportSubject<'a> {
    /// A run by itself with its raw samples.
    Run(&'a Run, &'a [SampleSeries]),
    /// A trial of a study.
    Trial(&'a Trial),
    /// A study with its trials.
    Study(&'a Findings, &'a [Trial]),
}

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// The path below the directory of the export.
    pub path: String,
    /// The content.
    pub text: String,
}

impl ExportFile {
    fn new(path: impl Into<String>, text: String) -> Self {
        Self {
            path: path.into(),
            text,
        }
    }
}

impl ExportSubject<'_> {
    /// The export as one text, without any file beside it; of figures, all on one sheet.
    #[must_use]
    pub fn text(self, samples: &SampleSource<'_>, format: ExportFormat) -> String {
        match format {
            ExportFormat::Html => to_html(&self.page(samples, Data::Absent)),
            ExportFormat::Markdown => markdown(&self.page(samples, Data::Absent), None),
            ExportFormat::Csv => self.values(),
            ExportFormat::Json => self.document(),
            ExportFormat::Svg => sheet(&self.page(samples, Data::Absent)),
        }
    }

    /// The export as files: a report with its data, or every figure in a file of its own.
    #[must_use]
    pub fn files(self, samples: &SampleSource<'_>, format: ExportFormat) -> Vec<ExportFile> {
        let page = || self.page(samples, Data::Beside);
        match format {
            ExportFormat::Html => {
                vec![ExportFile::new(REPORT_FILE, to_html(&page())), self.data()]
            }
            ExportFormat::Markdown => {
                let page = page();
                let text = markdown(&page, Some(FIGURES_DIRECTORY));
                let figures = figure_files(&page).into_iter().map(|file| ExportFile {
                    path: format!("{FIGURES_DIRECTORY}/{}", file.path),
                    ..file
                });
                let report = [ExportFile::new("report.md", text), self.data()];
                report.into_iter().chain(figures).collect()
            }
            ExportFormat::Csv => vec![ExportFile::new(VALUES_FILE, self.values())],
            ExportFormat::Json => self.documents(),
            ExportFormat::Svg => figure_files(&page()),
        }
    }

    /// The report.
    fn page(self, samples: &SampleSource<'_>, data: Data) -> Page {
        match self {
            Self::Run(run, series) => run_page(run, series, data.name(RUN_FILE)),
            Self::Trial(trial) => {
                let material = StudyMaterial {
                    findings: &trial_findings(trial),
                    trials: std::slice::from_ref(trial),
                    series: samples,
                };
                study_page(&material, data.name(FINDINGS_FILE))
            }
            Self::Study(findings, trials) => {
                let material = StudyMaterial {
                    findings,
                    trials,
                    series: samples,
                };
                study_page(&material, data.name(FINDINGS_FILE))
            }
        }
    }

    /// All values as CSV.
    fn values(self) -> String {
        match self {
            Self::Run(run, series) => run_values(run, series),
            Self::Trial(trial) => study_values(&trial_findings(trial), std::slice::from_ref(trial)),
            Self::Study(findings, trials) => study_values(findings, trials),
        }
    }

    /// The document as JSON.
    fn document(self) -> String {
        match self {
            Self::Run(run, _) => json(run),
            Self::Trial(trial) => json(trial),
            Self::Study(findings, _) => json(findings),
        }
    }

    /// The file of data beside a report.
    fn data(self) -> ExportFile {
        match self {
            Self::Run(..) => ExportFile::new(RUN_FILE, self.document()),
            Self::Trial(trial) => ExportFile::new(FINDINGS_FILE, json(&trial_findings(trial))),
            Self::Study(..) => ExportFile::new(FINDINGS_FILE, self.document()),
        }
    }

    /// The files of all documents.
    fn documents(self) -> Vec<ExportFile> {
        let trials = match self {
            Self::Run(..) => &[],
            Self::Trial(trial) => std::slice::from_ref(trial),
            Self::Study(_, trials) => trials,
        };
        let trials = trials.iter().map(|trial| {
            // An id that was read from a document is not trusted as part of a path.
            let id = trial.id.chars().filter(char::is_ascii_alphanumeric);
            ExportFile::new(
                format!("trials/{}.json", id.collect::<String>()),
                json(trial),
            )
        });
        std::iter::once(self.data()).chain(trials).collect()
    }

    /// Every figure as an SVG file.
    #[must_use]
    pub fn figure_files(self, samples: &SampleSource<'_>) -> Vec<ExportFile> {
        figure_files(&self.page(samples, Data::Absent))
    }
}

/// The data of a report.
#[derive(Clone, Copy)]
enum Data {
    /// In a file beside it.
    Beside,
    /// Not there.
    Absent,
}

impl Data {
    /// The name of the file of data.
    fn name(self, name: &str) -> Option<&str> {
        match self {
            Self::Beside => Some(name),
            Self::Absent => None,
        }
    }
}

fn figure_files(page: &Page) -> Vec<ExportFile> {
    let file =
        |figure: PageFigure<'_>| ExportFile::new(format!("{}.svg", figure.name()), figure.svg());
    page.figures().map(file).collect()
}

fn json(document: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
