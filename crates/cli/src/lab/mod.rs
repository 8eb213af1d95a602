//! `caudal lab`: a test network on this machine.

mod drawing;
mod file;
pub(crate) mod keep;
mod show;
mod stats;

pub use file::schema;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, LabError, LabRecord, daemon};
use caudal_sys::signal::Interrupt;

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use crate::topology::WhatArgs;

/// `caudal lab`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct LabArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub command: LabCommand,
}

const EXAMPLES: &str = "Examples:
  caudal lab run pair -- ping -c 3 h2           a network for one command
  caudal lab up dumbbell                        a network that stays up
  caudal lab exec h3 -- caudal serve &          a program on one of its hosts
  caudal lab exec h1 -- caudal tcp h3
  caudal lab set bottleneck rate=5M delay=40ms
  caudal lab stats
  caudal lab down
  caudal lab preset wan > wan.toml              a file to start from";

/// What to do with a lab.
#[derive(Debug, Clone, Subcommand)]
pub enum LabCommand {
    /// Build a network and let it stay
    Up(UpArgs),
    /// Build a network, run a command on one of its hosts, take the network down
    Run(RunArgs),
    /// The networks that are up
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a network with its rates, delays and what it carried so far
    Show(ShowArgs),
    /// Run a command on a host
    Exec(ExecArgs),
    /// Open a shell on a host
    Shell(ShellArgs),
    /// Everything that was counted on links and interfaces
    Stats(StatsArgs),
    /// Change a link while it is up
    Set(SetArgs),
    /// Take a network down, and every program on its hosts
    Down(DownArgs),
    /// Print a preset as a file, or all their names
    Preset {
        /// Which
        name: Option<String>,
        /// How many of what it counts
        number: Option<usize>,
    },
    /// Print the JSON Schema of topology files
    Schema,
    /// Keep a network: how caudal calls itself
    #[command(hide = true)]
    Own,
}

/// `caudal lab up`
#[derive(Debug, Clone, Args)]
pub struct UpArgs {
    /// What to build.
    #[command(flatten)]
    pub what: WhatArgs,
    /// What to call it, instead of the preset's or file's name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// `caudal lab run`
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// What to build.
    #[command(flatten)]
    pub what: WhatArgs,
    /// The host to run on, instead of the first
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// Print nothing about the emulator at the end, unless it stalled
    #[arg(short, long)]
    pub quiet: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// Which lab.
#[derive(Debug, Clone, Args)]
pub struct WhichArgs {
    /// The name of the network, when several are up
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
}

/// `caudal lab show`
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// Which lab.
    #[command(flatten)]
    pub which: WhichArgs,
    /// Write a drawing to FILE, `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `caudal lab exec`
#[derive(Debug, Clone, Args)]
pub struct ExecArgs {
    /// Which lab.
    #[command(flatten)]
    pub which: WhichArgs,
    /// The host or router
    pub host: String,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// `caudal lab shell`
#[derive(Debug, Clone, Args)]
pub struct ShellArgs {
    /// Which lab.
    #[command(flatten)]
    pub which: WhichArgs,
    /// The host or router
    pub host: String,
}

/// `caudal lab stats`
#[derive(Debug, Clone, Args)]
pub struct StatsArgs {
    /// Which lab.
    #[command(flatten)]
    pub which: WhichArgs,
    /// Print one JSON object (schema caudal.lab/1)
    #[arg(long)]
    pub json: bool,
    /// Count the emulator's lateness anew from here on
    #[arg(long)]
    pub mark: bool,
}

/// `caudal lab set`
#[derive(Debug, Clone, Args)]
pub struct SetArgs {
    /// Which lab.
    #[command(flatten)]
    pub which: WhichArgs,
    /// The link
    pub link: String,
    /// rate=10M, delay=20ms or loss=1%; several at once
    #[arg(required = true, value_name = "KEY=VALUE")]
    pub changes: Vec<String>,
    /// Only from the link's first end to its second
    #[arg(long, conflicts_with = "backward")]
    pub forward: bool,
    /// Only from the link's second end to its first
    #[arg(long)]
    pub backward: bool,
}

/// `caudal lab down`
#[derive(Debug, Clone, Args)]
pub struct DownArgs {
    /// The name of the network, when several are up
    pub name: Option<String>,
    /// All of them
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
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
            LabError::Ambiguous { up } => format!("say which with --lab: {}", up.join(", ")),
            LabError::NotResponding { name, .. } => format!("run `caudal lab down {name}`"),
            _ => advice.to_owned(),
        };
        Self::new(exit, message, advice)
    }
}

