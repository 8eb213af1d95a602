//! The network of a trial, and the processes on its hosts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use caudal_engine::{Server, ServerOptions};
use caudal_lab::registry::Registry;
use caudal_lab::{ControlRequest, LabRecord, LabReport};

use super::super::place::{Net, Place};
use super::Stage;
use super::process::{Process, cannot_start};
use crate::exit::{Exit, Failure};
use crate::lab::keep;
use crate::peer::TOOL;

/// Where the processes of a trial run.
pub(super) enum Ground {
    Lab {
        registry: Registry,
        keeper: Option<Child>,
        card: Box<LabRecord>,
        servers: Vec<Process>,
    },
    Loopback(Server),
    Far,
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Self::Lab {
            registry,
            keeper,
            card,
            servers,
        } = self
        {
            servers.clear();
            if let Some(keeper) = keeper.take() {
                keep::end(registry, keeper, &card.name);
            }
        }
    }
}

impl Ground {
    pub(super) fn build(stage: &Stage<'_>, warnings: &mut Vec<String>) -> Result<Self, Failure> {
        match stage.place {
            Place::Lab(net) => Self::lab(stage, net, warnings),
            Place::Hosts { .. } => Ok(Self::Far),
            Place::Loopback => {
                let options = ServerOptions {
                    bind: Some(std::net::Ipv4Addr::LOCALHOST.into()),
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: Duration::from_secs(3600),
                    ..ServerOptions::default()
                };
                Ok(Self::Loopback(
                    Server::start(options, None).map_err(Failure::from)?,
                ))
            }
        }
    }

    fn lab(stage: &Stage<'_>, net: &Net, warnings: &mut Vec<String>) -> Result<Self, Failure> {
        let registry = Registry::open()?;
        let mut file = net.file.clone();
        file.seed = Some(stage.seed);
        let (keeper, said) = keep::start(&registry, file, &stage.name, true)?;
        warnings.extend(said);
        let card = match registry.find(Some(&stage.name)) {
            Ok(card) => card,
            Err(error) => {
                keep::end(&registry, keeper, &stage.name);
                return Err(error.into());
            }
        };
        let mut ground = Self::Lab {
            registry,
            keeper: Some(keeper),
            card: Box::new(card),
            servers: Vec::new(),
        };
        let answering: BTreeSet<&str> = stage
            .case
            .flows
            .iter()
            .map(|flow| flow.to.as_str())
            .collect();
        for host in answering {
            let server = ground.serve(host)?;
            if let Self::Lab { servers, .. } = &mut ground {
                servers.push(server);
            }
        }
        Ok(ground)
    }

    /// A command on a host, where the place has hosts of its own.
    pub(super) fn command(&self, host: &str, words: &[String]) -> Result<Command, Failure> {
        let mut command = match self {
            Self::Lab { registry, card, .. } => {
                let (host, entry) = registry.entry(card, Some(host))?;
                let mut command = keep::command(card, &host, words);
                entry.dying_with_parent().apply(&mut command);
                command
            }
            Self::Loopback(_) | Self::Far => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                caudal_sys::process::kill_with_parent(&mut command);
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

    /// `caudal serve` on a host, when it listens.
    fn serve(&self, host: &str) -> Result<Process, Failure> {
        let words = [
            "/proc/self/exe",
            "serve",
            "--json-log",
            "--no-iperf2",
            "--no-nttcp",
            "--no-iperf3",
        ];
        let words = words.map(str::to_owned);
        let mut command = self.command(host, &words)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|cause| cannot_start("caudal serve", host, &cause))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process = Process::of(child);
        let mut line = String::new();
        if let Some(stdout) = stdout {
            let mut lines = BufReader::new(stdout);
            // An output that ends is told below.
            let _ = lines.read_line(&mut line);
            process.drain(lines);
        }
        if line.contains("\"listening\"") {
            return Ok(process);
        }
        let mut said = String::new();
        if let Some(mut stderr) = stderr {
            let _ = process.child.kill();
            let _ = stderr.read_to_string(&mut said);
        }
        Err(Failure::new(
            Exit::Failed,
            format!(
                "caudal serve on {host} did not begin to listen: {}",
                said.trim().trim_start_matches("caudal: ")
            ),
            "try again",
        ))
    }

    pub(super) fn report(&self) -> Option<LabReport> {
        match self {
            Self::Lab { registry, card, .. } => registry.report(card).ok(),
            _ => None,
        }
    }

    pub(super) fn mark(&self) {
        if let Self::Lab { registry, card, .. } = self {
            // A lab that does not answer is noticed when it is asked for its report.
            let _ = registry.send(card, &ControlRequest::Mark);
        }
    }
}
