//! Hosts, routers, switches and hubs.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::units::BitRate;

/// A host, router, switch or hub.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, unique in the topology.
    pub name: String,
    /// Its role and the settings that belong to it.
    pub role: NodeRole,
}

/// The role of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeRole {
    /// An end system.
    Host(HostSetup),
    /// A router, which forwards packets between its links.
    Router(HostSetup),
    /// A store-and-forward switch.
    Switch(SwitchSetup),
    /// A repeater; the rate is that of all its links.
    Hub(BitRate),
}

/// The kernel settings of a host or router.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSetup {
    /// The congestion control; `None` leaves the machine's default.
    pub congestion: Option<String>,
    /// Kernel parameters by their dotted name.
    pub sysctl: BTreeMap<String, String>,
}

/// The settings of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchSetup {
    /// The time from a frame's last bit in to its place in the output queue.
    pub latency: Duration,
    /// The time after which a learned address is forgotten; `None` learns none and floods every frame.
    pub ageing_time: Option<Duration>,
    /// The queue lengths at which PAUSE frames are sent; `None` sends none.
    pub pause: Option<PauseThresholds>,
}

impl Default for SwitchSetup {
    /// No latency, the ageing time of 300 s of IEEE 802.1D table 7-5, no PAUSE.
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            ageing_time: Some(Duration::from_secs(300)),
            pause: None,
        }
    }
}

/// The queue lengths at which a switch sends PAUSE frames (IEEE 802.3 annex 31B).
///
/// While an output queue holds more than `high` bytes, a station whose frame joins it is paused. When no queue holds more
/// than `low` bytes any more, all stations resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseThresholds {
    /// Bytes above which stations are paused.
    pub high: u64,
    /// Bytes at or below which they resume.
    pub low: u64,
}

impl Node {
    /// `true` for a host or router, which have addresses.
    #[must_use]
    pub const fn has_addresses(&self) -> bool {
        matches!(self.role, NodeRole::Host(_) | NodeRole::Router(_))
    }

    /// The name of its role: `host`, `router`, `switch` or `hub`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.role {
            NodeRole::Host(_) => "host",
            NodeRole::Router(_) => "router",
            NodeRole::Switch(_) => "switch",
            NodeRole::Hub(_) => "hub",
        }
    }
}
