//! The host at one end of a test, and the resources that end used.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The host at one end of a test, as that end describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// The program and its version.
    pub tool: ExternalText,
    /// The host's name.
    pub name: ExternalText,
    /// The kernel's release.
    pub kernel: ExternalText,
    /// The processor's model.
    pub cpu: ExternalText,
    /// Processors this program may use.
    pub cpus: u32,
    /// The identifier of the kernel's boot; equal on both ends when they are one machine.
    pub boot_id: Option<ExternalText>,
    /// The default congestion control.
    pub congestion_control: Option<ExternalText>,
    /// The interface through which the other end is reached.
    pub interface: Option<ExternalText>,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    /// Its speed, Mbit/s, as its driver reports it.
    pub speed_mbps: Option<u32>,
    /// Its driver.
    pub driver: Option<ExternalText>,
    /// Its queueing discipline.
    pub qdisc: Option<ExternalText>,
    /// Its offloads that are enabled.
    pub offloads: Vec<ExternalText>,
    /// The sysctls that limit socket buffers and shape TCP, by name.
    pub sysctls: BTreeMap<ExternalText, ExternalText>,
    /// The load average over one minute.
    pub load_average: Option<f64>,
}

/// The resources one end of a test used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// CPU time of the whole program, ns.
    pub cpu_ns: u64,
    /// Steal time: processor time the hypervisor gave to others, ns, over all processors.
    pub steal_ns: Option<u64>,
    /// The time over which this was measured, ns.
    pub wall_ns: u64,
    /// Packets dropped by the queueing discipline of the sending interface, where it counts them.
    pub qdisc_drops: Option<u64>,
    /// Datagrams the kernel dropped because of full receive buffers, over all sockets of the host.
    pub host_receive_drops: Option<u64>,
}
