//! The publication of the crates, without uploading anything.

use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `publish-check`
#[derive(Debug, Clone, Copy, Args)]
pub struct PublishArgs {
    /// Also build every crate from what would be published
    #[arg(long)]
    pub verify: bool,
}

/// Packages every crate in the order of its dependencies, each with those before it as if they were published already.
///
/// # Errors
/// When a crate cannot be published as it is.
pub fn check(root: &Path, args: &PublishArgs) -> io::Result<Vec<PathBuf>> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["package", "--workspace", "--exclude", "xtask", "--locked"])
        // What is checked is the tree as it is.
        .arg("--allow-dirty");
    if !args.verify {
        command.args(["--no-verify", "--offline"]);
    }
    if !command.status()?.success() {
        return Err(io::Error::other(
            "the crates cannot be published as they are",
        ));
    }
    Ok(Vec::new())
}
