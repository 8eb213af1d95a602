//! The command line of caudal: arguments, what is shown, and how a command ends.
#![forbid(unsafe_code)]

pub mod args;
pub mod exit;
mod flag;
mod foreign_servers;
mod invocation;
pub mod lab;
pub mod output;
pub mod peer;
mod plan_failure;
pub mod predict;
pub mod quality;
pub mod recording;
pub mod report;
pub mod rtt;
pub mod serve;
mod server_log;
mod store_advice;
pub mod study;
pub mod throughput;
mod token_file;
pub mod topology;

use args::{Cli, Command};
use caudal_compat::program_name::{to_text, tool_command};
use caudal_compat::{iperf2, iperf3, nttcp};
use caudal_lab::restore_congestion_controls;
use caudal_sys::signal::{Interrupt, ignore_sigpipe};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(run_tool) = arguments.next().and_then(|name| tool_command(&name)) {
        return run_tool(to_text(arguments));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; anything else is bad usage, code 2.
            if !error.use_stderr() {
                let _ = error.print();
                return Exit::Done.into();
            }
            match one_line(&error) {
                Some(failure) => complain(&failure),
                None => {
                    let _ = error.print();
                }
            }
            return Exit::Usage.into();
        }
    };
    match cli.command {
        Command::Iperf(args) => return iperf2::main(&to_text(args.words)),
        Command::Iperf3(args) => return iperf3::main(&to_text(args.words)),
        Command::Nttcp(args) => return nttcp::main(&to_text(args.words)),
        _ => {}
    }
    end(run(&cli.command))
}

/// The exit code of the process; prints a failure as one line.
fn end(outcome: Result<Exit, Failure>) -> ExitCode {
    outcome
        .unwrap_or_else(|failure| {
            complain(&failure);
            failure.exit
        })
        .into()
}

fn complain(failure: &Failure) {
    let line = format!("{failure}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// Bad usage in one line; `None` where the help itself is the answer, as for a command without its subcommand.
fn one_line(error: &clap::Error) -> Option<Failure> {
    use clap::error::ErrorKind;
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // Behind the first paragraph come tips, the usage, and where to find help.
    let mut paragraphs = text.split("\n\n");
    let what = paragraphs.next().unwrap_or("").split_whitespace();
    let tips = paragraphs.filter_map(|text| text.trim().strip_prefix("tip: "));
    let advice: Vec<&str> = tips.chain(["see --help"]).collect();
    Some(Failure::usage(
        what.collect::<Vec<_>>().join(" "),
        advice.join("; "),
    ))
}

/// Prepares the process for any command: ignores SIGPIPE and catches interrupts.
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
    restore_congestion_controls();
    match command {
        Command::Serve(args) => serve::serve(args, interrupt),
        Command::Tcp(args) => throughput::tcp(args, interrupt),
        Command::Udp(args) => throughput::udp(args, interrupt),
        Command::Rtt(args) => rtt::rtt(args, interrupt),
        Command::Quality(args) => quality::quality(args, interrupt),
        Command::Lab(args) => lab::lab(args, interrupt),
        Command::Study(args) => study::study(args, interrupt),
        Command::Predict(args) => predict::predict(args),
        Command::Report(args) => report::report(args, interrupt),
        // These have exit codes of their own.
        Command::Iperf(_) | Command::Iperf3(_) | Command::Nttcp(_) => Ok(Exit::Done),
    }
}
