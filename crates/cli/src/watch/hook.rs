//! The command that is run when an alert is raised or resolved.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time that the command may take.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The time between two looks at it.
const LOOK: Duration = Duration::from_millis(50);

/// What the command is told, in its environment: no text of a peer becomes a word of its command line.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookFacts<'a> {
    /// `worse` or `resolved`.
    pub(super) alert: &'a str,
    /// The name of the path.
    pub(super) path: &'a str,
    /// The id of the latest run.
    pub(super) run: &'a str,
    /// What is worse.
    pub(super) message: &'a str,
}

/// Runs a command of the shell.
///
/// # Errors
/// Why it failed, in a line.
pub(super) fn run_hook(command: &str, facts: HookFacts<'_>) -> Result<(), String> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env("CAUDAL_ALERT", facts.alert)
        .env("CAUDAL_PATH", facts.path)
        .env("CAUDAL_RUN", facts.run)
        .env("CAUDAL_MESSAGE", facts.message)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|cause| format!("the command could not be started: {cause}"))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the command ended with {status}")),
            Ok(None) => {}
            Err(cause) => return Err(format!("the command could not be waited for: {cause}")),
        }
        if began.elapsed() > MAX_TIME {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the command took longer than {MAX_TIME:?}"));
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: HookFacts<'static> = HookFacts {
        alert: "worse",
        path: "far",
        run: "1a2b",
        message: "goodput; $(touch /nowhere)",
    };

    #[test]
    fn the_command_finds_the_facts_in_its_environment() {
        let check = "test \"$CAUDAL_ALERT $CAUDAL_PATH $CAUDAL_RUN\" = 'worse far 1a2b' && test -n \"$CAUDAL_MESSAGE\"";
        assert_eq!(run_hook(check, FACTS), Ok(()));
    }

    #[test]
    fn a_command_that_fails_says_so() {
        assert!(run_hook("exit 3", FACTS).unwrap_err().contains('3'));
    }
}
