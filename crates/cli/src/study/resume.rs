//! `caudal study resume`: a study that was stopped or killed goes on.

use caudal_store::Store;
use caudal_study::Study;
use caudal_sys::signal::Interrupt;

use super::args::ResumeArgs;
use super::execute::{Execution, exit_on_second_interrupt, report_removed_labs};
use super::program::ThisProgram;
use crate::exit::{Exit, Failure};

/// Resumes a study. Its experiment and its trials are in the store; its file is not needed.
pub(super) fn resume(args: &ResumeArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    exit_on_second_interrupt(interrupt);
    if args.output.store.no_store {
        return Err(Failure::usage(
            "--no-store leaves nothing to resume",
            "leave it out, or name the store with --store",
        ));
    }
    let store = Store::locate(args.output.store.store.as_deref()).ok_or_else(|| {
        Failure::usage(
            "no store is used: CAUDAL_STORE says so",
            "name the store with --store FILE",
        )
    })?;
    let (mut study, removed) = Study::resume(&store, &args.id, &ThisProgram)?;
    for tag in &args.output.store.tag {
        study.archive.tag(tag)?;
    }
    report_removed_labs(&removed);
    let execution = Execution {
        args: &args.output,
        out: args.output.out.clone(),
        interrupt,
    };
    execution.execute(study)
}
