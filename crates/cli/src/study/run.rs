//! `caudal study run`: experiments from their files to their reports.

use std::path::Path;

use caudal_study::{PreparedExperiment, SHIPPED_EXPERIMENTS, Study};

use super::args::RunStudyArgs;
use super::execute::{Execution, exit_on_second_interrupt, report_event, report_removed_labs};
use super::program::ThisProgram;
use super::source::find_experiment;
use crate::exit::{Exit, Failure};
use crate::invocation::command_line;
use crate::output::sink::print;
use caudal_store::Store;
use caudal_sys::signal::Interrupt;

/// Runs experiments one after another.
pub(super) fn run(args: &RunStudyArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for name in &args.what {
        if name == "all" && !Path::new(name).is_file() {
            names.extend(SHIPPED_EXPERIMENTS.iter().map(|shipped| shipped.name));
        } else {
            names.push(name);
        }
    }
    let hosts = args.change.hosts.as_ref().map(|hosts| hosts.0.clone());
    // Errors are reported before any of them takes its time.
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let source = find_experiment(name, &args.change.changes())?;
        let prepared = PreparedExperiment::new(source, hosts.clone())?;
        report_removed_labs(&prepared.check_requirements(&ThisProgram)?);
        all.push(prepared);
    }
    exit_on_second_interrupt(interrupt);
    let has_several = all.len() > 1;
    let mut exit = Exit::Done;
    for (nth, prepared) in all.into_iter().enumerate() {
        if nth > 0 && !args.output.json {
            print("\n")?;
        }
        let out = args.output.out.as_ref().map(|out| {
            if has_several {
                out.join(&prepared.source.name)
            } else {
                out.clone()
            }
        });
        let store = if args.output.store.no_store {
            None
        } else {
            Store::locate(args.output.store.store.as_deref())
        };
        let mut study = Study::begin(
            prepared,
            command_line(),
            store.as_deref(),
            &mut report_event,
        );
        for tag in &args.output.store.tag {
            study.archive.tag(tag)?;
        }
        let execution = Execution {
            args: &args.output,
            out,
            interrupt,
        };
        match execution.execute(study)? {
            Exit::Done => {}
            other => exit = other,
        }
    }
    Ok(exit)
}
