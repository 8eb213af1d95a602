//! An experiment's file with what the command line changes in it, and the campaign it unfolds into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use caudal_experiment::{Campaign, ExperimentFile, Variant};
use caudal_topology::{Location, PathStep};
use serde::{Deserialize, Serialize};

use super::shipped;
use crate::exit::Failure;
use crate::topology::{misplaced, parse_as, read_text, value_of};

/// The command that tells what an experiment's file may hold.
const SCHEMA: &str = "caudal study schema";

/// Where an experiment comes from, and what it needs to be unfolded again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    /// What the experiment is called: a shipped one's name, or its file's.
    pub name: String,
    /// How messages call it: the file's path, or the shipped one's name.
    pub called: String,
    /// The file.
    pub text: String,
    /// Where files that it names are looked for.
    pub directory: Option<PathBuf>,
    /// What `--set` says.
    pub set: Vec<String>,
    /// Whether the quick variant.
    pub quick: bool,
    /// What `--seed` says.
    pub seed: Option<u64>,
    /// Files that it names, by the name it gives them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// What the command line changes.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// `--set`
    pub set: Vec<String>,
    /// `--quick`
    pub quick: bool,
    /// `--seed`
    pub seed: Option<u64>,
}

impl Source {
    /// The experiment that `what` names: a file where there is one, else a shipped one.
    ///
    /// # Errors
    /// When there is neither.
    pub fn find(what: &str, changes: &Changes) -> Result<Self, Failure> {
        let path = Path::new(what);
        let shipped = shipped::by_name(what).filter(|_| !path.is_file());
        let (name, text, directory) = match shipped {
            Some(shipped) => (what.to_owned(), shipped.text.to_owned(), None),
            None => {
                let names: Vec<&str> = shipped::SHIPPED.iter().map(|one| one.name).collect();
                let alternatives = if names.is_empty() {
                    "an experiment's file".to_owned()
                } else {
                    format!("an experiment's file or one of {}", names.join(", "))
                };
                let text = read_text(what, &alternatives, "an experiment's file")?;
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let name: String = stem
                    .chars()
                    .map(|c| {
                        if c.is_ascii_alphanumeric() || c == '-' {
                            c
                        } else {
                            '-'
                        }
                    })
                    .take(32)
                    .collect();
                let name = name.trim_matches('-');
                let name = if name.is_empty() { "study" } else { name };
                (name.to_owned(), text, path.parent().map(Path::to_owned))
            }
        };
        Ok(Self {
            name,
            called: what.to_owned(),
            text,
            directory,
            set: changes.set.clone(),
            quick: changes.quick,
            seed: changes.seed,
            files: BTreeMap::new(),
        })
    }

    /// The file with the changes of the command line.
    ///
    /// # Errors
    /// Names file, line and key, or the flag.
    pub fn file(&self) -> Result<ExperimentFile, Failure> {
        let file: ExperimentFile = parse_as(&self.called, &self.text, SCHEMA)?;
        let mut all = None;
        for change in &self.set {
            let table = match &mut all {
                Some(table) => table,
                None => all.insert(
                    toml::Table::try_from(&file)
                        .map_err(|error| Failure::usage(error.to_string(), ""))?,
                ),
            };
            set(table, &file, change)?;
        }
        let mut file = match all {
            None => file,
            Some(table) => ExperimentFile::deserialize(table).map_err(|error| {
                let message = error.message().trim().replace('\n', " ");
                Failure::usage(
                    format!("--set {}: {message}", self.set.join(" --set ")),
                    format!("`{SCHEMA}` tells what may be written"),
                )
            })?,
        };
        if self.seed.is_some() {
            file.seed = self.seed;
        }
        Ok(file)
    }

    /// Everything that is to be carried out.
    ///
    /// # Errors
    /// Names file, line and key.
    pub fn campaign(&self) -> Result<Campaign, Failure> {
        let file = self.file()?;
        let variant = if self.quick {
            Variant::Quick
        } else {
            Variant::Full
        };
        Campaign::unfold(&file, variant)
            .map_err(|error| self.wrong(&error.at, &error.problem, &error.remedy))
    }

