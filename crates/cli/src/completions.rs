//! `caudal completions`: what a shell needs to complete the command line.

use crate::args::{Cli, CompletionsArgs};
use crate::exit::{Exit, Failure};
use clap::CommandFactory;
use clap_complete::generate;
use std::io::{ErrorKind, Write};

/// Runs `caudal completions`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn completions(args: CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "caudal", &mut script);
    match std::io::stdout().write_all(&script) {
        // A reader that has enough, such as head, is no failure.
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::writing("standard output", &cause))
        }
        _ => Ok(Exit::Done),
    }
}
