//! The number of routes that flows take.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::{PathPhase, RouteCount};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Flows without a further next hop, by how many are known, for all to be known with 95 % probability. Source: Veitch, Augustin, Teixeira
/// and Friedman, "Failure Control in Multipath Route Tracing", 2009, table 1.
const FLOWS: [u32; 16] = [
    6, 11, 16, 21, 27, 33, 38, 44, 51, 57, 63, 70, 76, 83, 90, 96,
];
/// Maximum flows traced.
const MAX_FLOWS: u32 = 64;
/// Flows traced at once.
const TOGETHER: u32 = 5;
/// The time between two probes, ns.
const GAP_NS: u64 = 5_000_000;
/// Probes of a flow per hop that does not answer.
const TRIES: u32 = 2;

/// The addresses that flows meet, by flow and TTL.
#[derive(Debug, Default)]
pub(super) struct FlowTraces(BTreeMap<u16, BTreeMap<u8, IpAddr>>);

impl FlowTraces {
    pub(super) fn meets(&mut self, flow: u16, ttl: u8, address: IpAddr) {
        self.0.entry(flow).or_default().insert(ttl, address);
    }

    /// The maximum number of addresses met at one hop.
    fn max_addresses(&self) -> usize {
        let mut met: BTreeMap<u8, BTreeSet<IpAddr>> = BTreeMap::new();
        for (ttl, address) in self.0.values().flatten() {
            met.entry(*ttl).or_default().insert(*address);
        }
        met.values().map(BTreeSet::len).max().unwrap_or(0)
    }

    /// The flows after which there are most likely no other addresses.
    pub(super) fn flows_needed(&self) -> u32 {
        let addresses = self.max_addresses().max(1);
        FLOWS.get(addresses - 1).copied().unwrap_or(u32::MAX)
    }

    /// The different sequences of addresses. A hop that did not answer one flow may have been the same as for another one.
    pub(super) fn routes(&self) -> u32 {
        let mut traces: Vec<&BTreeMap<u8, IpAddr>> = self.0.values().collect();
        traces.sort_by_key(|trace| std::cmp::Reverse(trace.len()));
        let mut routes: Vec<&BTreeMap<u8, IpAddr>> = Vec::new();
        for trace in traces {
            let agrees = |route: &&BTreeMap<u8, IpAddr>| {
                trace
                    .iter()
                    .all(|(ttl, address)| route.get(ttl).is_none_or(|met| met == address))
            };
            if !routes.iter().any(agrees) {
                routes.push(trace);
            }
        }
        routes.len() as u32
    }
}

impl PathProber<'_> {
    /// Traces flows that differ in their source port until there are most likely no other routes.
    pub(super) fn count_routes(&mut self) -> Result<Option<RouteCount>, ProbeError> {
        let mut hops = self.table.passing(self.settings.target);
        // All routes meet at the host.
        hops.retain(|ttl| self.table.end.is_none_or(|end| *ttl < end.ttl));
        if hops.is_empty() {
            return Ok(None);
        }
        self.enter(PathPhase::Routes);
        self.exchange.set_gap_ns(GAP_NS);
        let mut traces = FlowTraces::default();
        for ttl in &hops {
            if let Some(address) = self.table.address(*ttl) {
                traces.meets(super::probe::MEASURED_FLOW, *ttl, address);
            }
        }
        let mut flows = 1;
        while flows < traces.flows_needed().min(MAX_FLOWS) && !self.is_over() {
            let wanted = traces.flows_needed().min(MAX_FLOWS);
            let next = (flows + TOGETHER).min(wanted.max(flows + 1));
            self.trace(flows..next, &hops, &mut traces)?;
            flows = next;
        }
        Ok(Some(RouteCount {
            flows,
            routes: traces.routes(),
            is_complete: flows >= traces.flows_needed() && !self.is_over(),
        }))
    }

    fn trace(
        &mut self,
        flows: std::ops::Range<u32>,
        hops: &[u8],
        traces: &mut FlowTraces,
    ) -> Result<(), ProbeError> {
        let mut tries: BTreeMap<(u16, u8), u32> = BTreeMap::new();
        for flow in flows {
            for ttl in hops {
                self.exchange.ask(traced(flow as u16, *ttl));
            }
        }
        while !self.exchange.is_idle() && !self.is_over() {
            for outcome in self.advance()? {
                let (flow, ttl) = (outcome.request.flow, outcome.request.ttl);
                match outcome.answer() {
                    Some(answer) if answer.kind == AnswerKind::TimeExceeded => {
                        traces.meets(flow, ttl, answer.from);
                    }
                    Some(_) => {}
                    None => {
                        let tried = tries.entry((flow, ttl)).or_insert(1);
                        if *tried < TRIES {
                            *tried += 1;
                            self.exchange.ask(traced(flow, ttl));
                        }
                    }
                }
            }
        }
        self.exchange.forget_beyond(0);
        Ok(())
    }
}

const fn traced(flow: u16, ttl: u8) -> ProbeRequest {
    ProbeRequest {
        flow,
        ttl,
        bytes: SMALL_BYTES,
        priming: Priming::Unprimed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn sequences_that_agree_where_both_are_known_are_one_route() {
        let mut traces = FlowTraces::default();
        for (flow, met) in [
            (0, &[(1, 1), (2, 2), (3, 5)][..]),
            (1, &[(1, 1), (2, 3), (3, 5)]),
            (2, &[(1, 1), (3, 5)]),
            (3, &[(2, 2)]),
        ] {
            for (ttl, last) in met {
                traces.meets(flow, *ttl, address(*last));
            }
        }
        assert_eq!(traces.routes(), 2);
        assert_eq!(traces.flows_needed(), 11);
    }
}
