//! The output of a command, and the store that its runs are recorded in.

use caudal_core::units::parse_fraction;
use caudal_store::check_tag;
use clap::Args;
use std::path::PathBuf;

/// The output of a command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print one JSON object when done: the run (schema caudal.run/1), or the failure (caudal.error/1)
    #[arg(short = 'J', long, conflicts_with_all = ["json_stream", "csv"])]
    pub json: bool,
    /// Print each event as a line of JSON as it happens; the last is the whole run
    #[arg(long, conflicts_with = "csv")]
    pub json_stream: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show the test on the terminal's whole screen while it runs; `?` explains the keys
    #[arg(long, conflicts_with_all = ["json", "json_stream", "csv", "quiet"])]
    pub top: bool,
    /// Print the result in a line, and the warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every column of every interval, which makes rows wider than 80 columns
    #[arg(short, long)]
    pub verbose: bool,
    /// The confidence of intervals, as 0.95 or 95%
    #[arg(long, value_name = "P", default_value = "0.95", value_parser = confidence, allow_hyphen_values = true)]
    pub confidence: f64,
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
}

impl Default for OutputArgs {
    /// Text on standard output, nothing recorded.
    fn default() -> Self {
        Self {
            json: false,
            json_stream: false,
            csv: false,
            output: None,
            top: false,
            quiet: false,
            verbose: false,
            confidence: 0.95,
            store: StoreArgs {
                store: None,
                no_store: true,
                tag: Vec::new(),
            },
        }
    }
}

/// Parses a confidence between 0.5 and 0.9999, also as a percentage.
///
/// # Errors
/// The values that are accepted.
pub fn confidence(text: &str) -> Result<f64, String> {
    parse_fraction(text)
        .ok()
        .filter(|level| (0.5..=0.9999).contains(level))
        .ok_or_else(|| format!("{text:?} is not a confidence between 0.5 and 0.9999, such as 0.95"))
}

/// The store that runs are recorded in.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Record the run in FILE, for `caudal report` [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Do not record the run; CAUDAL_STORE=none has the same effect
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
    /// Put a tag on what is recorded, for `caudal report`; may be given several times, and CAUDAL_TAG has more, with commas
    #[arg(long, value_name = "TAG", value_parser = tag_name, conflicts_with = "no_store")]
    pub tag: Vec<String>,
}

/// Parses a tag.
pub fn tag_name(text: &str) -> Result<String, String> {
    match check_tag(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(why) => Err(why.to_string()),
    }
}
