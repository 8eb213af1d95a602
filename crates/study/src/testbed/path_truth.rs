//! What the links of a path are in the lab: what probing it should find.

use caudal_core::plan::Direction;
use caudal_core::units::BitRate;
use caudal_experiment::FlowSpec;
use caudal_topology::{Driver, Hop, Impairments, Measure, Topology};

use super::network::LabNetwork;

/// The bytes that the frame of a full packet takes on the wire, and those of them that a bucket counts by each measure (IEEE 802.3).
const WIRE_BYTES: f64 = 1538.0;
const FRAME_BYTES: f64 = 1518.0;
const PACKET_BYTES: f64 = 1500.0;

/// A link of a path as probing sees it: all links of the lab from one host or router to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PathLinkTruth {
    /// The TTL of its far end.
    pub(crate) ttl: u8,
    /// The capacity that probing from one end should find, bits per second of frames on the wire; `None` where it should find none, or
    /// none is known.
    pub(crate) capacity_bps: Option<f64>,
    /// `true` for a token bucket.
    pub(crate) is_shaped: bool,
}

/// The duplex mode of the links of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DuplexTruth {
    Full,
    Half,
    /// Of a link whose ends differ, the end nearer to the first host is half duplex.
    MismatchNear,
    /// Of a link whose ends differ, the end farther from the first host is half duplex.
    MismatchFar,
}

/// What one link of the lab does to packets in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Capacity {
    Unlimited,
    Serialising(f64),
    /// A bucket of this rate, in the bytes that it counts, which are this part of those of a full packet on the wire.
    Bucket(f64, f64),
    /// It varies, or depends on the packet.
    Unknown,
}

/// The links of a flow's path from its first host to its second.
pub(crate) fn path_links(flow: &FlowSpec, network: &LabNetwork) -> Vec<PathLinkTruth> {
    let topology = &network.topology;
    let mut links = Vec::new();
    let mut before = Before::default();
    for (nth, hops) in to_next_address(topology, &path(flow, network, Direction::Up)).enumerate() {
        let each = hops.iter().map(|hop| capacity(topology, *hop));
        let capacity = each.reduce(in_series).unwrap_or(Capacity::Unknown);
        links.push(PathLinkTruth {
            ttl: u8::try_from(nth + 1).unwrap_or(u8::MAX),
            capacity_bps: before.seen(capacity),
            is_shaped: matches!(capacity, Capacity::Bucket(..)),
        });
        before.add(capacity);
    }
    links
}

/// The capacity of the narrow link of a flow's path in one direction, frames on the wire; `None` where one of its links has none that is known,
/// or none is limited.
pub(crate) fn narrow_capacity(
    flow: &FlowSpec,
    network: &LabNetwork,
    direction: Direction,
) -> Option<f64> {
    let mut narrow = None;
    for hop in path(flow, network, direction) {
        match capacity(&network.topology, hop) {
            Capacity::Unlimited => {}
            Capacity::Serialising(rate) => narrow = least(narrow, rate),
            Capacity::Bucket(rate, counted) => narrow = least(narrow, rate / counted),
            Capacity::Unknown => return None,
        }
    }
    narrow
}

fn least(known: Option<f64>, rate: f64) -> Option<f64> {
    Some(known.map_or(rate, |known| known.min(rate)))
}

/// The duplex mode of a flow's path; `None` where more than one of its links is half duplex at an end.
pub(crate) fn path_duplex(flow: &FlowSpec, network: &LabNetwork) -> Option<DuplexTruth> {
    let hops = path(flow, network, Direction::Up);
    let mut half = hops
        .iter()
        .filter(|hop| network.topology.is_half_duplex(**hop));
    let Some(hop) = half.next() else {
        return Some(DuplexTruth::Full);
    };
    if half.next().is_some() {
        return None;
    }
    let duplex = &network.topology.links[hop.link].duplex;
    Some(
        match (duplex.is_half_at(hop.from), duplex.is_half_at(1 - hop.from)) {
            (true, false) => DuplexTruth::MismatchNear,
            (false, true) => DuplexTruth::MismatchFar,
            _ => DuplexTruth::Half,
        },
    )
}

