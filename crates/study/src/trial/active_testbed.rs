//! A testbed that is up, and the processes on its hosts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use caudal_engine::server::SessionEventSender;
use caudal_engine::{Server, ServerOptions, SessionLimits, TOOL};
use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, DaemonProcess, LabRecord, LabReport};
use caudal_sys::process::kill_with_parent;
use caudal_topology::SegmentationFile;
use serde::Deserialize;

use super::child_process::ChildProcess;
use super::program::{THIS_PROGRAM, own_command};
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::testbed::{LabNetwork, Testbed};

/// Maximum idle time of a client before the server on loopback closes it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// A testbed that is up, until it is dropped.
pub(super) enum ActiveTestbed {
    /// A lab with a server on each host that is the end of a flow.
    Lab(Box<ActiveLab>),
    /// A server of this process on loopback.
    Loopback(Server),
    /// Hosts with servers of their own.
    Hosts,
}

/// A lab that is up, until it is dropped.
pub(super) struct ActiveLab {
    registry: Registry,
    daemon: Option<DaemonProcess>,
    record: LabRecord,
    servers: Vec<ChildProcess>,
}

impl Drop for ActiveLab {
    fn drop(&mut self) {
        self.servers.clear();
        if let Some(daemon) = self.daemon.take() {
            daemon.end(&self.registry);
        }
    }
}

/// The event of a line of the server's log.
#[derive(Deserialize)]
struct ServerLogLine {
    event: String,
}

impl ActiveTestbed {
    /// Builds the testbed of a trial; with warnings about it.
    ///
    /// # Errors
    /// When the lab cannot be built, or a server does not start.
    pub(super) fn build(
        setup: &TrialSetup<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, StudyError> {
        match setup.testbed {
            Testbed::Lab(network) => Self::lab(setup, network, warnings),
            Testbed::Hosts { .. } => Ok(Self::Hosts),
            Testbed::Loopback => {
                let options = ServerOptions {
                    bind: vec![IpAddr::from(Ipv4Addr::LOCALHOST).into()],
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: IDLE_TIMEOUT,
                    limits: SessionLimits::unlimited(),
                    ..ServerOptions::default()
                };
                Ok(Self::Loopback(Server::start(
                    options,
                    SessionEventSender::default(),
                )?))
            }
        }
    }

    fn lab(
        setup: &TrialSetup<'_>,
        network: &LabNetwork,
        warnings: &mut Vec<String>,
    ) -> Result<Self, StudyError> {
        let registry = Registry::open()?;
        let mut file = network.file.clone();
        file.seed = Some(setup.seed);
        // What is captured at a host is to be what is on the wire, unless the case is about that.
        if setup.captures.is_some() && setup.case.offload.is_none() {
            for link in &mut file.link {
                link.segmentation.get_or_insert(SegmentationFile::Off);
            }
        }
        let command = own_command(setup.program.lab_daemon());
        let (daemon, of_lab) =
            DaemonProcess::start(&registry, file, &setup.lab_name, true, command)?;
        warnings.extend(of_lab);
        let record = match registry.find(Some(&setup.lab_name)) {
            Ok(record) => record,
            Err(error) => {
                daemon.end(&registry);
                return Err(error.into());
            }
        };
        let mut testbed = Self::Lab(Box::new(ActiveLab {
            registry,
            daemon: Some(daemon),
            record,
            servers: Vec::new(),
        }));
        let flows = setup.case.flows.iter();
        let receivers: BTreeSet<&str> = flows.map(|flow| flow.to.as_str()).collect();
        // All of them start at the same time, and are then waited for.
        let mut starting = Vec::with_capacity(receivers.len());
        for host in receivers {
            starting.push((host, testbed.start_server(setup, host)?));
        }
        for (host, child) in starting {
            let server = wait_until_listening(host, child)?;
            if let Self::Lab(lab) = &mut testbed {
                lab.servers.push(server);
            }
        }
        Ok(testbed)
    }

    /// A command on a host, where the testbed has hosts of its own.
    pub(super) fn command(&self, host: &str, words: &[String]) -> Result<Command, StudyError> {
        let mut command = match self {
            Self::Lab(lab) => {
                let (host, entry) = lab.registry.entry(&lab.record, Some(host))?;
                let mut command = lab.record.command(&host, words);
                entry.dying_with_parent().apply(&mut command);
                command
            }
            Self::Loopback(_) | Self::Hosts => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                kill_with_parent(&mut command);
                command
            }
        };
        // The terminal's ^C is for this process, which ends them itself.
        command
            .process_group(0)
            .env("CAUDAL_STORE", "none")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// A command of this program on a host.
    pub(super) fn own_command(
        &self,
        host: &str,
        arguments: Vec<String>,
    ) -> Result<Command, StudyError> {
        let words: Vec<String> = std::iter::once(THIS_PROGRAM.to_owned())
            .chain(arguments)
            .collect();
        self.command(host, &words)
    }

    /// Starts a server on a host.
    fn start_server(&self, setup: &TrialSetup<'_>, host: &str) -> Result<ChildProcess, StudyError> {
        let mut command = self.own_command(host, setup.program.server())?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|cause| StudyError::Start {
            process: "caudal serve".to_owned(),
            host: host.to_owned(),
            cause,
        })?;
        Ok(ChildProcess::new(child))
    }

    /// The report of the lab; `None` without a lab, or when it does not reply.
    pub(super) fn report(&self) -> Option<LabReport> {
        match self {
            Self::Lab(lab) => lab.registry.report(&lab.record).ok(),
            _ => None,
        }
    }

    /// Begins a new period of the lab's reports about itself.
    pub(super) fn mark(&self) {
        if let Self::Lab(lab) = self {
            // A lab that does not reply is noticed when it is asked for its report.
            let _ = lab.registry.send(&lab.record, &ControlRequest::Mark);
        }
    }
}

/// Waits until a server on a host listens.
fn wait_until_listening(host: &str, mut server: ChildProcess) -> Result<ChildProcess, StudyError> {
    let mut line = String::new();
    if let Some(stdout) = server.child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        // An output that ends is reported below.
        let _ = lines.read_line(&mut line);
        server.drain(lines);
    }
    let first: Option<ServerLogLine> = serde_json::from_str(&line).ok();
    let stderr = server.child.stderr.take();
    if first.is_some_and(|first| first.event == "listening") {
        return Ok(server);
    }
    let mut output = String::new();
    if let Some(mut stderr) = stderr {
        let _ = server.child.kill();
        let _ = stderr.read_to_string(&mut output);
    }
    Err(StudyError::NotListening {
        host: host.to_owned(),
        output: output.trim().trim_start_matches("caudal: ").to_owned(),
    })
}
