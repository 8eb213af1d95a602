//! What a lab tells of itself: `caudal lab stats --json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::punctuality::Punctuality;

/// Everything a lab counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LabReport {
    /// `caudal.lab/1`.
    pub schema: String,
    /// What the lab is called.
    pub name: String,
    /// What its topology says it is.
    pub title: Option<String>,
    /// Where chance began.
    pub seed: u64,
    /// Seconds since it came up.
    pub up_s: f64,
    /// Absent when no link is emulated.
    pub emulator: Option<EmulatorState>,
    /// In the order of the topology.
    pub links: Vec<LinkState>,
    /// Hosts, routers, switches and hubs.
    pub nodes: Vec<HostState>,
    /// What is to be known before a number is believed.
    pub warnings: Vec<String>,
    /// How something was done that can be done otherwise.
    pub notes: Vec<String>,
}

/// How the emulator fares.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EmulatorState {
    /// `tap` or `packet`: how it gets at the hosts' frames.
    pub device: String,
    /// `real-time`, `nice` or `ordinary`: how soon the kernel lets it run.
    pub scheduling: String,
    /// Frames read from hosts.
    pub frames_read: u64,
    /// Frames handed to hosts.
    pub frames_delivered: u64,
    /// Frames hosts' devices refused.
    pub frames_refused: u64,
    /// Processor seconds used; absent where the kernel does not tell.
    pub cpu_s: Option<f64>,
    /// Since the lab came up.
    pub whole: Punctuality,
    /// Since the last command that marked a beginning, or the lab came up.
    pub run: Punctuality,
}

/// A link and what it counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinkState {
    /// What it is called.
    pub name: String,
    /// The names of its ends.
    pub between: [String; 2],
    /// Its interfaces at hosts and routers, its ports at switches and hubs.
    pub devices: [String; 2],
    /// `emulated` or `kernel`: who makes it behave.
    pub driver: String,
    /// `full`, `half`, `half-full` or `full-half`.
    pub duplex: String,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// From the first end to the second.
    pub forward: CourseState,
    /// From the second end to the first.
    pub backward: CourseState,
}

/// One direction of a link.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CourseState {
    /// Bits per second as the topology says or `set` last said; absent without a limit or when it changes over time.
    pub rate_bps: Option<u64>,
    /// How long a bit is under way, in microseconds.
    pub delay_us: f64,
    /// `frames` as the emulator counts them, check sequence included; `packets` as the kernel does, which may join several
    /// and counts no check sequence.
    pub unit: String,
    /// What came, went, waits, and was dropped, by reason; with the queue's course and the cells where it is emulated.
    #[serde(flatten)]
    pub counted: Value,
}

impl CourseState {
    fn number(&self, path: &[&str]) -> u64 {
        let mut at = &self.counted;
        for key in path {
            at = &at[key];
        }
        at.as_u64().unwrap_or(0)
    }

    /// Frames or packets that were to be carried.
    #[must_use]
    pub fn offered(&self) -> u64 {
        self.number(&["offered", "frames"])
    }

    /// Frames or packets that arrived.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.number(&["delivered", "frames"])
    }

    /// Bytes that arrived.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.number(&["delivered", "bytes"])
    }

    /// Frames or packets that still are on the way.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.number(&["held", "frames"])
    }

    /// Frames or packets that were dropped, by reason.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, u64)> {
        let Some(reasons) = self.counted["dropped"].as_object() else {
            return Vec::new();
        };
        let frames = |traffic: &Value| traffic["frames"].as_u64().unwrap_or(0);
        reasons
            .iter()
            .map(|(reason, traffic)| (reason.clone(), frames(traffic)))
            .collect()
    }

    /// A counter of the half-duplex MAC, such as `all` or `late`; `None` in full duplex.
    #[must_use]
    pub fn collisions(&self, which: &str) -> Option<u64> {
        self.counted["collisions"][which].as_u64()
    }

    /// The most bytes that waited; `None` without a queue.
    #[must_use]
    pub fn longest_queue(&self) -> Option<u64> {
        self.counted["queue"]["bytes"]["most"].as_u64()
    }
}

/// A node and its interfaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostState {
    /// What it is called.
    pub name: String,
    /// `host`, `router`, `switch` or `hub`.
    pub kind: String,
    /// Its interfaces as its kernel counts them; empty for switches and hubs.
    pub interfaces: Vec<InterfaceState>,
}

/// An interface of a host or router, in packets as its kernel counts them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InterfaceState {
    /// What it is called.
    pub name: String,
    /// The link it is an end of.
    pub link: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, without the check sequence.
    pub tx_bytes: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received, without the check sequence.
    pub rx_bytes: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
}
