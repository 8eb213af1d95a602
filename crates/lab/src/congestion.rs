//! Permission to set the default congestion control of namespaces.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use caudal_sys::directory::create_own_directory;
use caudal_sys::process::try_lock;
use caudal_sys::tcp;
use serde::{Deserialize, Serialize};

/// The list of congestion controls that namespaces other than the initial one may have as a default.
const LIST: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
/// The directory of the lock and the record. The list is one for the host, and root alone may change it.
const DIRECTORY: &str = "/run/caudal-lab";

/// Puts the host's list of congestion controls back where a process that had extended it was killed.
pub fn restore_congestion_controls() {
    AllowedCongestionControls::of_host().restore_leftover();
}

/// The host's list of allowed congestion controls, with the files that keep it from being lost.
#[derive(Debug)]
struct AllowedCongestionControls {
    list: PathBuf,
    directory: PathBuf,
}

/// The change of the list by a process, as it is recorded before the change.
#[derive(Debug, Serialize, Deserialize)]
struct ListChange {
    original: String,
    extended: String,
}

/// Permission for every namespace to have certain congestion controls as a default, until this is dropped.
///
/// The list is restored once the hosts have been created, which keep what they have.
#[derive(Debug)]
pub(crate) struct CongestionPermission {
    controls: AllowedCongestionControls,
    /// Keeps other labs from changing the list meanwhile.
    _lock: File,
}

impl CongestionPermission {
    /// Adds `requested` to the list; `None` when nothing needs to be changed, or this user may not change it. Waits while
    /// another lab holds a permission.
    pub(crate) fn request<'a>(requested: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let available = tcp::available_congestion_controls();
        let requested = requested.into_iter();
        AllowedCongestionControls::of_host()
            .extend(requested.filter(|name| available.iter().any(|available| available == name)))
    }
}

impl Drop for CongestionPermission {
    fn drop(&mut self) {
        self.controls.restore();
    }
}

impl AllowedCongestionControls {
    fn of_host() -> Self {
        Self {
            list: LIST.into(),
            directory: DIRECTORY.into(),
        }
    }

    fn record_path(&self) -> PathBuf {
        self.directory.join("congestion.json")
    }

    fn extend<'a>(
        self,
        requested: impl IntoIterator<Item = &'a str>,
    ) -> Option<CongestionPermission> {
        let requested: Vec<&str> = requested.into_iter().collect();
        if requested.is_empty() {
            return None;
        }
        let lock = self.wait_for_lock()?;
        self.restore();
        let original = fs::read_to_string(&self.list).ok()?.trim().to_owned();
        let mut list: Vec<&str> = original.split_whitespace().collect();
        for name in requested {
            if !list.contains(&name) {
                list.push(name);
            }
        }
        let extended = list.join(" ");
        if extended == original {
            return None;
        }
        // The record is complete before the list is changed.
        let new = self.directory.join("congestion.json.new");
        let change = ListChange { original, extended };
        fs::write(&new, serde_json::to_vec(&change).ok()?).ok()?;
        fs::rename(&new, self.record_path()).ok()?;
        if fs::write(&self.list, &change.extended).is_err() {
            let _ = fs::remove_file(self.record_path());
            return None;
        }
        Some(CongestionPermission {
            controls: self,
            _lock: lock,
        })
    }

    /// Restores the list unless the process that changed it still holds the lock.
    fn restore_leftover(&self) {
        if self.record_path().exists()
            && let Some(lock) = self.open_lock()
            && try_lock(&lock).is_ok_and(|is_locked| is_locked)
        {
            self.restore();
        }
    }

    /// Restores the list from the record, and removes that. A list that others have changed meanwhile is left alone.
    fn restore(&self) {
        let Ok(bytes) = fs::read(self.record_path()) else {
            return;
        };
        if let Ok(change) = serde_json::from_slice::<ListChange>(&bytes) {
            let current = fs::read_to_string(&self.list).unwrap_or_default();
            let is_ours = names(&current) == names(&change.extended);
            if is_ours && fs::write(&self.list, &change.original).is_err() {
                return;
            }
        }
        let _ = fs::remove_file(self.record_path());
    }

    /// The lock, which is released when its process ends; `None` when another process holds it for longer than building a
    /// lab takes, or when this user may not change the list.
    fn wait_for_lock(&self) -> Option<File> {
        let lock = self.open_lock()?;
        for _ in 0..1000 {
            match try_lock(&lock) {
                Ok(true) => return Some(lock),
                Ok(false) => thread::sleep(Duration::from_millis(5)),
                Err(_) => return None,
            }
        }
        None
    }

    fn open_lock(&self) -> Option<File> {
        create_own_directory(&self.directory).ok()?;
        let path = self.directory.join("congestion.lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.open(path).ok()
    }
}

fn names(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};

    const DIRECTORY_VARIABLE: &str = "CAUDAL_TEST_CONGESTION_DIRECTORY";

    fn controls(directory: &Path) -> AllowedCongestionControls {
        AllowedCongestionControls {
            list: directory.join("list"),
            directory: directory.to_owned(),
        }
    }

    fn directory(name: &str) -> PathBuf {
        let name = format!("caudal-congestion-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        create_own_directory(&directory).unwrap();
        fs::write(directory.join("list"), "reno cubic\n").unwrap();
        directory
    }

    fn list(directory: &Path) -> String {
        fs::read_to_string(directory.join("list")).unwrap()
    }

    #[test]
    fn a_permission_extends_the_list_until_it_is_dropped() {
        let at = directory("drop");
        let permission = controls(&at).extend(["bbr", "reno"]).unwrap();
        assert_eq!(list(&at), "reno cubic bbr");
        // The next command leaves the list of a living process alone.
        controls(&at).restore_leftover();
        assert_eq!(list(&at), "reno cubic bbr");
        drop(permission);
        assert_eq!(list(&at), "reno cubic");
        assert!(controls(&at).extend(["cubic"]).is_none());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn a_list_that_others_have_changed_is_left_alone() {
        let at = directory("others");
        let permission = controls(&at).extend(["bbr"]).unwrap();
        fs::write(at.join("list"), "reno vegas").unwrap();
        drop(permission);
        assert_eq!(list(&at), "reno vegas");
        assert!(!controls(&at).record_path().exists());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn the_list_of_a_killed_process_is_restored() {
        if let Some(at) = std::env::var_os(DIRECTORY_VARIABLE) {
            let _permission = controls(Path::new(&at)).extend(["bbr"]).unwrap();
            println!("\nextended");
            loop {
                thread::park();
            }
        }
        let at = directory("killed");
        let test = "congestion::tests::the_list_of_a_killed_process_is_restored";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(DIRECTORY_VARIABLE, &at)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines
            .map_while(Result::ok)
            .any(|line| line.ends_with("extended"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(said);
        assert_eq!(list(&at), "reno cubic bbr");
        controls(&at).restore_leftover();
        assert_eq!(list(&at), "reno cubic");
        assert!(!controls(&at).record_path().exists());
        fs::remove_dir_all(at).unwrap();
    }
}
