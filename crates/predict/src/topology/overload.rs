//! Datagrams that overload links: the share of each flow that arrives, and the load of all flows.

use std::collections::BTreeMap;

use super::network::{FlowKind, FlowNetwork, SharedResource, counted_bytes, loss_share};

/// Iterations for the rates of datagrams that overload several links in a row to converge.
const ITERATIONS: usize = 8;

impl FlowNetwork<'_> {
    /// The share of each flow of datagrams that arrives, and the wire rate in bit/s that all of them offer to each resource.
    pub(super) fn datagrams(
        &self,
        capacities: &BTreeMap<SharedResource, f64>,
    ) -> (Vec<f64>, BTreeMap<SharedResource, f64>) {
        let mut arriving = vec![1.0; self.flows.len()];
        let mut load: BTreeMap<SharedResource, f64> = BTreeMap::new();
        for _ in 0..ITERATIONS {
            let mut next_load: BTreeMap<SharedResource, f64> = BTreeMap::new();
            for (flow, share) in self.flows.iter().zip(&mut arriving) {
                let FlowKind::Udp { rate, payload } = flow.parameters.kind else {
                    continue;
                };
                let wire_bytes = flow.framing.udp_wire_bytes(payload).unwrap_or(0) as f64;
                let fragments = flow.framing.udp_fragments(payload).unwrap_or(1) as f64;
                let offered = rate.as_f64() * wire_bytes / f64::from(payload.max(1));
                *share = 1.0;
                let mut previous = None;
                for hop in &flow.path {
                    let resource = self.resource(*hop);
                    let impairments = self.topology.impairments(*hop);
                    if previous != Some(resource) {
                        *next_load.entry(resource).or_insert(0.0) += offered * *share;
                        *share *= match (capacities.get(&resource), load.get(&resource)) {
                            (Some(capacity), Some(load)) if load > capacity => capacity / load,
                            _ => 1.0,
                        };
                    }
                    previous = Some(resource);
                    *share *= (1.0 - loss_share(impairments)).powf(fragments);
                    if let Some(policer) = impairments.policer {
                        let counted = counted_bytes(policer.measure, wire_bytes, fragments);
                        let policed = rate.as_f64() * *share * counted / f64::from(payload.max(1));
                        *share *= (policer.rate.as_f64() / policed.max(1.0)).min(1.0);
                    }
                }
            }
            load = next_load;
        }
        (arriving, load)
    }
}
