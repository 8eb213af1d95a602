//! What an end of a test says of its machine, and what it used of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an end of a test says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// The program and its version.
    pub tool: String,
    /// The host's name.
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's model.
    pub cpu: String,
    /// Processors this program may use.
    pub cpus: u32,
    /// Which boot of which machine this is: equal on both ends, they are one machine.
    pub boot_id: Option<String>,
    /// The default congestion control.
    pub congestion_control: Option<String>,
    /// The interface towards the other end.
    pub interface: Option<String>,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    /// Its speed, Mbit/s, as it says.
    pub speed_mbps: Option<u32>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its queueing discipline.
    pub qdisc: Option<String>,
    /// Its offloads that are on.
    pub offloads: Vec<String>,
    /// The kernel settings that bound socket buffers, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Processes ready to run, averaged over the last minute.
    pub load_average: Option<f64>,
}

/// What an end used of its machine during a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// CPU time of the whole program, ns.
    pub cpu_ns: u64,
    /// Time the hypervisor gave to others, ns, over all processors.
    pub steal_ns: Option<u64>,
    /// How long that was measured, ns.
    pub wall_ns: u64,
    /// Datagrams dropped by the queueing discipline of the sending interface, where it says.
    pub qdisc_drops: Option<u64>,
    /// Datagrams the kernel dropped for full receive buffers, over all sockets of the host.
    pub host_receive_drops: Option<u64>,
}
