//! The daemon of a lab, and commands on the hosts of a lab.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use caudal_lab::daemon::{StartReply, StartRequest};
use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, LabRecord, LabReport};
use caudal_sys::process;
use caudal_sys::signal::{self, Interrupt};
use caudal_topology::TopologyFile;

use super::args::{LabRunArgs, LabUpArgs};
use super::file;
use super::print::print;
use crate::exit::{Exit, Failure};

/// `caudal lab up`
pub(super) fn up(
    registry: &Registry,
    args: &LabUpArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let topology = crate::topology::read(&args.what)?;
    let name = file::name(&args.what, args.name.as_deref())?;
    let (_, warnings) = start(registry, topology, &name, false)?;
    for warning in &warnings {
        eprintln!("caudal: {warning}");
    }
    if interrupt.count() > 0 {
        registry.take_down(&registry.find(Some(&name))?);
        return Err(Failure::new(
            Exit::Failed,
            "interrupted; the lab is down again",
            "",
        ));
    }
    if args.quiet {
        return Ok(Exit::Done);
    }
    let record = registry.find(Some(&name))?;
    let report = registry.report(&record)?;
    let mut text = super::tree::text(&report);
    let (one, other) = (
        &record.hosts[0].0,
        record.hosts.get(1).map_or("HOST", |host| &host.0),
    );
    let lab = if registry.list().len() > 1 {
        format!(" --lab {name}")
    } else {
        String::new()
    };
    text.push_str(&format!(
        "\nTry `caudal lab exec{lab} {one} -- ping {other}`; end it with `caudal lab down {name}`.\n"
    ));
    print(&text)
}

/// Starts the daemon of a lab and waits until the lab is up; returns the daemon and the warnings about the lab.
pub(crate) fn start(
    registry: &Registry,
    topology: TopologyFile,
    name: &str,
    attached: bool,
) -> Result<(Child, Vec<String>), Failure> {
    let place = registry.reserve(name)?;
    let begun = begin(&place, topology, name, attached);
    if begun.is_err() {
        // The daemon removes its own files, unless it failed before it could.
        let _ = std::fs::remove_file(place.join("log"));
        let _ = std::fs::remove_dir(&place);
    }
    begun
}

fn begin(
    place: &std::path::Path,
    topology: TopologyFile,
    name: &str,
    attached: bool,
) -> Result<(Child, Vec<String>), Failure> {
    let failed = |what: &str, cause: &dyn std::fmt::Display| {
        Failure::new(Exit::NotPermitted, format!("cannot {what}: {cause}"), "")
    };
    let log_at = place.join("log");
    let log = std::fs::File::create(&log_at)
        .map_err(|cause| failed(&format!("write {}", log_at.display()), &cause))?;
    let mut child = Command::new("/proc/self/exe")
        .args(["lab", "own"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|cause| failed("start the daemon of the lab", &cause))?;
    let request = StartRequest {
        topology,
        name: name.to_owned(),
        attached,
    };
    let text = serde_json::to_string(&request).unwrap_or_default();
    let sent = match &mut child.stdin {
        Some(stdin) => stdin.write_all(format!("{text}\n").as_bytes()),
        None => Ok(()),
    };
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An output that ends without a line is reported below.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    match serde_json::from_str(&line) {
        Ok(StartReply::Up { warnings }) => {
            if !attached {
                child.stdin = None;
            }
            Ok((child, warnings))
        }
        Ok(StartReply::Failed { reason, is_usage }) => {
            let _ = child.wait();
            let exit = if is_usage {
                Exit::Usage
            } else {
                Exit::NotPermitted
            };
            let (message, advice) = reason.split_once("; ").unwrap_or((&reason, ""));
            Err(Failure::new(exit, message, advice))
        }
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            let log_text = std::fs::read_to_string(&log_at).unwrap_or_default();
            let log_text = log_text.lines().next().unwrap_or("none");
            let cause = sent
                .err()
                .map_or(String::new(), |cause| format!(" ({cause})"));
            Err(failed(
                "run the lab",
                &format!("its daemon ended{cause} with the message: {log_text}"),
            ))
        }
    }
}

