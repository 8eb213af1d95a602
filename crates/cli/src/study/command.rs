//! The dispatch of `caudal study` to its subcommands.

use caudal_sys::signal::Interrupt;

use super::args::{StudyArgs, StudyCommand};
use super::source::schema;
use crate::exit::{Exit, Failure};
use crate::output::sink::print;

/// Runs `caudal study`.
///
/// # Errors
/// When the arguments or the file are wrong (2), something is missing here (4), a peer does not reply (3), or the study ended early (1).
pub fn study(args: &StudyArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        StudyCommand::List { json } => print(&super::list::list(*json)?),
        StudyCommand::Show(args) => print(&super::show::show(args)?),
        StudyCommand::Check(args) => super::check::check(args),
        StudyCommand::Run(args) => super::run::run(args, interrupt),
        StudyCommand::Resume(args) => super::resume::resume(args, interrupt),
        StudyCommand::Schema => print(&schema()),
    }
}
