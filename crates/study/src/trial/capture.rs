//! Captures of the frames at the hosts' interfaces, by tcpdump.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use caudal_topology::NodeRole;

use super::active_testbed::ActiveTestbed;
use super::child_process::ChildProcess;
use super::measurements::TrialMeasurements;
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::testbed::Testbed;

impl ActiveTestbed {
    /// Starts tcpdump on every interface of every host, when the trial is captured.
    pub(super) fn capture(
        &self,
        setup: &TrialSetup<'_>,
        measurements: &mut TrialMeasurements,
    ) -> Result<Vec<ChildProcess>, StudyError> {
        let Some(directory) = &setup.captures else {
            return Ok(Vec::new());
        };
        std::fs::create_dir_all(directory).map_err(|cause| StudyError::CaptureDirectory {
            path: directory.display().to_string(),
            cause,
        })?;
        let mut wanted: Vec<(String, String)> = Vec::new();
        match setup.testbed {
            Testbed::Lab(network) => {
                for (number, node) in network.topology.nodes.iter().enumerate() {
                    if matches!(node.role, NodeRole::Host(_)) {
                        wanted.extend(network.topology.attachments(number).map(|at| {
                            let device =
                                network.topology.links[at.link].ends[at.end].device.clone();
                            (node.name.clone(), device)
                        }));
                    }
                }
            }
            Testbed::Hosts { .. } => wanted.push(("here".to_owned(), "any".to_owned())),
            Testbed::Loopback => wanted.push(("here".to_owned(), "lo".to_owned())),
        }
        let mut running = Vec::new();
        for (host, device) in wanted {
            let file = directory.join(format!("{host}-{device}.pcap"));
            match self.tcpdump(&host, &device, &file) {
                Ok(process) => {
                    running.push(process);
                    measurements
                        .captures
                        .insert(format!("{host} {device}"), file.display().to_string());
                }
                Err(why) => {
                    let warning = format!("no capture: {why}");
                    if !measurements.warnings.contains(&warning) {
                        measurements.warnings.push(warning);
                    }
                }
            }
        }
        Ok(running)
    }

    fn tcpdump(&self, host: &str, device: &str, file: &Path) -> Result<ChildProcess, String> {
        let mut words: Vec<String> = [
            "tcpdump",
            "-n",
            "-U",
            "--immediate-mode",
            "-s",
            "128",
            "-i",
            device,
            "-w",
        ]
        .map(str::to_owned)
        .to_vec();
        words.push(file.display().to_string());
        if caudal_sys::host::is_root() {
            words.extend(["-Z".to_owned(), "root".to_owned()]);
        }
        let mut command = self
            .command(host, &words)
            .map_err(|error| error.to_string())?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => "tcpdump is not installed".to_owned(),
            _ => format!("tcpdump cannot be started: {cause}"),
        })?;
        let stderr = child.stderr.take();
        let mut process = ChildProcess::new(child);
        let mut output = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr);
            while let Ok(1..) = lines.read_line(&mut output) {
                if output.contains("listening on") {
                    process.drain(lines);
                    return Ok(process);
                }
            }
        }
        Err(format!(
            "tcpdump on {host}: {}",
            output.trim().replace('\n', " ")
        ))
    }
}
