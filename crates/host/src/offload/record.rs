//! The state of offloads before they were set, in files that outlive the process.

use caudal_sys::interface::{Interface, capture_offloads, request_offloads};
use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::process::try_lock;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The directory of the records, where this user may write there.
const DIRECTORY: &str = "/run/caudal-offload";

/// A change of offloads, as it is recorded before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedChange {
    /// The number of the network namespace.
    namespace: u64,
    /// The interface.
    index: u32,
    pub(super) interface: String,
    /// The offloads that change, and whether they were asked for before.
    pub(super) before: Vec<(String, bool)>,
}

/// The files of a change: a record and the lock of the process that made it.
#[derive(Debug)]
pub(super) struct ChangeFiles {
    record: PathBuf,
    lock: PathBuf,
}

impl RecordedChange {
    /// A change of offloads of an interface in the namespace of the calling thread.
    pub(super) fn new(
        interface: &str,
        index: u32,
        before: Vec<(String, bool)>,
    ) -> io::Result<Self> {
        Ok(Self {
            namespace: current_namespace()?,
            index,
            interface: interface.to_owned(),
            before,
        })
    }

    /// Sets the offloads back. Those that others have changed meanwhile are left alone; of an interface that is gone nothing is left.
    ///
    /// # Errors
    /// `NotFound` in another namespace; when the driver refuses.
    pub(super) fn undo(&self) -> io::Result<()> {
        if current_namespace()? != self.namespace {
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_here =
            Interface::by_name(&self.interface).is_some_and(|one| one.index == self.index);
        if !is_here {
            return Ok(());
        }
        let current = capture_offloads(&self.interface)?;
        let ours: Vec<(String, bool)> = self
            .before
            .iter()
            .filter(|(name, was)| {
                current
                    .iter()
                    .any(|one| one.name == *name && one.is_requested != *was)
            })
            .cloned()
            .collect();
        if ours.is_empty() {
            return Ok(());
        }
        request_offloads(&self.interface, &ours)
    }

    pub(super) fn files(&self, directory: &Path) -> ChangeFiles {
        let stem = format!("{}-{}", self.namespace, self.index);
        ChangeFiles {
            record: directory.join(format!("{stem}.json")),
            lock: directory.join(format!("{stem}.lock")),
        }
    }
}

impl ChangeFiles {
    /// The lock; `None` when another process holds it.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        loop {
            let file = options.open(&self.lock)?;
            if !try_lock(&file)? {
                return Ok(None);
            }
            // The one who held it may have removed the file just before.
            let is_current = fs::metadata(&self.lock)
                .is_ok_and(|now| Some(now.ino()) == file.metadata().ok().map(|own| own.ino()));
            if is_current {
                return Ok(Some(file));
            }
        }
    }

    /// Writes the record, which is complete or absent.
    pub(super) fn write(&self, change: &RecordedChange) -> io::Result<()> {
        let new = self.record.with_extension("new");
        fs::write(&new, serde_json::to_vec(change)?)?;
        fs::rename(&new, &self.record)
    }

    /// Undoes the change that a process left behind; the caller holds the lock. `true` when nothing of it is left.
    pub(super) fn undo_leftover(&self) -> bool {
        let recorded = fs::read(&self.record).ok();
        let change: Option<RecordedChange> =
            recorded.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if change.is_some_and(|change| change.undo().is_err()) {
            return false;
        }
        let _ = fs::remove_file(&self.record);
        true
    }

    /// Removes the record and the lock, which this process holds.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.record);
        let _ = fs::remove_file(&self.lock);
    }
}

/// The records that processes of this namespace left in the directory.
pub(super) fn leftovers(directory: &Path) -> Vec<ChangeFiles> {
    let Ok(namespace) = current_namespace() else {
        return Vec::new();
    };
    let prefix = format!("{namespace}-");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let records = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".json"))
    });
    records
        .map(|record| ChangeFiles {
            lock: record.with_extension("lock"),
            record,
        })
        .collect()
}

/// The directory of the records: one for the host, or that of this user where it may not write there.
pub(super) fn directories() -> Vec<PathBuf> {
    let own =
        std::env::var_os("XDG_RUNTIME_DIR").map(|base| Path::new(&base).join("caudal-offload"));
    [Some(PathBuf::from(DIRECTORY)), own]
        .into_iter()
        .flatten()
        .collect()
}

fn current_namespace() -> io::Result<u64> {
    NetworkNamespace::cookie()
}
