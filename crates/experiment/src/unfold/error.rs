//! Errors in experiment files, with their locations.

use crate::expression::ExpressionError;
use crate::suggestion::suggestion;
use caudal_topology::{Location, PathStep};

/// An error in an experiment file, with its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExperimentError {
    /// The location in the file.
    pub at: Location,
    /// The problem.
    pub problem: String,
    /// The remedy.
    pub remedy: String,
}

impl ExperimentError {
    pub(super) fn new(at: Location, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            at,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn from_expression(at: Location, error: ExpressionError, text: &str) -> Self {
        let column = text
            .get(..error.at)
            .map_or(0, |before| before.chars().count())
            + 1;
        let problem = match column {
            1 => error.problem,
            _ => format!("{} (character {column})", error.problem),
        };
        Self::new(at, problem, error.remedy)
    }
}

/// A result, or the error in the file.
pub(super) type Result<T> = std::result::Result<T, ExperimentError>;

/// The location of a key at the top of the file.
pub(super) fn top(key: &str) -> Location {
    Location::default().key(key)
}

/// The location of element `index` of an array.
pub(super) fn element(at: &Location, index: usize) -> Location {
    let mut at = at.clone();
    at.0.push(PathStep::Index(index));
    at
}

pub(super) fn no_link(at: Location, link: &str, links: &[&str]) -> ExperimentError {
    ExperimentError::new(
        at,
        format!("there is no link {link:?}"),
        suggestion(link, "link", links.iter().copied()),
    )
}

pub(super) fn no_parameter<'a>(
    at: Location,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ExperimentError {
    ExperimentError::new(
        at,
        format!("there is no parameter {name}"),
        suggestion(name, "parameter", known),
    )
}

pub(super) fn no_case<'a>(
    at: Location,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ExperimentError {
    ExperimentError::new(
        at,
        format!("there is no case {name:?}"),
        suggestion(name, "case", known),
    )
}

pub(super) fn same_key(key: &str) -> ExperimentError {
    ExperimentError::new(
        top("case"),
        format!("two cases have the key {key:?}"),
        "give one of them another name",
    )
}
