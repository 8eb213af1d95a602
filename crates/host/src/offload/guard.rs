//! Offloads set until a value is dropped.

use super::error::OffloadError;
use super::record::{ChangeFiles, RecordedChange, directories, leftovers};
use caudal_core::run::RunOffload;
use caudal_sys::directory::create_own_directory;
use caudal_sys::interface::{Interface, OffloadState, capture_offloads, request_offloads};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Offloads that are off on most machines, and stay so when offloads are turned on.
const UNUSUAL: [&str; 4] = [
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
];

/// The offloads of an interface that are on or off until this is dropped, in the namespace of the thread that set them.
#[derive(Debug)]
pub struct OffloadGuard {
    outcome: RunOffload,
    change: RecordedChange,
    files: ChangeFiles,
    /// Keeps other tests from setting them meanwhile.
    _lock: File,
}

impl OffloadGuard {
    /// Turns the offloads that coalesce or split packets, or defer their checksums, on or off.
    ///
    /// # Errors
    /// When this user may not, another test has done so, or the driver has none.
    pub fn set(interface: &str, enabled: bool) -> Result<Self, OffloadError> {
        Self::set_and_record(interface, enabled, &directories())
    }

    fn set_and_record(
        interface: &str,
        enabled: bool,
        directories: &[PathBuf],
    ) -> Result<Self, OffloadError> {
        let none = || OffloadError::None(interface.to_owned());
        let device = Interface::by_name(interface).ok_or_else(none)?;
        let directory = writable(directories)?;
        let change = RecordedChange::new(interface, device.index, Vec::new());
        let unrecorded = |cause| OffloadError::Record {
            path: directory.to_owned(),
            cause,
        };
        let mut change = change.map_err(unrecorded)?;
        let files = change.files(directory);
        let lock = files.lock().map_err(unrecorded)?;
        let lock = lock.ok_or_else(|| OffloadError::Busy(interface.to_owned()))?;
        // What a process that was killed meanwhile left behind is not the state to return to.
        files.undo_leftover();
        let offloads = capture_offloads(interface).map_err(|_| none())?;
        if offloads.is_empty() {
            return Err(none());
        }
        let is_changed = |one: &OffloadState| {
            one.is_requested != enabled && (!enabled || !UNUSUAL.contains(&one.name.as_str()))
        };
        change.before = offloads
            .into_iter()
            .filter(is_changed)
            .map(|one| (one.name, one.is_requested))
            .collect();
        files.write(&change).map_err(unrecorded)?;
        let wanted: Vec<(String, bool)> = change
            .before
            .iter()
            .map(|(name, _)| (name.clone(), enabled))
            .collect();
        let mut guard = Self {
            outcome: RunOffload {
                interface: interface.into(),
                enabled,
                changed: Vec::new(),
                refused: Vec::new(),
            },
            change,
            files,
            _lock: lock,
        };
        if !wanted.is_empty() {
            request_offloads(interface, &wanted).map_err(|cause| match cause.kind() {
                io::ErrorKind::PermissionDenied => OffloadError::NotPermitted,
                _ => OffloadError::Set {
                    interface: interface.to_owned(),
                    cause,
                },
            })?;
        }
        guard.note_outcome(&wanted);
        Ok(guard)
    }

    /// Notes which of those wanted the driver set, and which are not as asked for.
    fn note_outcome(&mut self, wanted: &[(String, bool)]) {
        let now = capture_offloads(&self.change.interface).unwrap_or_default();
        for (name, is_on) in wanted {
            let is_set = now
                .iter()
                .any(|one| one.name == *name && one.is_active == *is_on);
            let list = if is_set {
                &mut self.outcome.changed
            } else {
                &mut self.outcome.refused
            };
            list.push(name.as_str().into());
        }
    }

    /// What was set.
    #[must_use]
    pub const fn outcome(&self) -> &RunOffload {
        &self.outcome
    }
}

impl Drop for OffloadGuard {
    fn drop(&mut self) {
        // Where this fails the record stays, and the next command tries again.
        if self.change.undo().is_ok() {
            self.files.remove();
        }
    }
}

/// Restores offloads of interfaces of this namespace that a process left set when it was killed.
pub fn restore_offloads() {
    directories()
        .iter()
        .for_each(|directory| restore_in(directory));
}

