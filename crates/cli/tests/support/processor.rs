//! A process that is given a part of a processor's time, by a control group.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// The processor controller of version 1, where it is mounted.
const VERSION_1: &str = "/sys/fs/cgroup/cpu";
/// The control groups of version 2.
const VERSION_2: &str = "/sys/fs/cgroup";
/// The length of a period in which a group may use its part, µs.
const PERIOD_US: u64 = 100_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A control group whose processes share a part of one processor; removed when dropped, after they have ended.
pub struct ProcessorShare {
    path: PathBuf,
}

impl ProcessorShare {
    /// What stands in the way of a control group with a limit; `None` for nothing.
    pub fn missing() -> Option<String> {
        Self::of_percent(50)
            .is_none()
            .then(|| "no control group with a limit of processor time can be made".to_owned())
    }

    /// A group that may use this part of one processor.
    pub fn of_percent(percent: u64) -> Option<Self> {
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("caudal-test-{}-{nth}", process::id());
        let quota_us = PERIOD_US * percent / 100;
        let is_version_1 = Path::new(VERSION_1).join("cpu.cfs_quota_us").exists();
        let path = Path::new(if is_version_1 { VERSION_1 } else { VERSION_2 }).join(name);
        fs::create_dir(&path).ok()?;
        let group = Self { path };
        let limits = if is_version_1 {
            vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota_us.to_string()),
            ]
        } else {
            vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))]
        };
        let is_limited = limits
            .into_iter()
            .all(|(file, value)| fs::write(group.path.join(file), value).is_ok());
        is_limited.then_some(group)
    }

    /// Puts a process with all its threads into the group.
    #[track_caller]
    pub fn add(&self, pid: u32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for ProcessorShare {
    fn drop(&mut self) {
        // The group of a process that has just ended is in use a little longer.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
