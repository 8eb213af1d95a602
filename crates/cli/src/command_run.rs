//! The run of a command: begun once its peer is known, and finished in one way, whatever was measured.

use crate::args::StoreArgs;
use crate::arrival_series::arrival_series;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::views::Views;
use crate::recording::{CommandRecording, warn};
use caudal_core::event::{Event, View};
use caudal_core::run::{Run, RunOutcome};
use caudal_core::warning::WarningCode;
use caudal_engine::StartedRun;
use caudal_measure::{MeasureControl, MeasuredRun, Observer, RunEnding, RunPart};
use caudal_store::SampleSeries;
use caudal_sys::signal::Interrupt;

/// The run of a command.
pub(crate) struct CommandRun {
    /// Its identity.
    pub(crate) started: StartedRun,
    recording: CommandRecording,
}

impl CommandRun {
    /// A run that begins now.
    pub(crate) fn begin(store: &StoreArgs) -> Self {
        Self {
            started: started_run(),
            recording: CommandRecording::start(store),
        }
    }

    /// What its measurement is carried out for.
    pub(crate) fn control<'a>(
        &'a self,
        observer: &'a mut dyn Observer,
        interrupt: &'static Interrupt,
    ) -> MeasureControl<'a> {
        MeasureControl {
            started: &self.started,
            observer,
            interrupt,
        }
    }

    /// `true` when it is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recording.is_enabled()
    }

    /// Shows the result, records it with its samples, and ends the views: the exit code of the command.
    ///
    /// # Errors
    /// When the result could not be written, or nobody reads it.
    pub(crate) fn finish(
        self,
        measured: MeasuredRun,
        views: Views,
        samples: impl FnOnce() -> Vec<SampleSeries>,
    ) -> Result<Exit, Failure> {
        self.finish_with_parts(measured, Vec::new(), views, samples)
    }

    /// The same for a run whose parts are recorded for themselves as well.
    ///
    /// # Errors
    /// When the result could not be written, or nobody reads it.
    pub(crate) fn finish_with_parts(
        self,
        measured: MeasuredRun,
        parts: Vec<RunPart>,
        mut views: Views,
        samples: impl FnOnce() -> Vec<SampleSeries>,
    ) -> Result<Exit, Failure> {
        let MeasuredRun {
            mut run,
            ending,
            peer,
            arrivals,
        } = measured;
        let samples = || {
            let mut all = samples();
            all.extend(arrival_series(&arrivals));
            all
        };
        let (exit, outcome) = judge(ending, &mut run);
        run.marks_s = views.marks_s();
        let finished = Event::Finished { run: Box::new(run) };
        views.event(&finished);
        let mut failed = self
            .recording
            .record_parts(peer, &self.started, parts)
            .err();
        if let Event::Finished { run } = &finished {
            match self
                .recording
                .record(peer, &self.started, run, outcome, samples)
            {
                Ok(note) => note.iter().for_each(|note| views.note(note)),
                Err(failure) => failed = Some(failure),
            }
        }
        let written = views.finish();
        // Behind the result, and not while the terminal's whole screen shows it.
        if let Some(failure) = failed {
            warn(&failure);
        }
        written?;
        Ok(exit)
    }
}

/// The exit code and the outcome of a run that ended so. The warning about an error that ended it gets the advice that goes with it.
fn judge(ending: RunEnding, run: &mut Run) -> (Exit, RunOutcome) {
    match ending {
        RunEnding::Complete => (Exit::Done, RunOutcome::Done),
        RunEnding::CaptureCutShort => (Exit::Failed, RunOutcome::Done),
        RunEnding::Failed => (Exit::Failed, RunOutcome::Failed),
        RunEnding::CutShort => (Exit::Failed, RunOutcome::CutShort),
        RunEnding::PeerLost => (Exit::Peer, RunOutcome::CutShort),
        RunEnding::Unanswered => (Exit::Peer, RunOutcome::Failed),
        RunEnding::Error(error) => {
            let message = error.to_string();
            let failure = Failure::from(error);
            advise(run, |about| about == message, failure.advice);
            (failure.exit, RunOutcome::CutShort)
        }
        RunEnding::PeerAbsent(error) => {
            let message = error.to_string();
            let failure = Failure::from(error);
            advise(run, |about| about.ends_with(&message), failure.advice);
            (failure.exit, of_part(failure.exit))
        }
        RunEnding::PartFailed(error) => {
            let exit = Failure::from(error).exit;
            (exit, of_part(exit))
        }
    }
}

