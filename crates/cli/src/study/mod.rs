//! `caudal study`: experiments carried out trial by trial, and their findings.

pub mod args;
mod check;
mod execute;
mod failure;
mod findings_text;
mod list;
mod program;
mod progress;
mod report;
mod resume;
mod run;
mod show;
mod source;

use caudal_sys::signal::Interrupt;

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use args::{StudyArgs, StudyCommand};

/// Runs `caudal study`.
///
/// # Errors
/// When the arguments or the file are wrong (2), something is missing here (4), a peer does not reply (3), or the study ended early (1).
pub fn study(args: &StudyArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        StudyCommand::List { json } => print(&list::list(*json)?),
        StudyCommand::Show(args) => print(&show::show(args)?),
        StudyCommand::Check(args) => check::check(args),
        StudyCommand::Run(args) => run::run(args, interrupt),
        StudyCommand::Resume(args) => resume::resume(args, interrupt),
        StudyCommand::Schema => print(&schema()),
    }
}

/// The JSON Schema of experiments' files, as it is published.
#[must_use]
pub fn schema() -> String {
    let text = serde_json::to_string_pretty(&caudal_experiment::schema());
    format!("{}\n", text.unwrap_or_default())
}

/// Prints text on standard output.
fn print(text: &str) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}
