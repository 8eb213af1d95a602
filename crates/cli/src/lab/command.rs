//! One execution of `caudal lab`.

use super::args::{LabArgs, LabCommand, LabDownArgs, LabShowArgs, LabStatsArgs};
use super::{file, keep};
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::sink::{print, print_to};
use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, LabError, LabRecord, daemon};
use caudal_sys::signal::Interrupt;
use caudal_views::lab::{lab_stats, lab_svg, lab_tree};
use caudal_views::text::counted;

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
        LabCommand::List { json } => print_list(&registry, *json),
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

/// `caudal lab list`
fn print_list(registry: &Registry, json: bool) -> Result<Exit, Failure> {
    let records = registry.list();
    if json {
        let text = serde_json::to_string_pretty(&records).unwrap_or_default();
        return print(&format!("{text}\n"));
    }
    if records.is_empty() {
        return print("no lab is up; start one with `caudal lab up pair`\n");
    }
    let width = records
        .iter()
        .map(|record| record.name.len())
        .max()
        .unwrap_or(0);
    let line = |record: &LabRecord| {
        let title = record.title.as_deref().unwrap_or("");
        let hosts = counted(record.hosts.len() as u64, "host");
        let links = counted(record.links.len() as u64, "link");
        let name = &record.name;
        format!("{name:width$}  {hosts} and routers, {links}  {title}\n")
    };
    print(&records.iter().map(line).collect::<String>())
}

fn print_network(registry: &Registry, args: &LabShowArgs) -> Result<Exit, Failure> {
    let record = registry.find(args.selection.lab.as_deref())?;
    let report = registry.report(&record)?;
    match &args.svg {
        Some(path) => print_to(path, &lab_svg(&report)),
        None => print(&lab_tree(&report)),
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
        print(&lab_stats(&report))
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

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_usage() {
            Exit::Usage
        } else {
            Exit::NotPermitted
        };
        let text = error.to_string();
        let (message, advice) = text.split_once("; ").unwrap_or((&text, ""));
        let advice = match &error {
            LabError::NameTaken { name } => {
                format!("take it down with `caudal lab down {name}`, or name this one with --name")
            }
            LabError::NoLab => "start one with `caudal lab up pair`".to_owned(),
            LabError::Ambiguous { up } => format!("name one with --lab: {}", up.join(", ")),
            LabError::NotResponding { name, .. } => format!("run `caudal lab down {name}`"),
            _ => advice.to_owned(),
        };
        Self::new(exit, message, advice)
    }
}