/// The outcome of a run of which a part is missing, with this exit code.
fn of_part(exit: Exit) -> RunOutcome {
    match exit {
        Exit::Failed => RunOutcome::CutShort,
        _ => RunOutcome::Failed,
    }
}

/// Adds advice to the warning about the error that ended a run, by its message.
fn advise(run: &mut Run, is_about_it: impl Fn(&str) -> bool, advice: String) {
    let mut warnings = run.warnings.iter_mut();
    let warning = warnings.find(|warning| {
        warning.code == WarningCode::CutShort && is_about_it(warning.message.as_received())
    });
    if let Some(warning) = warning {
        warning.remedy = advice.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::PlanRecord;
    use caudal_core::warning::Warning;
    use caudal_engine::RunError;
    use caudal_measure::MeasureError;

    fn run_with(message: &str) -> Run {
        Run {
            warnings: vec![
                Warning::new(WarningCode::FewRepeats, "few"),
                Warning::new(WarningCode::CutShort, message),
            ],
            ..Run::new(started_run().header, PlanRecord::default())
        }
    }

    fn silent() -> MeasureError {
        let error = RunError::Silent {
            waiting_for: "an answer",
            seconds: 5,
        };
        error.into()
    }

    #[test]
    fn every_ending_has_its_exit_code_and_outcome() {
        for (ending, exit, outcome) in [
            (RunEnding::Complete, Exit::Done, RunOutcome::Done),
            (RunEnding::CaptureCutShort, Exit::Failed, RunOutcome::Done),
            (RunEnding::Failed, Exit::Failed, RunOutcome::Failed),
            (RunEnding::CutShort, Exit::Failed, RunOutcome::CutShort),
            (RunEnding::PeerLost, Exit::Peer, RunOutcome::CutShort),
            (RunEnding::Unanswered, Exit::Peer, RunOutcome::Failed),
            (RunEnding::Error(silent()), Exit::Peer, RunOutcome::CutShort),
            (
                RunEnding::PeerAbsent(silent()),
                Exit::Peer,
                RunOutcome::Failed,
            ),
            (
                RunEnding::PartFailed(RunError::Flows("reset".into()).into()),
                Exit::Failed,
                RunOutcome::CutShort,
            ),
        ] {
            let case = format!("{ending:?}");
            assert_eq!(judge(ending, &mut run_with("")), (exit, outcome), "{case}");
        }
    }

    #[test]
    fn the_warning_about_an_error_that_ended_a_run_has_the_advice_of_that_error() {
        let advice = Failure::from(silent()).advice;
        let remedy = |ending, message: &str| {
            let mut run = run_with(message);
            judge(ending, &mut run);
            run.warnings[1].remedy.as_received().to_owned()
        };
        let (message, usual) = (
            silent().to_string(),
            run_with("").warnings[1].remedy.clone(),
        );
        assert_eq!(remedy(RunEnding::Error(silent()), &message), advice);
        let absent = format!("the other end took no part: {message}");
        assert_eq!(remedy(RunEnding::PeerAbsent(silent()), &absent), advice);
        let part = format!("the test ended early, in phase 2 of 4: {message}");
        assert_eq!(
            remedy(RunEnding::Error(silent()), &part),
            usual.as_received()
        );
    }
}
