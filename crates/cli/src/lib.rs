//! The command line of caudal: arguments, what is shown, and how a command ends.
#![forbid(unsafe_code)]

pub mod args;
mod arrival_series;
pub mod capture;
pub mod check;
mod command_run;
mod completions;
pub mod connect;
pub mod exit;
mod failure_report;
pub mod file;
mod flag;
mod foreign_servers;
mod invocation;
pub mod lab;
mod machine_checks;
mod measure_failure;
mod metrics;
pub mod output;
pub mod path;
pub mod pcap;
pub mod peer;
pub mod predict;
pub mod quality;
pub mod recording;
mod refusal_throttle;
pub mod report;
mod round_trip_samples;
pub mod rtt;
mod screen;
pub mod serve;
mod server_log;
mod server_status;
mod short_help;
pub mod stamp;
mod store_advice;
pub mod study;
pub mod throughput;
mod token_file;
mod top;
pub mod topology;
mod ui;
mod usage;
mod visitors;
mod watch;

use args::{Cli, Command};
use caudal_compat::program_name::{to_text, tool_command};
use caudal_compat::{iperf2, iperf3, nttcp};
use caudal_engine::restore_offloads;
use caudal_lab::restore_congestion_controls;
use caudal_sys::signal::{Interrupt, ignore_sigpipe};
use clap::{CommandFactory, Parser};
use exit::{Exit, Failure};
use failure_report::{ResultForm, report};
use std::process::ExitCode;
use usage::usage_failure;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(run_tool) = arguments.next().and_then(|name| tool_command(&name)) {
        return run_tool(to_text(arguments));
    }
    let line = to_text(arguments);
    if line.iter().any(|word| word == "-h")
        && let Err(help) = short_help::with_short_help(Cli::command()).try_get_matches()
        && !help.use_stderr()
    {
        let _ = help.print();
        return Exit::Done.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; anything else is bad usage, code 2.
            if !error.use_stderr() {
                let _ = error.print();
                return Exit::Done.into();
            }
            match usage_failure(&error, &line) {
                Some(failure) => report(&failure, &ResultForm::of_line(&line)),
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
    let outcome = run(&cli.command).unwrap_or_else(|failure| {
        report(&failure, &ResultForm::of_command(&cli.command, &line));
        failure.exit
    });
    outcome.into()
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
    restore_offloads();
    match command {
        Command::Serve(args) => serve::serve(args, interrupt),
        Command::Tcp(args) => throughput::tcp(args, interrupt),
        Command::Udp(args) => throughput::udp(args, interrupt),
        Command::Rtt(args) => rtt::rtt(args, interrupt),
        Command::Check(args) => check::check(args, interrupt),
        Command::Connect(args) => connect::connect(args, interrupt),
        Command::Stamp(args) => stamp::stamp(args, interrupt),
        Command::Quality(args) => quality::quality(args, interrupt),
        Command::File(args) => file::file(args, interrupt),
        Command::Path(args) => path::path(args, interrupt),
        Command::Lab(args) => lab::lab(args, interrupt),
        Command::Top(args) => top::top(args, interrupt),
        Command::Watch(args) => watch::watch(args, interrupt),
        Command::Ui(args) => ui::ui(args, interrupt),
        Command::Study(args) => study::study(args, interrupt),
        Command::Predict(args) => predict::predict(args),
        Command::Pcap(args) => pcap::pcap(args, interrupt),
        Command::OwnCapture(args) => capture::own_capture(args, interrupt),
        Command::Report(args) => report::report(args, interrupt),
        Command::Completions(args) => completions::completions(*args),
        // These have exit codes of their own.
        Command::Iperf(_) | Command::Iperf3(_) | Command::Nttcp(_) => Ok(Exit::Done),
    }
}
