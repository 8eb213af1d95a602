//! The command line of this process, and the run it starts.

use caudal_engine::{StartedRun, this_tool};

/// The command line of this program, quoted for a shell.
#[must_use]
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        // How a test was looked at while it ran is no part of it.
        .filter(|argument| argument != "--top")
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    caudal_core::text::command_line(arguments.iter().map(String::as_str))
}

/// The run that this command starts now.
#[must_use]
pub fn started_run() -> StartedRun {
    StartedRun::now(this_tool(None), command_line())
}
