//! `caudal report`: what was kept, listed, shown and marked.

mod compare;
pub mod document;
pub mod export;
mod import;
mod list;
mod path;
mod replay;
mod show;
mod tag;
pub mod view;

pub use list::COLUMNS as LIST_COLUMNS;

use crate::args::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::output::sink::Sinks;
use caudal_core::run::Run;
use caudal_store::{Store, StoreError};
use caudal_sys::signal::Interrupt;
use std::path::PathBuf;

/// `caudal report`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// The store to look into [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE", global = true, display_order = 900)]
    pub store: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: ReportCommand,
}

/// What to do with what was kept.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ReportCommand {
    /// Runs and studies, the newest first
    List(list::ListArgs),
    /// A run with what it came to and the machines it was measured on; a study with its trials
    Show(show::ShowArgs),
    /// Puts tags on a run or a study, to find it again by
    Tag(tag::TagArgs),
    /// Holds runs, studies or tags against one another, the size of a difference first
    Compare(compare::CompareArgs),
    /// Keeps what the logs of iperf3, iperf and nttcp tell
    Import(import::ImportArgs),
    /// A run or a study as a file for others: HTML, Markdown, CSV, JSON or SVG
    Export(export::ExportArgs),
    /// A run shown again as it was live
    Replay(replay::ReplayArgs),
    /// Print the JSON Schema of runs
    Schema,
    /// Where the store is, and how much is in it
    Path(path::PathArgs),
}

const EXAMPLES: &str = "An ID is the first 4 digits of one or more, as far as it is the only one; `last` is the \
                        newest.\n\nExamples:\n  \
    caudal report list\n  \
    caudal report list --kind tcp --since 7d far.example\n  \
    caudal report show last\n  \
    caudal report tag 1a2b3c4d before-upgrade\n  \
    caudal report show 1a2b3c4d --json\n  \
    caudal report export 1a2b3c4d --html -o report.html";

/// Runs `caudal report`.
///
/// # Errors
/// When there is no store, nothing of that id in it, or the answer cannot be written.
pub fn report(args: &ReportArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        ReportCommand::List(list) => list::list(&open(args)?, list)?,
        ReportCommand::Show(show) => show::show(&open(args)?, show)?,
        ReportCommand::Tag(tag) => tag::tag(&mut open(args)?, tag)?,
        ReportCommand::Compare(compare) => compare::compare(&open(args)?, compare)?,
        ReportCommand::Import(import) => import::import(&place(args)?, import)?,
        ReportCommand::Export(what) => return export::export(&open(args)?, what),
        ReportCommand::Replay(replay) => return replay::replay(&open(args)?, replay, interrupt),
        ReportCommand::Schema => AnswerArgs::default().deliver(&[run_schema()], None)?,
        ReportCommand::Path(path) => path::path(&place(args)?, path)?,
    }
    Ok(Exit::Done)
}

/// The JSON Schema of the documents of runs, `caudal.run/1`.
#[must_use]
pub fn run_schema() -> String {
    let schema = schemars::schema_for!(Run);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Where the store is that the command is about.
///
/// # Errors
/// When nobody says.
pub(crate) fn place(args: &ReportArgs) -> Result<PathBuf, Failure> {
    Store::locate(args.store.as_deref()).ok_or_else(|| {
        let why = if std::env::var_os("CAUDAL_STORE").is_some() {
            "CAUDAL_STORE says that nothing is kept"
        } else {
            "this user has no home directory to keep runs in"
        };
        Failure::usage(why, "name a store with --store FILE")
    })
}

/// The store that the command is about, which must be there.
///
/// # Errors
/// When it is not, or cannot be used.
pub(crate) fn open(args: &ReportArgs) -> Result<Store, Failure> {
    Ok(Store::open_to_read(&place(args)?)?)
}

/// How an answer is shown.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct AnswerArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the output to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl AnswerArgs {
    /// Shows the answer: as lines, or as data instead where there is some.
    ///
    /// # Errors
    /// When it cannot be written.
    fn deliver(&self, lines: &[String], data: Option<&str>) -> Result<(), Failure> {
        // Data and text never go out together here, so either is text to the sinks.
        let output = OutputArgs {
            output: self.output.clone(),
            ..OutputArgs::default()
        };
        let mut sinks = Sinks::open(&output)?;
        let all = data.map_or_else(|| lines.join("\n"), str::to_owned);
        if !all.is_empty() {
            sinks.text.line(&all);
        }
        sinks.finish(&all)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Unknown { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::InvalidId { .. } => Exit::Usage,
            StoreError::ReadOnly { .. } => Exit::NotPermitted,
            StoreError::Open { cause, .. }
                if cause.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Exit::NotPermitted
            }
            _ => Exit::Failed,
        };
        Self::new(
            exit,
            error.to_string(),
            crate::store_advice::store_advice(&error),
        )
    }
}
