//! A server in the background: the same command line in a process group of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The environment variable by which a process knows that it was started in the background.
const VARIABLE: &str = "CAUDAL_IN_BACKGROUND";

/// `true` in a process that was started in the background.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Starts `tool` with the same arguments in the background, with nothing on its standard streams: its process id.
///
/// # Errors
/// When this program cannot be found or started.
pub(crate) fn start(tool: &str, arguments: &[String]) -> io::Result<u32> {
    let child = Command::new(std::env::current_exe()?)
        .arg(tool)
        .args(arguments)
        .env(VARIABLE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(child.id())
}
