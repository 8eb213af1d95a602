//! The document of a test of latency under load.

use super::measured::QualityMeasured;
use super::phase_run::{PhaseRun, whole_plan};
use super::warnings::warnings;
use caudal_core::host::Usage;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{ClockTrack, QualityReport};
use caudal_core::run::{CpuReport, FlowReport, Run, RunHeader};
use caudal_engine::record::seconds_to_the_microsecond;

/// The document of a test.
pub(super) fn assemble(measured: &QualityMeasured<'_>, header: RunHeader) -> Run {
    let peer = measured.peer;
    let plan = whole_plan(measured.phases, peer.address.to_string());
    Run {
        began_s: measured.began_ns.map(seconds_to_the_microsecond),
        environment: Some(peer.environment()),
        flows: Some(flows(measured.phases)),
        quality: Some(Box::new(report(measured))),
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
    QualityReport {
        cpu: Some(CpuReport {
            client: Usage::total(phases.iter().map(|phase| Some(&phase.client_usage))),
            server: Usage::total(phases.iter().map(|phase| phase.server_usage.as_ref())),
        }),
        cut_short: cut_short
            .map(ToString::to_string)
            .or_else(|| measured.failure.map(str::to_owned))
            .map(Into::into),
        ..QualityReport::new(reports, intervals.collect(), measured.confidence)
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
