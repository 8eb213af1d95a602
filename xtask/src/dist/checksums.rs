//! SHA256SUMS, as sha256sum(1) checks it.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the checksums of `files`, which are below `directory`.
pub(super) fn write(directory: &Path, files: &[PathBuf]) -> io::Result<PathBuf> {
    let mut lines = Vec::new();
    for file in files {
        let name = file.strip_prefix(directory).unwrap_or(file);
        let digest = hex::encode(Sha256::digest(std::fs::read(file)?));
        lines.push((name.display().to_string(), digest));
    }
    lines.sort();
    let mut text = String::new();
    for (name, digest) in lines {
        let _ = writeln!(text, "{digest}  {name}");
    }
    let path = directory.join("SHA256SUMS");
    std::fs::write(&path, text)?;
    Ok(path)
}
