//! The server of the pages, until it is interrupted.

use super::args::UiArgs;
use super::forms::forms;
use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::usage::usage_failure;
use caudal_engine::TOOL;
use caudal_store::Store;
use caudal_sys::signal::Interrupt;
use caudal_ui::{UiOptions, UiServer, UiToken};
use clap::Parser;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs `caudal ui`.
///
/// # Errors
/// When the port is not available.
pub(crate) fn ui(args: &UiArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let failed = |what: &str, cause: std::io::Error| {
        Failure::new(Exit::NotPermitted, format!("{what}: {cause}"), "")
    };
    let token =
        UiToken::random().map_err(|cause| failed("this kernel has no random numbers", cause))?;
    let options = UiOptions {
        program: std::env::current_exe()
            .map_err(|cause| failed("this program cannot be found", cause))?,
        version: TOOL.to_owned(),
        forms: forms(),
        check: Arc::new(check),
        store: Store::locate(args.store.as_deref()),
    };
    let server = UiServer::bind(args.port, token, options).map_err(|cause| {
        Failure::new(
            Exit::NotPermitted,
            format!("cannot listen at port {} of 127.0.0.1: {cause}", args.port),
            "stop what listens there, or choose another port with -p",
        )
    })?;
    let told = tell(&server)?;
    let over = server.run(|| interrupt.count() > 0);
    if let Some(path) = told {
        let _ = std::fs::remove_file(path);
    }
    over.map_err(|cause| failed("the pages cannot be served", cause))?;
    Ok(Exit::Done)
}

/// Tells the user the address: at a terminal itself; where it would be in a file or a log that others may read, in a file of this user's.
fn tell(server: &UiServer) -> Result<Option<PathBuf>, Failure> {
    let mut out = std::io::stdout();
    if out.is_terminal() {
        let address = server.address();
        let _ = writeln!(out, "open {address}\n^C ends it, and the tests that run");
        return Ok(None);
    }
    let name = format!("caudal-ui-{}-{}", server.port(), std::process::id());
    let path = std::env::temp_dir().join(name);
    let write = || {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        writeln!(file, "{}", server.address())
    };
    write().map_err(|cause| Failure::writing(&path.display().to_string(), &cause))?;
    let _ = writeln!(
        out,
        "listening at 127.0.0.1:{}; the address with its token is in {}",
        server.port(),
        path.display()
    );
    let _ = out.flush();
    Ok(Some(path))
}

/// Checks a command line as the program does.
fn check(words: &[String]) -> Result<(), String> {
    let line: Vec<String> = std::iter::once("caudal".to_owned())
        .chain(words.iter().cloned())
        .collect();
    match Cli::try_parse_from(&line) {
        Ok(_) => Ok(()),
        Err(error) => {
            let failure = usage_failure(&error, &line);
            let text = failure.map_or_else(|| error.to_string(), |failure| failure.to_string());
            Err(text.trim_start_matches("caudal: ").to_owned())
        }
    }
}
