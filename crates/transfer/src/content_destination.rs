//! Where a content that arrives is put.

use super::archive::ArchiveDestination;
use super::file_sink::{Durability, FileSink};
use super::holes::Holes;
use super::nameless_file::NamelessFile;
use super::run_sink::RunSink;
use super::sink_worker::SinkSignals;
use super::store_directory::StoreDirectory;
use super::stored_file::{FileAttributes, StoredFile};
use super::worker_sink::WorkerSink;
use caudal_core::plan::{TransferContent, TransferPlan, TransferSink};
use caudal_flow::TransferFileError;
use std::io;

/// Where a content that arrives is put.
#[derive(Debug)]
pub enum ContentDestination {
    /// Nowhere.
    Discard,
    /// Into a file that is kept.
    Kept(StoredFile, TransferSink),
    /// Into the files of an archive.
    Archive(ArchiveDestination),
    /// Into a file that vanishes.
    Measured(NamelessFile, TransferSink),
}

impl ContentDestination {
    /// The destination of a plan in `directory`, where a file gets the name `name`.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn of_plan(
        plan: &TransferPlan,
        directory: &StoreDirectory,
        name: impl FnOnce(&str) -> String,
        resume: bool,
    ) -> Result<Self, TransferFileError> {
        match (plan.sink, &plan.content) {
            (TransferSink::Discard, _) => Ok(Self::Discard),
            (sink, TransferContent::Generated { bytes, .. }) => {
                Ok(Self::Measured(directory.nameless(*bytes)?, sink))
            }
            (sink, TransferContent::File(file)) => {
                let name = name(&file.name);
                let mut stored = directory.stored_file(&name, file, plan.overwrite, resume)?;
                stored.set_holes(Holes::of_plan(plan));
                if plan.preserve {
                    stored.preserve(FileAttributes {
                        permissions: file.permissions,
                        modified_ns: file.modified_ns,
                    });
                }
                Ok(Self::Kept(stored, sink))
            }
            (_, TransferContent::Archive(archive)) => {
                let destination = ArchiveDestination::new(plan, archive, directory);
                Ok(Self::Archive(destination))
            }
        }
    }

    /// The bytes that are there already.
    pub fn resume_from(&self) -> u64 {
        match self {
            Self::Kept(stored, _) => stored.resume_from(),
            Self::Discard | Self::Archive(_) | Self::Measured(..) => 0,
        }
    }

    /// The sink.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub fn into_sink(self, signals: &SinkSignals) -> io::Result<Box<dyn RunSink>> {
        Ok(match self {
            Self::Discard => Box::new(WorkerSink::discarding(signals)?),
            Self::Kept(stored, sink) => {
                Box::new(FileSink::kept(stored, durability(sink), signals)?)
            }
            Self::Archive(destination) => Box::new(destination.into_sink(signals)?),
            Self::Measured(NamelessFile { file, room }, sink) => {
                Box::new(FileSink::measured(file, room, durability(sink), signals)?)
            }
        })
    }
}

const fn durability(sink: TransferSink) -> Durability {
    match sink {
        TransferSink::SyncedFile => Durability::Synced,
        TransferSink::Discard | TransferSink::File => Durability::Cached,
    }
}
