//! The files of edited experiments and of captures that were dropped onto a page: in a directory that nobody else may look into, gone with the server.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum number of files: a page that checks while its user types overwrites the oldest.
const MAX_FILES: u64 = 100;
/// Maximum number of captures, of which a new one overwrites the oldest.
const MAX_CAPTURES: u64 = 4;

/// The directory, made with the first file.
#[derive(Debug, Default)]
pub(crate) struct ScratchFiles {
    path: OnceLock<PathBuf>,
    next: AtomicU64,
    captures: AtomicU64,
}

impl ScratchFiles {
    fn path(&self) -> io::Result<&PathBuf> {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random)?;
        let path = std::env::temp_dir().join(format!("caudal-ui-{}", hex::encode(random)));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(self.path.get_or_init(|| path))
    }

    /// Writes an edited text: its file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, text: &str) -> io::Result<PathBuf> {
        let nth = self.next.fetch_add(1, Relaxed) % MAX_FILES;
        self.write_as(&format!("edited-{nth}.toml"), text.as_bytes())
    }

    /// Writes a capture: its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write_capture(&self, content: &[u8]) -> io::Result<u64> {
        let nth = self.captures.fetch_add(1, Relaxed);
        self.write_as(&format!("capture-{}", nth % MAX_CAPTURES), content)?;
        Ok(nth)
    }

    /// The file of the capture with this number; `None` when there is none any more.
    pub(crate) fn capture(&self, nth: u64) -> Option<PathBuf> {
        let next = self.captures.load(Relaxed);
        let is_there = nth < next && next - nth <= MAX_CAPTURES;
        let path = self.path.get().filter(|_| is_there)?;
        Some(path.join(format!("capture-{}", nth % MAX_CAPTURES)))
    }

    /// Writes a file that replaces another of its name as a whole: a program may be reading that.
    fn write_as(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.path()?.join(name);
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(content)?;
        Ok(path)
    }
}

impl Drop for ScratchFiles {
    fn drop(&mut self) {
        if let Some(path) = self.path.get() {
            let _ = fs::remove_dir_all(path);
        }
    }
}
