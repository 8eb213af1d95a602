//! The max–min fair shares of the flows of a case.

use caudal_core::units::BitRate;
use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_stats::contention::fair_shares;
use caudal_topology::Hop;

use crate::testbed::{
    LabNetwork, Testbed, datagram_payload, framing, is_throughput, line_rate, offered_rate,
    path_of_flow,
};

/// The max–min fair share of each flow with all its connections, in bit/s of payload; `None` for a flow that is no load, and where the
/// network is not known.
///
/// It is the lowest of the flow's fair shares on the links of its path. On each link all load flows compete that cross it in the same
/// direction, on a half-duplex link in either.
#[must_use]
pub fn fair_shares_of_flows(case: &Case, testbed: &Testbed) -> Vec<Option<f64>> {
    let Some(network) = testbed.network() else {
        return vec![None; case.flows.len()];
    };
    let competition = Competition {
        flows: &case.flows,
        testbed,
        network,
        paths: case
            .flows
            .iter()
            .map(|flow| path_of_flow(flow, network))
            .collect(),
        overheads: case
            .flows
            .iter()
            .map(|flow| overhead(flow, testbed))
            .collect(),
    };
    (0..case.flows.len())
        .map(|flow| competition.fair_share(flow))
        .collect()
}

/// Bits on the wire for each bit of payload of a flow.
fn overhead(flow: &FlowSpec, testbed: &Testbed) -> f64 {
    let framing = framing(flow, testbed);
    if flow.kind == FlowKindFile::Udp {
        let payload = datagram_payload(flow, testbed);
        let wire = framing.udp_wire_bytes(payload);
        return wire.unwrap_or(u64::from(payload)) as f64 / f64::from(payload.max(1));
    }
    let payload = framing.tcp_payload_per_frame().max(1);
    framing.wire_bytes(u64::from(framing.mtu)) as f64 / f64::from(payload)
}

/// The flows of a case on the links of its network.
struct Competition<'a> {
    flows: &'a [FlowSpec],
    testbed: &'a Testbed,
    network: &'a LabNetwork,
    /// The path of each flow.
    paths: Vec<Vec<Hop>>,
    /// The overhead of each flow.
    overheads: Vec<f64>,
}

impl Competition<'_> {
    fn is_load(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        !flow.probe && is_throughput(flow)
    }

    /// The fair share of a flow, payload bit/s.
    fn fair_share(&self, flow: usize) -> Option<f64> {
        if !self.is_load(flow) {
            return None;
        }
        let shares = self.paths[flow].iter().filter_map(|hop| {
            let line = line_rate(self.network.topology.impairments(*hop))?;
            self.fair_share_at(flow, hop, line)
        });
        shares.min_by(f64::total_cmp)
    }

    /// The fair share of a flow on one link of its path, payload bit/s.
    fn fair_share_at(&self, flow: usize, hop: &Hop, line: BitRate) -> Option<f64> {
        let either = self.network.topology.is_half_duplex(*hop);
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
            let offered = offered_rate(spec, self.testbed).ok().flatten();
            let demand = offered.map(|payload| payload * self.overheads[other]);
            demands.extend(std::iter::repeat_n(demand, spec.count as usize));
        }
        let shares = fair_shares(line.as_f64(), &demands);
        let each = shares.get(own?)? / self.overheads[flow];
        Some(each * f64::from(self.flows[flow].count))
    }
}
