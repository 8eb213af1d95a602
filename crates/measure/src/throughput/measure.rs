//! One or more runs of a bulk transfer, until there are enough.

use super::recorder::{RunSettings, record};
use super::request::{BulkRequest, Repetitions};
use super::run_set::{RunSet, goodputs};
use crate::bulk_recorder::SummaryOptions;
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::MeasuredRun;
use crate::test_peer::TestPeer;
use caudal_core::plan::{Plan, PlanRecord};
use caudal_engine::{LocalOptions, RunError};
use caudal_stats::StopDecision;
use std::sync::atomic::Ordering::Relaxed;

/// A measurement of throughput.
#[derive(Debug, Clone)]
pub struct ThroughputRequest {
    /// What is sent.
    pub bulk: BulkRequest,
    /// How often.
    pub repetitions: Repetitions,
    /// `true` for a test that the user ends: its plan's end is a limit, and an interrupt cuts nothing short.
    pub is_endless: bool,
    /// The link's rate and the confidence, for the summary.
    pub summary: SummaryOptions,
    /// The settings that concern this end alone.
    pub local: LocalOptions,
}

impl ThroughputRequest {
    /// Fits the test to the path to `peer`.
    ///
    /// # Errors
    /// When the peer is lost, or the user interrupts.
    pub fn prepare(&mut self, peer: &mut TestPeer) -> Result<(), MeasureError> {
        if let BulkRequest::Udp(request) = &mut self.bulk {
            request.fit(peer)?;
        }
        self.bulk.bulk_mut().same_machine = peer.info().is_same_machine;
        Ok(())
    }

    /// Carries the test out as often as asked for.
    ///
    /// # Errors
    /// When no run was completed.
    pub fn measure(
        &self,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let plan = self.bulk.plan();
        peer.begin_observation(control.started, &PlanRecord::from(&plan))?;
        let set = self.carry_out(peer, &plan, control)?;
        if self.local.quit.load(Relaxed) {
            return Err(MeasureError::Unread);
        }
        if let Some(path) = &self.local.tcp.file
            && set.runs.iter().all(|run| run.bulk.sent_nothing())
        {
            return Err(MeasureError::EmptyInput(path.clone()));
        }
        let header = control.started.header.clone();
        let precision = match self.repetitions {
            Repetitions::Count(_) => None,
            Repetitions::UntilPrecise { relative_error, .. } => Some(relative_error),
        };
        let arrivals = set.shown_arrivals();
        let (mut run, ending) = set
            .into_run(peer.info(), header, self.summary.confidence, precision)
            .ok_or(RunError::Interrupted)?;
        let ending = peer.end_observation(&mut run, ending);
        Ok(MeasuredRun {
            run,
            ending,
            peer: peer.info().address.ip(),
            arrivals,
        })
    }

    fn carry_out(
        &self,
        peer: &mut TestPeer,
        plan: &Plan,
        control: &mut MeasureControl<'_>,
    ) -> Result<RunSet, MeasureError> {
        let settings = RunSettings {
            local: &self.local,
            summary: self.summary,
            is_endless: self.is_endless,
        };
        let rule = self.repetitions.rule(self.summary.confidence);
        let max = self.repetitions.max();
        let mut set = RunSet::default();
        for number in 1..=max {
            if number > 1 && control.interrupt.count() > 0 {
                break;
            }
            match record(peer, plan, settings, number, control.observer) {
                Ok(run) => {
                    let is_complete = run.bulk.is_complete();
                    set.runs.push(run);
                    if !is_complete {
                        break;
                    }
                    control.observer.run_ended(number, &goodputs(&set.runs));
                }
                Err(_) if self.local.quit.load(Relaxed) => break,
                Err(error) if set.runs.is_empty() => return Err(error.into()),
                Err(error) => {
                    // The runs that were completed are not lost with the one that was not.
                    set.lost = Some(error.into());
                    break;
                }
            }
            if let Some(rule) = &rule {
                let verdicts: Vec<StopDecision> = goodputs(&set.runs)
                    .iter()
                    .map(|results| rule.decide(&results.goodputs_bps))
                    .collect();
                let is_reached =
                    |verdict: &StopDecision| matches!(verdict, StopDecision::Reached { .. });
                if verdicts.iter().all(is_reached) {
                    break;
                }
                if number == max {
                    set.gave_up = Some(verdicts);
                }
            }
        }
        Ok(set)
    }
}
