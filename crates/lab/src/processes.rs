//! Processes that run on a lab's hosts.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use caudal_sys::namespace::NamespaceId;
use caudal_sys::signal;

/// The processes whose network is one of `namespaces`, this one excepted.
pub(crate) fn inside(namespaces: &BTreeSet<NamespaceId>) -> Vec<u32> {
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

/// What tells the network namespace of a process from others; `None` when the process is gone or not ours.
pub(crate) fn namespace_of(process: u32) -> Option<NamespaceId> {
    let metadata = fs::metadata(format!("/proc/{process}/ns/net")).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Whether a process was started with this variable in its environment.
pub(crate) fn has_variable(process: u32, name: &str, value: &str) -> bool {
    let line = format!("{name}={value}");
    fs::read(format!("/proc/{process}/environ")).is_ok_and(|environment| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == line.as_bytes())
    })
}

/// When a process began, in the kernel's ticks since the boot: tells it from a later one of the same number. `None` for one
/// that has ended or is about to.
pub(crate) fn began(process: u32) -> Option<u64> {
    // include/linux/sched.h, PF_EXITING: a killed process takes its devices down first, which can last seconds.
    const EXITING: u64 = 0x4;
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may hold anything; the state is the third field, the begin the 22nd.
    let rest = &status[status.rfind(')')? + 2..];
    let mut fields = rest.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    let began = fields.nth(12)?.parse().ok()?;
    (flags & EXITING == 0).then_some(began)
}

/// Kills the processes whose network is one of `namespaces`, and those they start meanwhile; how many there were.
pub(crate) fn kill(namespaces: &BTreeSet<NamespaceId>) -> usize {
    let mut killed = BTreeSet::new();
    // A killed process is gone within milliseconds, unless it waits for a disk.
    for _ in 0..200 {
        let found = inside(namespaces);
        if found.is_empty() {
            break;
        }
        for process in found {
            if killed.insert(process) {
                signal::kill(process);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    killed.len()
}
