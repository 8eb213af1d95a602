//! The files of experiments: the one that a command names, and what they may hold.

use std::path::Path;

use caudal_study::{ExperimentChanges, ExperimentSource, SHIPPED_EXPERIMENTS, shipped_experiment};

use crate::exit::Failure;
use crate::topology::read_text;

/// The experiment with this name: a file where there is one, otherwise one that comes with the program.
///
/// # Errors
/// When there is neither.
pub(super) fn find_experiment(
    name: &str,
    changes: &ExperimentChanges,
) -> Result<ExperimentSource, Failure> {
    if let (false, Some(shipped)) = (Path::new(name).is_file(), shipped_experiment(name)) {
        return Ok(ExperimentSource::shipped(shipped, changes));
    }
    let names: Vec<&str> = SHIPPED_EXPERIMENTS.iter().map(|one| one.name).collect();
    let alternatives = format!("an experiment's file or one of {}", names.join(", "));
    let text = read_text(name, &alternatives, "an experiment's file")?;
    Ok(ExperimentSource::from_file(name, text, changes))
}

/// The JSON Schema of experiments' files, as it is published.
#[must_use]
pub fn schema() -> String {
    let text = serde_json::to_string_pretty(&caudal_experiment::schema());
    format!("{}\n", text.unwrap_or_default())
}
