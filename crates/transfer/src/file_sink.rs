//! A receiver's sink that writes a file.

use super::holes::Holes;
use super::journal::is_equal;
use super::run_sink::RunSink;
use super::sink_worker::{SinkSignals, SinkTask, SinkWorker};
use super::store_quota::StoredBytes;
use super::stored_file::{SharedRoom, StoredFile};
use super::tree_digest::{TreeDigest, UNIT_BYTES};
use caudal_sys::clock::monotonic_ns;
use rustix::fs::fdatasync;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a file is to be on the disk when it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It may be in the page cache.
    Cached,
    /// It is on the disk.
    Synced,
}

/// What the thread behind the sink gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DigestOf {
    /// The runs, as they are written.
    Runs,
    /// The file, when it is written.
    File,
}

/// A receiver's sink that writes a file.
pub(super) struct FileSink {
    file: Arc<File>,
    offset: u64,
    holes: Holes,
    worker: SinkWorker,
    digest_of: DigestOf,
    room: SharedRoom,
    written_ns: Arc<AtomicU64>,
    store_cpu_ns: Arc<AtomicU64>,
    synced_ns: Arc<AtomicU64>,
}

impl FileSink {
    /// The sink of a file that is kept. Its digest is computed while it arrives.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn kept(
        stored: StoredFile,
        durability: Durability,
        signals: &SinkSignals,
    ) -> io::Result<Self> {
        let (file, offset, holes) = (stored.part(), stored.resume_from(), stored.holes());
        let room = stored.room();
        let task = KeptFile {
            digest: TreeDigest::new(stored.known_units().0),
            stored,
            durability,
            signals: signals.clone(),
        };
        let sink = Self::start((file, room), offset, DigestOf::Runs, task, signals)?;
        Ok(Self { holes, ..sink })
    }

    /// The sink of a file that vanishes: a measurement. Its digest is computed when it has arrived, so that this takes no time from the
    /// transfer.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn measured(
        file: File,
        room: Option<StoredBytes>,
        durability: Durability,
        signals: &SinkSignals,
    ) -> io::Result<Self> {
        let file = Arc::new(file);
        let task = MeasuredFile {
            file: Arc::clone(&file),
            durability,
            signals: signals.clone(),
        };
        let room = room.map(|room| Arc::new(Mutex::new(room)));
        Self::start((file, room), 0, DigestOf::File, task, signals)
    }

    fn start(
        (file, room): (Arc<File>, SharedRoom),
        offset: u64,
        digest_of: DigestOf,
        task: impl SinkTask,
        signals: &SinkSignals,
    ) -> io::Result<Self> {
        Ok(Self {
            file,
            offset,
            holes: Holes::Written,
            worker: SinkWorker::spawn(task, signals)?,
            digest_of,
            room,
            written_ns: Arc::clone(&signals.written_ns),
            store_cpu_ns: Arc::clone(&signals.store_cpu_ns),
            synced_ns: Arc::clone(&signals.synced_ns),
        })
    }
}

impl FileSink {
    /// Takes the room for what is written next.
    fn take_room(&self, bytes: usize) -> Result<(), String> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let mut room = room.lock().unwrap_or_else(PoisonError::into_inner);
        room.grow(bytes as u64).map_err(|_| {
            "what the server stores for its clients (its --accept-bytes) is used up".to_owned()
        })
    }
}

impl RunSink for FileSink {
    fn write(&mut self, run: &[u8]) -> Result<(), String> {
        self.take_room(run.len())?;
        let written = self.holes.write(&self.file, run, self.offset);
        written.map_err(|cause| not_written(&cause))?;
        self.offset += run.len() as u64;
        match self.digest_of {
            DigestOf::Runs => self.worker.take(run),
            DigestOf::File => Ok(()),
        }
    }

    fn take(&mut self, run: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
        self.take_room(run.len())?;
        let offset = self.offset;
        self.offset += run.len() as u64;
        self.worker.store(run, offset)
    }

    fn begin_verification(&mut self, claimed: [u8; 32]) {
        self.worker.verify(claimed, self.offset);
    }

    fn verification(&mut self) -> Option<Result<bool, String>> {
        self.worker.outcome()
    }

    fn written_ns(&self) -> Option<u64> {
        let at_ns = self.written_ns.load(Ordering::Relaxed);
        (at_ns > 0).then_some(at_ns)
    }

