//! A test of a log as a run.

use caudal_core::plan::{Direction, Transport};
use caudal_core::run::{Import, Run, RunHeader, RunOutcome, SCHEMA, Tool};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use sha2::{Digest, Sha256};

use super::log::Log;
use super::run_from_log::{flows, plan, result};
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
    pub(super) fn new(log: &Log, file: &str, sha256: &str, position: usize) -> Self {
        let id = hex::encode(Sha256::digest(format!("{sha256} {position}")));
        let source = Import {
            file: file.into(),
            format: log.format.name().into(),
            at: position,
            sha256: sha256.into(),
            rounded: log.format.is_rounded(),
            side: log.side,
        };
        let tool = Tool {
            name: log.format.tool().into(),
            version: log.version.clone().map(Into::into),
            compatible_with: None,
        };
        let cut_short = Warning::new(
            WarningCode::LogCutShort,
            "the log breaks off before the end of the test",
        );
        let run = Run {
            imported: Some(source),
            ..run(log, id[..32].to_owned(), tool, cut_short)
        };
        Self::from_parts(log, run)
    }

    fn from_parts(log: &Log, run: Run) -> Self {
        let outcome = match (&log.error, log.is_complete) {
            (Some(_), _) => RunOutcome::Failed,
            (None, true) => RunOutcome::Done,
            (None, false) => RunOutcome::CutShort,
        };
        Self {
            run,
            started_ns: log.started_ns,
            title: log.title.clone(),
            outcome,
            description: description(log, outcome),
        }
    }
}

/// The run of a log; `cut_short` is its warning when the log does not reach the end of the test.
fn run(log: &Log, id: String, tool: Tool, cut_short: Warning) -> Run {
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id,
        started: String::new(),
        tool,
        command: log.command.clone().map(Into::into),
    };
    Run {
        flows: Some(flows(log)),
        result: Some(result(log)),
        warnings: warnings(log, cut_short),
        ..Run::new(header, plan(log))
    }
}

fn warnings(log: &Log, cut_short: Warning) -> Vec<Warning> {
    let incomplete = match &log.error {
        Some(error) => {
            let message = format!("the tool ended with: {error}");
            Some(Warning::new(WarningCode::ToolFailed, message))
        }
        None => (!log.is_complete).then_some(cut_short),
    };
    let kind_assumed = log.protocol.is_none().then(|| {
        Warning::new(
            WarningCode::KindAssumed,
            "the log does not show whether this was TCP or UDP: TCP is assumed",
        )
    });
    let of_log = log.warnings.iter().cloned();
    let of_log = of_log.map(|(code, message)| Warning::new(code, message));
    incomplete
        .into_iter()
        .chain(kind_assumed)
        .chain(of_log)
        .collect()
}

/// A description in a line.
fn description(log: &Log, outcome: RunOutcome) -> String {
    let directions = directions(log);
    let totals: Vec<DirectionTotals> = directions
        .iter()
        .map(|direction| totals(log, *direction))
        .collect();
    let version = log.version.as_deref().unwrap_or_default();
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
        Some(format!("{} {version}", log.format.tool()).trim().to_owned()),
        Some(format!("{} {way}{flows}", kind.name().to_uppercase())),
        Some(format!("{seconds:.1} s")),
        Some(rates.join(" and ")),
        loss,
        (outcome != RunOutcome::Done).then(|| outcome.name().to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    // A log must not send control characters to the terminal.
    parts.join(", ").replace(char::is_control, " ")
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
