//! The process of a lab, as the process that starts it sees it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use caudal_topology::TopologyFile;

use crate::daemon::{StartReply, StartRequest};
use crate::error::LabError;
use crate::registry::Registry;

/// The process of a lab.
#[derive(Debug)]
pub struct DaemonProcess {
    child: Child,
    name: String,
}

impl DaemonProcess {
    /// Starts the process of a lab, by a command that leads to [`daemon::run`](crate::daemon::run), and waits until the lab is up;
    /// with the lab's warnings. An `attached` lab ends with this process.
    ///
    /// # Errors
    /// When the name is taken, the process cannot be started, or the lab cannot be built.
    pub fn start(
        registry: &Registry,
        topology: TopologyFile,
        name: &str,
        attached: bool,
        command: Command,
    ) -> Result<(Self, Vec<String>), LabError> {
        let directory = registry.reserve(name)?;
        let request = StartRequest {
            topology,
            name: name.to_owned(),
            attached,
        };
        let started = spawn(&directory, &request, command);
        if started.is_err() {
            // The process removes its own files; these are of one that did not get so far.
            let _ = fs::remove_file(directory.join("log"));
            let _ = fs::remove_dir(&directory);
        }
        started
    }

    /// Ends the process of an attached lab and removes everything that is left of the lab.
    pub fn end(mut self, registry: &Registry) {
        // The process ends with its input; `take_down` waits for that and cleans up.
        self.child.stdin = None;
        let _ = self.child.wait();
        if let Ok(record) = registry.find(Some(&self.name)) {
            registry.take_down(&record);
        }
    }
}

fn spawn(
    directory: &Path,
    request: &StartRequest,
    mut command: Command,
) -> Result<(DaemonProcess, Vec<String>), LabError> {
    let log_path = directory.join("log");
    let log = File::create(&log_path).map_err(|cause| LabError::File {
        operation: "write",
        path: log_path.clone(),
        cause,
    })?;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(LabError::kernel("start the process of the lab"))?;
    let text = serde_json::to_string(request).unwrap_or_default();
    if let Some(stdin) = &mut child.stdin {
        // A process that has ended is noticed below.
        let _ = stdin.write_all(format!("{text}\n").as_bytes());
    }
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An output that ends without a line is reported below.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    match serde_json::from_str(&line) {
        Ok(StartReply::Up { warnings }) => {
            if !request.attached {
                child.stdin = None;
            }
            let name = request.name.clone();
            Ok((DaemonProcess { child, name }, warnings))
        }
        Ok(StartReply::Failed { reason, is_usage }) => {
            let _ = child.wait();
            let (what, remedy) = reason.split_once("; ").unwrap_or((&reason, ""));
            Err(if is_usage {
                LabError::invalid(what, remedy)
            } else {
                LabError::NotPermitted {
                    what: what.to_owned(),
                    remedy: remedy.to_owned(),
                }
            })
        }
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            let output = fs::read_to_string(&log_path).unwrap_or_default();
            Err(LabError::DaemonEnded {
                output: output.lines().next().unwrap_or("none").to_owned(),
            })
        }
    }
}
