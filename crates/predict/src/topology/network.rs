//! The network and the flows over it, with the resources they share.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::plan::Transport;
use caudal_core::units::{BitRate, ByteCount};
use caudal_topology::{Balancing, Hop, Impairments, Measure, NodeRole, RateSetup, Topology};

use crate::loss::LossResponse;

/// The bytes of wire time after the last bit of a frame: the inter-frame gap.
const GAP_BYTES: u64 = 12;
/// The bytes of wire time that link elements do not count as part of a frame: preamble and gap.
const UNCOUNTED_BYTES: u64 = 20;

/// Segments per acknowledgement, as Linux receivers acknowledge a stream.
pub(super) const SEGMENTS_PER_ACK: u32 = 2;

/// The parameters of a flow between two hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowParameters {
    /// The index of the source node.
    pub from: usize,
    /// The index of the destination node.
    pub to: usize,
    /// The framing of its payload; links with a smaller MTU lower the MTU.
    pub framing: Framing,
    /// The kind of the flow.
    pub kind: FlowKind,
}

/// The kind of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowKind {
    /// A TCP transfer that does not end.
    Tcp {
        /// The response of its congestion control to loss; `None` where there is no model.
        loss_response: Option<LossResponse>,
        /// The smaller of the sender's and the receiver's window.
        window: ByteCount,
    },
    /// Datagrams at a constant rate.
    Udp {
        /// The payload rate.
        rate: BitRate,
        /// Bytes of payload in a datagram.
        payload: u32,
    },
    /// Messages that are echoed, one after the other.
    Echo {
        /// The protocol of the messages.
        transport: Transport,
        /// Bytes of a message.
        message: u32,
    },
}

/// A resource that flows share: one direction of a link, or a medium on which only one station sends at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SharedResource {
    /// One direction of a full-duplex link.
    LinkDirection(Hop),
    /// A half-duplex link.
    HalfDuplexLink(usize),
    /// A hub with all its links.
    Hub(usize),
}

/// A flow with its path through the topology.
pub(super) struct RoutedFlow {
    pub parameters: FlowParameters,
    /// The framing with the MTU of the path.
    pub framing: Framing,
    pub path: Vec<Hop>,
    pub return_path: Vec<Hop>,
}

impl RoutedFlow {
    /// Routes a flow over a topology; its paths are empty where there is no route.
    fn new(topology: &Topology, parameters: &FlowParameters) -> Self {
        let path = topology
            .path(parameters.from, parameters.to)
            .unwrap_or_default();
        let return_path = topology
            .path(parameters.to, parameters.from)
            .unwrap_or_default();
        let hops = path.iter().chain(&return_path);
        let mtu = hops.map(|hop| topology.links[hop.link].mtu).min();
        Self {
            parameters: *parameters,
            framing: Framing {
                mtu: parameters.framing.mtu.min(mtu.unwrap_or(u32::MAX)),
                ..parameters.framing
            },
            path,
            return_path,
        }
    }

    /// The bytes of wire time of a full frame.
    pub(super) fn full_frame(&self) -> u64 {
        self.framing.wire_bytes(u64::from(self.framing.mtu))
    }

    /// `true` when data or acknowledgements of the flow use a resource.
    pub(super) fn uses(&self, network: &FlowNetwork<'_>, resource: SharedResource) -> bool {
        let mut hops = self.path.iter().chain(&self.return_path);
        hops.any(|hop| network.resource(*hop) == resource)
    }
}

/// A topology with the flows over it.
pub(super) struct FlowNetwork<'a> {
    pub topology: &'a Topology,
    pub flows: Vec<RoutedFlow>,
}

impl<'a> FlowNetwork<'a> {
    /// Routes `flows` over a topology.
    pub(super) fn new(topology: &'a Topology, flows: &[FlowParameters]) -> Self {
        Self {
            topology,
            flows: flows
                .iter()
                .map(|flow| RoutedFlow::new(topology, flow))
                .collect(),
        }
    }

    /// The resource that a frame on `hop` uses.
    pub(super) fn resource(&self, hop: Hop) -> SharedResource {
        let hub = self.topology.links[hop.link]
            .ends
            .iter()
            .find(|end| matches!(self.topology.nodes[end.node].role, NodeRole::Hub(_)));
        match hub {
            Some(end) => SharedResource::Hub(end.node),
            None if self.topology.is_half_duplex(hop) => SharedResource::HalfDuplexLink(hop.link),
            None => SharedResource::LinkDirection(hop),
        }
    }

