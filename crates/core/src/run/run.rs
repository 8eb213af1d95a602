//! The document of a run.

use super::capture::{RunCapture, RunOffload};
use super::environment::{Environment, Tool};
use super::flow::FlowReport;
use super::import::Import;
use super::repeat::{DirectionRepeats, Repeat};
use super::result::{self, ResultKeys, RunResult};
use super::search::SearchResult;
use super::summary::{RoundTripSummary, ThroughputSummary};
use crate::check::CheckReport;
use crate::connect::ConnectReport;
use crate::episode::Episode;
use crate::path::PathReport;
use crate::plan::{PlanKind, PlanRecord};
use crate::prediction::PredictionCheck;
use crate::quality::QualityReport;
use crate::stamp::StampReport;
use crate::summary::DirectionSummary;
use crate::text::ExternalText;
use crate::transfer::FileReport;
use crate::transfer::TransferRecord;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name and version of the document's format.
pub const SCHEMA: &str = "caudal.run/1";

/// The identity of a run: the keys every document begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// The format, `caudal.run/1`.
    pub schema: String,
    /// The run's name: 32 hexadecimal digits.
    pub id: String,
    /// The time it was started, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started: String,
    /// The program that measured.
    pub tool: Tool,
    /// The command line that repeats it; absent where a log does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ExternalText>,
}

/// A test that happened, whichever tool carried it out: its plan, its measurements and what they add up to.
///
/// A throughput test has `flows` with intervals, a round-trip test `flows` without. What the tool that measured did not report is
/// absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its identity.
    #[serde(flatten)]
    pub header: RunHeader,
    /// The time traffic began, s since 1970 by the client's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// The log it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Import>,
    /// The plan.
    pub plan: PlanRecord,
    /// The machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The flows; of several runs, of the last that was not cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<FlowReport>>,
    /// The result; absent where the tool that measured reported none.
    #[serde(flatten, with = "result")]
    #[schemars(with = "ResultKeys")]
    pub result: Option<RunResult>,
    /// The capture of its traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Box<RunCapture>>,
    /// The offloads that were set for its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<Box<RunOffload>>,
    /// The predictions, each beside what was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<PredictionCheck>>,
    /// Outages, and times in which a program stood still, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<Episode>,
    /// The moments that a user marked while it ran, s after the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks_s: Vec<f64>,
    /// The doubts about the result.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Each run, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeat>,
    /// Each direction over all runs, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_repeats: Vec<DirectionRepeats>,
}

impl Run {
    /// A run of which only the identity and the plan are known.
    #[must_use]
    pub const fn new(header: RunHeader, plan: PlanRecord) -> Self {
        Self {
            header,
            began_s: None,
            imported: None,
            plan,
            environment: None,
            flows: None,
            result: None,
            capture: None,
            offload: None,
            predictions: None,
            episodes: Vec::new(),
            marks_s: Vec::new(),
            warnings: Vec::new(),
            repeats: Vec::new(),
            over_repeats: Vec::new(),
        }
    }

    /// The flows; none in a search.
    #[must_use]
    pub fn flows(&self) -> &[FlowReport] {
        self.flows.as_deref().unwrap_or_default()
    }

    /// The predictions; none in a search or a log.
    #[must_use]
    pub fn predictions(&self) -> &[PredictionCheck] {
        self.predictions.as_deref().unwrap_or_default()
    }

    /// The summary of a throughput test.
    #[must_use]
    pub fn throughput(&self) -> Option<&ThroughputSummary> {
        match &self.result {
            Some(RunResult::Throughput(summary)) => Some(summary),
            _ => None,
        }
    }

    /// The summary of a round-trip test.
    #[must_use]
    pub fn round_trips(&self) -> Option<&RoundTripSummary> {
        match &self.result {
            Some(RunResult::RoundTrips(summary)) => Some(summary),
            _ => None,
        }
    }

    /// The search for the highest rate.
    #[must_use]
    pub fn search(&self) -> Option<&SearchResult> {
        match &self.result {
            Some(RunResult::Search(search)) => Some(search),
            _ => None,
        }
    }

    /// The result of a test of the connection rate.
    #[must_use]
    pub fn connect(&self) -> Option<&ConnectReport> {
        match &self.result {
            Some(RunResult::Connect(report)) => Some(report),
            _ => None,
        }
    }

    /// The result of several tests of one host.
    #[must_use]
    pub fn check(&self) -> Option<&CheckReport> {
        match &self.result {
            Some(RunResult::Check(report)) => Some(report),
            _ => None,
        }
    }

    /// The result of a test with STAMP.
    #[must_use]
    pub fn stamp(&self) -> Option<&StampReport> {
        match &self.result {
            Some(RunResult::Stamp(report)) => Some(report),
            _ => None,
        }
    }

    /// The latency under load: of a test of it, or of a path.
    #[must_use]
    pub fn quality(&self) -> Option<&QualityReport> {
        match &self.result {
            Some(RunResult::Quality(report)) => Some(report),
            Some(RunResult::Path(path)) => path.under_load.as_deref(),
            _ => None,
        }
    }

    /// The result of file transfers.
    #[must_use]
    pub fn file(&self) -> Option<&FileReport> {
        match &self.result {
            Some(RunResult::File(file)) => Some(&file.report),
            _ => None,
        }
    }

    /// The file transfers, in the order in which they happened; none in any other run.
    #[must_use]
    pub fn transfers(&self) -> &[TransferRecord] {
        match &self.result {
            Some(RunResult::File(file)) => &file.transfers,
            _ => &[],
        }
    }

    /// The result of probing a path.
    #[must_use]
    pub fn path(&self) -> Option<&PathReport> {
        match &self.result {
            Some(RunResult::Path(path)) => Some(&path.report),
            _ => None,
        }
    }

    /// The directions of a throughput test; none for any other.
    #[must_use]
    pub fn directions(&self) -> &[DirectionSummary] {
        self.throughput()
            .map_or(&[], |summary| summary.directions.as_slice())
    }

    /// The number of the run whose flows these are, where there were several: the last that was not cut short, if there is one.
    #[must_use]
    pub fn shown_repeat(&self) -> Option<u32> {
        let is_complete = |repeat: &&Repeat| repeat.cut_short.is_none();
        let complete = self.repeats.iter().rfind(is_complete);
        Some(complete.or(self.repeats.last())?.run)
    }

    /// The workload, by the plan or else by its transport.
    #[must_use]
    pub fn kind(&self) -> Option<PlanKind> {
        self.plan.kind()
    }
}
