//! A study from its heading to its report, as the terminal shows it.

use crate::output::diagnostic;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use caudal_store::StoreError;
use caudal_study::{Study, StudyEnd, StudyEvent, StudyRunner};
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;

use super::args::StudyOutputArgs;
use super::program::ThisProgram;
use super::progress::StudyProgress;
use super::report::report;
use crate::exit::{Exit, Failure};
use crate::output::fold;
use crate::store_advice::store_advice;
use caudal_views::text::{about, counted};

/// The execution of a study.
pub(super) struct Execution<'a> {
    /// The flags for its output.
    pub(super) args: &'a StudyOutputArgs,
    /// The directory for its report, where the user names one.
    pub(super) out: Option<PathBuf>,
    /// The signals that end it.
    pub(super) interrupt: &'static Interrupt,
}

impl Execution<'_> {
    /// Runs the trials that are left and writes the report.
    ///
    /// # Errors
    /// When a trial cannot be carried out, or the report not be written; the findings are shown before.
    pub(super) fn execute(&self, mut study: Study) -> Result<Exit, Failure> {
        let is_shown = !self.args.quiet && !self.args.json;
        let rule = study.prepared.campaign.rule;
        let cases = &study.prepared.campaign.cases;
        let mut progress = StudyProgress::new(cases, rule.confidence, is_shown);
        for line in heading(&study) {
            progress.line(&line);
        }
        let out = self.out.clone().or_else(|| default_directory(&study));
        let captures = match &out {
            Some(out) if study.prepared.is_captured() => Some(out.join("captures")),
            _ => None,
        };
        let end = study.run(&mut StudyRunner {
            program: &ThisProgram,
            captures: captures.as_deref(),
            interrupt: self.interrupt,
            on_event: &mut |event| {
                progress.event(event);
                report_event(event);
            },
        });
        progress.close();
        let findings = study.findings(&mut report_event);
        let reported = report(&study, &findings, self.args, out.as_deref());
        match end {
            StudyEnd::Complete => reported,
            StudyEnd::Interrupted => {
                reported?;
                let advice = if study.archive.is_stored() {
                    format!("`caudal study resume {}` continues it", study.short_id())
                } else {
                    "it is not saved: run it again".to_owned()
                };
                Err(Failure::new(
                    Exit::Failed,
                    format!("interrupted after {} trials", study.trials.len()),
                    advice,
                ))
            }
            StudyEnd::Failed(error) => {
                reported?;
                Err(error.into())
            }
        }
    }
}

/// `reports/NAME-ID` in the user's data directory.
fn default_directory(study: &Study) -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
    let name = format!("{}-{}", study.prepared.source.name, study.short_id());
    Some(data.join("caudal/reports").join(name))
}

/// The lines above the trials.
fn heading(study: &Study) -> Vec<String> {
    let prepared = &study.prepared;
    let (min_trials, max_trials) = prepared.trials();
    let (min_time, max_time) = prepared.time();
    let all_cases = prepared.campaign.cases.iter();
    let baselines = all_cases.filter(|case| case.alone.is_some()).count();
    let cases = prepared.campaign.cases.len() - baselines;
    let alone = match baselines {
        0 => String::new(),
        1 => " and 1 flow alone".to_owned(),
        more => format!(" and {more} flows alone"),
    };
    let trials = if max_trials > min_trials {
        format!(
            "{min_trials} to {max_trials} trials, {} to {}",
            about(min_time),
            about(max_time)
        )
    } else {
        format!("{min_trials} trials, about {}", about(min_time))
    };
    let cases = counted(cases as u64, "case");
    let saved = if study.archive.is_stored() {
        format!("study {}", study.short_id())
    } else {
        "study, not saved".to_owned()
    };
    let mut lines = vec![
        fold(&prepared.campaign.experiment.title, 4),
        format!("{cases}{alone}: {trials}; {saved}"),
    ];
    if !study.trials.is_empty() {
        lines.push(format!(
            "{} trials were carried out before",
            study.trials.len()
        ));
    }
    for warning in &study.warnings {
        lines.push(fold(&format!("note: {warning}"), 4));
    }
    lines
}

/// Reports on standard error what is no progress of a trial.
pub(super) fn report_event(event: &StudyEvent<'_>) {
    if let StudyEvent::NotRecorded(error) = event {
        warn_not_saved(error);
    }
}

fn warn_not_saved(error: &StoreError) {
    let failure = Failure::new(
        Exit::Done,
        format!("the study is not saved: {error}"),
        store_advice(error),
    );
    let line = failure
        .to_string()
        .replacen("caudal: ", "caudal: warning: ", 1);
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Reports on standard error the killed labs whose remains were removed.
pub(super) fn report_removed_labs(names: &[String]) {
    for name in names {
        diagnostic(&format!(
            "removed the remains of a killed lab called {name}"
        ));
    }
}

/// Ends this process at the second ^C; labs and flows end with it.
pub(super) fn exit_on_second_interrupt(interrupt: &'static Interrupt) {
    std::thread::spawn(move || {
        loop {
            // The descriptor stays readable after the first signal; from then on the second one is polled for.
            let waited = poll_readable(&[interrupt.fd()], None);
            if interrupt.count() > 1 || waited.is_err() {
                std::process::exit(i32::from(Exit::Failed.code()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}
