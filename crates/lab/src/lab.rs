//! Labs: a topology that is up.

use crate::congestion::CongestionPermission;
use crate::emulator::Emulator;
use crate::error::LabError;
use crate::host::HostNamespace;
use crate::processes;
use caudal_core::units::BitRate;
use caudal_link::model::NetworkModel;
use caudal_link::probability::Probability;
use caudal_sys::interface;
use caudal_sys::namespace::{NamespaceEntry, NamespaceId, NetworkNamespace};
use caudal_sys::process;
use caudal_topology::{Driver, LinkEnd, NodeRole, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The names by which a lab and what belongs to it are found.
#[derive(Debug, Clone, Copy)]
pub struct LabIdentity<'a> {
    /// Its name.
    pub name: &'a str,
    /// The identifier that marks its namespaces, so that processes in them are found after the lab's was killed.
    pub id: &'a str,
    /// The directory for its files, which exists and is used by nothing else.
    pub directory: &'a Path,
}

/// A topology that is up until this value is dropped: hosts, links, the emulator, and every process on its hosts.
#[derive(Debug)]
pub struct Lab {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) topology: Topology,
    /// The namespace of each node; `None` for switches and hubs.
    pub(crate) hosts: Vec<Option<HostNamespace>>,
    pub(crate) emulator: Option<Emulator>,
    /// The namespace of the emulator's ends of veth pairs; present when packet sockets replace TAP devices.
    pub(crate) far_namespace: Option<NetworkNamespace>,
    /// The settings changed since the lab came up, by direction.
    pub(crate) changed: BTreeMap<LinkEnd, ChangedSettings>,
    /// For each link, `true` while the interfaces at its ends segment packets for their hosts; `false` where the kernel drives it.
    pub(crate) has_segmentation: Vec<bool>,
    hosts_file: PathBuf,
    pub(crate) since: Instant,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// The settings of a direction that were changed while the lab was up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChangedSettings {
    pub(crate) rate: Option<BitRate>,
    pub(crate) delay: Option<Duration>,
    pub(crate) loss: Option<Probability>,
}

impl Lab {
    /// Builds `topology`.
    ///
    /// # Errors
    /// When something is missing or not permitted. Nothing is left behind.
    pub fn build(topology: &Topology, identity: &LabIdentity<'_>) -> Result<Self, LabError> {
        check_open_files(topology)?;
        let hosts_file = identity.directory.join("hosts");
        std::fs::write(&hosts_file, topology.hosts_file()).map_err(|cause| LabError::File {
            operation: "write",
            path: hosts_file.clone(),
            cause,
        })?;
        let mut lab = Self {
            name: identity.name.to_owned(),
            id: identity.id.to_owned(),
            topology: topology.clone(),
            hosts: Vec::with_capacity(topology.nodes.len()),
            emulator: None,
            far_namespace: None,
            changed: BTreeMap::new(),
            has_segmentation: Vec::with_capacity(topology.links.len()),
            hosts_file,
            since: Instant::now(),
            warnings: Vec::new(),
            notes: Vec::new(),
        };
        lab.create_hosts(identity.id)?;
        let mut devices = Vec::new();
        for link in 0..topology.links.len() {
            match topology.driver(link) {
                Driver::Kernel => lab.create_kernel_link(link)?,
                Driver::Auto | Driver::Emulated => {
                    lab.create_emulated_interfaces(link, &mut devices)?;
                }
            }
        }
        for link in 0..topology.links.len() {
            lab.write_aliases(link);
        }
        lab.assign_addresses()?;
        lab.add_routes()?;
        if !devices.is_empty() {
            let is_emulated = |link| topology.driver(link) != Driver::Kernel;
            let model = NetworkModel::build(topology, is_emulated)?;
            let emulator = Emulator::start(model, devices);
            lab.emulator = Some(emulator.map_err(LabError::kernel("start the emulator"))?);
        }
        for link in 0..topology.links.len() {
            // Packet sockets and old kernels carry single frames, which is slower and otherwise the same.
            let is_on =
                topology.links[link].segmentation && lab.set_segmentation(link, true).is_ok();
            lab.has_segmentation.push(is_on);
        }
        Ok(lab)
    }

