//! The command line of caudal: arguments, what is shown, and how a command ends.
#![forbid(unsafe_code)]

pub mod args;
mod dialects;
pub mod exit;
pub mod far;
pub mod iperf2;
pub mod nttcp;
pub mod output;
pub mod peer;
pub mod rtt;
pub mod serve;
pub mod traffic;

use args::{Cli, Command};
use caudal_sys::signal::{Interrupt, ignore_sigpipe};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    if let Some((personality, words)) = personality(std::env::args_os()) {
        return match prepare() {
            Ok(interrupt) => personality(&words, interrupt).into(),
            Err(failure) => {
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    format!("{failure}\n").as_bytes(),
                );
                failure.exit.into()
            }
        };
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; anything else is bad usage, code 2.
            let asked = !error.use_stderr();
            let _ = error.print();
            return if asked {
                Exit::Done.into()
            } else {
                Exit::Usage.into()
            };
        }
    };
    match run(&cli.command) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("{failure}\n").as_bytes(),
            );
            failure.exit.into()
        }
    }
}

/// Another tool's command line.
type Personality = fn(&[String], &'static Interrupt) -> Exit;

/// The tools this program also is: called by their names, or by the command of that name.
const PERSONALITIES: [(&str, Personality); 2] = [("iperf", iperf2::main), ("nttcp", nttcp::main)];

/// Which of them is meant, and the words that are its own.
fn personality(
    mut words: impl Iterator<Item = std::ffi::OsString>,
) -> Option<(Personality, Vec<String>)> {
    let called = words.next()?;
    let called = std::path::Path::new(&called).file_name()?.to_owned();
    let by = |name: &std::ffi::OsStr| {
        PERSONALITIES
            .iter()
            .find(|(known, _)| name == *known)
            .map(|(_, personality)| *personality)
    };
    let found = match by(&called) {
        Some(found) => found,
        None => by(&words.next()?)?,
    };
    Some((
        found,
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    ))
}

/// What every command needs of the process.
fn prepare() -> Result<&'static Interrupt, Failure> {
    let prepared = |cause: std::io::Error| {
        Failure::new(
            Exit::NotPermitted,
            format!("cannot prepare for signals: {cause}"),
            "",
        )
    };
    ignore_sigpipe().map_err(prepared)?;
    Interrupt::install().map_err(prepared)
}

fn run(command: &Command) -> Result<Exit, Failure> {
    let interrupt = prepare()?;
    match command {
        Command::Serve(args) => serve::serve(args, interrupt),
        Command::Tcp(args) => traffic::tcp(args, interrupt),
        Command::Udp(args) => traffic::udp(args, interrupt),
        Command::Rtt(args) => rtt::rtt(args, interrupt),
        // Taken before these arguments were read.
        Command::Iperf(_) | Command::Nttcp(_) => Ok(Exit::Done),
    }
}
