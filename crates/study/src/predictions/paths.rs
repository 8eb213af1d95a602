//! What probing a path should find: what its links are in the lab.

use std::collections::BTreeMap;

use caudal_core::plan::Direction;
use caudal_core::units::BitRate;
use caudal_experiment::{Case, FlowKindFile, FlowSpec, PathProbing, path_link_name};
use caudal_topology::Hop;

use crate::testbed::{
    DuplexTruth, LabNetwork, Testbed, datagram_payload, framing, is_throughput, narrow_capacity,
    offered_rate, path, path_duplex, path_links,
};

/// Adds what probing should find of each path of a case.
pub(super) fn add_paths(
    case: &Case,
    testbed: &Testbed,
    network: &LabNetwork,
    all: &mut BTreeMap<String, f64>,
) {
    for flow in &case.flows {
        if let Some(probing) = flow.path {
            let mut predictions = PathPredictions {
                case,
                flow,
                testbed,
                network,
                all: &mut *all,
            };
            predictions.add(probing);
        }
    }
}

struct PathPredictions<'a> {
    case: &'a Case,
    flow: &'a FlowSpec,
    testbed: &'a Testbed,
    network: &'a LabNetwork,
    all: &'a mut BTreeMap<String, f64>,
}

impl PathPredictions<'_> {
    fn add(&mut self, probing: PathProbing) {
        let measure = probing.measure;
        if measure.has_links() {
            self.add_links();
        }
        for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
            if measure.has_ends() {
                let narrow = narrow_capacity(self.flow, self.network, direction);
                self.put(&format!("capacity_{name}"), narrow);
            }
            if measure.has_available() {
                let available = self.available(direction);
                self.put(&format!("available_{name}_low"), available);
                self.put(&format!("available_{name}_high"), available);
            }
        }
        if measure.has_duplex()
            && let Some(mode) = path_duplex(self.flow, self.network)
        {
            for (metric, one) in [
                ("full_duplex", DuplexTruth::Full),
                ("half_duplex", DuplexTruth::Half),
                ("mismatch_near", DuplexTruth::MismatchNear),
                ("mismatch_far", DuplexTruth::MismatchFar),
            ] {
                self.put(metric, Some(if mode == one { 1.0 } else { 0.0 }));
            }
        }
    }

    fn put(&mut self, metric: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.all
                .insert(format!("{}.{metric}", self.flow.name), value);
        }
    }

    fn add_links(&mut self) {
        let links = path_links(self.flow, self.network);
        let known = links.iter().filter_map(|link| link.capacity_bps);
        self.put("capacity", known.reduce(f64::min));
        for link in links {
            let name = path_link_name(link.ttl);
            self.put(&format!("{name}.capacity"), link.capacity_bps);
            let shaped = if link.is_shaped { 1.0 } else { 0.0 };
            let shaped = link.capacity_bps.map(|_| shaped);
            self.put(&format!("{name}.shaped"), shaped);
        }
    }

    /// What the traffic beside it leaves of the links in one direction, frames on the wire; `None` where that is not known.
    fn available(&self, direction: Direction) -> Option<f64> {
        let hops = path(self.flow, self.network, direction);
        let mut least = narrow_capacity(self.flow, self.network, direction)?;
        for hop in hops {
            let topology = &self.network.topology;
            let line = topology.impairments(hop).constant_rate();
            let mut left = line.map(BitRate::as_f64);
            for other in self.case.flows.iter().filter(|flow| is_throughput(flow)) {
                if self.crosses(other, hop) {
                    let taken = self.wire_rate(other)?;
                    left = left.map(|left| left - taken);
                }
            }
            least = left.map_or(least, |left| left.min(least));
        }
        Some(least.max(0.0))
    }

    fn crosses(&self, other: &FlowSpec, hop: Hop) -> bool {
        path(other, self.network, Direction::Up).contains(&hop)
    }

    /// The rate of a flow of datagrams on the wire, bit/s; `None` for one that takes what it gets.
    fn wire_rate(&self, flow: &FlowSpec) -> Option<f64> {
        if flow.kind != FlowKindFile::Udp {
            return None;
        }
        let offered = offered_rate(flow, self.testbed).ok()??;
        let payload = datagram_payload(flow, self.testbed);
        let wire = framing(flow, self.testbed).udp_wire_bytes(payload)?;
        Some(offered * f64::from(flow.count) * wire as f64 / f64::from(payload.max(1)))
    }
}
