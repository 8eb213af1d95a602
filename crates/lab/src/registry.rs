//! The labs of this user, and the remains of those whose process was killed.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use caudal_link::lab_report::LabReport;
use caudal_sys::namespace::{NamespaceEntry, NetworkNamespace};
use caudal_sys::process;

use crate::control::{ControlReply, ControlRequest, REPLY_TIMEOUT, exchange};
use crate::error::LabError;
use crate::record::LabRecord;

/// Minimum age of a directory without a record to count as left behind.
const MIN_LEFTOVER_AGE: Duration = Duration::from_secs(30);
/// The files of a lab.
const FILES: [&str; 5] = ["control", "hosts", "log", "lab.json.new", "lab.json"];

/// The directory with the records of this user's labs.
#[derive(Debug, Clone)]
pub struct Registry {
    directory: PathBuf,
}

impl Registry {
    /// The registry of this user: in `/run` for root, otherwise in the user's runtime directory or the temporary one.
    ///
    /// # Errors
    /// When the directory cannot be created, or does not belong to this user alone.
    pub fn open() -> Result<Self, LabError> {
        let own = fs::metadata("/proc/self").map_or(u32::MAX, |metadata| metadata.uid());
        let directory = match std::env::var_os("CAUDAL_LAB_DIR") {
            Some(directory) => PathBuf::from(directory),
            None if own == 0 && Path::new("/run").is_dir() => PathBuf::from("/run/caudal-lab"),
            None => match std::env::var_os("XDG_RUNTIME_DIR").filter(|_| own != 0) {
                Some(directory) => PathBuf::from(directory).join("caudal-lab"),
                None => std::env::temp_dir().join(format!("caudal-lab-{own}")),
            },
        };
        let failed = |operation, cause| LabError::File {
            operation,
            path: directory.clone(),
            cause,
        };
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", error)),
        }
        // In a directory that all users may write to, another user's directory could be a trap.
        let metadata = fs::symlink_metadata(&directory).map_err(|e| failed("read", e))?;
        if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o022 != 0 {
            return Err(LabError::NotPermitted {
                what: format!(
                    "{} is not a directory that only this user may write to",
                    directory.display()
                ),
                remedy: "remove it, or name another in CAUDAL_LAB_DIR".to_owned(),
            });
        }
        Ok(Self { directory })
    }

    /// The directory of the lab called `name`.
    #[must_use]
    pub fn directory_of(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Reserves `name` for a new lab; gives the directory for its files.
    ///
    /// # Errors
    /// When there is a lab of this name, or the directory cannot be created.
    pub fn reserve(&self, name: &str) -> Result<PathBuf, LabError> {
        let directory = self.directory_of(name);
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(LabError::NameTaken {
                    name: name.to_owned(),
                })
            }
            Err(cause) => Err(LabError::File {
                operation: "create",
                path: directory,
                cause,
            }),
        }
    }

    /// Writes the record of a lab, replacing an earlier one.
    pub(crate) fn write(&self, record: &LabRecord) -> Result<(), LabError> {
        let directory = self.directory_of(&record.name);
        let path = directory.join("lab.json");
        let new = directory.join("lab.json.new");
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|cause| LabError::File {
                operation: "write",
                path,
                cause,
            })
    }

    /// The labs that are up, by name, without those that are being built.
    #[must_use]
    pub fn list(&self) -> Vec<LabRecord> {
        let mut records: Vec<LabRecord> = self
            .names()
            .iter()
            .filter_map(|name| self.record(name))
            .filter(|record| record.is_alive() && record.is_built())
            .collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        records
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    fn record(&self, name: &str) -> Option<LabRecord> {
        let text = fs::read_to_string(self.directory_of(name).join("lab.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The lab called `name`; without a name, the only one that is up.
    ///
    /// # Errors
    /// When there is none, or without a name more than one.
    pub fn find(&self, name: Option<&str>) -> Result<LabRecord, LabError> {
        let mut records = self.list();
        let up: Vec<String> = records.iter().map(|record| record.name.clone()).collect();
        if let Some(name) = name {
            records.retain(|record| record.name == name);
        }
        match (records.len(), name) {
            (1, _) => Ok(records.remove(0)),
            (0, Some(name)) if !up.is_empty() => Err(LabError::NoSuchLab {
                name: name.to_owned(),
                up,
            }),
            (0, _) => Err(LabError::NoLab),
            _ => Err(LabError::Ambiguous { up }),
        }
    }

    /// Removes the remains of labs whose process was killed: their processes, and with them their namespaces and devices,
    /// and their files. Gives the names of these labs.
    pub fn clean_up(&self) -> Vec<String> {
        let mut cleaned = Vec::new();
        for name in self.names() {
            match self.record(&name) {
                Some(record) if record.is_alive() => continue,
                Some(record) => {
                    record.kill_leftovers();
                    cleaned.push(name.clone());
                }
                // The name has been reserved and the record is not written yet, or this is not a lab's directory.
                None if !is_old(&self.directory_of(&name)) => continue,
                None => {}
            }
            self.remove_files(&name);
        }
        cleaned
    }

    /// Removes the files of a lab.
    pub(crate) fn remove_files(&self, name: &str) {
        let directory = self.directory_of(name);
        for file in FILES {
            let _ = fs::remove_file(directory.join(file));
        }
        let _ = fs::remove_dir(&directory);
    }

    fn exchange(
        &self,
        record: &LabRecord,
        request: &ControlRequest,
    ) -> Result<ControlReply, LabError> {
        let path = self.directory_of(&record.name).join("control");
        exchange(&path, request).map_err(|error| LabError::NotResponding {
            name: record.name.clone(),
            reason: error.to_string(),
        })
    }

    /// All counters of a lab.
    ///
    /// # Errors
    /// When it does not reply.
    pub fn report(&self, record: &LabRecord) -> Result<LabReport, LabError> {
        match self.exchange(record, &ControlRequest::Report)? {
            ControlReply::Report(report) => Ok(*report),
            ControlReply::Refused { reason, .. } => {
                Err(LabError::kernel("report")(io::Error::other(reason)))
            }
            ControlReply::Done => Err(LabError::NotResponding {
                name: record.name.clone(),
                reason: "it sent no report".to_owned(),
            }),
        }
    }

    /// Sends a request to a lab and waits until it is carried out.
    ///
    /// # Errors
    /// When the lab refuses it or does not reply.
    pub fn send(&self, record: &LabRecord, request: &ControlRequest) -> Result<(), LabError> {
        match self.exchange(record, request)? {
            ControlReply::Refused {
                reason,
                is_usage: true,
            } => {
                let (problem, remedy) = reason.split_once("; ").unwrap_or((&reason, "try again"));
                Err(LabError::invalid(problem, remedy))
            }
            ControlReply::Refused { reason, .. } => {
                Err(LabError::kernel("do that")(io::Error::other(reason)))
            }
            ControlReply::Done | ControlReply::Report(_) => Ok(()),
        }
    }

    /// Takes a lab down, by force when it does not reply; afterwards nothing of it is left.
    pub fn take_down(&self, record: &LabRecord) {
        const POLL_INTERVAL: Duration = Duration::from_millis(5);
        let is_ending = self.send(record, &ControlRequest::Down).is_ok();
        let mut waited = Duration::ZERO;
        while record.is_alive() && waited < REPLY_TIMEOUT {
            if !is_ending {
                process::kill(record.process);
            }
            std::thread::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
        }
        if record.is_alive() {
            process::kill(record.process);
            std::thread::sleep(Duration::from_millis(50));
        }
        record.kill_leftovers();
        self.remove_files(&record.name);
    }

    /// The name of a host of a lab and the means to enter it; `None` is its first host.
    ///
    /// # Errors
    /// When there is no such host, or the lab has ended.
    pub fn entry(
        &self,
        record: &LabRecord,
        host: Option<&str>,
    ) -> Result<(String, NamespaceEntry), LabError> {
        let found = host.map_or_else(
            || record.hosts.first(),
            |host| record.hosts.iter().find(|(name, _)| name == host),
        );
        let Some((name, descriptor)) = found else {
            let names: Vec<&str> = record.hosts.iter().map(|(name, _)| name.as_str()).collect();
            return Err(LabError::invalid(
                format!("there is no host {:?}", host.unwrap_or("")),
                format!("choose one of {}", names.join(", ")),
            ));
        };
        let process = record.process;
        let entry = NetworkNamespace::open(&format!("/proc/{process}/fd/{descriptor}"))
            .and_then(|namespace| {
                let hosts_file = self.directory_of(&record.name).join("hosts");
                NamespaceEntry::new(namespace, name, &hosts_file.to_string_lossy())
            })
            .and_then(|entry| entry.through_user_namespace(&format!("/proc/{process}/ns/user")))
            .map_err(LabError::kernel(format!("enter {name}")))?;
        Ok((name.clone(), entry))
    }
}

fn is_old(directory: &Path) -> bool {
    let age = fs::metadata(directory)
        .and_then(|metadata| metadata.modified())
        .map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > MIN_LEFTOVER_AGE)
}
