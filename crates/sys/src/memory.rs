//! How much memory this process may have.

use crate::host::memory_bytes;
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;

/// The mount point of control groups, version 2.
const VERSION_2: &str = "/sys/fs/cgroup";
/// That of the controller of memory, version 1.
const VERSION_1: &str = "/sys/fs/cgroup/memory";

/// The size from which blocks are mapped one by one, bytes: the default of glibc.
#[cfg(target_env = "gnu")]
const MMAP_THRESHOLD_BYTES: i32 = 128 << 10;

/// Address space of a process under `RLIMIT_AS` (`ulimit -v`), bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSpace {
    /// What it may map.
    pub total: u64,
    /// What it may map beyond what it has mapped.
    pub left: u64,
}

/// The address space of this process; `None` where it has no limit, or the kernel does not tell.
pub fn address_space() -> Option<AddressSpace> {
    let total = getrlimit(Resource::As).current?;
    // The first number is the pages that are mapped, proc_pid_statm(5).
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    let left = total.saturating_sub(pages.saturating_mul(page_size() as u64));
    Some(AddressSpace { total, left })
}

/// Has the allocator keep little address space for itself, where this process has a limit (`ulimit -v`): glibc reserves 64 MiB for the
/// first thread on each processor, and eight times as much in all, and keeps what was freed.
///
/// To be called before threads are started.
pub fn spare_address_space() {
    #[cfg(target_env = "gnu")]
    if getrlimit(Resource::As).current.is_some() {
        // SAFETY: both calls set numbers of the allocator and touch no memory of this program.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
            // A threshold that was set does not grow: large blocks are given back as soon as they are freed.
            libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        }
    }
}

/// The memory that this process may have, bytes: that of the machine, the limits of its control groups, and its own
/// (`ulimit -v`), the least of them; `None` where the kernel tells of none.
pub fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = getrlimit(Resource::As).current;
    let of_groups = memory_groups(&groups).filter_map(|(mount, path)| {
        let file = match mount {
            VERSION_2 => "memory.max",
            _ => "memory.limit_in_bytes",
        };
        let path = Path::new(path.trim_start_matches('/'));
        // The limit of every group above holds as well.
        let limits = path.ancestors().filter_map(|group| {
            limit_in(&fs::read_to_string(Path::new(mount).join(group).join(file)).ok()?)
        });
        limits.min()
    });
    of_groups.chain(memory_bytes()).chain(own).min()
}

/// The groups that limit memory, as mount point and path in it: lines of `hierarchy:controllers:path`, cgroups(7).
fn memory_groups(groups: &str) -> impl Iterator<Item = (&'static str, &str)> {
    groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        match (
            hierarchy,
            controllers.split(',').any(|name| name == "memory"),
        ) {
            ("0", _) => Some((VERSION_2, path)),
            (_, true) => Some((VERSION_1, path)),
            _ => None,
        }
    })
}

/// The limit in a `memory.max`, bytes; `None` for `max`.
fn limit_in(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let groups = "12:cpuset:/a\n4:memory:/b/c\n0::/d\n";
        let found: Vec<_> = memory_groups(groups).collect();
        assert_eq!(found, [(VERSION_1, "/b/c"), (VERSION_2, "/d")]);
        assert_eq!(limit_in("max\n"), None);
        assert_eq!(limit_in("104857600\n"), Some(100 << 20));
    }

    #[test]
    fn a_limit_is_no_more_than_the_memory_of_the_machine() {
        assert!(memory_limit().unwrap() <= memory_bytes().unwrap());
    }
}
