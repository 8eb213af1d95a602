//! The record of a lab in the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd};
use std::time::SystemTime;

use caudal_sys::host;
use caudal_sys::namespace::{NamespaceId, NetworkNamespace};
use caudal_sys::netlink::Netlink;
use serde::{Deserialize, Serialize};

use crate::host::loopback_alias;
use crate::lab::Lab;
use crate::processes;

/// The record of a lab, kept in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LabRecord {
    /// The name of the lab.
    pub name: String,
    /// The identifier that marks its namespaces.
    pub id: String,
    /// Its process.
    pub process: u32,
    /// The start time of that process, which distinguishes it from a later one of the same number.
    #[serde(rename = "began")]
    process_start: u64,
    /// The identifier of the boot of the machine.
    boot: String,
    /// The title of its topology.
    pub title: Option<String>,
    /// The time at which it came up, in seconds since 1970.
    pub since_unix: u64,
    /// Its hosts and routers, the first host first, with the descriptor of each one's namespace in that process.
    pub hosts: Vec<(String, i32)>,
    /// The names of its links.
    pub links: Vec<String>,
    /// The identifiers of its namespaces.
    namespaces: Vec<NamespaceId>,
}

impl LabRecord {
    /// The record of a lab of this process that is being built.
    pub(crate) fn new(name: &str, id: &str) -> Self {
        let process = std::process::id();
        Self {
            name: name.to_owned(),
            id: id.to_owned(),
            process,
            process_start: processes::start_time(process).unwrap_or(0),
            boot: host::boot_id().unwrap_or_default(),
            title: None,
            since_unix: unix_time(),
            hosts: Vec::new(),
            links: Vec::new(),
            namespaces: Vec::new(),
        }
    }

    /// The record of a lab of this process that is up.
    pub(crate) fn from_lab(name: &str, id: &str, lab: &Lab) -> Self {
        let topology = lab.topology();
        let hosts = lab.namespaces();
        Self {
            title: topology.title.clone(),
            hosts: hosts
                .map(|(name, namespace)| (name.to_owned(), namespace.as_fd().as_raw_fd()))
                .collect(),
            links: topology
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
            namespaces: lab.namespace_ids().into_iter().collect(),
            ..Self::new(name, id)
        }
    }

    /// `true` while the lab's process runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let this_boot = host::boot_id().unwrap_or_default();
        self.boot == this_boot && processes::start_time(self.process) == Some(self.process_start)
    }

    /// `true` when the lab has been built.
    pub(crate) fn is_built(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Kills the processes in the lab's namespaces, which are identified by number and by the alias of the loopback device.
    pub(crate) fn kill_leftovers(&self) {
        if self.boot != host::boot_id().unwrap_or_default() {
            return;
        }
        let alias = loopback_alias(&self.id);
        let recorded: BTreeSet<NamespaceId> = self.namespaces.iter().copied().collect();
        let mut is_ours: BTreeMap<NamespaceId, bool> = BTreeMap::new();
        for process in processes::in_namespaces(&recorded) {
            let Some(id) = processes::namespace_of(process) else {
                continue;
            };
            // The number of a namespace that is gone is reused, so it may be that of an unrelated one.
            is_ours.entry(id).or_insert_with(|| {
                let namespace = NetworkNamespace::open(&format!("/proc/{process}/ns/net"));
                let found = namespace
                    .and_then(|namespace| namespace.run(|| Netlink::open()?.alias_of("lo")));
                match found {
                    Ok(found) => found.as_deref() == Some(alias.as_str()),
                    // A namespace of a user namespace may not be entered from outside; there the variable set by `exec`
                    // identifies its processes.
                    Err(_) => processes::has_variable(process, "CAUDAL_LAB", &self.name),
                }
            });
        }
        let ours: BTreeSet<NamespaceId> = is_ours
            .into_iter()
            .filter_map(|(id, is_ours)| is_ours.then_some(id))
            .collect();
        if !ours.is_empty() {
            processes::kill_in_namespaces(&ours);
        }
    }
}

fn unix_time() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
