//! The document of one or more runs of a bulk transfer.

use super::plan::Settings;
use super::recorder::RecordedRun;
use crate::exit::{Exit, Failure};
use crate::output::run_table::RunResults;
use crate::output::text;
use crate::peer::CommandPeer;
use caudal_core::event::CutShort;
use caudal_core::run::{DirectionRepeats, Repeat, RepeatDirection, Run, Summary};
use caudal_core::summary::over_repeats;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::StartedRun;
use caudal_stats::StopDecision;
use std::collections::BTreeSet;

/// The runs of one command.
#[derive(Default)]
pub(super) struct RunSet {
    pub(super) runs: Vec<RecordedRun>,
    /// The error that ended the last one, when others had been completed.
    pub(super) lost: Option<Failure>,
    /// The state of each direction when the precision asked for was not reached.
    pub(super) gave_up: Option<Vec<StopDecision>>,
}

/// The mean goodput of each completed run, a direction.
pub(super) fn goodputs(runs: &[RecordedRun]) -> Vec<RunResults> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    first
        .bulk
        .summary
        .directions
        .iter()
        .enumerate()
        .map(|(at, direction)| {
            let goodputs_bps = runs
                .iter()
                .filter(|run| run.bulk.is_complete())
                .filter_map(|run| run.bulk.summary.directions.get(at)?.goodput_mean())
                .collect();
            RunResults {
                direction: direction.direction,
                goodputs_bps,
            }
        })
        .collect()
}

impl RunSet {
    /// The exit code of the command.
    pub(super) fn exit(&self) -> Exit {
        if let Some(failure) = &self.lost {
            return failure.exit;
        }
        let Some(last) = self.runs.last() else {
            return Exit::Failed;
        };
        match &last.bulk.outcome.cut_short {
            Some(CutShort::Lost(_)) => return Exit::Peer,
            Some(_) => return Exit::Failed,
            None => {}
        }
        let all_failed = last.bulk.outcome.flows.iter().all(|record| {
            [&record.sender, &record.receiver]
                .into_iter()
                .flatten()
                .any(|end| end.failure.is_some())
        });
        let incomplete = self
            .runs
            .iter()
            .flat_map(|run| &run.bulk.summary.warnings)
            .any(|warning| warning.code == WarningCode::NotAllArrived);
        if all_failed || incomplete {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    /// `true` when the last of the runs ended before its time.
    pub(super) fn is_cut_short(&self) -> bool {
        self.lost.is_some() || self.runs.last().is_none_or(|run| !run.bulk.is_complete())
    }

    /// The run whose flows are shown: the last complete one, where there is one.
    fn shown(&self) -> Option<usize> {
        self.runs
            .iter()
            .rposition(|run| run.bulk.is_complete())
            .or_else(|| self.runs.len().checked_sub(1))
    }

    fn over_repeats(&self, confidence: f64) -> Vec<DirectionRepeats> {
        if self.runs.len() < 2 {
            return Vec::new();
        }
        goodputs(&self.runs)
            .into_iter()
            .map(|results| DirectionRepeats {
                direction: results.direction,
                goodput_bps: over_repeats(&results.goodputs_bps, confidence),
            })
            .collect()
    }

    fn repeats(&self) -> Vec<Repeat> {
        if self.runs.len() < 2 {
            return Vec::new();
        }
        self.runs
            .iter()
            .zip(1..)
            .map(|(run, number)| Repeat {
                run: number,
                began_s: None,
                cut_short: run.bulk.cut_short.clone(),
                directions: run
                    .bulk
                    .summary
                    .directions
                    .iter()
                    .map(RepeatDirection::from)
                    .collect(),
            })
            .collect()
    }

    /// The warnings of all runs, each once: of several runs that differ in their figures only, one of a kind.
    fn warnings(&self, settings: &Settings<'_>) -> Vec<Warning> {
        let mut seen = BTreeSet::new();
        let several = self.runs.len() > 1;
        let mut warnings: Vec<Warning> = self
            .runs
            .iter()
            .flat_map(|run| &run.bulk.summary.warnings)
            .filter(|warning| {
                let message = match warning.message.as_received().split_once(':') {
                    Some((kind, _)) if several => kind,
                    _ => warning.message.as_received(),
                };
                seen.insert((warning.code.name().to_owned(), message.to_owned()))
            })
            .cloned()
            .collect();
        warnings.extend(self.few_repeats(settings));
        if let Some(failure) = &self.lost {
            let warning = Warning::new(WarningCode::CutShort, &failure.message);
            warnings.push(warning.with_remedy(&failure.advice));
        }
        warnings
    }

    fn few_repeats(&self, settings: &Settings<'_>) -> Option<Warning> {
        let widest = self
            .gave_up
            .as_ref()?
            .iter()
            .filter_map(|verdict| match verdict {
                StopDecision::GaveUp {
                    half_width_relative,
                } => *half_width_relative,
                _ => None,
            })
            .fold(0.0, f64::max);
        Some(Warning::new(
            WarningCode::FewRepeats,
            format!(
                "after {} runs the interval is still ±{} of the mean, not the {} asked for",
                self.runs.len(),
                text::percent(widest),
                text::percent(settings.traffic.until.unwrap_or(0.0))
            ),
        ))
    }
}

/// The document of a set of runs; `None` when there is none.
pub(super) fn assemble(
    peer: &CommandPeer,
    settings: &Settings<'_>,
    started: &StartedRun,
    set: RunSet,
) -> Option<Run> {
    let over_repeats = set.over_repeats(settings.output.confidence);
    let (repeats, warnings) = (set.repeats(), set.warnings(settings));
    let shown = set.shown()?;
    let shown = set.runs.into_iter().nth(shown)?;
    let mut run = shown.bulk.into_run(started.header.clone(), peer.info());
    if !over_repeats.is_empty()
        && let Some(Summary::Throughput(summary)) = &mut run.summary
    {
        summary.goodput_bps = match over_repeats.as_slice() {
            [over] => over.goodput_bps,
            _ => None,
        };
    }
    Some(Run {
        predictions: Some(shown.predictions),
        warnings,
        repeats,
        over_repeats,
        ..run
    })
}
