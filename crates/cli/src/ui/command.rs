//! The server of the pages, until it is interrupted.

use super::args::UiArgs;
use super::forms::forms;
use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::token_file::read_private;
use crate::top::watched_document;
use crate::usage::usage_failure;
use caudal_engine::TOOL;
use caudal_store::Store;
use caudal_sys::signal::Interrupt;
use caudal_ui::{
    RemoteReach, UiOptions, UiPassword, UiServer, UiToken, password_line, tls_of_files,
};
use clap::Parser;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum length of a password that is read, bytes.
const MAX_PASSWORD: u64 = 4096;

/// Runs `caudal ui`.
///
/// # Errors
/// When the port is not available.
pub(crate) fn ui(args: &UiArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let failed = |what: &str, cause: std::io::Error| {
        Failure::new(Exit::NotPermitted, format!("{what}: {cause}"), "")
    };
    if args.make_password {
        return make_password();
    }
    let token =
        UiToken::random().map_err(|cause| failed("this kernel has no random numbers", cause))?;
    let options = UiOptions {
        program: std::env::current_exe()
            .map_err(|cause| failed("this program cannot be found", cause))?,
        version: TOOL.to_owned(),
        forms: forms(),
        check: Arc::new(check),
        watched: Arc::new(|store, name| {
            watched_document(store, name).map_err(|error| error.to_string())
        }),
        store: Store::locate(args.store.as_deref()),
    };
    let (bound, place) = match args.listen {
        None => (
            UiServer::bind(args.port, token, options),
            "127.0.0.1".to_owned(),
        ),
        Some(address) => (
            UiServer::bind_remote(args.port, token, options, remote(args, address)?),
            address.to_string(),
        ),
    };
    let server = bound.map_err(|cause| {
        Failure::new(
            Exit::NotPermitted,
            format!("cannot listen at port {} of {place}: {cause}", args.port),
            "stop what listens there, or choose another port with -p",
        )
    })?;
    let told = match args.listen {
        None => tell(&server)?,
        Some(_) => {
            let port = server.port();
            let mut out = std::io::stdout();
            let _ = writeln!(out, "listening at {place}:{port}, with TLS and a password");
            let _ = out.flush();
            None
        }
    };
    let over = server.run(|| interrupt.count() > 0);
    if let Some(path) = told {
        let _ = std::fs::remove_file(path);
    }
    over.map_err(|cause| failed("the pages cannot be served", cause))?;
    Ok(Exit::Done)
}

/// What it takes to be reached from elsewhere.
fn remote(args: &UiArgs, address: IpAddr) -> Result<RemoteReach, Failure> {
    // The command line requires all three.
    let file = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
    let path = file(&args.password_file);
    let text = read_private(&path, "--password-file")?;
    let password = UiPassword::of_file(&text).map_err(|error| {
        let what = format!(
            "the --password-file {} cannot be used: {error}",
            path.display()
        );
        Failure::usage(what, "make it with `caudal ui --make-password`")
    })?;
    let tls = tls_of_files(&file(&args.tls_cert), &file(&args.tls_key))
        .map_err(|error| Failure::usage(error.to_string(), "give both as PEM"))?;
    Ok(RemoteReach {
        address,
        names: args.host.clone(),
        password,
        tls,
    })
}

/// Prints the line of a password file.
fn make_password() -> Result<Exit, Failure> {
    let mut line = String::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_PASSWORD)
        .read_line(&mut line);
    read.map_err(|cause| Failure::usage(format!("cannot read a password: {cause}"), ""))?;
    let made = password_line(line.trim_end_matches(['\n', '\r'])).map_err(|error| {
        Failure::usage(error.to_string(), "give a longer one on standard input")
    })?;
    let _ = writeln!(std::io::stdout(), "{made}");
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
