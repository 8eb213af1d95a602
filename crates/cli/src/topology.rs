//! The topology that a command is given: a file or a preset, with the changes of flags.

use std::path::Path;

use caudal_study::{TextFileError, read_text_file};
use caudal_topology::{
    FileError, LinkOverrideError, PRESETS, Preset, Topology, TopologyFile, parse_file,
};
use clap::Args;

use crate::exit::{Exit, Failure};

/// The command that prints what topology files may hold.
const SCHEMA: &str = "caudal lab schema";

/// A topology and its changes.
#[derive(Debug, Clone, Args)]
pub struct WhatArgs {
    /// A topology file, or a preset: pair, line, dumbbell, star, policed, two-paths, wan
    #[arg(value_name = "FILE|PRESET")]
    pub what: String,
    /// The number of hosts, links or hops of the preset
    #[arg(value_name = "N")]
    pub number: Option<usize>,
    /// Change a key of a link first, as bottleneck.rate=5M; `*` is every link
    #[arg(long = "set", value_name = "LINK.KEY=VALUE")]
    pub changes: Vec<String>,
    /// The random seed, instead of the file's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The topology that the arguments name, with their changes.
pub(crate) fn read(what: &WhatArgs) -> Result<TopologyFile, Failure> {
    let preset = Preset::by_name(&what.what).filter(|_| !Path::new(&what.what).is_file());
    let (text, mut file) = match preset {
        Some(preset) => {
            let file = preset.file(what.number).map_err(|problem| {
                Failure::usage(problem.to_string(), "see `caudal lab preset`")
            })?;
            (None, file)
        }
        None => {
            if what.number.is_some() {
                return Err(Failure::usage(
                    "a topology file takes no number",
                    "leave it out",
                ));
            }
            let text = text_of(&what.what)?;
            let file =
                parse_file(&what.what, &text).map_err(|error| file_failure(&error, SCHEMA))?;
            (Some(text), file)
        }
    };
    for change in &what.changes {
        file = file
            .with_override(change)
            .map_err(|error| override_failure(&error))?;
    }
    if what.seed.is_some() {
        file.seed = what.seed;
    }
    Topology::resolve(&file).map_err(|error| {
        let (location, problem) = (&error.location, &error.problem);
        let error = FileError::at(
            &what.what,
            text.as_deref(),
            location,
            problem,
            &error.remedy,
        );
        file_failure(&error, SCHEMA)
    })?;
    Ok(file)
}

fn text_of(path: &str) -> Result<String, Failure> {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    read_text(
        path,
        &format!("a topology file or a preset: {}", names.join(", ")),
        "a topology file",
    )
}

/// The text of a file; `alternatives` and `kind` are what may be named instead.
pub(crate) fn read_text(path: &str, alternatives: &str, kind: &str) -> Result<String, Failure> {
    read_text_file(path).map_err(|error| text_failure(&error, alternatives, kind))
}

/// A file that is no text to read, as a failure.
pub(crate) fn text_failure(error: &TextFileError, alternatives: &str, kind: &str) -> Failure {
    match error {
        TextFileError::Open { cause, .. } => {
            let exit = match cause.kind() {
                std::io::ErrorKind::PermissionDenied => Exit::NotPermitted,
                _ => Exit::Usage,
            };
            Failure::new(exit, error.to_string(), format!("name {alternatives}"))
        }
        TextFileError::TooLong(_) => {
            Failure::usage(error.to_string(), format!("that is not {kind}"))
        }
        TextFileError::Read { .. } | TextFileError::NotText(_) => {
            Failure::usage(error.to_string(), format!("name {kind}"))
        }
    }
}

/// An error in a file as a failure; `schema` is the command that prints what may be written.
pub(crate) fn file_failure(error: &FileError, schema: &str) -> Failure {
    let advice = error.remedy.clone();
    Failure::usage(
        error.to_string(),
        advice.unwrap_or_else(|| format!("`{schema}` prints what may be written")),
    )
}

/// A change of a link that cannot be made, as a failure.
fn override_failure(error: &LinkOverrideError) -> Failure {
    let advice = match error {
        LinkOverrideError::NoValue(_) | LinkOverrideError::NoKey(_) => {
            "write it as bottleneck.rate=5M".to_owned()
        }
        LinkOverrideError::NoSuchLink { links, .. } => format!("take one of {}", links.join(", ")),
        LinkOverrideError::Invalid { .. } => format!("`{SCHEMA}` prints what may be written"),
    };
    Failure::usage(format!("--set {error}"), advice)
}
