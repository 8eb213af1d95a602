//! An experiment's file with the changes of the command line, and the campaign it unfolds into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use caudal_experiment::{Campaign, ExperimentFile, Variant};
use caudal_topology::{FileError, Location, PathStep, parse_file};
use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::overrides::apply_overrides;
use crate::shipped::ShippedExperiment;
use crate::text_file::read_text_file;

/// Maximum length of an experiment's name.
const MAX_NAME: usize = 32;

/// The source of an experiment: everything that is needed to unfold it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExperimentSource {
    /// The name of the experiment: that of a shipped one, or of its file.
    pub name: String,
    /// The name of the file in messages: its path, or the name of a shipped experiment.
    #[serde(rename = "called")]
    pub label: String,
    /// The text of the file.
    pub text: String,
    /// The directory against which files that it names are resolved.
    pub directory: Option<PathBuf>,
    /// The changes of parameters and keys.
    #[serde(rename = "set")]
    pub overrides: Vec<String>,
    /// `true` for the quick variant.
    pub quick: bool,
    /// The random seed instead of the file's.
    pub seed: Option<u64>,
    /// The text of files that it names, by the name that it gives them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// The changes that the command line makes to an experiment.
#[derive(Debug, Clone, Default)]
pub struct ExperimentChanges {
    /// Values of parameters (`congestion=cubic,bbr`) and keys (`time.measure=5s`).
    pub overrides: Vec<String>,
    /// `true` for the quick variant.
    pub quick: bool,
    /// The random seed instead of the file's.
    pub seed: Option<u64>,
}

impl ExperimentSource {
    /// An experiment that comes with the program.
    #[must_use]
    pub fn shipped(experiment: &ShippedExperiment, changes: &ExperimentChanges) -> Self {
        let name = experiment.name;
        Self::new(name, name, experiment.text.to_owned(), None, changes)
    }

    /// An experiment with the `text` of the file at `path`.
    #[must_use]
    pub fn from_file(path: &str, text: String, changes: &ExperimentChanges) -> Self {
        let at = Path::new(path);
        let stem = at.file_stem().unwrap_or_default().to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name: String = stem
            .chars()
            .map(|c| if is_plain(c) { c } else { '-' })
            .take(MAX_NAME)
            .collect();
        let name = match name.trim_matches('-') {
            "" => "study",
            name => name,
        };
        Self::new(name, path, text, at.parent().map(Path::to_owned), changes)
    }

    fn new(
        name: &str,
        label: &str,
        text: String,
        directory: Option<PathBuf>,
        changes: &ExperimentChanges,
    ) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            text,
            directory,
            overrides: changes.overrides.clone(),
            quick: changes.quick,
            seed: changes.seed,
            files: BTreeMap::new(),
        }
    }

    /// The file with the changes of the command line.
    ///
    /// # Errors
    /// Names file, line and key, or the change.
    pub fn file(&self) -> Result<ExperimentFile, StudyError> {
        let file: ExperimentFile = parse_file(&self.label, &self.text)?;
        let mut file = apply_overrides(file, &self.overrides)?;
        if self.seed.is_some() {
            file.seed = self.seed;
        }
        Ok(file)
    }

    /// The campaign of the experiment.
    ///
    /// # Errors
    /// Names file, line and key.
    pub fn campaign(&self) -> Result<Campaign, StudyError> {
        let file = self.file()?;
        let variant = if self.quick {
            Variant::Quick
        } else {
            Variant::Full
        };
        Campaign::unfold(&file, variant)
            .map_err(|error| self.error_at(&error.at, &error.problem, &error.remedy))
    }

    /// An error in the file, with line and key.
    #[must_use]
    pub fn error_at(&self, location: &Location, problem: &str, remedy: &str) -> StudyError {
        FileError::at(&self.label, Some(&self.text), location, problem, remedy).into()
    }

    /// The location of a flow in the file.
    #[must_use]
    pub fn flow_location(&self, name: &str) -> Location {
        let file: Option<ExperimentFile> = toml::from_str(&self.text).ok();
        let nth = file.and_then(|file| file.flow.iter().position(|flow| flow.name == name));
        nth.map_or_else(
            || Location(vec![PathStep::Key("flow".to_owned())]),
            |nth| Location::element("flow", nth),
        )
    }

    /// The text of a file that the experiment names, and its path.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn named_file(&mut self, name: &str) -> Result<(String, String), StudyError> {
        let at = Path::new(name);
        let full = match &self.directory {
            Some(directory) if at.is_relative() => directory.join(at),
            _ => at.to_owned(),
        };
        let path = full.display().to_string();
        if let Some(text) = self.files.get(name) {
            return Ok((path, text.clone()));
        }
        let text = read_text_file(&path).map_err(StudyError::TopologyFile)?;
        self.files.insert(name.to_owned(), text.clone());
        Ok((path, text))
    }
}
