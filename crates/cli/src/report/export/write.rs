//! The command: what is exported, and where it goes.

use super::{
    FIGURES, FINDINGS, Format, Material, Page, RUN, csv, files, html, json, markdown, run, study,
};
use crate::exit::{Exit, Failure};
use crate::output::document::rfc3339;
use crate::output::sink::Sink;
use caudal_experiment::Trial;
use caudal_experiment::findings::{CasePredictions, Findings, StudyHeader};
use caudal_experiment::{Campaign, ExperimentFile};
use caudal_store::{SampleSeries, Store, StoredItem, StoredRun, StoredStudy};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Exports a run or a study.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without -o the text goes to standard output; --svg then puts all figures on one sheet. \
                  A directory gets all that belongs together: the report with its data, or every figure as a file.\n\
                  Examples:\n  \
                  caudal report export 3f2a91c4 --html -o report.html\n  \
                  caudal report export last --svg -o figures/\n  \
                  caudal report export 3f2a91c4 --csv | head"
)]
pub struct ExportArgs {
    /// The run or study: its id, or the beginning of it; `last` is the newest
    #[arg(value_name = "ID")]
    pub id: String,
    /// What it is exported as
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write to this file, or into this directory if there is one or the name ends in /
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
}

/// The formats, of which one is asked for.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub struct FormatArgs {
    /// A report as one HTML file: no scripts, nothing to fetch, fit for print
    #[arg(long)]
    pub html: bool,
    /// A report as Markdown
    #[arg(long)]
    pub md: bool,
    /// Every value as comma-separated values, a row each
    #[arg(long)]
    pub csv: bool,
    /// The run (caudal.run/1) or what a study found (caudal.study/1) as JSON
    #[arg(long)]
    pub json: bool,
    /// The figures as SVG
    #[arg(long)]
    pub svg: bool,
}

impl FormatArgs {
    const fn format(self) -> Format {
        if self.html {
            Format::Html
        } else if self.md {
            Format::Markdown
        } else if self.csv {
            Format::Csv
        } else if self.svg {
            Format::Svg
        } else {
            Format::Json
        }
    }
}

/// Something kept, with all that an export needs of it.
enum Subject {
    Run(Box<StoredRun>),
    Study(Box<Findings>, Vec<Trial>),
}

/// Carries the command out.
///
/// # Errors
/// When there is nothing of that id, or it cannot be written.
pub fn export(store: &Store, args: &ExportArgs) -> Result<Exit, Failure> {
    let to = args.format.format();
    let subject = match store.find(&args.id)? {
        StoredItem::Run(run) => Subject::Run(run),
        StoredItem::Study(kept) => {
            let trials = trials(store, &kept)?;
            Subject::Study(Box::new(findings(&kept, &trials)?), trials)
        }
    };
    let series = |id: &str| store.series(id).unwrap_or_default();
    let output = args.output.as_deref();
    let Some(directory) = output.filter(|path| is_directory(path)) else {
        let text = alone(&subject, &series, to);
        return one(&text, output);
    };
    std::fs::create_dir_all(directory).map_err(|cause| {
        Failure::writing(&format!("the directory {}", directory.display()), &cause)
    })?;
    for (name, text) in together(&subject, &series, to) {
        let path = directory.join(&name);
        if let Some(above) = path.parent() {
            std::fs::create_dir_all(above)
                .map_err(|cause| Failure::writing(&above.display().to_string(), &cause))?;
        }
        let mut sink = Sink::file(&path)?;
        sink.write(&text);
        sink.finish()?;
    }
    Ok(Exit::Done)
}

/// Whether it is a directory, or its name says that it is to be one.
fn is_directory(path: &Path) -> bool {
    let said = path.as_os_str().to_string_lossy().ends_with('/');
    said || path.is_dir()
}

/// One text to one place; what cannot be written to its file goes to standard output instead.
fn one(text: &str, output: Option<&Path>) -> Result<Exit, Failure> {
    let Some(path) = output else {
        let mut sink = Sink::stdout();
        sink.write(text);
        sink.finish()?;
        return if sink.is_closed() {
            Err(Failure::unread("the export was not printed whole"))
        } else {
            Ok(Exit::Done)
        };
    };
    // A name that cannot be opened costs nothing: it can be asked for again.
    let mut sink = Sink::file(path)?;
    sink.write(text);
    if let Err(failure) = sink.finish() {
        // Half a file would be taken for a whole one; what is no file is not ours to remove.
        if path.is_file() {
            let _ = std::fs::remove_file(path);
        }
        let mut rescue = Sink::stdout();
        rescue.write(text);
        let _ = rescue.finish();
        return Err(Failure {
            advice: "the export is on standard output; name another place with -o".to_owned(),
            ..failure
        });
    }
    Ok(Exit::Done)
}

/// As one text, without anything beside it.
fn alone(subject: &Subject, series: &dyn Fn(&str) -> Vec<SampleSeries>, to: Format) -> String {
    match subject {
        Subject::Run(kept) => match trial_of(kept) {
            Some(trial) => of_trial(&trial, &kept.series, to),
            None => match to {
                Format::Html => html::html(&run::page(&kept.document, &kept.series, None)),
                to => super::run(&kept.document, &kept.series, to),
            },
        },
        Subject::Study(findings, trials) => match to {
            Format::Html => {
                let material = Material {
                    findings,
                    trials,
                    series,
                };
                html::html(&study::page(&material, None))
            }
            to => super::study(findings, trials, series, to),
        },
    }
}

