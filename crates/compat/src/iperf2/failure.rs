//! The exit of a run that failed.

use crate::program;
use std::fmt::Display;
use std::process::ExitCode;

/// Prints an error: the exit code of a failure.
pub(super) fn fail(error: impl Display) -> ExitCode {
    program::fail("iperf", error)
}
