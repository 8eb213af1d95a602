//! Topologies that cannot be built, and the place in their file that is wrong.

use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, TopologyError>;

/// A place in a file: keys and array indices from the top.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location(pub Vec<PathStep>);

/// One step down into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// To the value of a key.
    Key(String),
    /// To an element of an array, counted from 0.
    Index(usize),
}

impl Location {
    /// Element `index` of the top-level array `key`.
    #[must_use]
    pub fn element(key: &str, index: usize) -> Self {
        Self(vec![PathStep::Key(key.to_owned()), PathStep::Index(index)])
    }

    /// The value of `key` in this table.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(PathStep::Key(key.to_owned()));
        Self(steps)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if position == 0 => write!(f, "{key}")?,
                PathStep::Key(key) => write!(f, ".{key}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A topology that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct TopologyError {
    /// The place in the file.
    pub location: Location,
    /// The problem.
    pub problem: String,
    /// The way to solve it.
    pub remedy: String,
}

impl TopologyError {
    pub(crate) fn new(
        location: &Location,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            location: location.clone(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