/// A trial kept in a store, as such.
fn trial_of(kept: &StoredRun) -> Option<Trial> {
    (kept.kind == "trial")
        .then(|| serde_json::from_value(kept.document.clone()).ok())
        .flatten()
}

/// A single trial: its document, or the report of a study of it alone.
fn of_trial(trial: &Trial, series: &[SampleSeries], to: Format) -> String {
    if to == Format::Json {
        return json(trial);
    }
    let findings = super::trial::findings(trial);
    let series = |_: &str| series.to_vec();
    let trials = std::slice::from_ref(trial);
    match to {
        Format::Html => {
            let material = Material {
                findings: &findings,
                trials,
                series: &series,
            };
            html::html(&study::page(&material, None))
        }
        to => super::study(&findings, trials, &series, to),
    }
}

/// All files that belong together, by their names below the directory.
fn together(
    subject: &Subject,
    series: &dyn Fn(&str) -> Vec<SampleSeries>,
    to: Format,
) -> Vec<(String, String)> {
    match subject {
        Subject::Study(findings, trials) => of_study(findings, trials, series, to),
        Subject::Run(kept) => match trial_of(kept) {
            Some(trial) => {
                let findings = super::trial::findings(&trial);
                of_study(&findings, std::slice::from_ref(&trial), series, to)
            }
            None => {
                let page = run::page(&kept.document, &kept.series, Some(RUN));
                let data = (RUN.to_owned(), json(&kept.document));
                match to {
                    Format::Csv => vec![values(csv::run(&kept.document, &kept.series))],
                    to => laid_out(&page, data, to),
                }
            }
        },
    }
}

fn values(text: String) -> (String, String) {
    ("values.csv".to_owned(), text)
}

fn of_study(
    findings: &Findings,
    trials: &[Trial],
    series: &dyn Fn(&str) -> Vec<SampleSeries>,
    to: Format,
) -> Vec<(String, String)> {
    let material = Material {
        findings,
        trials,
        series,
    };
    let data = (FINDINGS.to_owned(), json(findings));
    match to {
        Format::Csv => vec![values(csv::study(findings, trials))],
        Format::Json => {
            let each = trials.iter().map(|trial| {
                let id: String = trial
                    .id
                    .chars()
                    .filter(char::is_ascii_alphanumeric)
                    .collect();
                (format!("trials/{id}.json"), json(trial))
            });
            std::iter::once(data).chain(each).collect()
        }
        to => laid_out(&study::page(&material, Some(FINDINGS)), data, to),
    }
}

/// A page with its data beside it.
fn laid_out(page: &Page, data: (String, String), to: Format) -> Vec<(String, String)> {
    match to {
        Format::Html => vec![("report.html".to_owned(), html::html(page)), data],
        Format::Markdown => {
            let text = markdown::markdown(page, Some(FIGURES));
            let figures = files(page).into_iter();
            let figures = figures.map(|(name, svg)| (format!("{FIGURES}/{name}"), svg));
            let first = [("report.md".to_owned(), text), data];
            first.into_iter().chain(figures).collect()
        }
        Format::Svg => files(page),
        Format::Json | Format::Csv => vec![data],
    }
}

/// The trials of a study, without those whose document cannot be read.
fn trials(store: &Store, kept: &StoredStudy) -> Result<Vec<Trial>, Failure> {
    let runs = store.trials(&kept.id)?;
    Ok(runs
        .into_iter()
        .filter_map(|run| serde_json::from_value(run.document).ok())
        .collect())
}

/// What a study found: as it was told last, or of one that was killed, what its trials add up to.
fn findings(kept: &StoredStudy, trials: &[Trial]) -> Result<Findings, Failure> {
    let mut events = kept.events.iter().rev();
    let id = crate::recording::short(&kept.id);
    match events.find(|(_, event, _)| event == "findings") {
        Some((_, _, told)) => serde_json::from_value(told.clone()).map_err(|cause| {
            Failure::new(
                Exit::Failed,
                format!("the findings of study {id} cannot be read: {cause}"),
                "they may be from another version of caudal",
            )
        }),
        None => until_now(kept, trials).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                format!("study {id} has no findings yet"),
                format!("finish it with `caudal study resume {id}`"),
            )
        }),
    }
}

/// What the trials of a study add up to that did not end; `None` where its experiment cannot be read.
fn until_now(kept: &StoredStudy, trials: &[Trial]) -> Option<Findings> {
    let file: ExperimentFile = serde_json::from_value(kept.experiment.clone()).ok()?;
    let quick = kept.campaign.get("quick").and_then(Value::as_bool);
    let mut campaign = Campaign::unfold(&file, caudal_experiment::Variant::Full).ok()?;
    campaign.quick = quick.unwrap_or(false);
    let meta = StudyHeader {
        id: kept.id.clone(),
        name: kept.name.clone(),
        started: rfc3339(u64::try_from(kept.started_ns).unwrap_or(0)),
        command: kept.command.clone(),
        environment: kept.environment.clone(),
        complete: false,
        warnings: vec![
            "the study did not end: its trials were added up for this report".to_owned(),
        ],
    };
    let forecasts = trials.iter().map(|trial| {
        let forecast = CasePredictions {
            predicted: trial.predicted.clone(),
            ..CasePredictions::default()
        };
        (trial.case.clone(), forecast)
    });
    Some(Findings::assemble(
        &campaign,
        &meta,
        trials,
        &forecasts.collect(),
    ))
}
