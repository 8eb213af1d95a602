//! `caudal iperf3`: iperf3's options and output in front of our engines, as client and as server.
//!
//! Also when the program is called by that name through a link.

mod client;
pub mod far;
mod json;
mod kept;
pub mod login;
mod options;
mod printer;
mod report;
mod serve;
mod text;
mod units;

use crate::output::document::command_of;
use caudal_sys::clock::format_time;
use caudal_sys::host;
use caudal_sys::signal::{Interrupt, ignore_sigpipe};
use options::{Asked, End, USAGE, Wrong, settings};
use std::io::Write;
use std::process::ExitCode;

pub use serve::transcripts;

/// What a client says of itself: the version of iperf3 whose ways these are, and ours.
pub const VERSION: &str = concat!("3.21 (caudal ", env!("CARGO_PKG_VERSION"), ")");
/// The same as output shows it; what reads it looks for how it begins.
pub const SHOWN_VERSION: &str = concat!("iperf 3.21 (caudal ", env!("CARGO_PKG_VERSION"), ")");

/// A date as RFC 1123 has it.
fn rfc1123(realtime_ns: u64) -> String {
    format_time(
        realtime_ns / 1_000_000_000,
        "%a, %d %b %Y %H:%M:%S GMT",
        true,
    )
    .unwrap_or_default()
}

/// This machine in the words of `uname -a`.
fn system_info() -> String {
    let version = host::sysctl("kernel.version").unwrap_or_default();
    format!(
        "Linux {} {} {version} {}",
        host::hostname().unwrap_or_default(),
        host::kernel_release().unwrap_or_default(),
        std::env::consts::ARCH
    )
}

/// Runs `iperf3` with these words.
#[must_use]
pub fn main(words: Vec<String>) -> ExitCode {
    let command = command_of(
        ["iperf3"]
            .into_iter()
            .chain(words.iter().map(String::as_str)),
    );
    let failed = |message: &str| {
        let _ = writeln!(std::io::stderr(), "iperf3: {message}");
        ExitCode::FAILURE
    };
    let settings = match settings(words) {
        Ok(Asked::Version) => {
            let _ = writeln!(std::io::stdout(), "{SHOWN_VERSION}\n{}", system_info());
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Help) => {
            let _ = write!(std::io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Run(settings)) => settings,
        Err(Wrong::Unreadable(words)) => {
            let _ = write!(std::io::stderr(), "iperf3: {words}\n{USAGE}");
            return ExitCode::FAILURE;
        }
        Err(Wrong::Refused(words)) => {
            return failed(&format!("parameter error - {words}; see iperf3 --help"));
        }
    };
    let interrupt = match ignore_sigpipe().and_then(|()| Interrupt::install()) {
        Ok(interrupt) => interrupt,
        Err(cause) => return failed(&format!("error - cannot prepare for signals: {cause}")),
    };
    if let Some(path) = &settings.pid_file
        && let Err(cause) = std::fs::write(path, format!("{}\n", std::process::id()))
    {
        return failed(&format!(
            "error - cannot write {}: {cause}; name another with -I",
            path.display()
        ));
    }
    let code = match &settings.end {
        End::Client(wanted) => client::run(&settings, wanted, &command, interrupt),
        End::Server(wanted) => serve::run(&settings, wanted, interrupt),
    };
    if let Some(path) = &settings.pid_file {
        // A file that somebody else has removed is gone as it should be.
        let _ = std::fs::remove_file(path);
    }
    code
}
