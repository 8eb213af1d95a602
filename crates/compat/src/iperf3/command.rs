//! The command `caudal iperf3`: a client, a server, or an answer about the program itself.

use super::about::{SHOWN_VERSION, system_info};
use super::options::{CommandLine, CommandLineError, Iperf3End, Iperf3Settings, USAGE, parse};
use super::{client, server};
use crate::background;
use crate::program::{command_line, fail, prepare};
use std::io::Write;
use std::process::ExitCode;

/// Runs `iperf3` with these arguments.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let command = command_line("iperf3", arguments);
    match parse(arguments.iter().cloned()) {
        Ok(CommandLine::Version) => {
            let _ = writeln!(std::io::stdout(), "{SHOWN_VERSION}\n{}", system_info());
            ExitCode::SUCCESS
        }
        Ok(CommandLine::Help) => {
            let _ = write!(std::io::stdout(), "{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(CommandLine::Run(settings)) => {
            if let Iperf3End::Server(service) = &settings.end
                && service.daemon
                && !background::is_inside()
            {
                return match background::start("iperf3", arguments) {
                    Ok(_) => ExitCode::SUCCESS,
                    Err(cause) => fail(
                        "iperf3",
                        format!("error - cannot start in the background: {cause}"),
                    ),
                };
            }
            run(&settings, command)
        }
        Err(CommandLineError::Usage(error)) => {
            let _ = write!(std::io::stderr(), "iperf3: {error}\n{USAGE}");
            ExitCode::FAILURE
        }
        Err(CommandLineError::Parameter(error)) => fail(
            "iperf3",
            format!("parameter error - {error}; see iperf3 --help"),
        ),
    }
}

fn run(settings: &Iperf3Settings, command: String) -> ExitCode {
    let interrupt = match prepare() {
        Ok(interrupt) => interrupt,
        Err(cause) => {
            return fail(
                "iperf3",
                format!("error - cannot prepare for signals: {cause}"),
            );
        }
    };
    if let Some(path) = &settings.pid_file
        && let Err(cause) = std::fs::write(path, format!("{}\n", std::process::id()))
    {
        return fail(
            "iperf3",
            format!(
                "error - cannot write {}: {cause}; name another with -I",
                path.display()
            ),
        );
    }
    let code = match &settings.end {
        Iperf3End::Client(test) => client::run(settings, test, command, interrupt),
        Iperf3End::Server(service) => server::run(settings, service, interrupt),
    };
    if let Some(path) = &settings.pid_file {
        // It is no error when somebody else has removed the file.
        let _ = std::fs::remove_file(path);
    }
    code
}