/// The links of a path in one direction.
pub(crate) fn path(flow: &FlowSpec, network: &LabNetwork, direction: Direction) -> Vec<Hop> {
    let topology = &network.topology;
    let ends = topology.node(&flow.from).zip(topology.node(&flow.to));
    let hops = ends.and_then(|(from, to)| match direction {
        Direction::Up => topology.path(from, to),
        Direction::Down => topology.path(to, from),
    });
    hops.unwrap_or_default()
}

/// The links of a path from each host or router to the next.
fn to_next_address<'a>(topology: &'a Topology, hops: &'a [Hop]) -> impl Iterator<Item = &'a [Hop]> {
    hops.split_inclusive(|hop| topology.nodes[topology.node_after(*hop)].has_addresses())
}

fn capacity(topology: &Topology, hop: Hop) -> Capacity {
    let link = topology.impairments(hop);
    if !link.paths.is_empty() || link.policer.is_some() {
        return Capacity::Unknown;
    }
    match (&link.rate, &link.shaper) {
        (None, None) => Capacity::Unlimited,
        (Some(_), None) => line(topology, hop, link),
        (None, Some(bucket)) => {
            let counted = match bucket.measure {
                Measure::Wire => WIRE_BYTES,
                Measure::Frame => FRAME_BYTES,
                Measure::Packet => PACKET_BYTES,
            };
            Capacity::Bucket(bucket.rate.as_f64(), counted / WIRE_BYTES)
        }
        (Some(_), Some(_)) => Capacity::Unknown,
    }
}

/// What a link with a rate does: one of the kernel is a token bucket.
fn line(topology: &Topology, hop: Hop, link: &Impairments) -> Capacity {
    match link.constant_rate().map(BitRate::as_f64) {
        None => Capacity::Unknown,
        Some(rate) if topology.driver(hop.link) == Driver::Kernel => Capacity::Bucket(rate, 1.0),
        Some(rate) => Capacity::Serialising(rate),
    }
}

/// Two links with a switch between them, which serialises once more.
fn in_series(one: Capacity, other: Capacity) -> Capacity {
    match (one, other) {
        (Capacity::Unlimited, only) | (only, Capacity::Unlimited) => only,
        (Capacity::Serialising(one), Capacity::Serialising(other)) => {
            Capacity::Serialising(1.0 / (1.0 / one + 1.0 / other))
        }
        _ => Capacity::Unknown,
    }
}

/// The links before one of a path.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// The lowest rate so far, bit/s.
    least: f64,
    is_known: bool,
}

impl Default for Before {
    fn default() -> Self {
        Self {
            least: f64::INFINITY,
            is_known: true,
        }
    }
}

impl Before {
    /// The capacity that probing finds behind them: a bucket behind a slower link is full again before each packet. A byte more of a
    /// probe is a byte more of the bucket, whatever else of a packet it counts.
    fn seen(self, capacity: Capacity) -> Option<f64> {
        match capacity {
            Capacity::Serialising(rate) => Some(rate),
            Capacity::Bucket(rate, _) => (self.is_known && rate < self.least).then_some(rate),
            Capacity::Unlimited | Capacity::Unknown => None,
        }
    }

