//! The daemon of a lab, and commands on the hosts of a lab.

use crate::output::diagnostic;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, DaemonProcess, LabRecord, LabReport};
use caudal_sys::process;
use caudal_sys::signal::{self, Interrupt};
use caudal_topology::TopologyFile;
use caudal_views::lab::lab_tree;

use super::args::{LabRunArgs, LabUpArgs};
use super::file;
use crate::exit::{Exit, Failure};
use crate::output::sink::print;

/// The arguments with which this program runs a lab as a process.
pub(crate) const DAEMON_ARGUMENTS: [&str; 2] = ["lab", "own"];

/// The exit code of a shell for a command that does not exist.
const COMMAND_NOT_FOUND: u8 = 127;
/// The exit code of a shell for a command that cannot be executed.
const COMMAND_NOT_EXECUTABLE: u8 = 126;

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
        diagnostic(&warning.to_string());
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
    let mut text = lab_tree(&report);
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

/// Starts the process of a lab and waits until it is up; with the lab's warnings.
fn start(
    registry: &Registry,
    topology: TopologyFile,
    name: &str,
    attached: bool,
) -> Result<(DaemonProcess, Vec<String>), Failure> {
    let mut command = Command::new("/proc/self/exe");
    command.args(DAEMON_ARGUMENTS);
    let started = DaemonProcess::start(registry, topology, name, attached, command)?;
    Ok(started)
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
        diagnostic(&warning.to_string());
    }
    let ended = (|| {
        let record = registry.find(Some(&name))?;
        let (host, entry) = registry.entry(&record, args.on.as_deref())?;
        let entry = entry.dying_with_parent();
        let mut command = record.command(&host, &args.command);
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
                diagnostic(&format!(
                    "the network was down before the command ended: {error}"
                ));
            }
        }
        Ok(status)
    })();
    daemon.end(registry);
    ended.map(Exit::OfCommand)
}

/// Waits for a command, and ends it when this process is asked to end.
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
        diagnostic(&format!(
            "the emulator stalled for up to {max:.1} ms ({} frames late, {} dropped unread): repeat the measurement",
            run.stalls, run.unread
        ));
    } else if let (false, Some(p50), Some(p99), Some(max)) =
        (quiet, run.p50_us, run.p99_us, run.max_us)
    {
        diagnostic(&format!(
            "the emulator delivered {} frames, late by {p50:.0} us (p50), {p99:.0} us (p99), {max:.0} us (max)",
            run.deliveries
        ));
    }
}

/// The failure of a command that could not be started, with the exit code a shell gives it.
fn cannot_run(host: &str, program: &str, cause: &std::io::Error) -> Failure {
    let (exit, advice) = match cause.kind() {
        std::io::ErrorKind::NotFound => (COMMAND_NOT_FOUND, "install it, or give its path"),
        _ => (COMMAND_NOT_EXECUTABLE, "make it executable"),
    };
    Failure::new(
        Exit::OfCommand(exit),
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
            let mut command = record.command(&host, words);
            let cause = entry.apply(&mut command).exec();
            cannot_run(&host, &words[0], &cause)
        }
        Err(error) => error.into(),
    }
}
