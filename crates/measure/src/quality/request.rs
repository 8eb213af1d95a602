//! A test of latency under load: from its request to its run.

use super::assemble::assemble;
use super::measured::QualityMeasured;
use super::phase_run::{PhaseRun, PhaseRunner};
use super::phases::{PhaseRequest, on_long_path};
use super::slow_link::SlowLink;
use super::via::{ViaProbe, ViaTarget};
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::test_peer::TestPeer;
use caudal_core::event::{Agreement, Event};
use caudal_core::plan::{Plan, PlanRecord, QualityPlan, QualityPlanRecord};
use caudal_engine::LocalOptions;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A test of latency under load that is asked for.
#[derive(Debug, Clone)]
pub struct QualityRequest {
    /// Its phases.
    pub phases: PhaseRequest,
    /// The confidence of intervals.
    pub confidence: f64,
    /// A host on the way whose echoes split the delay that load adds.
    pub via: Option<ViaTarget>,
}

/// The phases for the path to a peer.
#[derive(Debug, Clone)]
pub struct QualityPhases {
    /// Their plans, in order.
    pub plans: Vec<QualityPlan>,
    /// The path, where it is too slow for the usual probes.
    pub slow: Option<SlowLink>,
}

impl QualityRequest {
    /// The phases for the path to this peer.
    ///
    /// # Errors
    /// When the peer is of a version without such tests, is lost, or the user interrupts.
    pub fn prepare(&self, peer: &mut TestPeer) -> Result<QualityPhases, MeasureError> {
        let same_machine = peer.info().is_same_machine;
        let usual = self.phases.phases(same_machine, None)?;
        let Some(first) = usual.first() else {
            return Ok(QualityPhases {
                plans: usual,
                slow: None,
            });
        };
        // A server of a version without these tests is told of before anything is sent.
        peer.check_support(&Plan::Quality(first.clone()))?;
        let Some(slow) = SlowLink::find(peer, first.probes)? else {
            let rtt_us = peer.info().idle_rtt_us.unwrap_or(0.0);
            let idle_rtt = Duration::from_secs_f64(rtt_us / 1e6);
            let plans = usual.into_iter().map(|plan| on_long_path(plan, idle_rtt));
            return Ok(QualityPhases {
                plans: plans.collect(),
                slow: None,
            });
        };
        Ok(QualityPhases {
            plans: self.phases.phases(same_machine, Some(slow))?,
            slow: Some(slow),
        })
    }

    /// Carries the phases out.
    ///
    /// # Errors
    /// When none could be measured.
    pub fn measure(
        &self,
        phases: &QualityPhases,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let plans = &phases.plans;
        let via = self
            .via
            .as_ref()
            .map(|target| Ok((target, ViaProbe::start(target)?)));
        let via = via.transpose().map_err(MeasureError::Echo)?;
        let carried_out = self.carry_out(plans, peer, control)?;
        let via = via.map(|(target, probe)| probe.finish(target, &carried_out.phases));
        let header = control.started.header.clone();
        let run = assemble(
            &QualityMeasured {
                peer: peer.info(),
                phases: &carried_out.phases,
                planned: plans.len(),
                failure: carried_out.failure.as_ref().map(ToString::to_string),
                confidence: self.confidence,
                began_ns: carried_out.began_ns,
                via,
            },
            header,
        );
        Ok(MeasuredRun {
            run,
            ending: carried_out.ending(plans.len()),
            peer: peer.info().address.ip(),
            arrivals: Vec::new(),
        })
    }

    /// Carries the phases out; those that were completed are not lost with one that was not.
    fn carry_out(
        &self,
        plans: &[QualityPlan],
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<CarriedOut, MeasureError> {
        // A phase can do without its probe over UDP.
        let local = LocalOptions {
            partial: true,
            patience: plans.first().map_or(Duration::ZERO, QualityPlan::patience),
            ..LocalOptions::default()
        };
        let mut runner = PhaseRunner {
            confidence: self.confidence,
            local: &local,
            test_start_ns: 0,
            began_ns: None,
        };
        let mut carried_out = CarriedOut {
            phases: Vec::new(),
            failure: None,
            began_ns: None,
        };
        control.observer.event(&agreed(peer, plans));
        for plan in plans {
            match runner.run(peer, plan, control.observer) {
                Ok(phase) => {
                    carried_out.began_ns = runner.began_ns;
                    let is_complete = phase.cut_short.is_none();
                    carried_out.phases.push(phase);
                    if !is_complete || control.interrupt.count() > 0 {
                        break;
                    }
                }
                Err(_) if local.quit.load(Relaxed) => {
                    return Err(MeasureError::Unread);
                }
                Err(error) if carried_out.phases.is_empty() => {
                    control.observer.abandoned();
                    return Err(error.into());
                }
                Err(error) => {
                    carried_out.failure = Some(error.into());
                    break;
                }
            }
        }
        if local.quit.load(Relaxed) {
            return Err(MeasureError::Unread);
        }
        Ok(carried_out)
    }
}

/// The phases that were carried out.
struct CarriedOut {
    phases: Vec<PhaseRun>,
    /// The failure of the phase after them.
    failure: Option<MeasureError>,
    /// The time the first began, ns since 1970.
    began_ns: Option<u64>,
}

impl CarriedOut {
    fn ending(self, planned: usize) -> RunEnding {
        let last = self
            .phases
            .last()
            .and_then(|phase| phase.cut_short.as_ref());
        match (last, self.failure) {
            (Some(_), _) => RunEnding::from_cut_short(last),
            (None, Some(error)) => RunEnding::Error(error),
            (None, None) if self.phases.len() < planned => RunEnding::CutShort,
            (None, None) => RunEnding::Complete,
        }
    }
}

/// The plan of the whole test, before its first phase.
fn agreed(peer: &TestPeer, plans: &[QualityPlan]) -> Event {
    let record = plans.last().map(QualityPlanRecord::from);
    Event::Agreed(Agreement {
        repeat: None,
        plan: PlanRecord::Quality(QualityPlanRecord {
            peer: Some(peer.info().address.to_string().into()),
            phases: Some(plans.iter().map(QualityPlan::phase).collect()),
            ..record.unwrap_or_default()
        }),
        changed: Vec::new(),
    })
}
