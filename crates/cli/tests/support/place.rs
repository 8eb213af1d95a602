//! A directory of a test's own, for its labs, its store and its files.

use super::{Ended, caudal, run};
use serde_json::Value;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory of a test's own; in the end no lab is up there, and it is gone.
pub struct Place {
    path: PathBuf,
    subcommand: &'static str,
}

impl Place {
    /// A place for all of the program.
    pub fn new() -> Self {
        Self::of("")
    }

    /// A place for one of its subcommands, which need not be said again in a command.
    pub fn of(subcommand: &'static str) -> Self {
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("caudal-test-{}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        // What a process of the same number left when it was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let place = Self { path, subcommand };
        // Labs are kept where nobody else may write.
        let mut private = DirBuilder::new();
        private.mode(0o700).create(place.labs()).unwrap();
        place
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of this name is, or would be.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn labs(&self) -> PathBuf {
        self.at("labs")
    }

    pub fn store(&self) -> PathBuf {
        self.at("store.db")
    }

    /// A command line that is started here, has its labs here and keeps here what it keeps.
    pub fn command(&self, words: &str) -> Command {
        let words = words.split_whitespace();
        let mut command = caudal(self.subcommand.split_whitespace().chain(words));
        command
            .current_dir(&self.path)
            .env("CAUDAL_LAB_DIR", self.labs())
            .env("CAUDAL_STORE", self.store())
            .env("XDG_DATA_HOME", self.at("data"));
        command
    }

    /// Runs such a command to its end.
    #[track_caller]
    pub fn says(&self, words: &str) -> Ended {
        run(&mut self.command(words), Duration::from_secs(120))
    }

    /// Writes a file, and tells where it is.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A file as one JSON value.
    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.at(name)).unwrap()).unwrap()
    }

    pub fn has_no_lab(&self) -> bool {
        fs::read_dir(self.labs()).unwrap().next().is_none()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut down = caudal(["lab", "down", "--all"]);
        let _ = down.env("CAUDAL_LAB_DIR", self.labs()).output();
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Waits until something holds; what is waited for is the kernel's or another process's work.
#[track_caller]
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}");
}
