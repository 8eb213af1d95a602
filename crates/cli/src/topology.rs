//! Topologies that commands are told: a file or a preset, changed by flags, refused with line and key.

use std::path::Path;

use caudal_topology::{Location, PRESETS, PathStep, Preset, Topology, TopologyFile};
use clap::Args;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::exit::{Exit, Failure};

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;

/// Which topology.
#[derive(Debug, Clone, Args)]
pub struct WhatArgs {
    /// A topology file, or a preset: pair, line, dumbbell, star, policed, two-paths, wan
    #[arg(value_name = "FILE|PRESET")]
    pub what: String,
    /// How many of what the preset counts
    #[arg(value_name = "N")]
    pub number: Option<usize>,
    /// Change a key of a link first, as bottleneck.rate=5M; `*` is every link
    #[arg(long = "set", value_name = "LINK.KEY=VALUE")]
    pub changes: Vec<String>,
    /// Where chance begins, instead of the file's
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
            let file = parse(&what.what, &text)?;
            (Some(text), file)
        }
    };
    for change in &what.changes {
        file = changed(&file, change)?;
    }
    if what.seed.is_some() {
        file.seed = what.seed;
    }
    Topology::resolve(&file).map_err(|error| {
        misplaced(
            &what.what,
            text.as_deref(),
            &error.location,
            &error.problem,
            &error.remedy,
        )
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

/// The text of a file; `alternatives` and `kind` say what may be named instead.
pub(crate) fn read_text(path: &str, alternatives: &str, kind: &str) -> Result<String, Failure> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(|cause| {
        let exit = match cause.kind() {
            std::io::ErrorKind::PermissionDenied => Exit::NotPermitted,
            _ => Exit::Usage,
        };
        Failure::new(
            exit,
            format!("cannot read {path}: {cause}"),
            format!("name {alternatives}"),
        )
    })?;
    let mut bytes = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|cause| {
        Failure::usage(
            format!("cannot read {path}: {cause}"),
            format!("name {kind}"),
        )
    })?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::usage(
            format!("{path} is longer than 16 MiB"),
            format!("that is not {kind}"),
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{path} is not text"), format!("name {kind}")))
}

fn parse(path: &str, text: &str) -> Result<TopologyFile, Failure> {
    parse_as(path, text, "caudal lab schema")
}

/// A file of any kind, refused with its line; `schema` is the command that tells what may be written.
pub(crate) fn parse_as<T: serde::de::DeserializeOwned>(
    path: &str,
    text: &str,
    schema: &str,
) -> Result<T, Failure> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(
            || path.to_owned(),
            |span| format!("{path}:{}", line_at(text, span.start)),
        );
        // What is expected may be told in several lines.
        let message = error.message().trim().replace('\n', " ");
        Failure::usage(
            format!("{place}: {message}"),
            format!("`{schema}` tells what may be written"),
        )
    })
}

/// A mistake in a file, with line and key.
pub(crate) fn misplaced(
    path: &str,
    text: Option<&str>,
    at: &Location,
    problem: &str,
    remedy: &str,
) -> Failure {
    let place = text
        .and_then(|text| line_of(text, at))
        .map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
    let key = if at.0.is_empty() {
        String::new()
    } else {
        format!("{at}: ")
    };
    Failure::usage(format!("{place}: {key}{problem}"), remedy)
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The line of what `location` leads to, or of the nearest thing above it that is written in the file.
fn line_of(text: &str, location: &Location) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut line = None;
    let mut at: Option<&Spanned<DeValue<'_>>> = None;
    for step in &location.0 {
        let next = match (step, at.map(Spanned::get_ref)) {
            (PathStep::Key(key), None) => table.get_ref().get(key.as_str()),
            (PathStep::Key(key), Some(DeValue::Table(inner))) => inner.get(key.as_str()),
            (PathStep::Index(index), Some(DeValue::Array(items))) => items.get(*index),
            _ => None,
        };
        let Some(found) = next else { break };
        line = Some(line_at(text, found.span().start));
        at = Some(found);
    }
    line
}

/// `file` with one key of one or all links changed.
pub(crate) fn changed(file: &TopologyFile, change: &str) -> Result<TopologyFile, Failure> {
    let wrong = |problem: String| Failure::usage(problem, "write it as bottleneck.rate=5M");
    let (path, value) = change
        .split_once('=')
        .ok_or_else(|| wrong(format!("--set {change} has no value")))?;
    let (link, key) = path
        .split_once('.')
        .ok_or_else(|| wrong(format!("--set {change} names no key of a link")))?;
    let value = value_of(value);
    let mut all = toml::Value::try_from(file).map_err(|error| wrong(error.to_string()))?;
    let names: Vec<String> = match Topology::resolve(file) {
        Ok(topology) => topology.links.into_iter().map(|link| link.name).collect(),
        // What is wrong is said when all changes are made.
        Err(_) => Vec::new(),
    };
    let mut found = false;
    let links = all.get_mut("link").and_then(toml::Value::as_array_mut);
    for (index, table) in links.into_iter().flatten().enumerate() {
        if link == "*" || names.get(index).is_some_and(|name| name == link) {
            found = true;
            let mut at = table.as_table_mut();
            let mut keys = key.split('.').peekable();
            while let (Some(key), Some(table)) = (keys.next(), at.take()) {
                if keys.peek().is_none() {
                    table.insert(key.to_owned(), value.clone());
                } else {
                    let inner = table
                        .entry(key.to_owned())
                        .or_insert_with(|| toml::Value::Table(toml::Table::new()));
                    at = inner.as_table_mut();
                }
            }
        }
    }
    if !found {
        return Err(Failure::usage(
            format!("--set {change}: there is no link {link:?}"),
            format!("take one of {}", names.join(", ")),
        ));
    }
    TopologyFile::deserialize(all).map_err(|error| {
        let message = error.message().trim().replace('\n', " ");
        Failure::usage(
            format!("--set {change}: {message}"),
            "`caudal lab schema` tells what may be written",
        )
    })
}

/// A value as TOML writes it, or else the text as it stands.
pub(crate) fn value_of(text: &str) -> toml::Value {
    let table: Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
    table
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}
