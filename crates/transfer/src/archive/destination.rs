//! Where the files of an archive are stored, each as it is complete.

use super::entry::EntryKind;
use super::link_target::leads_within;
use super::reader::{ArchiveEntry, ArchiveReader};
use crate::sink_worker::{SinkSignals, SinkTask, cpu_ns_since};
use crate::store_directory::{ExistingLink, FileToStore, StoreDirectory};
use crate::stored_file::FileAttributes;
use crate::worker_sink::WorkerSink;
use caudal_core::plan::{FileArchive, TransferPlan, TransferSink};
use caudal_flow::TransferFileError;
use caudal_sys::clock::{CpuClock, monotonic_ns};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Where the files of an archive are stored, and how.
#[derive(Debug)]
pub struct ArchiveDestination {
    directory: StoreDirectory,
    archive: FileArchive,
    overwrite: bool,
    /// `true` where a file that is there already, with the same content, is no obstacle.
    resume: bool,
    /// `true` when files keep their permissions and times.
    preserve: bool,
    is_synced: bool,
}

impl ArchiveDestination {
    /// The destination of this archive of the plan below `directory`.
    pub(crate) fn new(
        plan: &TransferPlan,
        archive: &FileArchive,
        directory: &StoreDirectory,
    ) -> Self {
        Self {
            directory: directory.clone(),
            archive: archive.clone(),
            overwrite: plan.overwrite,
            resume: plan.resume,
            preserve: plan.preserve,
            is_synced: plan.sink == TransferSink::SyncedFile,
        }
    }

    /// The sink.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(crate) fn into_sink(self, signals: &SinkSignals) -> io::Result<WorkerSink> {
        let task = ArchiveTask {
            destination: self,
            reader: ArchiveReader::default(),
            entries: 0,
            hasher: blake3::Hasher::new(),
            signals: signals.clone(),
        };
        WorkerSink::storing(task, signals)
    }

    fn store(&self, entry: &ArchiveEntry<'_>) -> Result<(), String> {
        let header = &entry.header;
        let attributes = self.preserve.then_some(FileAttributes {
            permissions: Some(header.permissions),
            modified_ns: Some(header.modified_ns),
        });
        let stored = match header.kind {
            EntryKind::Directory => {
                // One without a time has no attributes either.
                let attributes = attributes.filter(|_| header.modified_ns > 0);
                self.directory.make_directory(entry.name, attributes)
            }
            EntryKind::Link => {
                if *blake3::hash(entry.content).as_bytes() != header.digest {
                    return Err("its digest is not the sender's".to_owned());
                }
                let target = OsStr::from_bytes(entry.content);
                if !leads_within(entry.name, Path::new(target)) {
                    return Err("it leads out of the directory".to_owned());
                }
                let existing = match (self.resume, self.overwrite) {
                    (_, true) => ExistingLink::Replaced,
                    (true, false) => ExistingLink::KeptIfSame,
                    (false, false) => ExistingLink::Refused,
                };
                self.directory.make_link(entry.name, target, existing)
            }
            EntryKind::File => {
                if *blake3::hash(entry.content).as_bytes() != header.digest {
                    return Err("its digest is not the sender's".to_owned());
                }
                if self.resume && self.directory.holds(entry.name, entry.content) {
                    return Ok(());
                }
                self.directory.store_whole(&FileToStore {
                    name: entry.name,
                    content: entry.content,
                    overwrite: self.overwrite,
                    attributes,
                })
            }
        };
        stored.map_err(|error| match error {
            TransferFileError::Exists { .. } => "it exists already".to_owned(),
            error => error.to_string(),
        })
    }
}

/// The work for the files of an archive.
struct ArchiveTask {
    destination: ArchiveDestination,
    reader: ArchiveReader,
    entries: u32,
    hasher: blake3::Hasher,
    signals: SinkSignals,
}

impl ArchiveTask {
    /// Stores what is complete of what has arrived.
    fn store(&mut self) -> Result<(), String> {
        while let Some(entry) = self.reader.next_entry()? {
            if self.entries >= self.destination.archive.entries {
                return Err("there are more files than the sender has said".to_owned());
            }
            self.entries += 1;
            if let Err(reason) = self.destination.store(&entry) {
                let refused = self.signals.refused.lock();
                let mut refused = refused.unwrap_or_else(PoisonError::into_inner);
                refused.add(entry.name, &reason);
            }
            if !self.signals.advance(0) {
                return Err("the transfer was stopped".to_owned());
            }
        }
        Ok(())
    }
}

impl SinkTask for ArchiveTask {
    fn take(&mut self, run: &[u8]) -> Result<(), String> {
        self.hasher.update(run);
        self.reader.push(run);
        let cpu = CpuClock::of_this_thread();
        let before = cpu.read();
        let stored = self.store();
        let taken_ns = cpu_ns_since(cpu, before);
        self.signals
            .store_cpu_ns
            .fetch_add(taken_ns, Ordering::Relaxed);
        self.signals.advance(run.len() as u64);
        stored
    }

    fn verify(&mut self, claimed: [u8; 32], _bytes: u64) -> Result<bool, String> {
        if self.hasher.finalize() != claimed {
            return Ok(false);
        }
        if !self.reader.is_at_end() || self.entries != self.destination.archive.entries {
            return Err("there are fewer files than the sender has said".to_owned());
        }
        if self.destination.is_synced {
            let synced = self.destination.directory.sync();
            synced.map_err(|error| error.to_string())?;
            self.signals
                .synced_ns
                .store(monotonic_ns(), Ordering::Relaxed);
        }
        Ok(true)
    }
}
