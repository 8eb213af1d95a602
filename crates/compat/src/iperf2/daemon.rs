//! A server in the background.

use super::failure::fail;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// Starts the same server in the background, in a process group of its own.
pub(super) fn start(arguments: &[String]) -> ExitCode {
    let Ok(program) = std::env::current_exe() else {
        return fail("cannot find this program to start it in the background");
    };
    let child = Command::new(program)
        .arg("iperf")
        .args(without_daemon(arguments))
        .env_remove("IPERF_DAEMON")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match child {
        Ok(child) => {
            let _ = writeln!(
                std::io::stdout(),
                "Running Iperf Server as a daemon\nThe Iperf daemon process ID : {}",
                child.id()
            );
            ExitCode::SUCCESS
        }
        Err(cause) => fail(format!("cannot start in the background: {cause}")),
    }
}

/// The arguments without the one that asks for the background; a cluster of letters keeps its other letters.
fn without_daemon(arguments: &[String]) -> impl Iterator<Item = String> {
    arguments
        .iter()
        .filter(|argument| !matches!(argument.as_str(), "-D" | "--daemon"))
        .map(|argument| match argument.strip_prefix('-') {
            Some(letters) if letters.contains('D') && are_flags(letters) => {
                format!("-{}", letters.replace('D', ""))
            }
            _ => argument.clone(),
        })
}

/// `true` when all letters are those of options without a value.
fn are_flags(letters: &str) -> bool {
    letters
        .chars()
        .all(|letter| "desmruvCDINRUVX146".contains(letter))
}
