//! The report of a lab, a topology that is up: `caudal lab stats --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counters::{DropReason, FrameTotals};
use crate::model::DirectionReport;
use crate::report::Collisions;

/// All counters of a lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LabReport {
    /// `caudal.lab/1`.
    pub schema: String,
    /// The name of the lab.
    pub name: String,
    /// The title of its topology.
    pub title: Option<String>,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Seconds since it came up.
    pub up_s: f64,
    /// The emulator; absent when no link is emulated.
    pub emulator: Option<EmulatorState>,
    /// The links, in the order of the topology.
    pub links: Vec<LinkState>,
    /// Hosts, routers, switches and hubs.
    pub nodes: Vec<NodeState>,
    /// Reasons to doubt the numbers.
    pub warnings: Vec<String>,
    /// Differences to the usual way of operation.
    pub notes: Vec<String>,
}

/// The state of the emulator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EmulatorState {
    /// Its access to the hosts' frames: `tap` or `packet`.
    pub device: String,
    /// Its scheduling priority: `real-time`, `nice` or `ordinary`.
    pub scheduling: String,
    /// Frames read from hosts.
    pub frames_read: u64,
    /// Frames delivered to hosts.
    pub frames_delivered: u64,
    /// Frames that hosts' devices refused.
    pub frames_refused: u64,
    /// Packets read from hosts: several frames that a host left to its interface to cut are one.
    #[serde(default)]
    pub packets_read: u64,
    /// Packets delivered to hosts.
    #[serde(default)]
    pub packets_delivered: u64,
    /// Processor time in seconds; absent where the kernel does not account for it.
    pub cpu_s: Option<f64>,
    /// The lateness since the lab came up.
    pub whole: DeliveryLateness,
    /// The lateness since the last mark, or since the lab came up.
    pub run: DeliveryLateness,
}

/// The lateness of the emulator's deliveries in a period.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeliveryLateness {
    /// The number of frames delivered.
    pub deliveries: u64,
    /// The median lateness in microseconds; absent without a delivery.
    pub p50_us: Option<f64>,
    /// The 99th percentile of the lateness in microseconds; absent without a delivery.
    pub p99_us: Option<f64>,
    /// The maximum lateness in microseconds; absent without a delivery.
    pub max_us: Option<f64>,
    /// The number of frames delivered more than 10 ms late.
    pub stalls: u64,
    /// The number of frames that the kernel dropped before the emulator could read them.
    pub unread: u64,
    /// `true` when the emulator stalled or missed frames, so that a measurement in this period must be repeated.
    pub must_repeat: bool,
}

/// A link and its counters.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinkState {
    /// Its name.
    pub name: String,
    /// The names of the nodes at its ends.
    pub between: [String; 2],
    /// Its interfaces at hosts and routers, its ports at switches and hubs.
    pub devices: [String; 2],
    /// `emulated` or `kernel`.
    pub driver: String,
    /// `full`, `half`, `half-full` or `full-half`.
    pub duplex: String,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// `true` while the interfaces at its ends segment packets for their hosts, as network cards do; `false` where the kernel drives the link.
    #[serde(default)]
    pub segmentation: bool,
    /// From the first end to the second.
    pub forward: DirectionState,
    /// From the second end to the first.
    pub backward: DirectionState,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionState {
    /// The current rate in bits per second; absent without a limit, or when it changes over time.
    pub rate_bps: Option<u64>,
    /// The current one-way delay in microseconds.
    pub delay_us: f64,
    /// The other effects on frames, such as queue, jitter and loss, each in a few words.
    #[serde(default)]
    pub impairments: Vec<String>,
    /// The counters.
    #[serde(flatten)]
    pub counters: LinkCounters,
}

/// The counters of one direction, by the driver of the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit")]
pub enum LinkCounters {
    /// Those of the emulator: frames, check sequence included.
    #[serde(rename = "frames")]
    Emulator(Box<DirectionReport>),
    /// Those of the kernel: packets without check sequence; on a link without a rate several may be joined in one.
    #[serde(rename = "packets")]
    Kernel(KernelCounters),
}

/// The packets that the kernel counts in one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounters {
    /// Packets sent, queued and dropped.
    pub offered: FrameTotals,
    /// Packets received at the other end.
    pub delivered: FrameTotals,
    /// Packets in the queue of the token bucket.
    pub held: FrameTotals,
    /// Packets that the token bucket dropped, by reason.
    pub dropped: BTreeMap<DropReason, PacketCount>,
}

/// A number of packets of unknown length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCount {
    /// The number of packets.
    #[serde(rename = "frames")]
    pub packets: u64,
}

impl LinkCounters {
    /// The unit of the counters: `frames` or `packets`.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Emulator(_) => "frames",
            Self::Kernel(_) => "packets",
        }
    }
}

impl DirectionState {
    /// Frames or packets sent into this direction.
    #[must_use]
    pub const fn offered(&self) -> u64 {
        match &self.counters {
            LinkCounters::Emulator(report) => report.counters.offered.frames,
            LinkCounters::Kernel(counters) => counters.offered.frames,
        }
    }

    /// Frames or packets delivered, with their bytes.
    #[must_use]
    pub const fn delivered(&self) -> FrameTotals {
        match &self.counters {
            LinkCounters::Emulator(report) => report.counters.delivered,
            LinkCounters::Kernel(counters) => counters.delivered,
        }
    }

    /// Frames or packets in queues and in flight.
    #[must_use]
    pub const fn held(&self) -> u64 {
        match &self.counters {
            LinkCounters::Emulator(report) => report.held.frames,
            LinkCounters::Kernel(counters) => counters.held.frames,
        }
    }

    /// Frames or packets dropped, by reason, without the reasons that did not occur.
    #[must_use]
    pub fn dropped_by_reason(&self) -> Vec<(DropReason, u64)> {
        let dropped = |reason: &DropReason| match &self.counters {
            LinkCounters::Emulator(report) => report.counters.dropped.by(*reason).frames,
            LinkCounters::Kernel(counters) => {
                counters.dropped.get(reason).map_or(0, |it| it.packets)
            }
        };
        DropReason::ALL
            .iter()
            .map(|reason| (*reason, dropped(reason)))
            .filter(|(_, dropped)| *dropped > 0)
            .collect()
    }

    /// Frames or packets dropped for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let by_reason = self.dropped_by_reason();
        by_reason.iter().map(|(_, dropped)| dropped).sum()
    }

    /// The collision counters of the sending end; `None` in full duplex.
    #[must_use]
    pub const fn collisions(&self) -> Option<Collisions> {
        match &self.counters {
            LinkCounters::Emulator(report) => report.collisions,
            LinkCounters::Kernel(_) => None,
        }
    }

    /// The maximum length of the queue in bytes; `None` without a queue.
    #[must_use]
    pub fn max_queue_bytes(&self) -> Option<u64> {
        match &self.counters {
            LinkCounters::Emulator(report) => report.queue.as_ref().map(|queue| queue.bytes.max),
            LinkCounters::Kernel(_) => None,
        }
    }
}

/// A node and its interfaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeState {
    /// Its name.
    pub name: String,
    /// `host`, `router`, `switch` or `hub`.
    pub kind: String,
    /// Its interfaces with the counters of its kernel; empty for switches and hubs.
    pub interfaces: Vec<InterfaceState>,
}

/// An interface of a host or router, in packets as its kernel counts them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InterfaceState {
    /// Its name.
    pub name: String,
    /// The name of its link.
    pub link: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, without check sequence.
    pub tx_bytes: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received, without check sequence.
    pub rx_bytes: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
}
