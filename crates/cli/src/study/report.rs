//! What a study comes to, shown and written.

use std::path::Path;

use serde_json::json;

use super::args::StudyOutputArgs;
use super::findings_text::findings_text;
use super::run::Study;
use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_experiment::{Findings, StudyHeader};
use caudal_report::export::{ExportFormat, ExportSubject, REPORT_FILE};

/// Shows what was found and writes the report.
///
/// # Errors
/// When it cannot be written or nobody reads it; what was found is shown before.
pub fn report(
    study: &mut Study,
    args: &StudyOutputArgs,
    out: Option<&Path>,
    with_trials: bool,
) -> Result<Exit, Failure> {
    let meta = StudyHeader {
        id: study.id.clone(),
        name: study.prepared.source.name.clone(),
        started: study.started.clone(),
        command: study.command.clone(),
        environment: json!(study.environment),
        complete: study.complete,
        warnings: warnings(study),
    };
    let found = Findings::assemble(
        &study.prepared.campaign,
        &meta,
        &study.trials,
        &study.expected,
    );
    study.archive.note("findings", &json!(found));
    let mut sink = Sink::stdout();
    if args.json {
        let text = serde_json::to_string_pretty(&found).unwrap_or_default();
        sink.line(&text);
    } else {
        if !args.quiet {
            sink.line("");
        }
        sink.line(findings_text(&found).trim_end());
    }
    let written = match out {
        Some(out) => write(study, &found, out, with_trials).map(|()| Some(out.join(REPORT_FILE))),
        None => Ok(None),
    };
    if let (Ok(Some(at)), false) = (&written, args.json) {
        sink.line("");
        sink.line(&format!("report: {}", at.display()));
    }
    sink.finish()?;
    if sink.is_closed() {
        return Err(Failure::unread("the report is written all the same"));
    }
    written?;
    let unmet = found
        .expectations
        .iter()
        .any(|checked| checked.holds == Some(false));
    Ok(if unmet { Exit::Unmet } else { Exit::Done })
}

/// What to doubt: of the study, and of its trials what more than one of them says once.
fn warnings(study: &Study) -> Vec<String> {
    let mut all = study.warnings.clone();
    for warning in study.trials.iter().flat_map(|trial| &trial.warnings) {
        if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
    all
}

/// Writes report, findings and, when they are asked for, the trials into a directory.
fn write(study: &Study, found: &Findings, out: &Path, with_trials: bool) -> Result<(), Failure> {
    let make = |path: &Path| {
        std::fs::create_dir_all(path).map_err(|cause| cannot(&path.display().to_string(), &cause))
    };
    make(out)?;
    let series = |trial: &str| study.archive.series(trial);
    let subject = ExportSubject::Study(found, &study.trials);
    for file in subject.files(&series, ExportFormat::Html) {
        put(&out.join(&file.path), &file.text)?;
    }
    if with_trials {
        let trials = out.join("trials");
        make(&trials)?;
        for trial in &study.trials {
            let text = serde_json::to_string_pretty(trial).unwrap_or_default();
            put(
                &trials.join(format!("{:04}.json", trial.position)),
                &format!("{text}\n"),
            )?;
        }
    }
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let name = path.display().to_string();
    let mut sink = Sink::file(path).map_err(elsewhere)?;
    sink.write(text);
    sink.finish().map_err(|failure| {
        // Half a report would pass for one.
        let _ = std::fs::remove_file(&name);
        elsewhere(failure)
    })
}

fn cannot(what: &str, cause: &std::io::Error) -> Failure {
    elsewhere(Failure::writing(what, cause))
}

fn elsewhere(mut failure: Failure) -> Failure {
    failure.advice = "name another place with --out, or see `caudal report export`".to_owned();
    failure
}
