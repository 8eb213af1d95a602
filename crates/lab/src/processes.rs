//! Processes on the hosts of labs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use caudal_sys::namespace::NamespaceId;
use caudal_sys::process;

/// The processes in one of `namespaces`, without this one.
pub(crate) fn in_namespaces(namespaces: &BTreeSet<NamespaceId>) -> Vec<u32> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own);
    processes
        .filter(|process| namespace_of(*process).is_some_and(|id| namespaces.contains(&id)))
        .collect()
}

/// The identifier of a process's network namespace; `None` when the process is gone or belongs to another user.
pub(crate) fn namespace_of(process: u32) -> Option<NamespaceId> {
    let metadata = fs::metadata(format!("/proc/{process}/ns/net")).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// `true` when a process was started with this variable in its environment.
pub(crate) fn has_variable(process: u32, name: &str, value: &str) -> bool {
    let line = format!("{name}={value}");
    fs::read(format!("/proc/{process}/environ")).is_ok_and(|environment| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == line.as_bytes())
    })
}

/// The start time of a process in clock ticks since boot, which distinguishes it from a later one of the same number.
/// `None` for a process that has ended or is ending.
pub(crate) fn start_time(process: u32) -> Option<u64> {
    // include/linux/sched.h, PF_EXITING: a killed process first takes its devices down, which can take seconds.
    const EXITING: u64 = 0x4;
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // proc(5): the name is in parentheses and may contain anything; the state is the third field, the start time the 22nd.
    let rest = &status[status.rfind(')')? + 2..];
    let mut fields = rest.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    let start_time = fields.nth(12)?.parse().ok()?;
    (flags & EXITING == 0).then_some(start_time)
}

/// Kills the processes in one of `namespaces`, and those they start meanwhile.
pub(crate) fn kill_in_namespaces(namespaces: &BTreeSet<NamespaceId>) {
    let mut killed = BTreeSet::new();
    // A killed process is gone within milliseconds, unless it waits for a disk.
    for _ in 0..200 {
        let found = in_namespaces(namespaces);
        if found.is_empty() {
            break;
        }
        for process in found {
            if killed.insert(process) {
                process::kill(process);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
}