fn restore_in(directory: &Path) {
    for files in leftovers(directory) {
        if let Ok(Some(_lock)) = files.lock()
            && files.undo_leftover()
        {
            files.remove();
        }
    }
}

/// The first directory that this user may write to.
fn writable(directories: &[PathBuf]) -> Result<&Path, OffloadError> {
    let mut last = None;
    for directory in directories {
        match create_own_directory(directory) {
            Ok(()) => return Ok(directory),
            Err(cause) => last = Some((directory, cause)),
        }
    }
    let (path, cause) = last.map_or_else(
        || (PathBuf::new(), io::ErrorKind::NotFound.into()),
        |(path, cause)| (path.clone(), cause),
    );
    Err(OffloadError::Record { path, cause })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_sys::namespace::NetworkNamespace;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const VARIABLE: &str = "CAUDAL_TEST_OFFLOAD_DIRECTORY";
    const SEGMENTATION: &str = "tx-tcp-segmentation";

    fn is_on(name: &str) -> bool {
        let offloads = capture_offloads("lo").unwrap();
        offloads
            .iter()
            .any(|one| one.name == name && one.is_requested)
    }

    fn directory(name: &str) -> PathBuf {
        let name = format!("caudal-offload-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        directory
    }

    /// Calls `work` where it may set the offloads of loopback; not at all where this user may not.
    fn in_namespace(work: impl FnOnce() + Send) {
        if let Ok(namespace) = NetworkNamespace::create() {
            let done = namespace.run(|| {
                work();
                Ok(())
            });
            done.unwrap();
        }
    }

    #[test]
    fn offloads_are_restored_once_the_value_is_dropped() {
        in_namespace(|| {
            let places = [directory("drop")];
            assert!(is_on(SEGMENTATION));
            let guard = OffloadGuard::set_and_record("lo", false, &places).unwrap();
            assert!(!is_on(SEGMENTATION));
            assert!(
                guard
                    .outcome()
                    .changed
                    .iter()
                    .any(|name| *name == *SEGMENTATION)
            );
            // Those of segments with ECN and others are set as well, which `Interface` does not list.
            let now = capture_offloads("lo").unwrap();
            let refused = guard.outcome().refused.iter();
            for name in refused {
                assert!(now.iter().any(|one| *name == *one.name && one.is_active));
            }
            // Neither a second test nor the next command interferes.
            let second = OffloadGuard::set_and_record("lo", false, &places);
            assert!(matches!(second, Err(OffloadError::Busy(_))));
            restore_in(&places[0]);
            assert!(!is_on(SEGMENTATION));
            drop(guard);
            assert!(is_on(SEGMENTATION));
            assert!(leftovers(&places[0]).is_empty());
            std::fs::remove_dir_all(&places[0]).unwrap();
        });
    }

    #[test]
    fn what_others_changed_meanwhile_is_left_alone() {
        in_namespace(|| {
            let places = [directory("others")];
            let guard = OffloadGuard::set_and_record("lo", true, &places).unwrap();
            assert!(guard.outcome().changed.is_empty());
            request_offloads("lo", &[(SEGMENTATION.to_owned(), false)]).unwrap();
            drop(guard);
            assert!(!is_on(SEGMENTATION));
            std::fs::remove_dir_all(&places[0]).unwrap();
        });
    }

    #[test]
    fn offloads_that_a_killed_process_set_are_restored() {
        if let Some(at) = std::env::var_os(VARIABLE) {
            let _guard = OffloadGuard::set_and_record("lo", false, &[at.into()]).unwrap();
            println!("\nset");
            loop {
                std::thread::park();
            }
        }
        in_namespace(|| {
            let place = directory("killed");
            let test = "offload::guard::tests::offloads_that_a_killed_process_set_are_restored";
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([test, "--exact", "--nocapture"])
                .env(VARIABLE, &place)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let is_set = lines.map_while(Result::ok).any(|line| line == "set");
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(is_set && !is_on(SEGMENTATION));
            restore_in(&place);
            assert!(is_on(SEGMENTATION));
            assert!(leftovers(&place).is_empty());
            std::fs::remove_dir_all(place).unwrap();
        });
    }
}