    fn store_cpu_ns(&self) -> u64 {
        self.store_cpu_ns.load(Ordering::Relaxed)
    }

    fn synced_ns(&self) -> Option<u64> {
        let at_ns = self.synced_ns.load(Ordering::Relaxed);
        (at_ns > 0).then_some(at_ns)
    }
}

/// Writes a run of a file.
fn write_at(file: &File, run: &[u8], offset: u64) -> Result<(), String> {
    file.write_all_at(run, offset)
        .map_err(|cause| not_written(&cause))
}

/// Why a file cannot be written, for people.
fn not_written(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
            "there is no space left for the file".to_owned()
        }
        _ => format!("the file cannot be written: {cause}"),
    }
}

/// Writes a file to the disk where that is wanted, and takes note of the time.
fn sync(file: &File, durability: Durability, signals: &SinkSignals) -> Result<(), String> {
    if durability == Durability::Synced {
        fdatasync(file)
            .map_err(|cause| format!("the file cannot be written to the disk: {cause}"))?;
        signals.synced_ns.store(monotonic_ns(), Ordering::Relaxed);
    }
    Ok(())
}

/// The work for a file that is kept.
struct KeptFile {
    stored: StoredFile,
    digest: TreeDigest,
    durability: Durability,
    signals: SinkSignals,
}

impl KeptFile {
    /// `true` when the units that were there before are as they were recorded: those that were not compared yet are now.
    fn has_recorded_units(&self) -> Result<bool, String> {
        let part = self.stored.part();
        let (units, compared) = self.stored.known_units();
        let mut buffer = vec![0; UNIT_BYTES as usize];
        for (number, unit) in units.iter().enumerate().skip(compared) {
            if !is_equal(&part, number as u64, unit, &mut buffer) {
                return Ok(false);
            }
            if !self.signals.advance(UNIT_BYTES) {
                return Err("the verification was stopped".to_owned());
            }
        }
        Ok(true)
    }
}

impl SinkTask for KeptFile {
    fn write(&mut self, run: &[u8], offset: u64) -> Result<(), String> {
        let holes = self.stored.holes();
        let written = holes.write(&self.stored.part(), run, offset);
        written.map_err(|cause| not_written(&cause))
    }

    fn take(&mut self, run: &[u8]) -> Result<(), String> {
        let stored = &mut self.stored;
        let mut recorded = Ok(());
        self.digest.update(run, |_, unit| {
            if recorded.is_ok() {
                recorded = stored.record(unit);
            }
        });
        self.signals.advance(run.len() as u64);
        recorded.map_err(|error| error.to_string())
    }

    fn verify(&mut self, claimed: [u8; 32], _bytes: u64) -> Result<bool, String> {
        let text = |error: caudal_flow::TransferFileError| error.to_string();
        sync(&self.stored.part(), self.durability, &self.signals)?;
        let digest = std::mem::replace(&mut self.digest, TreeDigest::new(&[]));
        let is_same = digest.finalize() == Some(claimed) && self.has_recorded_units()?;
        if !is_same {
            self.stored.discard();
            return Ok(false);
        }
        self.stored.complete().map_err(text)?;
        if self.durability == Durability::Synced {
            self.stored.sync_directory().map_err(text)?;
        }
        Ok(true)
    }
}

/// The work for a file that vanishes.
struct MeasuredFile {
    file: Arc<File>,
    durability: Durability,
    signals: SinkSignals,
}

impl SinkTask for MeasuredFile {
    fn write(&mut self, run: &[u8], offset: u64) -> Result<(), String> {
        write_at(&self.file, run, offset)
    }

    fn take(&mut self, _run: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn verify(&mut self, claimed: [u8; 32], bytes: u64) -> Result<bool, String> {
        sync(&self.file, self.durability, &self.signals)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; UNIT_BYTES.min(bytes) as usize];
        let mut offset = 0;
        while offset < bytes {
            let count = (bytes - offset).min(UNIT_BYTES) as usize;
            self.file
                .read_exact_at(&mut buffer[..count], offset)
                .map_err(|cause| format!("what was written cannot be read: {cause}"))?;
            hasher.update(&buffer[..count]);
            offset += count as u64;
            if !self.signals.advance(count as u64) {
                return Err("the verification was stopped".to_owned());
            }
        }
        Ok(hasher.finalize() == claimed)
    }
}