    fn add(&mut self, capacity: Capacity) {
        match capacity {
            Capacity::Serialising(rate) | Capacity::Bucket(rate, _) => {
                self.least = self.least.min(rate);
            }
            Capacity::Unlimited => {}
            Capacity::Unknown => self.is_known = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_experiment::{Campaign, Variant};
    use caudal_topology::TopologyFile;

    fn network(links: &str) -> LabNetwork {
        let file: TopologyFile = toml::from_str(&format!(
            "host = [{{ name = 'a' }}, {{ name = 'b' }}]\nrouter = [{{ name = 'r' }}]\n\
             switch = [{{ name = 's' }}]\nlink = [{links}]"
        ))
        .unwrap();
        let topology = Topology::resolve(&file).unwrap();
        LabNetwork { file, topology }
    }

    fn flow(from: &str, to: &str) -> FlowSpec {
        let text = format!(
            "title = 'x'\n[topology]\nloopback = true\n[[flow]]\nname = 'p'\nkind = 'path'\n\
             from = '{from}'\nto = '{to}'"
        );
        let campaign = Campaign::unfold(&toml::from_str(&text).unwrap(), Variant::Full).unwrap();
        campaign.cases[0].flows[0].clone()
    }

    fn capacities(flow: &FlowSpec, network: &LabNetwork) -> Vec<(Option<f64>, bool)> {
        let links = path_links(flow, network);
        let mbps = |link: &PathLinkTruth| link.capacity_bps.map(|bps| (bps / 1e5).round() / 10.0);
        links
            .iter()
            .map(|link| (mbps(link), link.is_shaped))
            .collect()
    }

    #[test]
    fn links_between_switches_are_one_link_of_the_path() {
        let network = network(
            "{ between = ['a', 's'], rate = '100M' }, { between = ['s', 'r'], rate = '100M' }, \
             { between = ['r', 'b'], rate = '10M', backward = { rate = '2M' } }",
        );
        let there = flow("a", "b");
        assert_eq!(
            capacities(&there, &network),
            [(Some(50.0), false), (Some(10.0), false)]
        );
        assert_eq!(narrow_capacity(&there, &network, Direction::Up), Some(10e6));
        assert_eq!(
            narrow_capacity(&there, &network, Direction::Down),
            Some(2e6)
        );
        assert_eq!(capacities(&flow("b", "a"), &network)[0], (Some(2.0), false));
    }

    #[test]
    fn a_bucket_behind_a_slower_link_does_not_show() {
        for (first, second, expected) in [
            ("shaper = { rate = '20M', burst = 1600 }", "10M", Some(10.0)),
            ("shaper = { rate = '5M', burst = 1600 }", "10M", None),
            ("rate = '5M'", "10M", None),
            ("driver = 'kernel'", "10M", Some(10.0)),
        ] {
            let network = network(&format!(
                "{{ between = ['a', 'r'], {first} }}, \
                 {{ between = ['r', 'b'], shaper = {{ rate = '{second}', burst = 1600 }} }}, \
                 {{ between = ['s', 'r'] }}"
            ));
            let found = capacities(&flow("a", "b"), &network)[1];
            assert_eq!(found, (expected, true), "{first}");
        }
    }

    #[test]
    fn what_a_bucket_leaves_out_of_a_frame_passes_besides() {
        let network = network(
            "{ between = ['a', 'r'], shaper = { rate = '20M', burst = 1600, measure = 'packet' } }, \
             { between = ['r', 'b'] }, { between = ['s', 'r'] }",
        );
        let flow = flow("a", "b");
        assert_eq!(capacities(&flow, &network)[0], (Some(20.0), true));
        let narrow = narrow_capacity(&flow, &network, Direction::Up).unwrap();
        assert!((narrow - 20e6 * 1538.0 / 1500.0).abs() < 1.0, "{narrow}");
    }

    #[test]
    fn the_half_duplex_end_of_a_mismatch_depends_on_where_a_path_begins() {
        for (duplex, there, back) in [
            ("full", DuplexTruth::Full, DuplexTruth::Full),
            ("half", DuplexTruth::Half, DuplexTruth::Half),
            (
                "half-full",
                DuplexTruth::MismatchNear,
                DuplexTruth::MismatchFar,
            ),
            (
                "full-half",
                DuplexTruth::MismatchFar,
                DuplexTruth::MismatchNear,
            ),
        ] {
            let network = network(&format!(
                "{{ between = ['a', 'r'], rate = '100M', duplex = '{duplex}' }}, \
                 {{ between = ['r', 'b'], rate = '100M' }}, {{ between = ['s', 'r'] }}"
            ));
            assert_eq!(path_duplex(&flow("a", "b"), &network), Some(there));
            assert_eq!(path_duplex(&flow("b", "a"), &network), Some(back));
        }
    }
}
