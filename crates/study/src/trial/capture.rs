//! Captures of the frames at the hosts' interfaces, and the interfaces' offloads.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use caudal_sys::interface::route_to;
use caudal_topology::NodeRole;
use serde::Deserialize;

use super::active_testbed::ActiveTestbed;
use super::child_process::ChildProcess;
use super::measurements::TrialMeasurements;
use super::program::CaptureTask;
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::testbed::Testbed;

/// The name of this machine in captures where hosts have no namespaces.
pub(crate) const HERE: &str = "here";

/// The processes that watch the interfaces of a trial.
pub(super) struct InterfaceCaptures(Vec<InterfaceCapture>);

/// The process that watches one interface.
struct InterfaceCapture {
    process: ChildProcess,
    lines: BufReader<std::process::ChildStdout>,
    place: String,
}

/// The line that a capture ends with.
#[derive(Deserialize)]
struct CapturedLine {
    dropped: u64,
    cut_short: Option<String>,
}

impl ActiveTestbed {
    /// Captures every interface of every host where the case asks for it, and sets its offloads.
    ///
    /// # Errors
    /// When the offloads cannot be set: the results would be those of another experiment. An interface that cannot be captured is
    /// a warning.
    pub(super) fn capture(
        &self,
        setup: &TrialSetup<'_>,
        measurements: &mut TrialMeasurements,
    ) -> Result<InterfaceCaptures, StudyError> {
        let mut running = Vec::new();
        let offload = setup.case.offload;
        if setup.captures.is_none() && offload.is_none() {
            return Ok(InterfaceCaptures(running));
        }
        if let Some(directory) = &setup.captures {
            std::fs::create_dir_all(directory).map_err(|cause| StudyError::CaptureDirectory {
                path: directory.display().to_string(),
                cause,
            })?;
        }
        for (host, interface) in interfaces(setup.testbed) {
            let path = setup
                .captures
                .as_ref()
                .map(|at| absolute(&at.join(format!("{host}-{interface}.pcapng"))));
            let task = CaptureTask {
                interface,
                output: path.clone(),
                offload,
            };
            match self.watch(setup, &host, &task) {
                Ok(one) => {
                    if let Some(path) = path {
                        let file = path.display().to_string();
                        measurements.captures.insert(one.place.clone(), file);
                    }
                    running.push(one);
                }
                Err(why) if offload.is_some() => {
                    return Err(StudyError::Offload {
                        place: format!("{host} {}", task.interface),
                        why,
                    });
                }
                Err(why) => {
                    let warning = format!("no capture: {why}");
                    if !measurements.warnings.contains(&warning) {
                        measurements.warnings.push(warning);
                    }
                }
            }
        }
        Ok(InterfaceCaptures(running))
    }

    /// Starts a process that watches an interface, and waits until it does.
    fn watch(
        &self,
        setup: &TrialSetup<'_>,
        host: &str,
        task: &CaptureTask,
    ) -> Result<InterfaceCapture, String> {
        let command = self.own_command(host, setup.program.capture(task));
        let mut command = command.map_err(|error| error.to_string())?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| cause.to_string())?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process = ChildProcess::new(child);
        let mut output = String::new();
        if let Some(stdout) = stdout {
            let mut lines = BufReader::new(stdout);
            if matches!(lines.read_line(&mut output), Ok(1..)) && output.contains("capturing") {
                if let Some(stderr) = stderr {
                    process.drain(BufReader::new(stderr));
                }
                return Ok(InterfaceCapture {
                    process,
                    lines,
                    place: format!("{host} {}", task.interface),
                });
            }
        }
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_string(&mut output);
        }
        Err(output.trim().trim_start_matches("caudal: ").to_owned())
    }
}

impl InterfaceCaptures {
    /// Ends them, and warns of what they lack.
    pub(super) fn finish(self, warnings: &mut Vec<String>) {
        for one in &self.0 {
            caudal_sys::process::interrupt(one.process.child.id());
        }
        for mut one in self.0 {
            let mut line = String::new();
            let _ = one.lines.read_line(&mut line);
            let _ = one.process.child.wait();
            let Ok(captured) = serde_json::from_str::<CapturedLine>(&line) else {
                continue;
            };
            if captured.dropped > 0 {
                let (n, place) = (captured.dropped, &one.place);
                warnings.push(format!(
                    "the capture of {place} lacks {n} frames, which the kernel dropped"
                ));
            }
            if let Some(why) = captured.cut_short {
                warnings.push(format!("the capture of {} ended early: {why}", one.place));
            }
        }
    }
}

/// The hosts and their interfaces.
fn interfaces(testbed: &Testbed) -> Vec<(String, String)> {
    match testbed {
        Testbed::Lab(network) => {
            let hosts = network.topology.nodes.iter().enumerate();
            let hosts = hosts.filter(|(_, node)| matches!(node.role, NodeRole::Host(_)));
            hosts
                .flat_map(|(number, node)| {
                    network.topology.attachments(number).map(|at| {
                        let device = &network.topology.links[at.link].ends[at.end].device;
                        (node.name.clone(), device.clone())
                    })
                })
                .collect()
        }
        Testbed::Hosts { at, .. } => {
            let names: BTreeSet<String> = at
                .values()
                .filter_map(|address| {
                    let mut resolved = (address.host.as_str(), address.port)
                        .to_socket_addrs()
                        .ok()?;
                    Some(route_to(resolved.next()?.ip())?.interface)
                })
                .collect();
            names
                .into_iter()
                .map(|name| (HERE.to_owned(), name))
                .collect()
        }
        Testbed::Loopback => vec![(HERE.to_owned(), "lo".to_owned())],
    }
}

/// The path as a process finds it whatever its directory is.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
