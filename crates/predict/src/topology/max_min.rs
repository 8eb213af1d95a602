//! Max-min fair shares of TCP flows over several links.

use std::collections::{BTreeMap, BTreeSet};

use super::network::{FlowKind, FlowNetwork, RoutedFlow, SEGMENTS_PER_ACK, SharedResource};

/// The max-min fair share of a TCP flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MaxMinShare {
    /// The rate on the wire, bit/s; 0 for flows that are not TCP.
    pub wire_bps: f64,
    /// The resource that limits it; `None` when the flow's own bound does.
    pub limit: Option<SharedResource>,
}

impl FlowNetwork<'_> {
    /// The wire time a flow takes of each resource, as a multiple of that of its full segments: for data, acknowledgements
    /// or both.
    fn weights(&self, flow: &RoutedFlow) -> BTreeMap<SharedResource, f64> {
        let mut weights = BTreeMap::new();
        if !matches!(flow.parameters.kind, FlowKind::Tcp { .. }) {
            return weights;
        }
        let full = flow.full_frame() as f64;
        let acks = flow.framing.ack_wire_bytes() as f64 / (f64::from(SEGMENTS_PER_ACK) * full);
        for (path, weight) in [(&flow.path, 1.0), (&flow.return_path, acks)] {
            // Two links at one hub are one medium, which carries a frame once.
            let resources: BTreeSet<_> = path.iter().map(|hop| self.resource(*hop)).collect();
            for resource in resources {
                *weights.entry(resource).or_insert(0.0) += weight;
            }
        }
        weights
    }

    /// The wire rate that TCP flows with these `shares` take of each resource, bit/s.
    pub(super) fn loads(&self, shares: &[MaxMinShare]) -> BTreeMap<SharedResource, f64> {
        let mut loads = BTreeMap::new();
        for (flow, share) in self.flows.iter().zip(shares) {
            for (resource, weight) in self.weights(flow) {
                *loads.entry(resource).or_insert(0.0) += weight * share.wire_bps;
            }
        }
        loads
    }

    /// The wire rates of TCP flows that share `capacities` in proportion to `preferences`, none above its own maximum in
    /// `max_wire_bps`.
    ///
    /// Source: progressive filling to max-min fairness, Bertsekas and Gallager, "Data Networks", section 6.5.2.
    pub(super) fn max_min_shares(
        &self,
        capacities: &BTreeMap<SharedResource, f64>,
        max_wire_bps: &[f64],
        preferences: &[f64],
    ) -> Vec<MaxMinShare> {
        let weights: Vec<BTreeMap<SharedResource, f64>> =
            self.flows.iter().map(|flow| self.weights(flow)).collect();
        let mut remaining = capacities.clone();
        let mut shares: Vec<Option<MaxMinShare>> = weights
            .iter()
            .map(|weights| weights.is_empty().then(MaxMinShare::default))
            .collect();
        // Each iteration determines the share of at least one flow.
        for _ in 0..self.flows.len() {
            let unassigned: Vec<usize> = (0..self.flows.len())
                .filter(|flow| shares[*flow].is_none())
                .collect();
            let mut lowest: Option<(usize, MaxMinShare)> = None;
            for &flow in &unassigned {
                let mut share = MaxMinShare {
                    wire_bps: max_wire_bps[flow],
                    limit: None,
                };
                for resource in weights[flow].keys() {
                    let total_weight: f64 = unassigned
                        .iter()
                        .filter_map(|other| {
                            Some(weights[*other].get(resource)? * preferences[*other])
                        })
                        .sum();
                    if let Some(remaining) = remaining.get(resource)
                        && remaining * preferences[flow] / total_weight < share.wire_bps
                    {
                        share = MaxMinShare {
                            wire_bps: remaining * preferences[flow] / total_weight,
                            limit: Some(*resource),
                        };
                    }
                }
                let level = share.wire_bps / preferences[flow];
                if lowest.is_none_or(|(other_flow, other)| {
                    level < other.wire_bps / preferences[other_flow]
                }) {
                    lowest = Some((flow, share));
                }
            }
            let Some((flow, mut share)) = lowest else {
                break;
            };
            share.wire_bps = share.wire_bps.max(0.0);
            for (resource, weight) in &weights[flow] {
                if let Some(remaining) = remaining.get_mut(resource) {
                    *remaining = (*remaining - weight * share.wire_bps).max(0.0);
                }
            }
            shares[flow] = Some(share);
        }
        shares.into_iter().map(Option::unwrap_or_default).collect()
    }
}
