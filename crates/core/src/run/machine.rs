//! The machine a run was recorded on: its state, and its load during the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine a run was recorded on. Properties that its kernel does not report are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// The version of caudal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caudal: Option<String>,
    /// The build of caudal: `release` or `debug`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The host's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kernel's release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kernel's build, as `uname -v` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_build: Option<String>,
    /// The processor architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The processor's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Processors this program may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The frequency governor of the first processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The kernel's clock source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// Memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The interface towards the peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<MachineInterface>,
    /// The kernel settings that affect TCP and UDP, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Its load during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<MachineLoad>,
}

/// A network interface of a [`Machine`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineInterface {
    /// Its name.
    pub name: String,
    /// Its MTU, bytes.
    pub mtu: u32,
    /// Its speed, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u32>,
    /// Its duplex mode, `full` or `half`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<String>,
    /// Its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Its queueing discipline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<String>,
    /// Its offloads by name, `true` where on.
    pub offloads: BTreeMap<String, bool>,
}

/// The load of a [`Machine`] during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineLoad {
    /// The duration of the run, s.
    pub elapsed_s: f64,
    /// Processes ready to run before it, averaged over the last 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average_before: Option<[f64; 3]>,
    /// The same after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average_after: Option<[f64; 3]>,
    /// The shares of processor time; absent where no time passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuShares>,
}

/// The time of all processors by its use, as the fields of /proc/stat (proc(5)); the shares add up to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuShares {
    /// Programs.
    pub user: f64,
    /// Programs of low priority.
    pub nice: f64,
    /// The kernel.
    pub system: f64,
    /// Idle.
    pub idle: f64,
    /// Idle with input or output outstanding.
    pub io_wait: f64,
    /// Interrupts.
    pub irq: f64,
    /// Deferred interrupts, which network traffic causes.
    pub soft_irq: f64,
    /// Given to others by the hypervisor.
    pub steal: f64,
}
