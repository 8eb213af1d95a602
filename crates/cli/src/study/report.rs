//! The findings of a study, shown and written.

use std::path::Path;

use caudal_experiment::Findings;
use caudal_report::export::{ExportFormat, ExportSubject, REPORT_FILE};
use caudal_study::Study;

use super::args::StudyOutputArgs;
use crate::exit::{Exit, Failure};
use crate::output::line_width;
use crate::output::sink::Sink;
use caudal_views::interval_table::Detail;
use caudal_views::study::findings_text;

/// Shows the findings of a study and writes its report.
///
/// # Errors
/// When it cannot be written, or nobody reads the findings; those are shown before.
pub(super) fn report(
    study: &Study,
    found: &Findings,
    args: &StudyOutputArgs,
    out: Option<&Path>,
) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    if args.json {
        let text = serde_json::to_string_pretty(found).unwrap_or_default();
        sink.line(&text);
    } else {
        if !args.quiet {
            sink.line("");
        }
        let detail = match args.verbose {
            true => Detail::Every,
            false => Detail::Usual,
        };
        sink.line(findings_text(found, detail, line_width()).trim_end());
    }
    let written = match out {
        Some(out) => {
            write(study, found, out, args.out.is_some()).map(|()| Some(out.join(REPORT_FILE)))
        }
        None => Ok(None),
    };
    if let (Ok(Some(at)), false) = (&written, args.json) {
        sink.line("");
        sink.line(&format!("report: {}", at.display()));
    }
    sink.finish()?;
    if sink.is_closed() {
        return Err(Failure::unread());
    }
    written?;
    let is_unmet = found
        .expectations
        .iter()
        .any(|checked| checked.holds == Some(false));
    Ok(if is_unmet { Exit::Unmet } else { Exit::Done })
}

/// Writes report, findings and, when they are asked for, the trials into a directory.
fn write(study: &Study, found: &Findings, out: &Path, with_trials: bool) -> Result<(), Failure> {
    let create = |path: &Path| {
        std::fs::create_dir_all(path)
            .map_err(|cause| cannot_write(&path.display().to_string(), &cause))
    };
    create(out)?;
    let series = |trial: &str| study.archive.series(trial);
    let subject = ExportSubject::Study(found, &study.trials);
    for file in subject.files(&series, ExportFormat::Html) {
        write_file(&out.join(&file.path), &file.text)?;
    }
    if with_trials {
        let trials = out.join("trials");
        create(&trials)?;
        for trial in &study.trials {
            let text = serde_json::to_string_pretty(trial).unwrap_or_default();
            write_file(
                &trials.join(format!("{:04}.json", trial.position)),
                &format!("{text}\n"),
            )?;
        }
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let name = path.display().to_string();
    let mut sink = Sink::file(path).map_err(advise_out)?;
    sink.write(text);
    sink.finish().map_err(|failure| {
        // A truncated report could be taken for a whole one.
        let _ = std::fs::remove_file(&name);
        advise_out(failure)
    })
}

fn cannot_write(path: &str, cause: &std::io::Error) -> Failure {
    advise_out(Failure::writing(path, cause))
}

fn advise_out(mut failure: Failure) -> Failure {
    failure.advice = "name another place with --out, or see `caudal report export`".to_owned();
    failure
}
