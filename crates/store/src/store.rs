//! The store: one file of runs and studies.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::location;
use crate::pack::unpack;
use crate::stored::StoredItem;

/// The store: one file of runs and studies.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) at: PathBuf,
}

impl Store {
    /// Locates the store: `explicit` if given, else `CAUDAL_STORE`, else `caudal/store.db` in the user's data
    /// directory. `None` when `CAUDAL_STORE` is empty or `none`, and when the user has no home directory.
    #[must_use]
    pub fn locate(explicit: Option<&Path>) -> Option<PathBuf> {
        location::locate(explicit, |name| std::env::var_os(name), std::env::home_dir)
    }

    /// The path of the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Finds the run or study with an id, or with the only id that starts with at least 4 digits; `last` is the newest
    /// that is not a trial.
    ///
    /// # Errors
    /// When there is none or more than one, or it cannot be read.
    pub fn find(&self, id: &str) -> Result<StoredItem, StoreError> {
        let id = self.resolve(id)?;
        if let Some(mut run) = self.run(&id)? {
            run.series = self.series(&id)?;
            return Ok(StoredItem::Run(Box::new(run)));
        }
        match self.study(&id)? {
            Some(study) => Ok(StoredItem::Study(Box::new(study))),
            None => Err(StoreError::Unknown { id }),
        }
    }

    /// Counts the contents of the store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn summary(&self) -> Result<StoreSummary, StoreError> {
        let mut summary = self.read(|connection| {
            let count = |sql| {
                connection
                    .query_row(sql, [], |row| row.get::<_, i64>(0))
                    .map(|count| count as u64)
            };
            Ok(StoreSummary {
                runs: count("SELECT count(*) FROM run WHERE study IS NULL AND part_of IS NULL")?,
                studies: count("SELECT count(*) FROM study")?,
                trials: count("SELECT count(*) FROM run WHERE study IS NOT NULL")?,
                samples: count("SELECT coalesce(sum(count), 0) FROM series")?,
                version: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
                bytes: 0,
            })
        })?;
        summary.bytes = location::bytes(&self.at);
        Ok(summary)
    }

    /// The value of the JSON text in packed bytes; `id` names what it belongs to in an error.
    pub(crate) fn unpacked<T: DeserializeOwned>(
        &self,
        packed: &[u8],
        size: i64,
        id: &str,
    ) -> Result<T, StoreError> {
        let text = self.unpacked_text(packed, size, id)?;
        serde_json::from_str(&text).map_err(|cause| StoreError::Unreadable {
            id: id.to_owned(),
            cause,
        })
    }

    /// The text in packed bytes; `id` names what it belongs to in an error.
    pub(crate) fn unpacked_text(
        &self,
        packed: &[u8],
        size: i64,
        id: &str,
    ) -> Result<String, StoreError> {
        u64::try_from(size)
            .ok()
            .and_then(|size| unpack(packed, size))
            .and_then(|text| String::from_utf8(text).ok())
            .ok_or_else(|| self.corrupt(&format!("the document of {id}")))
    }

    /// Reads from the database.
    pub(crate) fn read<T>(
        &self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.sqlite_result(what(&self.connection))
    }

    pub(crate) fn sqlite_result<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|cause| StoreError::from_sqlite(&self.at, cause))
    }

    /// The error for data that cannot be read.
    pub(crate) fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt {
            at: self.at.clone(),
            what: format!("{what} cannot be read"),
        }
    }
}

/// The amount of data in a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreSummary {
    /// Runs that are not trials.
    pub runs: u64,
    /// Studies.
    pub studies: u64,
    /// Trials of studies.
    pub trials: u64,
    /// Raw samples of all runs.
    pub samples: u64,
    /// The version of the schema.
    pub version: i64,
    /// The size on disk, bytes, including the write-ahead log.
    pub bytes: u64,
}

/// The wall-clock time, ns since 1970.
pub(crate) fn now_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}
