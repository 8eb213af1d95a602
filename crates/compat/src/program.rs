//! The preparation of the process and its exit, common to the commands of all other tools.

use caudal_core::text::on_one_line;
use caudal_sys::signal::{Interrupt, ignore_sigpipe};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The exit code when the kernel does not permit the preparation for signals.
const NOT_PERMITTED: u8 = 4;

/// Prepares the process: a closed connection and the terminal's signals do not end it.
///
/// # Errors
/// When the kernel does not grant it.
pub fn prepare() -> std::io::Result<&'static Interrupt> {
    ignore_sigpipe()?;
    Interrupt::install()
}

/// Runs `program` in a prepared process. Where the preparation fails, it prints one line on standard error.
pub fn run_prepared(program: impl FnOnce(&'static Interrupt) -> ExitCode) -> ExitCode {
    match prepare() {
        Ok(interrupt) => program(interrupt),
        Err(cause) => {
            print_error("caudal", format!("cannot prepare for signals: {cause}"));
            ExitCode::from(NOT_PERMITTED)
        }
    }
}

/// Prints an error in the name of `program`, as one line on standard error.
pub fn print_error(program: &str, error: impl Display) {
    let line = on_one_line(&error.to_string());
    let _ = writeln!(std::io::stderr(), "{program}: {line}");
}

/// Prints an error in the name of `program`: the exit code of a failure.
#[must_use]
pub fn fail(program: &str, error: impl Display) -> ExitCode {
    print_error(program, error);
    ExitCode::FAILURE
}

/// The command line of `caudal` that runs `program` with these arguments, quoted for a shell.
#[must_use]
pub fn command_line(program: &str, arguments: &[String]) -> String {
    let arguments = arguments.iter().map(String::as_str);
    caudal_core::text::command_line(std::iter::once(program).chain(arguments))
}