/// `caudal lab run`
pub(super) fn run(
    registry: &Registry,
    args: &LabRunArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let topology = crate::topology::read(&args.what)?;
    let base = file::name(&args.what, None)?;
    let name = format!("{base}-{}", std::process::id());
    let (daemon, warnings) = start(registry, topology, &name, true)?;
    for warning in &warnings {
        eprintln!("caudal: {warning}");
    }
    let ended = (|| {
        let record = registry.find(Some(&name))?;
        let (host, entry) = registry.entry(&record, args.on.as_deref())?;
        let entry = entry.dying_with_parent();
        let mut command = command(&record, &host, &args.command);
        entry.apply(&mut command);
        registry.send(&record, &ControlRequest::Mark)?;
        if interrupt.count() > 0 {
            return Err(Failure::new(Exit::Failed, "interrupted", ""));
        }
        // From here on the command handles the terminal's signals, and this process ends when it does.
        let _ = signal::ignore_terminal_signals();
        let mut child = command
            .spawn()
            .map_err(|cause| cannot_run(&host, &args.command[0], &cause))?;
        let status = wait(&mut child, interrupt)?;
        match registry.report(&record) {
            Ok(report) => print_lateness(&report, args.quiet),
            Err(error) => {
                eprintln!("caudal: the network was down before the command ended: {error}");
            }
        }
        Ok(status)
    })();
    end(registry, daemon, &name);
    ended.map(Exit::OfCommand)
}

/// Ends the daemon of an attached lab, and removes what is left of the lab.
pub(crate) fn end(registry: &Registry, mut daemon: Child, name: &str) {
    // The daemon ends at the end of its input; take_down ends it if it does not.
    daemon.stdin = None;
    let _ = daemon.wait();
    if let Ok(record) = registry.find(Some(name)) {
        registry.take_down(&record);
    }
}

/// Waits for a command, and kills it when this process is interrupted.
fn wait(child: &mut Child, interrupt: &Interrupt) -> Result<u8, Failure> {
    let before = interrupt.count();
    loop {
        let done = child.try_wait().map_err(|cause| {
            Failure::new(
                Exit::Failed,
                format!("cannot wait for the command: {cause}"),
                "",
            )
        })?;
        if let Some(status) = done {
            let code = status
                .code()
                .or_else(|| status.signal().map(|number| 128 + number));
            return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        if interrupt.count() > before {
            let _ = child.kill();
        }
        let _ = process::wait_for_child(child.id(), &[interrupt.fd()]);
    }
}

/// Prints how late the emulator's deliveries were while the command ran.
fn print_lateness(report: &LabReport, quiet: bool) {
    let Some(emulator) = &report.emulator else {
        return;
    };
    let run = &emulator.run;
    if run.must_repeat {
        let max = run.max_us.unwrap_or(0.0) / 1e3;
        eprintln!(
            "caudal: the emulator stalled for up to {max:.1} ms ({} frames late, {} dropped unread): repeat the measurement",
            run.stalls, run.unread
        );
    } else if let (false, Some(p50), Some(p99), Some(max)) =
        (quiet, run.p50_us, run.p99_us, run.max_us)
    {
        eprintln!(
            "caudal: the emulator delivered {} frames, late by {p50:.0} us (p50), {p99:.0} us (p99), {max:.0} us (max)",
            run.deliveries
        );
    }
}

pub(crate) fn command(record: &LabRecord, host: &str, words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env("CAUDAL_LAB", &record.name)
        .env("CAUDAL_HOST", host);
    command
}

fn cannot_run(host: &str, program: &str, cause: &std::io::Error) -> Failure {
    let exit = match cause.kind() {
        std::io::ErrorKind::NotFound => Exit::Usage,
        _ => Exit::NotPermitted,
    };
    let advice = match exit {
        Exit::Usage => "install it, or give its path",
        _ => "make it executable",
    };
    Failure::new(
        exit,
        format!("cannot run {program} on {host}: {cause}"),
        advice,
    )
}

/// Replaces this process by a command on a host; returns only when that fails.
pub(super) fn replace(
    registry: &Registry,
    record: &LabRecord,
    host: &str,
    words: &[String],
) -> Failure {
    match registry.entry(record, Some(host)) {
        Ok((host, entry)) => {
            let mut command = command(record, &host, words);
            let cause = entry.apply(&mut command).exec();
            cannot_run(&host, &words[0], &cause)
        }
        Err(error) => error.into(),
    }
}
