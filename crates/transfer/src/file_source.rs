//! A sender's source of a file's bytes: read ahead in long runs by a thread of its own.

use super::content_source::ContentSource;
use super::run_ring::{RunFiller, RunRing, run_ring};
use super::source_file::SourceFile;
use caudal_rbt::BlockSource;
use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

/// The bytes of a run.
const RUN_BYTES: usize = 1 << 20;
/// The runs that are read ahead.
const RUNS: usize = 8;

/// Whether the bytes of a file are read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAhead {
    /// They are.
    On,
    /// The kernel sends the file itself.
    Off,
}

/// A sender's source of a file's bytes.
pub(super) struct FileSource {
    file: SourceFile,
    /// `None` where it is computed as the file is read ahead.
    digest: Option<[u8; 32]>,
    ring: RunRing,
    read_ahead: ReadAhead,
}

impl FileSource {
    /// The source of a file with this digest from `offset` on. Without one it is computed as the file is read ahead, from its beginning.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start(
        file: SourceFile,
        digest: Option<[u8; 32]>,
        offset: u64,
        read_ahead: ReadAhead,
    ) -> io::Result<Self> {
        let total = file.state().bytes;
        let left = usize::try_from(total.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (runs, run_bytes) = match read_ahead {
            ReadAhead::On => (RUNS, RUN_BYTES.min(left)),
            ReadAhead::Off => (0, 0),
        };
        let (ring, filler) = run_ring(runs, run_bytes, offset, Some(total));
        let reader = file.clone();
        let hasher = digest.is_none().then(blake3::Hasher::new);
        if read_ahead == ReadAhead::On && left > 0 {
            thread::Builder::new()
                .name("read ahead".to_owned())
                .spawn(move || fill(&reader, filler, offset, hasher))?;
        }
        Ok(Self {
            file,
            digest,
            ring,
            read_ahead,
        })
    }
}

/// Reads the file from `offset` to its end, as there is room, and computes its digest where there is a hasher.
fn fill(
    file: &SourceFile,
    mut filler: RunFiller,
    mut offset: u64,
    mut hasher: Option<blake3::Hasher>,
) {
    let total = file.state().bytes;
    while offset < total {
        let Some(mut run) = filler.empty_run() else {
            return;
        };
        let count = (total - offset).min(run.len() as u64) as usize;
        if let Err(error) = file.read_at(offset, &mut run[..count]) {
            filler.fail(error.to_string());
            return;
        }
        offset += count as u64;
        if let Some(hasher) = &mut hasher {
            hasher.update(&run[..count]);
            if offset == total {
                // Nothing else shows whether what it had before has changed with its growing.
                if file.has_grown() {
                    filler.fail(file.changed().to_string());
                    return;
                }
                filler.set_digest(hasher.finalize().into());
            }
        }
        filler.push(run, count);
    }
}

impl BlockSource for FileSource {
    fn available(&self) -> u64 {
        match self.read_ahead {
            ReadAhead::On => self.ring.available(),
            ReadAhead::Off => self.file.state().bytes,
        }
    }

    fn total(&self) -> Option<u64> {
        Some(self.file.state().bytes)
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        match self.read_ahead {
            ReadAhead::On => self.ring.read(offset, out),
            // A file that cannot be read shows in its state, or in the digest.
            ReadAhead::Off => {
                if self.file.read_at(offset, out).is_err() {
                    out.fill(0);
                }
            }
        }
    }

    fn release(&mut self, below: u64) {
        self.ring.release(below);
    }
}

impl ContentSource for FileSource {
    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.fd())
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.digest.or_else(|| self.ring.digest())
    }

    fn failure(&self) -> Option<String> {
        match self.read_ahead {
            ReadAhead::On => self.ring.failure(),
            ReadAhead::Off => self.file.check().err().map(|error| error.to_string()),
        }
    }

    fn has_grown(&self) -> bool {
        self.file.has_grown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn the_digest_of_a_file_that_is_read_ahead_is_known_at_its_end() {
        let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let at = std::env::temp_dir().join(format!("caudal-read-ahead-{}", std::process::id()));
        fs::write(&at, &content).unwrap();
        let file = SourceFile::new(File::open(&at).unwrap(), "content").unwrap();
        fs::remove_file(&at).unwrap();
        let mut source = FileSource::start(file, None, 0, ReadAhead::On).unwrap();
        while source.available() < content.len() as u64 {
            thread::yield_now();
        }
        let mut read = vec![0; content.len()];
        source.read(0, &mut read);
        assert!(read == content);
        assert_eq!(source.digest(), Some(blake3::hash(&content).into()));
    }

    #[test]
    fn a_file_that_grows_is_no_other_only_where_its_digest_is_known_before() {
        use std::io::Write;
        let at = std::env::temp_dir().join(format!("caudal-grown-{}", std::process::id()));
        fs::write(&at, b"before").unwrap();
        let file = SourceFile::new(File::open(&at).unwrap(), "log").unwrap();
        let mut log = File::options().append(true).open(&at).unwrap();
        log.write_all(b", after").unwrap();
        fs::remove_file(&at).unwrap();
        let known = blake3::hash(b"before").into();
        for (digest, fails) in [(Some(known), false), (None, true)] {
            let source = FileSource::start(file.clone(), digest, 0, ReadAhead::On).unwrap();
            while source.available() < 6 && source.failure().is_none() {
                thread::yield_now();
            }
            let failure = source.failure().unwrap_or_default();
            assert_eq!(failure.contains("has changed"), fails, "{failure}");
            assert!(source.has_grown());
        }
    }
}
