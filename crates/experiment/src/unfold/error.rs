//! Why an experiment cannot be carried out, and where its file says so.

use super::super::expression::ExpressionError;
use super::super::nearest::suggestion;
use caudal_topology::{Location, PathStep};

/// An experiment that cannot be carried out, and where its file says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExperimentError {
    /// Where.
    pub at: Location,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
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

    pub(super) fn of_expression(at: Location, error: ExpressionError, text: &str) -> Self {
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

/// What is so, or why it cannot be.
pub(super) type Result<T> = std::result::Result<T, ExperimentError>;

/// The value of a key at the top of the file.
pub(super) fn top(key: &str) -> Location {
    Location::default().key(key)
}

/// The element `index` of the array there.
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
        format!("two cases would be called {key:?}"),
        "give one of them another name",
    )
}
