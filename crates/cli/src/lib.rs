//! The command line of caudal: arguments, what is shown, and how a command ends.
#![forbid(unsafe_code)]

pub mod args;
pub mod exit;
pub mod getopt;
pub mod iperf3;
pub mod lab;
pub mod output;
pub mod peer;
pub mod personality;
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
    let mut words = std::env::args_os();
    if let Some(personality) = words.next().and_then(|name| personality::called(&name)) {
        return personality(personality::plain(words));
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
    if let Command::Iperf3(args) = cli.command {
        return iperf3::main(personality::plain(args.words));
    }
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

fn run(command: &Command) -> Result<Exit, Failure> {
    let prepared = |cause: std::io::Error| {
        Failure::new(
            Exit::NotPermitted,
            format!("cannot prepare for signals: {cause}"),
            "",
        )
    };
    ignore_sigpipe().map_err(prepared)?;
    let interrupt = Interrupt::install().map_err(prepared)?;
    match command {
        Command::Serve(args) => serve::serve(args, interrupt),
        Command::Tcp(args) => traffic::tcp(args, interrupt),
        Command::Udp(args) => traffic::udp(args, interrupt),
        Command::Rtt(args) => rtt::rtt(args, interrupt),
        Command::Lab(args) => lab::lab(args, interrupt),
        // Has its own way of ending.
        Command::Iperf3(_) => Ok(Exit::Done),
    }
}
