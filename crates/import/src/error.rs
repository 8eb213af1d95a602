//! The errors of imports.

/// Maximum size of a file, bytes.
pub const MAX_LOG_BYTES: usize = 64 << 20;
/// Maximum number of tests in one file.
pub(super) const MAX_TESTS: usize = 10_000;
/// Maximum number of flows in one test.
pub(super) const MAX_FLOWS: usize = 1024;

/// The reason why nothing can be imported from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file has no content.
    #[error("it is empty")]
    Empty,
    /// The file is larger than a log is expected to be.
    #[error("it is larger than {} MiB", MAX_LOG_BYTES >> 20)]
    TooLarge,
    /// The file has more tests, or a test has more flows, than is supported.
    #[error("it holds more than {MAX_TESTS} tests, or more than {MAX_FLOWS} streams in one")]
    TooMany,
    /// The file is in none of the formats.
    #[error("it is in none of the formats that can be imported")]
    Unknown,
    /// The file is in one of the formats, but damaged.
    #[error("it is cut off, or no longer as {tool} wrote it: {cause}")]
    Broken {
        /// The tool.
        tool: &'static str,
        /// The error of the JSON parser.
        cause: String,
    },
    /// The tool measured nothing.
    #[error("{tool} measured nothing in it{}", reported(.cause.as_deref()))]
    Nothing {
        /// The tool.
        tool: &'static str,
        /// The error that the tool reports.
        cause: Option<String>,
    },
}

fn reported(cause: Option<&str>) -> String {
    cause.map_or_else(String::new, |cause| format!(": it reports {cause:?}"))
}
