//! The requirements of an experiment on this machine and on other hosts.

use std::collections::BTreeSet;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use caudal_lab::registry::Registry;
use caudal_lab::{DaemonProcess, LabError};
use caudal_topology::Preset;

use crate::error::{MissingRequirement, StudyError};
use crate::prepared::PreparedExperiment;
use crate::testbed::Testbed;
use crate::trial::{ProgramCommands, own_command};

/// The time within which a host must accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

impl PreparedExperiment {
    /// Checks that the experiment can run here; the names of labs that had been killed, and whose remains were removed.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn check_requirements(
        &self,
        program: &dyn ProgramCommands,
    ) -> Result<Vec<String>, StudyError> {
        self.missing_congestion_control()
            .map_or(Ok(()), |name| {
                Err(MissingRequirement::CongestionControl(name))
            })
            .and_then(|()| self.check_lab(program))
            .and_then(|removed| self.check_servers().map(|()| removed))
            .map_err(|missing| StudyError::CannotRun {
                experiment: self.source.label.clone(),
                missing,
            })
    }

    /// The first congestion control of a flow that this kernel does not offer.
    fn missing_congestion_control(&self) -> Option<String> {
        let offered = caudal_sys::tcp::available_congestion_controls();
        for (case, testbed) in self.campaign.cases.iter().zip(&self.testbeds) {
            for flow in &case.flows {
                // The congestion control of a sender on another host is that of its kernel.
                let is_remote =
                    matches!(testbed, Testbed::Hosts { at, .. } if at.contains_key(&flow.from));
                let local = flow.congestion.as_ref().filter(|_| !is_remote);
                if let Some(name) = local.filter(|name| !offered.contains(name)) {
                    return Some(name.clone());
                }
            }
        }
        None
    }

    /// Builds the smallest lab and removes it, when the experiment needs a lab.
    fn check_lab(&self, program: &dyn ProgramCommands) -> Result<Vec<String>, MissingRequirement> {
        let mut testbeds = self.testbeds.iter();
        if !testbeds.any(|testbed| matches!(testbed, Testbed::Lab(_))) {
            return Ok(Vec::new());
        }
        build_smallest_lab(program).map_err(MissingRequirement::Lab)
    }

    fn check_servers(&self) -> Result<(), MissingRequirement> {
        let mut servers = BTreeSet::new();
        for testbed in &self.testbeds {
            if let Testbed::Hosts { at, .. } = testbed {
                servers.extend(
                    at.values()
                        .map(|address| (address.host.clone(), address.port)),
                );
            }
        }
        for (host, port) in servers {
            connect(&host, port).map_err(|cause| MissingRequirement::Server {
                host,
                port,
                cause,
            })?;
        }
        Ok(())
    }
}

/// Builds the smallest lab and removes it; the names of killed labs that were removed before.
fn build_smallest_lab(program: &dyn ProgramCommands) -> Result<Vec<String>, LabError> {
    let registry = Registry::open()?;
    let removed = registry.clean_up();
    let file = Preset::by_name("pair").and_then(|preset| preset.file(None).ok());
    let name = format!("study-check-{}", std::process::id());
    let command = own_command(program.lab_daemon());
    let (daemon, _) =
        DaemonProcess::start(&registry, file.unwrap_or_default(), &name, true, command)?;
    daemon.end(&registry);
    Ok(removed)
}

fn connect(host: &str, port: u16) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(cause) => last = cause,
        }
    }
    Err(last)
}
