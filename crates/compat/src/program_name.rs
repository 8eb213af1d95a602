//! The commands of other tools, by the name this program was called by.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Runs the command of another tool with its arguments.
pub type ToolCommand = fn(Vec<String>) -> ExitCode;

/// The commands, by the name of a link to this program.
const TOOL_COMMANDS: [(&str, ToolCommand); 4] = [
    ("iperf", |arguments| crate::iperf2::main(&arguments)),
    ("iperf2", |arguments| crate::iperf2::main(&arguments)),
    ("iperf3", |arguments| crate::iperf3::main(&arguments)),
    ("nttcp", |arguments| crate::nttcp::main(&arguments)),
];

/// The command of the tool whose name this program was called by; `None` for caudal itself.
#[must_use]
pub fn tool_command(called: &OsStr) -> Option<ToolCommand> {
    let name = Path::new(called).file_name()?;
    TOOL_COMMANDS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, command)| *command)
}

/// The arguments of a command line as text; what is no UTF-8 is replaced.
#[must_use]
pub fn to_text(arguments: impl IntoIterator<Item = OsString>) -> Vec<String> {
    arguments
        .into_iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_it_is_called_by_decides_wherever_it_lies() {
        assert!(tool_command(OsStr::new("/usr/bin/iperf3")).is_some());
        for name in ["iperf", "iperf2", "iperf3", "nttcp"] {
            assert!(tool_command(OsStr::new(name)).is_some(), "{name}");
        }
        assert!(tool_command(OsStr::new("/iperf3/caudal")).is_none());
    }
}
