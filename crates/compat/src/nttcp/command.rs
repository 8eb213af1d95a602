//! The command `caudal nttcp`: a client, a server, or an answer about the program itself.

use super::command_line::NttcpCommandLine;
use super::failure::fail;
use super::help::HELP;
use super::{client, server};
use crate::program::{command_line as repeated_command, run_prepared};
use caudal_sys::signal::Interrupt;
use std::io::Write;
use std::process::ExitCode;

/// Runs `caudal nttcp` with these arguments.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    run_prepared(|interrupt| run(arguments, interrupt))
}

fn run(arguments: &[String], interrupt: &'static Interrupt) -> ExitCode {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let defaults = (variable("NTTCP_LOC_OPT"), variable("NTTCP_REM_OPT"));
    let line = match NttcpCommandLine::parse(arguments, &defaults.0, &defaults.1) {
        Ok(line) => line,
        Err(error) => {
            let exit = fail(error);
            let _ = writeln!(std::io::stderr(), "Try `nttcp -?' for more information.");
            return exit;
        }
    };
    if line.local.help {
        let _ = std::io::stdout().write_all(HELP.as_bytes());
        return ExitCode::SUCCESS;
    }
    if line.local.version {
        let _ = writeln!(
            std::io::stdout(),
            "nttcp, version 1.47 (caudal {}, the protocol and rows of nttcp 1.47)",
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::SUCCESS;
    }
    if line.local.listen {
        return server::run(&line.local, interrupt);
    }
    client::run(&line, repeated_command("nttcp", arguments), interrupt)
}
