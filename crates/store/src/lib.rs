//! Where runs are kept: one SQLite file that any number of processes add to and none ever changes.
//!
//! What is kept is durable when [`Store::keep`] returns. A process that is killed meanwhile loses what it was
//! about to keep and nothing else.

mod environment;
mod error;
#[cfg(test)]
mod fixture;
mod headline;
mod id;
mod keep;
mod kept;
mod list;
mod opening;
mod pack;
mod place;
mod run;
mod schema;
mod study;
mod tag;
mod writer;

pub use error::StoreError;
pub use kept::{Amounts, Entry, Filter, Headline, Kept, KeptRun, KeptStudy, Series, TrialOf};

use pack::unpack;
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One file of runs and studies.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    at: PathBuf,
}

impl Store {
    /// Where the store is: as the flag says, else `CAUDAL_STORE`, else `caudal/store.db` in the user's data
    /// directory. `None` when `CAUDAL_STORE` is empty or `none`, and when the user has no home.
    #[must_use]
    pub fn path(flag: Option<&Path>) -> Option<PathBuf> {
        place::path(flag, |name| std::env::var_os(name), std::env::home_dir)
    }

    /// Where the store is.
    #[must_use]
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// What is kept under an id, or the only one that begins with these 4 digits or more; `last` is the newest
    /// that is not part of a study.
    ///
    /// # Errors
    /// When nothing or more than one thing is, or what is there cannot be read.
    pub fn find(&self, id: &str) -> Result<Kept, StoreError> {
        let id = self.resolve(id)?;
        if let Some(mut run) = self.run_of(&id)? {
            run.series = self.series(&id)?;
            return Ok(Kept::Run(Box::new(run)));
        }
        match self.study_of(&id)? {
            Some(study) => Ok(Kept::Study(Box::new(study))),
            None => Err(StoreError::Unknown { id }),
        }
    }

    /// How much the store holds.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn amounts(&self) -> Result<Amounts, StoreError> {
        let mut amounts = self.read(|connection| {
            let count = |sql| {
                connection
                    .query_row(sql, [], |row| row.get::<_, i64>(0))
                    .map(|count| count as u64)
            };
            Ok(Amounts {
                runs: count("SELECT count(*) FROM run WHERE study IS NULL")?,
                studies: count("SELECT count(*) FROM study")?,
                trials: count("SELECT count(*) FROM run WHERE study IS NOT NULL")?,
                samples: count("SELECT coalesce(sum(count), 0) FROM series")?,
                version: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
                bytes: 0,
            })
        })?;
        amounts.bytes = place::bytes(&self.at);
        Ok(amounts)
    }

    fn unpacked(&self, packed: &[u8], size: i64, of: &str) -> Result<Value, StoreError> {
        u64::try_from(size)
            .ok()
            .and_then(|size| unpack(packed, size))
            .and_then(|text| serde_json::from_slice(&text).ok())
            .ok_or_else(|| self.corrupt(&format!("the document of {of}")))
    }

    fn read<T>(
        &self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.told(what(&self.connection))
    }

    fn told<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|cause| StoreError::of(&self.at, cause))
    }

    fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt {
            at: self.at.clone(),
            what: format!("{what} cannot be read"),
        }
    }
}
