//! The runs of one measurement of throughput, and their document.

use super::goodputs::DirectionGoodputs;
use super::recorder::RecordedRun;
use crate::error::MeasureError;
use crate::measured::RunEnding;
use crate::path_mtu::black_hole;
use caudal_analysis::summary::over_repeats;
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::quantity::Unit;
use caudal_core::run::{DirectionRepeats, Repeat, RepeatDirection, Run, RunHeader, RunResult};
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::peer::PeerInfo;
use caudal_stats::StopDecision;
use std::collections::BTreeSet;

/// The runs of one measurement.
#[derive(Default)]
pub(super) struct RunSet {
    pub(super) runs: Vec<RecordedRun>,
    /// The error that ended the last one, when others had been completed.
    pub(super) lost: Option<MeasureError>,
    /// The state of each direction when the precision asked for was not reached.
    pub(super) gave_up: Option<Vec<StopDecision>>,
}

/// The mean goodput of each completed run, a direction.
pub(super) fn goodputs(runs: &[RecordedRun]) -> Vec<DirectionGoodputs> {
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
            DirectionGoodputs {
                direction: direction.direction,
                goodputs_bps,
            }
        })
        .collect()
}

impl RunSet {
    /// How the measurement ended.
    fn ending(&mut self) -> RunEnding {
        if let Some(error) = self.lost.take() {
            return RunEnding::Error(error);
        }
        let Some(last) = self.runs.last() else {
            return RunEnding::Failed;
        };
        if last.bulk.outcome.cut_short.is_some() {
            return RunEnding::from_cut_short(last.bulk.outcome.cut_short.as_ref());
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
            RunEnding::Failed
        } else {
            RunEnding::Complete
        }
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
    fn warnings(&self, precision: Option<f64>) -> Vec<Warning> {
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
        warnings.extend(self.few_repeats(precision));
        let lost = self.lost.iter();
        warnings.extend(lost.map(|error| Warning::new(WarningCode::CutShort, error.to_string())));
        warnings
    }

    fn few_repeats(&self, precision: Option<f64>) -> Option<Warning> {
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
                Unit::Share.show(widest),
                Unit::Share.show(precision.unwrap_or(0.0))
            ),
        ))
    }

    /// The payload that arrived in the run that is shown.
    pub(super) fn shown_arrivals(&self) -> Vec<ArrivalSeries> {
        let shown = self.shown().and_then(|nth| self.runs.get(nth));
        shown.map_or_else(Vec::new, |run| run.bulk.outcome.arrivals.clone())
    }

    /// The document, and how the measurement ended; `None` when nothing was carried out. `precision` is the part of the mean that
    /// half the width of its interval was to be.
    pub(super) fn into_run(
        mut self,
        peer: &PeerInfo,
        header: RunHeader,
        confidence: f64,
        precision: Option<f64>,
    ) -> Option<(Run, RunEnding)> {
        let over_repeats = self.over_repeats(confidence);
        let (repeats, mut warnings) = (self.repeats(), self.warnings(precision));
        let ending = self.ending();
        warnings.extend(black_hole(peer));
        let shown = self.shown()?;
        let shown = self.runs.into_iter().nth(shown)?;
        let mut run = shown.bulk.into_run(header, peer);
        if !over_repeats.is_empty()
            && let Some(RunResult::Throughput(summary)) = &mut run.result
        {
            summary.goodput_bps = match over_repeats.as_slice() {
                [over] => over.goodput_bps,
                _ => None,
            };
        }
        let run = Run {
            predictions: Some(shown.predictions),
            warnings,
            repeats,
            over_repeats,
            ..run
        };
        Some((run, ending))
    }
}
