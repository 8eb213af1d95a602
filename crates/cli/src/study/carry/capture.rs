//! What is on the wire, kept by tcpdump.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use caudal_topology::NodeRole;

use super::super::place::Place;
use super::ground::Ground;
use super::process::Process;
use super::{Carried, Stage};
use crate::exit::Failure;

impl Ground {
    /// Starts tcpdump on every interface of every host, when captures are asked for.
    pub(super) fn capture(
        &self,
        stage: &Stage<'_>,
        carried: &mut Carried,
    ) -> Result<Vec<Process>, Failure> {
        let Some(directory) = &stage.captures else {
            return Ok(Vec::new());
        };
        std::fs::create_dir_all(directory)
            .map_err(|cause| Failure::writing(&directory.display().to_string(), &cause))?;
        let mut wanted: Vec<(String, String)> = Vec::new();
        match stage.place {
            Place::Lab(net) => {
                for (number, node) in net.topology.nodes.iter().enumerate() {
                    if matches!(node.role, NodeRole::Host(_)) {
                        wanted.extend(net.topology.attachments(number).map(|at| {
                            let device = net.topology.links[at.link].ends[at.end].device.clone();
                            (node.name.clone(), device)
                        }));
                    }
                }
            }
            Place::Hosts { .. } => wanted.push(("here".to_owned(), "any".to_owned())),
            Place::Loopback => wanted.push(("here".to_owned(), "lo".to_owned())),
        }
        let mut running = Vec::new();
        for (host, device) in wanted {
            let file = directory.join(format!("{host}-{device}.pcap"));
            match self.tcpdump(&host, &device, &file) {
                Ok(process) => {
                    running.push(process);
                    carried
                        .captures
                        .insert(format!("{host} {device}"), file.display().to_string());
                }
                Err(why) => {
                    let said = format!("no capture: {why}");
                    if !carried.warnings.contains(&said) {
                        carried.warnings.push(said);
                    }
                }
            }
        }
        Ok(running)
    }

    fn tcpdump(&self, host: &str, device: &str, file: &Path) -> Result<Process, String> {
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
            .map_err(|failure| failure.message)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => "tcpdump is not installed".to_owned(),
            _ => format!("tcpdump cannot be started: {cause}"),
        })?;
        let stderr = child.stderr.take();
        let mut process = Process::of(child);
        let mut said = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr);
            while let Ok(1..) = lines.read_line(&mut said) {
                if said.contains("listening on") {
                    process.drain(lines);
                    return Ok(process);
                }
            }
        }
        Err(format!(
            "tcpdump on {host}: {}",
            said.trim().replace('\n', " ")
        ))
    }
}