    /// Lets the interfaces at the ends of `link` segment packets, or not.
    pub(crate) fn set_segmentation(&self, link: usize, is_on: bool) -> io::Result<()> {
        let Some(emulator) = &self.emulator else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        if self.topology.driver(link) == Driver::Kernel {
            return Err(io::ErrorKind::Unsupported.into());
        }
        emulator.set_segmentation(link, is_on)?;
        for end in &self.topology.links[link].ends {
            let Some(host) = &self.hosts[end.node] else {
                continue;
            };
            host.namespace.run(|| {
                if is_on {
                    // What segmentation needs.
                    let needed = ["tx-scatter-gather", "tx-generic-segmentation"];
                    let wanted = needed.map(|name| (name.to_owned(), true));
                    interface::request_offloads(&end.device, &wanted)
                } else {
                    interface::turn_offloads_off(&end.device)
                }
            })?;
        }
        Ok(())
    }

    /// Creates the namespaces of hosts and routers.
    fn create_hosts(&mut self, id: &str) -> Result<(), LabError> {
        let nodes = &self.topology.nodes;
        let requested = nodes.iter().filter_map(|node| match &node.role {
            NodeRole::Host(setup) | NodeRole::Router(setup) => setup.congestion.as_deref(),
            NodeRole::Switch(_) | NodeRole::Hub(_) => None,
        });
        let permission = CongestionPermission::request(requested);
        for node in nodes {
            let host = node
                .has_addresses()
                .then(|| HostNamespace::create(node, id))
                .transpose()?;
            self.hosts.push(host);
        }
        drop(permission);
        let refused: BTreeSet<String> = self
            .hosts
            .iter()
            .filter_map(|host| host.as_ref()?.refused_congestion.clone())
            .collect();
        for congestion in refused {
            self.warnings.push(format!(
                "{congestion} is not the default congestion control of the hosts that ask for it, because this user may \
                 not add it to net.ipv4.tcp_allowed_congestion_control: let programs request {congestion} themselves"
            ));
        }
        Ok(())
    }

    /// The topology it is built from.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The names and namespaces of its hosts and routers.
    pub fn namespaces(&self) -> impl Iterator<Item = (&str, &NetworkNamespace)> {
        let nodes = self.topology.nodes.iter().zip(&self.hosts);
        nodes.filter_map(|(node, host)| Some((node.name.as_str(), &host.as_ref()?.namespace)))
    }

    /// The identifiers of its namespaces.
    pub(crate) fn namespace_ids(&self) -> BTreeSet<NamespaceId> {
        self.namespaces()
            .filter_map(|(_, namespace)| namespace.id().ok())
            .collect()
    }

    /// The hosts(5) file by which its hosts resolve one another.
    #[must_use]
    pub fn hosts_file(&self) -> &Path {
        &self.hosts_file
    }

    /// A command that starts `program` on `host` and kills it when the thread that starts it ends.
    ///
    /// # Errors
    /// When there is no such host.
    pub fn command(&self, host: &str, program: &str) -> Result<Command, LabError> {
        let mut command = Command::new(program);
        let entry = self.entry(host)?.dying_with_parent();
        entry.apply(&mut command);
        Ok(command)
    }

    /// The means to enter `host`.
    fn entry(&self, host: &str) -> Result<NamespaceEntry, LabError> {
        let found = self.namespaces().find(|(name, _)| *name == host);
        let Some((name, namespace)) = found else {
            let names: Vec<&str> = self.namespaces().map(|(name, _)| name).collect();
            return Err(LabError::invalid(
                format!("there is no host {host:?}"),
                format!("choose one of {}", names.join(", ")),
            ));
        };
        let hosts_file = self.hosts_file.to_string_lossy();
        NamespaceEntry::new(namespace.clone(), name, &hosts_file)
            .map_err(LabError::kernel(format!("enter {host}")))
    }

    /// The host or router `node`.
    pub(crate) fn host_mut(&mut self, node: usize) -> Result<&mut HostNamespace, LabError> {
        self.hosts[node]
            .as_mut()
            .ok_or_else(|| LabError::invalid("a switch has no interfaces", "name a host or router"))
    }

    /// Starts a new measurement of the emulator's lateness.
    pub fn mark(&self) {
        if let Some(emulator) = &self.emulator {
            emulator.mark();
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        processes::kill_in_namespaces(&self.namespace_ids());
        self.emulator = None;
        // If this fails, the file is removed with its directory.
        let _ = std::fs::remove_file(&self.hosts_file);
    }
}

/// Raises the limit of open files to what a lab needs.
fn check_open_files(topology: &Topology) -> Result<(), LabError> {
    let needed = 64 + 4 * topology.nodes.len() as u64 + 2 * topology.links.len() as u64;
    let allowed = process::raise_open_file_limit().unwrap_or(1024);
    if allowed < needed {
        return Err(LabError::NotPermitted {
            what: format!("this topology needs {needed} open files, and {allowed} are allowed"),
            remedy: "raise the limit with ulimit -n".to_owned(),
        });
    }
    Ok(())
}