    /// A mistake in the file, with line and key.
    #[must_use]
    pub fn wrong(&self, at: &Location, problem: &str, remedy: &str) -> Failure {
        misplaced(&self.called, Some(&self.text), at, problem, remedy)
    }

    /// The place of a flow.
    #[must_use]
    pub fn flow(&self, name: &str) -> Location {
        let file: Option<ExperimentFile> = toml::from_str(&self.text).ok();
        let nth = file.and_then(|file| file.flow.iter().position(|flow| flow.name == name));
        nth.map_or_else(
            || Location(vec![PathStep::Key("flow".to_owned())]),
            |nth| Location::element("flow", nth),
        )
    }
}

/// Puts a parameter's values or a dotted key's value in place.
fn set(table: &mut toml::Table, file: &ExperimentFile, change: &str) -> Result<(), Failure> {
    let wrong = |problem: String| {
        Failure::usage(
            problem,
            "write it as congestion=cubic,bbr for a parameter, or time.measure=5s for a key",
        )
    };
    let (name, value) = change
        .split_once('=')
        .ok_or_else(|| wrong(format!("--set {change} has no value")))?;
    let name = name.trim();
    if let Some(nth) = file.parameter.iter().position(|one| one.name == name) {
        let values: Vec<toml::Value> = value.split(',').map(|one| value_of(one.trim())).collect();
        let parameter = table
            .get_mut("parameter")
            .and_then(|all| all.get_mut(nth))
            .and_then(toml::Value::as_table_mut);
        if let Some(parameter) = parameter {
            parameter.insert("values".to_owned(), toml::Value::Array(values.clone()));
        }
        // What was said on the command line holds in the quick variant as well.
        if let Some(quick) = table
            .get_mut("quick")
            .and_then(|quick| quick.get_mut("values"))
            .and_then(toml::Value::as_table_mut)
        {
            quick.remove(name);
        }
        return Ok(());
    }
    let keys: Vec<&str> = name.split('.').collect();
    if keys.len() < 2 && !["title", "question", "capture", "seed"].contains(&name) {
        let names: Vec<&str> = file.parameter.iter().map(|one| one.name.as_str()).collect();
        let known = if names.is_empty() {
            "the experiment has no parameters".to_owned()
        } else {
            format!("its parameters are {}", names.join(", "))
        };
        return Err(wrong(format!(
            "--set {change}: there is no parameter {name:?}; {known}"
        )));
    }
    put(table, &keys, value_of(value))
        .map_err(|()| wrong(format!("--set {change} leads nowhere")))?;
    // The quick variant's own value gives way, too.
    if let Some(quick) = table.get_mut("quick").and_then(toml::Value::as_table_mut) {
        let mut at = Some(quick);
        for (nth, key) in keys.iter().enumerate() {
            let Some(inner) = at.take() else { break };
            if nth + 1 == keys.len() {
                inner.remove(*key);
            } else {
                at = inner.get_mut(*key).and_then(toml::Value::as_table_mut);
            }
        }
    }
    Ok(())
}

fn put(table: &mut toml::Table, keys: &[&str], value: toml::Value) -> Result<(), ()> {
    match keys {
        [] => Err(()),
        [last] => {
            table.insert((*last).to_owned(), value);
            Ok(())
        }
        [first, rest @ ..] => {
            let inner = table
                .entry((*first).to_owned())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            match inner {
                toml::Value::Table(inner) => put(inner, rest, value),
                // Elements of a list are known by their name.
                toml::Value::Array(items) => {
                    let (name, rest) = rest.split_first().ok_or(())?;
                    let named = |item: &&mut toml::Value| {
                        item.get("name").and_then(toml::Value::as_str) == Some(*name)
                    };
                    let item = items
                        .iter_mut()
                        .find(named)
                        .and_then(toml::Value::as_table_mut);
                    put(item.ok_or(())?, rest, value)
                }
                _ => Err(()),
            }
        }
    }
}