    /// The name of the link of a hop.
    pub(super) fn name(&self, hop: Hop) -> &str {
        &self.topology.links[hop.link].name
    }

    /// The name of a resource: of its link or hub.
    pub(super) fn resource_name(&self, resource: SharedResource) -> &str {
        match resource {
            SharedResource::LinkDirection(hop) => self.name(hop),
            SharedResource::HalfDuplexLink(link) => &self.topology.links[link].name,
            SharedResource::Hub(node) => &self.topology.nodes[node].name,
        }
    }

    /// The time from a frame's first bit sent to its last bit received over `path`, with empty queues.
    pub(super) fn one_way(&self, path: &[Hop], bytes: u64) -> Duration {
        let hops = path.iter().map(|hop| {
            let impairments = self.topology.impairments(*hop);
            let latency = match &self.topology.nodes[self.topology.node_after(*hop)].role {
                NodeRole::Switch(setup) => setup.latency,
                _ => Duration::ZERO,
            };
            // A hub repeats a frame while it receives it.
            let repeated = matches!(
                self.topology.nodes[self.topology.node_after(*hop)].role,
                NodeRole::Hub(_)
            );
            let rate = highest_rate(impairments).filter(|_| !repeated);
            min_delay(impairments)
                + latency
                + rate.map_or(Duration::ZERO, |rate| serialisation_delay(bytes, rate))
        });
        hops.sum()
    }

    /// The rate of every resource that flows use, bit/s.
    pub(super) fn capacities(&self) -> BTreeMap<SharedResource, f64> {
        let mut all = BTreeMap::new();
        let hops = self
            .flows
            .iter()
            .flat_map(|flow| flow.path.iter().chain(&flow.return_path));
        for hop in hops {
            if let Some(rate) = highest_rate(self.topology.impairments(*hop)) {
                all.insert(self.resource(*hop), rate.as_f64());
            }
        }
        all
    }
}

/// The rate of one direction of a link: of the line, of the fastest of its paths, or the sum of all when frames are distributed individually.
pub(super) fn highest_rate(impairments: &Impairments) -> Option<BitRate> {
    let highest = |impairments: &Impairments| impairments.rate.as_ref().map(RateSetup::max);
    if impairments.paths.is_empty() {
        return highest(impairments);
    }
    let rates: Option<Vec<BitRate>> = impairments.paths.iter().map(highest).collect();
    let rates = rates?;
    if impairments.balancing == Balancing::PerFrame {
        return Some(rates.into_iter().sum());
    }
    rates.into_iter().max()
}

/// The share of frames that one direction of a link loses at random.
pub(super) fn loss_share(impairments: &Impairments) -> f64 {
    let bursts = impairments.burst_loss.map_or(0.0, |bursts| {
        let bad =
            bursts.good_to_bad / (bursts.good_to_bad + bursts.bad_to_good).max(f64::MIN_POSITIVE);
        bad * bursts.loss_in_bad + (1.0 - bad) * bursts.loss_in_good
    });
    let own = 1.0 - (1.0 - impairments.loss) * (1.0 - impairments.corrupt) * (1.0 - bursts);
    let paths = impairments.paths.iter().map(loss_share).sum::<f64>();
    // Random distribution spreads flows evenly over the paths.
    1.0 - (1.0 - own) * (1.0 - paths / impairments.paths.len().max(1) as f64)
}

/// The minimum propagation delay of one direction of a link.
fn min_delay(impairments: &Impairments) -> Duration {
    let fastest = impairments
        .paths
        .iter()
        .map(min_delay)
        .min()
        .unwrap_or_default();
    impairments.delay + fastest
}

/// The serialisation delay of a frame of `bytes` of wire time, without the gap behind it.
fn serialisation_delay(bytes: u64, rate: BitRate) -> Duration {
    let seconds = bytes.saturating_sub(GAP_BYTES) as f64 * 8.0 / rate.as_f64().max(1.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The bytes that a token bucket counts for `frames` frames that take `wire` bytes of wire time.
pub(super) fn counted_bytes(measure: Measure, wire: f64, frames: f64) -> f64 {
    let uncounted = match measure {
        Measure::Wire => 0.0,
        Measure::Frame => UNCOUNTED_BYTES as f64,
        Measure::Packet => UNCOUNTED_BYTES as f64 + 18.0,
    };
    (wire - uncounted * frames).max(1.0)
}
