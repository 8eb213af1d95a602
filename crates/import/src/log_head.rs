//! What every log reports, whatever was measured.

use super::log::LogFormat;
use caudal_core::run::ImportSide;
use caudal_core::warning::WarningCode;

/// What every log reports, whatever was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct LogHead {
    /// The format.
    pub format: LogFormat,
    /// The tool's version.
    pub version: Option<String>,
    /// The end of the test that wrote it.
    pub side: Option<ImportSide>,
    /// The peer: a host, with its port where it is the server.
    pub peer: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// The start, ns since 1970.
    pub started_ns: Option<i64>,
    /// `true` when the log reaches the end of the test.
    pub is_complete: bool,
    /// The error that the tool reports.
    pub error: Option<String>,
    /// Warnings: code and message.
    pub warnings: Vec<(WarningCode, String)>,
}

impl LogHead {
    /// The head of a complete log of which nothing else is known.
    #[must_use]
    pub const fn new(format: LogFormat) -> Self {
        Self {
            format,
            version: None,
            side: Some(ImportSide::Client),
            peer: None,
            command: None,
            title: None,
            started_ns: None,
            is_complete: true,
            error: None,
            warnings: Vec::new(),
        }
    }
}

/// The warning that names what a log has and a run has no place for.
#[must_use]
pub fn left_out(figures: &[String]) -> Option<(WarningCode, String)> {
    let message = || format!("left out of the log: {}", figures.join(", "));
    (!figures.is_empty()).then(|| (WarningCode::FiguresLeftOut, message()))
}
