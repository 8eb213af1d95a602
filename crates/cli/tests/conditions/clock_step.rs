//! The library that has a program's wall clock step: `clock_step.c`, compiled when it is needed first.

use crate::condition::directory;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// What stands for its file in the words that a program runs under.
pub const CLOCK_STEP: &str = "{clock_step}";

/// Its file.
pub fn clock_step() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(compiled);
    &LIBRARY
}

fn compiled() -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clock_step.so");
    let part = library.with_extension(std::process::id().to_string());
    let output = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&part)
        .arg(directory().join("clock_step.c"))
        .arg("-ldl")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // Other runs of this test may use the file that is replaced.
    std::fs::rename(&part, &library).unwrap();
    library
}
