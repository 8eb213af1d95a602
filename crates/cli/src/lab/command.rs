//! One execution of `caudal lab`.

use super::args::{LabArgs, LabCommand, LabDownArgs, LabShowArgs, LabStatsArgs};
use super::print::{print, print_to};
use super::{drawing, file, keep, list, stats, tree};
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, daemon};
use caudal_sys::signal::Interrupt;

/// Runs `caudal lab`.
///
/// # Errors
/// When the command line is wrong (exit code 2), or this machine lacks something (4). `exec`, `shell` and `run` end with
/// the exit code of their command.
pub fn lab(args: &LabArgs, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        LabCommand::Own => return run_daemon(),
        LabCommand::Preset { name, number } => return file::print_preset(name.as_deref(), *number),
        LabCommand::Schema => return file::print_schema(),
        _ => {}
    }
    let registry = Registry::open()?;
    for name in registry.clean_up() {
        diagnostic(&format!(
            "removed the remains of lab {name}, whose process was killed"
        ));
    }
    match &args.command {
        LabCommand::Up(up) => keep::up(&registry, up, interrupt),
        LabCommand::Run(run) => keep::run(&registry, run, interrupt),
        LabCommand::List { json } => list::print_list(&registry, *json),
        LabCommand::Show(show) => print_network(&registry, show),
        LabCommand::Exec(exec) => {
            let record = registry.find(exec.selection.lab.as_deref())?;
            Err(keep::replace(&registry, &record, &exec.host, &exec.command))
        }
        LabCommand::Shell(shell) => {
            let record = registry.find(shell.selection.lab.as_deref())?;
            let program = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            Err(keep::replace(&registry, &record, &shell.host, &[program]))
        }
        LabCommand::Stats(stats) => print_stats(&registry, stats),
        LabCommand::Set(set) => {
            let record = registry.find(set.selection.lab.as_deref())?;
            let change = file::change(set)?;
            registry.send(&record, &ControlRequest::Set(change))?;
            Ok(Exit::Done)
        }
        LabCommand::Down(down) => take_down(&registry, down),
        LabCommand::Own | LabCommand::Preset { .. } | LabCommand::Schema => Ok(Exit::Done),
    }
}

/// Runs the daemon of a lab; a parent caudal started this process for that.
fn run_daemon() -> Result<Exit, Failure> {
    daemon::run()
        .map_err(|cause| Failure::new(Exit::Failed, format!("cannot run the lab: {cause}"), ""))?;
    Ok(Exit::Done)
}

fn print_network(registry: &Registry, args: &LabShowArgs) -> Result<Exit, Failure> {
    let record = registry.find(args.selection.lab.as_deref())?;
    let report = registry.report(&record)?;
    match &args.svg {
        Some(path) => print_to(path, &drawing::svg(&report)),
        None => print(&tree::text(&report)),
    }
}

fn print_stats(registry: &Registry, args: &LabStatsArgs) -> Result<Exit, Failure> {
    let record = registry.find(args.selection.lab.as_deref())?;
    let report = registry.report(&record)?;
    if args.mark {
        registry.send(&record, &ControlRequest::Mark)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        print(&format!("{text}\n"))
    } else {
        print(&stats::text(&report))
    }
}

fn take_down(registry: &Registry, args: &LabDownArgs) -> Result<Exit, Failure> {
    let records = if args.all {
        registry.list()
    } else {
        let name = args.name.as_deref().or(args.selection.lab.as_deref());
        vec![registry.find(name)?]
    };
    for record in records {
        registry.take_down(&record);
    }
    Ok(Exit::Done)
}
