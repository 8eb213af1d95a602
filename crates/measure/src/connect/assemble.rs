//! The document of a test of the connection rate.

use super::warnings::warnings;
use crate::bulk_recorder::seconds_to_the_microsecond;
use caudal_analysis::connect::{ConnectTally, find_limit};
use caudal_core::connect::ConnectReport;
use caudal_core::plan::{Plan, PlanRecord};
use caudal_core::run::{CpuReport, Environment, Run, RunHeader, RunResult};
use caudal_core::warning::Warning;
use caudal_engine::ConnectOutcome;
use std::net::SocketAddr;
use std::sync::Arc;

/// The conditions of a test beside its outcome.
pub(super) struct ConnectConditionsOfRun {
    /// The address and port.
    pub(super) peer: SocketAddr,
    pub(super) environment: Environment,
    pub(super) path_warnings: Vec<Warning>,
    /// The time the first connection was begun, ns since 1970.
    pub(super) began_ns: Option<u64>,
    pub(super) confidence: f64,
}

/// The document of a test.
pub(super) fn assemble(
    outcome: ConnectOutcome,
    conditions: ConnectConditionsOfRun,
    header: RunHeader,
) -> Run {
    let plan = PlanRecord::from(&Plan::Connect(outcome.plan.clone()));
    let warnings = warnings(&outcome, conditions.path_warnings);
    let episodes = outcome.episodes.clone();
    Run {
        began_s: conditions.began_ns.map(seconds_to_the_microsecond),
        environment: Some(conditions.environment),
        result: Some(RunResult::Connect(Box::new(report(
            outcome,
            conditions.confidence,
        )))),
        episodes,
        warnings,
        ..Run::new(header, plan.with_peer(conditions.peer.to_string()))
    }
}

fn report(outcome: ConnectOutcome, confidence: f64) -> ConnectReport {
    let elapsed_s = outcome.elapsed.as_secs_f64();
    let tally = Arc::unwrap_or_clone(outcome.tally);
    let end = ConnectTally::finish(tally, elapsed_s, confidence);
    let mut report = ConnectReport {
        answered: outcome.answered,
        cpu: Some(CpuReport {
            client: Some(outcome.client_usage),
            server: outcome.server_usage,
        }),
        last_failure: outcome.last_failure,
        cut_short: outcome
            .cut_short
            .as_ref()
            .map(ToString::to_string)
            .map(Into::into),
        ..end.report(outcome.server, elapsed_s)
    };
    // Where nothing was completed there is no rate to be limited.
    report.limit = (report.completed > 0).then(|| find_limit(&report, &outcome.conditions));
    report
}
