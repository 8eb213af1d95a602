//! The command `caudal iperf`: a client, a server, or an answer about the program itself.

use super::failure::fail;
use super::help::{HELP, USAGE};
use super::options::Options;
use super::output::Iperf2Output;
use super::{client, daemon, server};
use crate::program::{command_line, run_prepared};
use caudal_sys::signal::Interrupt;
use std::io::Write;
use std::process::ExitCode;

/// Runs `caudal iperf` with these arguments.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    run_prepared(|interrupt| run(arguments, interrupt))
}

fn run(arguments: &[String], interrupt: &'static Interrupt) -> ExitCode {
    let mut all = Options::from_environment(|name| std::env::var(name).ok());
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
