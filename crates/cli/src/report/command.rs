//! The command line of `caudal report`, and its dispatch to the subcommands.

use super::answer::AnswerArgs;
use super::{compare, export, import, list, path, remove, replay, show, tag};
use crate::exit::{Exit, Failure};
use caudal_core::run::Run;
use caudal_store::Store;
use caudal_sys::signal::Interrupt;
use std::path::{Path, PathBuf};

/// `caudal report`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// The store [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE", global = true, display_order = 900)]
    pub store: Option<PathBuf>,
    /// The action.
    #[command(subcommand)]
    pub command: ReportCommand,
}

/// The action.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ReportCommand {
    /// List runs and studies, the newest first
    List(list::ListArgs),
    /// Show a run with its result and machines, or a study with its trials
    Show(show::ShowArgs),
    /// Put tags on a run or a study
    Tag(tag::TagArgs),
    /// Remove runs and studies
    #[command(name = "rm")]
    Remove(remove::RemoveArgs),
    /// Remove what is old
    Prune(remove::PruneArgs),
    /// Compare runs, studies or tags, the size of a difference first
    Compare(compare::CompareArgs),
    /// Record the tests in logs of iperf3, ping, flent and others
    Import(import::ImportArgs),
    /// Export a run or a study: HTML, Markdown, CSV, JSON or SVG
    Export(export::ExportArgs),
    /// Show a run again as it was live
    Replay(replay::ReplayArgs),
    /// Print the JSON Schema of runs
    Schema,
    /// Show the path of the store and the amount of its content
    Path(path::PathArgs),
}

const EXAMPLES: &str = "An ID is given by its first 4 or more digits, as long as they are unique; `last` is the \
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
        ReportCommand::Remove(which) => remove::remove(&mut open(args)?, which)?,
        ReportCommand::Prune(which) => remove::prune(&mut open(args)?, which)?,
        ReportCommand::Compare(compare) => return compare::compare(|| open(args), compare),
        ReportCommand::Import(import) => import::import(&store_path(args)?, import)?,
        ReportCommand::Export(what) => return export::export(&open(args)?, what),
        ReportCommand::Replay(replay) => return replay::replay(&open(args)?, replay, interrupt),
        ReportCommand::Schema => AnswerArgs::default().print(&[run_schema()], None)?,
        ReportCommand::Path(path) => path::path(&store_path(args)?, path)?,
    }
    Ok(Exit::Done)
}

/// The JSON Schema of the documents of runs, `caudal.run/1`.
#[must_use]
pub fn run_schema() -> String {
    let schema = schemars::schema_for!(Run);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// The path of the store.
///
/// # Errors
/// When it is not known.
fn store_path(args: &ReportArgs) -> Result<PathBuf, Failure> {
    located(args.store.as_deref())
}

/// The store of this path, or the usual one, which must exist.
///
/// # Errors
/// When it does not, or cannot be used.
pub(crate) fn open_store(path: Option<&Path>) -> Result<Store, Failure> {
    Ok(Store::open_to_read(&located(path)?)?)
}

fn located(path: Option<&Path>) -> Result<PathBuf, Failure> {
    Store::locate(path).ok_or_else(|| {
        let why = if std::env::var_os("CAUDAL_STORE").is_some() {
            "CAUDAL_STORE disables the store"
        } else {
            "this user has no home directory for the store"
        };
        Failure::usage(why, "name a store with --store FILE")
    })
}

/// The store, which must exist.
///
/// # Errors
/// When it does not, or cannot be used.
fn open(args: &ReportArgs) -> Result<Store, Failure> {
    open_store(args.store.as_deref())
}
