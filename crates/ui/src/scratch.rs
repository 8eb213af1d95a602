//! The files of edited experiments: in a directory that nobody else may look into, gone with the server.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum number of files: a page that checks while its user types overwrites the oldest.
const MAX_FILES: u64 = 100;

/// The directory, made with the first file.
#[derive(Debug, Default)]
pub(crate) struct EditedFiles {
    path: OnceLock<PathBuf>,
    next: AtomicU64,
}

impl EditedFiles {
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
        let path = self.path()?.join(format!("edited-{nth}.toml"));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for EditedFiles {
    fn drop(&mut self) {
        if let Some(path) = self.path.get() {
            let _ = fs::remove_dir_all(path);
        }
    }
}