/// Does what `caudal lab` was asked to.
///
/// # Errors
/// What is wrong with the words (2) or missing here (4). `exec`, `shell` and `run` end as their command does.
pub fn lab(args: &LabArgs, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        LabCommand::Own => return own(),
        LabCommand::Preset { name, number } => return file::print_preset(name.as_deref(), *number),
        LabCommand::Schema => return file::print_schema(),
        _ => {}
    }
    let registry = Registry::open()?;
    for name in registry.clean_up() {
        eprintln!("caudal: removed what a killed lab called {name} had left");
    }
    match &args.command {
        LabCommand::Up(up) => keep::up(&registry, up, interrupt),
        LabCommand::Run(run) => keep::run(&registry, run, interrupt),
        LabCommand::List { json } => list(&registry, *json),
        LabCommand::Show(show) => {
            let record = registry.find(show.which.lab.as_deref())?;
            let report = registry.report(&record)?;
            match &show.svg {
                Some(path) => print_to(path, &drawing::svg(&report)),
                None => print(&show::text(&report)),
            }
        }
        LabCommand::Exec(exec) => {
            let record = registry.find(exec.which.lab.as_deref())?;
            Err(keep::replace(&registry, &record, &exec.host, &exec.command))
        }
        LabCommand::Shell(shell) => {
            let record = registry.find(shell.which.lab.as_deref())?;
            let program = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            Err(keep::replace(&registry, &record, &shell.host, &[program]))
        }
        LabCommand::Stats(stats) => {
            let record = registry.find(stats.which.lab.as_deref())?;
            let report = registry.report(&record)?;
            if stats.mark {
                registry.send(&record, &ControlRequest::Mark)?;
            }
            if stats.json {
                let text = serde_json::to_string_pretty(&report).unwrap_or_default();
                print(&format!("{text}\n"))
            } else {
                print(&stats::text(&report))
            }
        }
        LabCommand::Set(set) => {
            let record = registry.find(set.which.lab.as_deref())?;
            let change = file::change(set)?;
            registry.send(&record, &ControlRequest::Set(change))?;
            Ok(Exit::Done)
        }
        LabCommand::Down(down) => {
            let records = if down.all {
                registry.list()
            } else {
                vec![registry.find(down.name.as_deref())?]
            };
            for record in records {
                registry.take_down(&record);
            }
            Ok(Exit::Done)
        }
        LabCommand::Own | LabCommand::Preset { .. } | LabCommand::Schema => Ok(Exit::Done),
    }
}

/// Keeps a lab, when this process was started for that.
fn own() -> Result<Exit, Failure> {
    daemon::run()
        .map_err(|cause| Failure::new(Exit::Failed, format!("cannot keep a lab: {cause}"), ""))?;
    Ok(Exit::Done)
}

fn list(registry: &Registry, json: bool) -> Result<Exit, Failure> {
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
        let (hosts, links) = (record.hosts.len(), record.links.len());
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        format!(
            "{:width$}  {hosts} host{} and routers, {links} link{}  {title}\n",
            record.name,
            plural(hosts),
            plural(links)
        )
    };
    print(&records.iter().map(line).collect::<String>())
}

/// Prints text; a reader that has gone is told by the exit code.
fn print(text: &str) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}

fn print_to(path: &std::path::Path, text: &str) -> Result<Exit, Failure> {
    if path.as_os_str() == "-" {
        return print(text);
    }
    let mut sink = Sink::file(path)?;
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}
