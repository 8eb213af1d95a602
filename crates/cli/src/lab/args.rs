//! The command line of `caudal lab`.

use crate::topology::WhatArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `caudal lab`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct LabArgs {
    /// The subcommand.
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
  caudal lab preset wan > wan.toml              a file to edit";

/// The subcommands of `caudal lab`.
#[derive(Debug, Clone, Subcommand)]
pub enum LabCommand {
    /// Build a network that stays up
    Up(LabUpArgs),
    /// Build a network for one command on one of its hosts
    Run(LabRunArgs),
    /// List the networks that are up
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a network with its rates, delays and frames carried
    Show(LabShowArgs),
    /// Run a command on a host
    Exec(LabExecArgs),
    /// Open a shell on a host
    Shell(LabShellArgs),
    /// Print the counters of links and of the emulator
    Stats(LabStatsArgs),
    /// Change a link while it is up
    Set(LabSetArgs),
    /// Take a network down and end every program on its hosts
    Down(LabDownArgs),
    /// Print a preset as a topology file, or list the presets
    Preset {
        /// The name of the preset
        name: Option<String>,
        /// The number of hosts or routers that the preset repeats
        number: Option<usize>,
    },
    /// Print the JSON Schema of topology files
    Schema,
    /// Run the daemon of a lab, as caudal starts it itself
    #[command(hide = true)]
    Own,
}

/// `caudal lab up`
#[derive(Debug, Clone, Args)]
pub struct LabUpArgs {
    /// The topology to build.
    #[command(flatten)]
    pub what: WhatArgs,
    /// The name of the lab [default: the name of the preset or file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// `caudal lab run`
#[derive(Debug, Clone, Args)]
pub struct LabRunArgs {
    /// The topology to build.
    #[command(flatten)]
    pub what: WhatArgs,
    /// The host to run the command on [default: the first]
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// Print nothing about the emulator at the end, unless it stalled
    #[arg(short, long)]
    pub quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// The lab that a command is for.
#[derive(Debug, Clone, Args)]
pub struct LabSelectionArgs {
    /// The name of the lab, where several are up
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
}

/// `caudal lab show`
#[derive(Debug, Clone, Args)]
pub struct LabShowArgs {
    /// The lab.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// Write the drawing as SVG to FILE, `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `caudal lab exec`
#[derive(Debug, Clone, Args)]
pub struct LabExecArgs {
    /// The lab.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// The host or router
    pub host: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// `caudal lab shell`
#[derive(Debug, Clone, Args)]
pub struct LabShellArgs {
    /// The lab.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// The host or router
    pub host: String,
}

/// `caudal lab stats`
#[derive(Debug, Clone, Args)]
pub struct LabStatsArgs {
    /// The lab.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// Print one JSON object (schema caudal.lab/1)
    #[arg(long)]
    pub json: bool,
    /// Start a new measurement of the emulator's lateness after this
    #[arg(long)]
    pub mark: bool,
}

/// `caudal lab set`
#[derive(Debug, Clone, Args)]
pub struct LabSetArgs {
    /// The lab.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// The name of the link
    pub link: String,
    /// rate=10M, delay=20ms or loss=1%; may be repeated
    #[arg(required = true, value_name = "KEY=VALUE")]
    pub changes: Vec<String>,
    /// Only in the direction from the first end of the link to the second
    #[arg(long, conflicts_with = "backward")]
    pub forward: bool,
    /// Only in the direction from the second end of the link to the first
    #[arg(long)]
    pub backward: bool,
}

/// `caudal lab down`
#[derive(Debug, Clone, Args)]
pub struct LabDownArgs {
    /// The name of the lab, where several are up
    #[arg(conflicts_with = "lab")]
    pub name: Option<String>,
    /// The lab, as other commands name it.
    #[command(flatten)]
    pub selection: LabSelectionArgs,
    /// Take down every lab
    #[arg(long, conflicts_with_all = ["name", "lab"])]
    pub all: bool,
}
