//! `caudal iperf`: the command line and the output of iperf 2.

mod client;
mod daemon;
mod help;
pub mod options;
mod output;
pub mod printer;
mod record;
mod request;
mod server;
mod session_events;
pub mod units;

use crate::program::{self, command_line, run_prepared};
use caudal_sys::signal::Interrupt;
use help::{HELP, USAGE};
use options::Options;
use output::Iperf2Output;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Runs `caudal iperf` with these arguments.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    run_prepared(|interrupt| run(arguments, interrupt))
}

fn run(arguments: &[String], interrupt: &'static Interrupt) -> ExitCode {
    let mut all = Options::of_environment(|name| std::env::var(name).ok());
    all.extend(arguments.iter().cloned());
    let options = match Options::parse(&all) {
        Ok(options) => options,
        Err(error) => {
            let _ = write!(std::io::stderr(), "iperf: {error}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    if options.help {
        let _ = std::io::stdout().write_all(HELP.as_bytes());
        return ExitCode::SUCCESS;
    }
    if options.version {
        let _ = writeln!(
            std::io::stdout(),
            "iperf version 2.1.8 (caudal {}, the layout and wire format of iperf 2.1.8)",
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::SUCCESS;
    }
    for note in &options.notes {
        let _ = writeln!(std::io::stderr(), "iperf: {note}");
    }
    if options.daemon {
        return daemon::start(arguments);
    }
    let mut output = match Iperf2Output::open(&options) {
        Ok(output) => output,
        Err(error) => return fail(error),
    };
    if options.server {
        server::run(&options, &mut output, interrupt)
    } else {
        let command = command_line("iperf", arguments);
        client::run(options, command, &mut output, interrupt)
    }
}

/// Prints an error: the exit code of a failure.
fn fail(error: impl Display) -> ExitCode {
    program::fail("iperf", error)
}
