//! The document of a test of latency under load.

use super::measured::QualityMeasured;
use super::phase_run::{PhaseRun, marks_of_phases, whole_plan};
use super::warnings::warnings;
use crate::bulk_recorder::seconds_to_the_microsecond;
use caudal_analysis::quality::{ClockTrack, quality_report};
use caudal_core::host::Usage;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{AdviceCode, QualityReport};
use caudal_core::run::{CpuReport, FlowReport, Run, RunHeader, RunResult};

/// The document of a test.
pub(super) fn assemble(measured: &QualityMeasured<'_>, header: RunHeader) -> Run {
    let peer = measured.peer;
    let plan = whole_plan(measured.phases, peer.address.to_string());
    Run {
        began_s: measured.began_ns.map(seconds_to_the_microsecond),
        environment: Some(peer.environment()),
        flows: Some(flows(measured.phases)),
        result: Some(RunResult::Quality(Box::new(report(measured)))),
        episodes: measured
            .phases
            .iter()
            .flat_map(|phase| phase.episodes.clone())
            .collect(),
        warnings: warnings(measured),
        ..Run::new(header, plan)
    }
}

fn report(measured: &QualityMeasured<'_>) -> QualityReport {
    let phases = measured.phases;
    let clock = ClockTrack::new(
        phases
            .iter()
            .flat_map(|phase| phase.clock.clone())
            .collect(),
    );
    let idle = phases
        .iter()
        .find(|phase| phase.plan.load == PhaseLoad::Idle)
        .map(|phase| &phase.measurements);
    let reports = phases
        .iter()
        .map(|phase| phase.measurements.report(idle, &clock, measured.confidence))
        .collect();
    let intervals = phases.iter().flat_map(|phase| phase.intervals.clone());
    let cut_short = phases.last().and_then(|phase| phase.cut_short.as_ref());
    let report = quality_report(reports, intervals.collect(), measured.confidence);
    let is_idle_interrupted = phases
        .iter()
        .any(|phase| phase.plan.load == PhaseLoad::Idle && !phase.episodes.is_empty());
    // What was lost in an outage says nothing about the line.
    let advice = report.advice.into_iter();
    let advice = advice.filter(|one| !is_idle_interrupted || one.code != AdviceCode::IdleLoss);
    QualityReport {
        advice: advice.collect(),
        via: measured.via.clone(),
        marks_up: marks_of_phases(phases, 0),
        marks_down: marks_of_phases(phases, 1),
        cpu: Some(CpuReport {
            client: Usage::total(
                phases
                    .iter()
                    .map(|phase| Some(&phase.measurements.client_usage)),
            ),
            server: Usage::total(
                phases
                    .iter()
                    .map(|phase| phase.measurements.server_usage.as_ref()),
            ),
        }),
        cut_short: cut_short
            .map(ToString::to_string)
            .or_else(|| measured.failure.clone())
            .map(Into::into),
        ..report
    }
}

/// The flows of all phases, numbered through.
fn flows(phases: &[PhaseRun]) -> Vec<FlowReport> {
    let all = phases.iter().flat_map(|phase| &phase.flows);
    (0..)
        .zip(all)
        .map(|(id, report)| {
            let mut report = report.clone();
            report.flow.id = id;
            report
        })
        .collect()
}
