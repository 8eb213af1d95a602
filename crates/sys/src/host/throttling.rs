//! The time for which quotas of control groups held this process back.

use std::fs;
use std::path::Path;

/// The mount point of control groups, version 2.
const VERSION_2: &str = "/sys/fs/cgroup";
/// That of the controller of processors, version 1.
const VERSION_1: &str = "/sys/fs/cgroup/cpu";

/// The time for which the quotas of the control groups that this process is in have held threads back, ns, over all processors;
/// `None` where no group tells.
///
/// Source: Documentation/admin-guide/cgroup-v2.rst (`cpu.stat`), Documentation/scheduler/sched-bwc.rst for version 1.
pub fn throttled_ns() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let stats = cpu_groups(&groups).flat_map(|(mount, path)| {
        let path = Path::new(path.trim_start_matches('/'));
        // The quota of every group above holds as well.
        path.ancestors()
            .filter_map(|group| {
                let file = Path::new(mount).join(group).join("cpu.stat");
                throttled_in(&fs::read_to_string(file).ok()?)
            })
            .collect::<Vec<u64>>()
    });
    stats.reduce(|sum, more| sum + more)
}

/// The groups that limit processors, as mount point and path in it: lines of `hierarchy:controllers:path`, cgroups(7).
fn cpu_groups(groups: &str) -> impl Iterator<Item = (&'static str, &str)> {
    groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        match (hierarchy, controllers.split(',').any(|name| name == "cpu")) {
            ("0", _) => Some((VERSION_2, path)),
            (_, true) => Some((VERSION_1, path)),
            _ => None,
        }
    })
}

/// The time in a `cpu.stat`, ns.
fn throttled_in(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value.saturating_mul(1000)),
            "throttled_time" => Some(value),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        assert_eq!(
            throttled_in("usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n"),
            Some(1_500_000)
        );
        assert_eq!(
            throttled_in("nr_periods 9\nnr_throttled 2\nthrottled_time 1234\n"),
            Some(1234)
        );
        assert_eq!(throttled_in("usage_usec 7\n"), None);
        let groups = "12:cpuset:/a\n4:cpu,cpuacct:/b/c\n0::/d\n";
        let found: Vec<_> = cpu_groups(groups).collect();
        assert_eq!(found, [(VERSION_1, "/b/c"), (VERSION_2, "/d")]);
    }
}
