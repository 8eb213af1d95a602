//! Errors in files, with their locations as people look for them.

use crate::error::{Location, PathStep};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a TOML file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct FileError {
    /// The file, with the line where that is known: `lab.toml:12`.
    pub place: String,
    /// The problem, after the key where that is known.
    pub problem: String,
    /// The way to solve it; `None` when the schema of such files says what may be written.
    pub remedy: Option<String>,
}

impl FileError {
    /// The error at a `location` in `file`, whose `text` gives the line.
    #[must_use]
    pub fn at(
        file: &str,
        text: Option<&str>,
        location: &Location,
        problem: &str,
        remedy: &str,
    ) -> Self {
        let key = if location.0.is_empty() {
            String::new()
        } else {
            format!("{location}: ")
        };
        Self {
            place: text
                .and_then(|text| line_of(text, location))
                .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
            problem: format!("{key}{problem}"),
            remedy: Some(remedy.to_owned()),
        }
    }
}

/// Parses the text of a TOML file.
///
/// # Errors
/// Names the file and the line.
pub fn parse_file<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| FileError {
        place: error.span().map_or_else(
            || file.to_owned(),
            |span| format!("{file}:{}", line_at(text, span.start)),
        ),
        problem: on_one_line(&error),
        remedy: None,
    })
}

/// The message of an error, which may have several lines, on one.
pub(crate) fn on_one_line(error: &toml::de::Error) -> String {
    error.message().trim().replace('\n', " ")
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The line of the value at `location`, or of the nearest one above it that is written in the file.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_line_of_the_nearest_value_that_is_written() {
        let text = "title = 'x'\n[[link]]\nname = 'a'\n[[link]]\nname = 'b'\nrate = '1M'\n";
        let rate = Location::element("link", 1).key("rate");
        let error = FileError::at("lab.toml", Some(text), &rate, "too slow", "raise it");
        assert_eq!(error.to_string(), "lab.toml:6: link[1].rate: too slow");
        let delay = Location::element("link", 0).key("delay");
        let error = FileError::at("lab.toml", Some(text), &delay, "none", "");
        assert_eq!(error.place, "lab.toml:2");
    }
}
