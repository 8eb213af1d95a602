//! Files of an archive that were not stored.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of an archive that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedFile {
    /// Its name.
    pub name: ExternalText,
    /// Why it was not stored.
    pub reason: ExternalText,
}

/// The files of an archive that were not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedFiles {
    /// Their number.
    pub count: u64,
    /// The first of them.
    pub first: Vec<RefusedFile>,
}

impl RefusedFiles {
    /// Maximum number of files that are named.
    const MAX_NAMED: usize = 50;

    /// Adds a file.
    pub fn add(&mut self, name: &str, reason: &str) {
        self.count += 1;
        if self.first.len() < Self::MAX_NAMED {
            self.first.push(RefusedFile {
                name: name.into(),
                reason: reason.into(),
            });
        }
    }
}
