//! A test of a log as a run.

use caudal_core::plan::{Direction, PlanRecord, Transport};
use caudal_core::run::{FlowReport, Import, Run, RunHeader, RunOutcome, RunResult, SCHEMA, Tool};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use sha2::{Digest, Sha256};

use super::log::Log;
use super::log_head::LogHead;
use super::run_from_log::{flows, plan, result};
use super::tool_log::ToolLog;
use super::totals::{DirectionTotals, directions, totals};

/// A test of a log as a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun {
    /// The run. Its id is the same for the same content, and its date absent until it is stored.
    pub run: Run,
    /// The start by the date in the log, ns since 1970; `None` where the log has none.
    pub started_ns: Option<i64>,
    /// The title.
    pub title: Option<String>,
    /// The outcome.
    pub outcome: RunOutcome,
    /// A description in a line, such as `iperf3 3.12, TCP up, 10.0 s, 216 Mbit/s`.
    pub description: String,
}

impl ImportedRun {
    /// The `position`th test of the file of this name and digest, from 0.
    pub(super) fn new(log: &ToolLog, file: &str, sha256: &str, position: usize) -> Self {
        let head = log.head();
        let id = hex::encode(Sha256::digest(format!("{sha256} {position}")));
        let source = Import {
            file: file.into(),
            format: head.format.name().into(),
            at: position,
            sha256: sha256.into(),
            rounded: head.format.is_rounded(),
            side: head.side,
        };
        let header = RunHeader {
            schema: SCHEMA.to_owned(),
            id: id[..32].to_owned(),
            started: String::new(),
            tool: Tool {
                name: head.format.tool().into(),
                version: head.version.clone().map(Into::into),
                compatible_with: None,
            },
            command: head.command.clone().map(Into::into),
        };
        let (plan, flows, result) = measured(log);
        let outcome = match (&head.error, head.is_complete) {
            (Some(_), _) => RunOutcome::Failed,
            (None, true) => RunOutcome::Done,
            (None, false) => RunOutcome::CutShort,
        };
        let run = Run {
            imported: Some(source),
            flows,
            result: Some(result),
            warnings: warnings(log, &head),
            ..Run::new(header, plan)
        };
        Self {
            run,
            started_ns: head.started_ns,
            title: head.title.clone(),
            outcome,
            description: description(log, &head, outcome),
        }
    }
}

/// The plan, the flows and the result of a log.
fn measured(log: &ToolLog) -> (PlanRecord, Option<Vec<FlowReport>>, RunResult) {
    match log {
        ToolLog::Throughput(log) => (plan(log), Some(flows(log)), result(log)),
        ToolLog::RoundTrips(log) => (log.plan(), None, log.result()),
        ToolLog::Route(log) => (log.plan(), None, log.result()),
        ToolLog::Loaded(log) => (log.plan(), None, log.result()),
        ToolLog::Openings(log) => (log.plan(), None, log.result()),
    }
}

fn warnings(log: &ToolLog, head: &LogHead) -> Vec<Warning> {
    let incomplete = match &head.error {
        Some(error) => {
            let message = format!("the tool ended with: {error}");
            Some(Warning::new(WarningCode::ToolFailed, message))
        }
        None => (!head.is_complete).then(|| {
            Warning::new(
                WarningCode::LogCutShort,
                "the log breaks off before the end of the test",
            )
        }),
    };
    let is_kind_assumed = matches!(log, ToolLog::Throughput(log) if log.protocol.is_none());
    let kind_assumed = is_kind_assumed.then(|| {
        Warning::new(
            WarningCode::KindAssumed,
            "the log does not show whether this was TCP or UDP: TCP is assumed",
        )
    });
    let of_log = head.warnings.iter().cloned();
    let of_log = of_log.map(|(code, message)| Warning::new(code, message));
    incomplete
        .into_iter()
        .chain(kind_assumed)
        .chain(of_log)
        .collect()
}

/// A description in a line.
fn description(log: &ToolLog, head: &LogHead, outcome: RunOutcome) -> String {
    let version = head.version.as_deref().unwrap_or_default();
    let mut parts = vec![
        format!("{} {version}", head.format.tool())
            .trim()
            .to_owned(),
    ];
    parts.extend(match log {
        ToolLog::Throughput(log) => throughput(log),
        ToolLog::RoundTrips(log) => log.description(),
        ToolLog::Route(log) => log.description(),
        ToolLog::Loaded(log) => log.description(),
        ToolLog::Openings(log) => vec![format!("{:.0} connections/s", log.per_s)],
    });
    parts.extend((outcome != RunOutcome::Done).then(|| outcome.name().to_owned()));
    // A log must not send control characters to the terminal.
    parts.join(", ").replace(char::is_control, " ")
}

/// What was measured of a bulk transfer: `TCP up, 10.0 s, 216 Mbit/s`.
fn throughput(log: &Log) -> Vec<String> {
    let directions = directions(log);
    let totals: Vec<DirectionTotals> = directions
        .iter()
        .map(|direction| totals(log, *direction))
        .collect();
    let kind = log.protocol.unwrap_or(Transport::Tcp);
    let way = match directions.as_slice() {
        [Direction::Up] => "up",
        [Direction::Down] => "down",
        _ => "both ways",
    };
    let flows = match log.flows.len() / directions.len().max(1) {
        0 | 1 => String::new(),
        count => format!(", {count} flows"),
    };
    let seconds = totals
        .iter()
        .map(|totals| totals.measured_s)
        .fold(0.0, f64::max);
    let rates: Vec<String> = totals.iter().map(rate).collect();
    let losses = totals.iter().find_map(|totals| totals.losses);
    let loss = losses
        .filter(|(all, _)| *all > 0.0)
        .map(|(all, lost)| format!("{:.2} % lost", lost / all * 100.0));
    let parts = [
        Some(format!("{} {way}{flows}", kind.name().to_uppercase())),
        Some(format!("{seconds:.1} s")),
        Some(rates.join(" and ")),
        loss,
    ];
    parts.into_iter().flatten().collect()
}

/// The rate of a direction for people.
fn rate(totals: &DirectionTotals) -> String {
    let text = |bps: f64| BitRate::from_bps(bps.round().clamp(0.0, 1e18) as u64).to_string();
    match (totals.goodput_bps, totals.sent_bps) {
        (Some(bps), _) => text(bps),
        (None, Some(bps)) => format!("{} sent", text(bps)),
        (None, None) => "rate unknown".to_owned(),
    }
}
