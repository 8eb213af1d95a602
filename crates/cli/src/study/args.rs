//! The command line of `caudal study`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use caudal_study::{ExperimentChanges, HostAddress, parse_hosts};

use crate::args::StoreArgs;

/// `caudal study`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct StudyArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: StudyCommand,
}

const EXAMPLES: &str = "Examples:
  caudal study list
  caudal study check starvation --quick        can it run here, and how long does it take?
  caudal study run starvation --quick
  caudal study run starvation --set congestion=cubic,bbr --set time.measure=5s
  caudal study run my.toml --hosts h2=192.0.2.7     against a host that runs `caudal serve`
  caudal study resume 1a2b3c                   continue a study that was stopped or killed
  caudal study show starvation > mine.toml     a file to start from

A study is saved in the store trial by trial: no measurement is lost.
Exit code 5: everything ran, and an expectation of the experiment does not hold.";

/// A subcommand of `caudal study`.
#[derive(Debug, Clone, Subcommand)]
pub enum StudyCommand {
    /// The experiments that come with the program
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// An experiment's file, or the cases it unfolds into
    Show(ShowStudyArgs),
    /// Check that an experiment can run here, and show its duration and traffic
    Check(CheckArgs),
    /// Run experiments, and report
    Run(Box<RunStudyArgs>),
    /// Continue a study that was stopped
    Resume(ResumeArgs),
    /// Print the JSON Schema of experiments' files
    Schema,
}

/// The changes of an experiment.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Experiment")]
pub struct ChangeArgs {
    /// Change a parameter's values (congestion=cubic,bbr) or a key (time.measure=5s, flow.tcp.count=2); several at once
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The quick variant: fewer values and repetitions, shorter trials
    #[arg(long)]
    pub quick: bool,
    /// The random seed: the order of the trials, and every lab
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run between this machine and hosts that run `caudal serve`, by the names the experiment gives them
    #[arg(long, value_name = "NAME=ADDRESS,…", value_parser = hosts)]
    pub hosts: Option<Hosts>,
}

/// Hosts by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(pub BTreeMap<String, HostAddress>);

fn hosts(text: &str) -> Result<Hosts, String> {
    parse_hosts(text)
        .map(Hosts)
        .map_err(|problem| format!("{problem}; write it as h2=192.0.2.7,h3=far.example:5202"))
}

impl ChangeArgs {
    /// The changes of the file.
    #[must_use]
    pub fn changes(&self) -> ExperimentChanges {
        ExperimentChanges {
            overrides: self.set.clone(),
            quick: self.quick,
            seed: self.seed,
        }
    }
}

/// `caudal study show`
#[derive(Debug, Clone, Args)]
pub struct ShowStudyArgs {
    /// A shipped experiment, or a file
    #[arg(value_name = "NAME|FILE")]
    pub what: String,
    /// Show the cases instead of the file
    #[arg(long)]
    pub cases: bool,
    /// The changes.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// `caudal study check`
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A shipped experiment, or a file
    #[arg(value_name = "NAME|FILE")]
    pub what: String,
    /// The changes.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// `caudal study run`
#[derive(Debug, Clone, Args)]
pub struct RunStudyArgs {
    /// Shipped experiments (`all` for every one), or files
    #[arg(value_name = "NAME|FILE", required = true)]
    pub what: Vec<String>,
    /// The changes.
    #[command(flatten)]
    pub change: ChangeArgs,
    /// The output.
    #[command(flatten)]
    pub output: StudyOutputArgs,
}

/// `caudal study resume`
#[derive(Debug, Clone, Args)]
pub struct ResumeArgs {
    /// The study's id, or enough of its beginning
    pub id: String,
    /// The output.
    #[command(flatten)]
    pub output: StudyOutputArgs,
}

/// The output of a study.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct StudyOutputArgs {
    /// Write the report, the findings and every trial there [default: the report and the findings, in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the findings as one JSON object (schema caudal.study/1)
    #[arg(long)]
    pub json: bool,
    /// Print the findings only, not the trials as they end
    #[arg(short, long)]
    pub quiet: bool,
    /// Show the tables too, and everything that was expected
    #[arg(short, long)]
    pub verbose: bool,
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
}
