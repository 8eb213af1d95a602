//! The result of a run, by its workload, and the keys of its document.

use super::search::SearchResult;
use super::summary::{RoundTripSummary, Summary, ThroughputSummary};
use crate::check::CheckReport;
use crate::connect::ConnectReport;
use crate::path::{PathReport, PathResult};
use crate::quality::QualityReport;
use crate::stamp::StampReport;
use crate::transfer::{FileReport, FileResult, TransferRecord};
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunResult {
    /// Of a throughput test.
    Throughput(Box<ThroughputSummary>),
    /// Of a round-trip test.
    RoundTrips(Box<RoundTripSummary>),
    /// Of a search for the highest rate.
    Search(Box<SearchResult>),
    /// Of a test of the connection rate.
    Connect(Box<ConnectReport>),
    /// Of a test of latency under load.
    Quality(Box<QualityReport>),
    /// Of file transfers.
    File(Box<FileResult>),
    /// Of several tests of one host.
    Check(Box<CheckReport>),
    /// Of the probing of a path.
    Path(Box<PathResult>),
    /// Of a test with STAMP.
    Stamp(Box<StampReport>),
}

/// The keys of a document that hold its result, as they are read.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ResultKeys {
    /// The summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    /// The search for the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<Box<SearchResult>>,
    /// The result of a test of the connection rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connect: Option<Box<ConnectReport>>,
    /// The result of several tests of one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<Box<CheckReport>>,
    /// The result of a test of latency under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quality: Option<Box<QualityReport>>,
    /// The result of file transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<FileReport>,
    /// The file transfers, in the order in which they happened; `plan` is that of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transfers: Option<Vec<TransferRecord>>,
    /// The result of probing a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathReport>,
    /// The result of a test with STAMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Box<StampReport>>,
}

impl From<ResultKeys> for Option<RunResult> {
    fn from(keys: ResultKeys) -> Self {
        // A path may have latency under load as well.
        if let Some(report) = keys.path {
            let under_load = keys.quality;
            return Some(RunResult::Path(Box::new(PathResult { report, under_load })));
        }
        if let Some(report) = keys.stamp {
            return Some(RunResult::Stamp(report));
        }
        if let Some(report) = keys.check {
            return Some(RunResult::Check(report));
        }
        if let Some(report) = keys.connect {
            return Some(RunResult::Connect(report));
        }
        if let Some(report) = keys.quality {
            return Some(RunResult::Quality(report));
        }
        if let Some(report) = keys.file {
            let transfers = keys.transfers.unwrap_or_default();
            return Some(RunResult::File(Box::new(FileResult { report, transfers })));
        }
        if let Some(search) = keys.search {
            return Some(RunResult::Search(search));
        }
        keys.summary.map(|summary| match summary {
            Summary::RoundTrips(summary) => RunResult::RoundTrips(summary),
            Summary::Throughput(summary) => RunResult::Throughput(summary),
        })
    }
}

/// Writes the keys of a result into its document.
///
/// # Errors
/// Those of the serializer.
pub(super) fn serialize<S: Serializer>(
    result: &Option<RunResult>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut keys = to.serialize_map(None)?;
    match result {
        None => {}
        Some(RunResult::Throughput(summary)) => keys.serialize_entry("summary", summary)?,
        Some(RunResult::RoundTrips(summary)) => keys.serialize_entry("summary", summary)?,
        Some(RunResult::Search(search)) => keys.serialize_entry("search", search)?,
        Some(RunResult::Stamp(report)) => keys.serialize_entry("stamp", report)?,
        Some(RunResult::Check(report)) => keys.serialize_entry("check", report)?,
        Some(RunResult::Connect(report)) => keys.serialize_entry("connect", report)?,
        Some(RunResult::Quality(report)) => keys.serialize_entry("quality", report)?,
        Some(RunResult::File(file)) => {
            keys.serialize_entry("file", &file.report)?;
            keys.serialize_entry("transfers", &file.transfers)?;
        }
        Some(RunResult::Path(path)) => {
            if let Some(under_load) = &path.under_load {
                keys.serialize_entry("quality", under_load)?;
            }
            keys.serialize_entry("path", &path.report)?;
        }
    }
    keys.end()
}

/// Reads the result from the keys of its document.
///
/// # Errors
/// Those of the deserializer.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<RunResult>, D::Error> {
    ResultKeys::deserialize(from).map(Into::into)
}
