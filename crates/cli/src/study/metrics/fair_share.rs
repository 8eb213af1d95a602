//! The max–min fair shares of the flows of a case.

use caudal_core::units::BitRate;
use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_stats::contention::fair_shares;
use caudal_topology::Hop;

use super::super::place::{self, Net, Place};

/// The max–min fair share of each flow with all its connections, in bit/s of payload; `None` for a flow that is no load, and where the
/// network is not known.
///
/// It is the lowest of the flow's fair shares on the links of its path. On each link all load flows compete that cross it in the same
/// direction, on a half-duplex link in either.
#[must_use]
pub fn fair_shares_of_flows(case: &Case, place: &Place) -> Vec<Option<f64>> {
    let Some(net) = place.net() else {
        return vec![None; case.flows.len()];
    };
    let competition = Competition {
        flows: &case.flows,
        place,
        net,
        paths: case
            .flows
            .iter()
            .map(|flow| place::way(flow, net))
            .collect(),
        overheads: case
            .flows
            .iter()
            .map(|flow| overhead(flow, place))
            .collect(),
    };
    (0..case.flows.len())
        .map(|flow| competition.fair_share(flow))
        .collect()
}

/// Bits on the wire for each bit of payload of a flow.
fn overhead(flow: &FlowSpec, place: &Place) -> f64 {
    let framing = place::framing(flow, place);
    if flow.kind == FlowKindFile::Udp {
        let payload = place::datagram(flow, place);
        let wire = framing.udp_wire_bytes(payload);
        return wire.unwrap_or(u64::from(payload)) as f64 / f64::from(payload.max(1));
    }
    let payload = framing.tcp_payload_per_frame().max(1);
    framing.wire_bytes(u64::from(framing.mtu)) as f64 / f64::from(payload)
}

/// The flows of a case on the links of its network.
struct Competition<'a> {
    flows: &'a [FlowSpec],
    place: &'a Place,
    net: &'a Net,
    /// The path of each flow.
    paths: Vec<Vec<Hop>>,
    /// The overhead of each flow.
    overheads: Vec<f64>,
}

impl Competition<'_> {
    fn is_load(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        !flow.probe && !place::is_echo(flow)
    }

    /// The fair share of a flow, payload bit/s.
    fn fair_share(&self, flow: usize) -> Option<f64> {
        if !self.is_load(flow) {
            return None;
        }
        let shares = self.paths[flow].iter().filter_map(|hop| {
            let line = place::line_rate(self.net.topology.impairments(*hop))?;
            self.fair_share_at(flow, hop, line)
        });
        shares.min_by(f64::total_cmp)
    }

    /// The fair share of a flow on one link of its path, payload bit/s.
    fn fair_share_at(&self, flow: usize, hop: &Hop, line: BitRate) -> Option<f64> {
        let either = self.net.topology.is_half_duplex(*hop);
        let crosses = |other: usize| {
            self.paths[other]
                .iter()
                .any(|one| one.link == hop.link && (either || one.from == hop.from))
        };
        let mut demands = Vec::new();
        let mut own = None;
        for (other, spec) in self.flows.iter().enumerate() {
            if !self.is_load(other) || !crosses(other) {
                continue;
            }
            if other == flow {
                own = Some(demands.len());
            }
            let offered = place::offered(spec, self.place).ok().flatten();
            let demand = offered.map(|payload| payload * self.overheads[other]);
            demands.extend(std::iter::repeat_n(demand, spec.count as usize));
        }
        let shares = fair_shares(line.as_f64(), &demands);
        let each = shares.get(own?)? / self.overheads[flow];
        Some(each * f64::from(self.flows[flow].count))
    }
}
