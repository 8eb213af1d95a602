//! What is probed, and how accurately.

use std::net::IpAddr;
use std::time::Duration;

/// What is probed, and how accurately.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSettings {
    /// The host's address.
    pub target: IpAddr,
    /// The largest TTL; at least 1.
    pub max_ttl: u8,
    /// The MTU of the interface by which probes leave, bytes.
    pub local_mtu: u32,
    /// The time after which probing ends where the accuracy is not reached.
    pub time: Duration,
    /// The time after which probing ends where no link shows a capacity by then; `None` to go on.
    pub patience: Option<Duration>,
    /// The half-width of a capacity's interval, relative to the capacity, at which no more is probed.
    pub accuracy: f64,
    /// The confidence of the intervals, from 0 to 1.
    pub confidence: f64,
    /// `true` to count routes.
    pub routes: bool,
    /// `true` to measure the path MTU; else that of the interface is taken.
    pub mtu: bool,
    /// `true` to measure capacities.
    pub capacity: bool,
    /// The time between two probes of a hop where the path is watched until the end, without anything else; `None` to measure it.
    pub watch: Option<Duration>,
    /// The primers of primed probes and their size on the wire, bytes.
    pub primers: u32,
    /// The seed of the order of probes.
    pub seed: u64,
}

impl PathSettings {
    /// The usual settings for a path to this host.
    #[must_use]
    pub const fn new(target: IpAddr, local_mtu: u32, seed: u64) -> Self {
        Self {
            target,
            max_ttl: 30,
            local_mtu,
            time: Duration::from_secs(60),
            patience: None,
            accuracy: 0.05,
            confidence: 0.95,
            routes: true,
            mtu: true,
            capacity: true,
            watch: None,
            primers: 2,
            seed,
        }
    }
}
