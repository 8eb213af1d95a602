//! Routing loops: the same routers again and again, in the same order.

use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, MEASURED_FLOW, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::RoutingLoop;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Maximum hops of a loop.
const MAX_TURN: u8 = 8;
/// Minimum hops that repeat the answers of one turn before: a single one does where a route becomes longer while it is probed.
const MIN_REPEATS: usize = 2;
/// Probes to the largest TTL that confirm a loop, and the time between two, ns: by then routers that limit their answers may answer
/// again.
const TRIES: u32 = 3;
const GAP_NS: u64 = 1_100_000_000;

/// The loop in which the hops of these TTLs are; `None` where none shows.
///
/// One router that answers at several TTLs in a row is no loop: devices in between may not count TTLs down, or answer for others.
pub(super) fn routing_loop(hops: &BTreeMap<u8, IpAddr>) -> Option<RoutingLoop> {
    (2..=MAX_TURN).find_map(|turn| loop_of(hops, turn))
}

/// The loop of so many hops a turn.
fn loop_of(hops: &BTreeMap<u8, IpAddr>, turn: u8) -> Option<RoutingLoop> {
    // Where the hop one turn before answers too: whether both are one router.
    let compared: Vec<(u8, bool)> = hops
        .iter()
        .filter_map(|(ttl, address)| Some((*ttl, hops.get(&ttl.checked_sub(turn)?)? == address)))
        .collect();
    let (again, _) = *compared.iter().find(|(_, is_same)| *is_same)?;
    let inside = compared.iter().filter(|(ttl, _)| *ttl >= again);
    let repeats = inside.clone().count();
    let do_all_repeat = inside.into_iter().all(|(_, is_same)| *is_same);
    let first_ttl = again - turn;
    let addresses: Vec<IpAddr> = hops.range(first_ttl..again).map(|(_, one)| *one).collect();
    let different: BTreeSet<&IpAddr> = addresses.iter().collect();
    let is_turn =
        different.len() == addresses.len() && (different.len() > 1 || repeats > MIN_REPEATS);
    (do_all_repeat && repeats >= MIN_REPEATS && is_turn).then_some(RoutingLoop {
        first_ttl,
        hops: turn,
        addresses,
    })
}

impl PathProber<'_> {
    /// Looks for a loop among the hops found so far, which a probe of the largest TTL confirms: it ends in the loop as well.
    pub(super) fn find_loop(&mut self) -> Result<Option<RoutingLoop>, ProbeError> {
        let Some(found) = routing_loop(&self.table.expiries()) else {
            return Ok(None);
        };
        let ttl = self.settings.max_ttl;
        for _ in 0..TRIES {
            self.exchange.ask(ProbeRequest {
                flow: MEASURED_FLOW,
                ttl,
                bytes: super::hop_table::SMALL_BYTES,
                priming: Priming::Unprimed,
            });
            while !self.exchange.is_idle() && !self.is_stopped() {
                for outcome in self.advance()? {
                    let answer = outcome.answer().filter(|_| outcome.request.ttl == ttl);
                    let is_inside = answer.is_some_and(|answer| {
                        answer.kind == AnswerKind::TimeExceeded
                            && found.addresses.contains(&answer.from)
                    });
                    if is_inside {
                        self.exchange.forget_beyond(0);
                        return Ok(Some(found));
                    }
                }
            }
            self.exchange.delay(ttl, GAP_NS);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(last_bytes: &[u8]) -> BTreeMap<u8, IpAddr> {
        let hops = (1..).zip(last_bytes);
        hops.filter(|(_, last)| **last > 0)
            .map(|(ttl, last)| (ttl, IpAddr::from([10, 0, 0, *last])))
            .collect()
    }

    #[test]
    fn routers_that_come_again_are_a_loop() {
        for (met, expected) in [
            (&[1, 2, 1, 2][..], Some((1, 2))),
            (&[9, 8, 1, 2, 3, 1, 2, 3], Some((3, 3))),
            // Every second one does not answer.
            (&[9, 1, 0, 1, 0, 1, 0, 1], Some((2, 2))),
            (&[1, 2, 3, 4], None),
            // A route that became longer by one hop, and a router that answers twice.
            (&[1, 2, 2, 3, 4], None),
            (&[1, 2, 3, 2, 4, 5], None),
            (&[1, 1, 1, 1, 1, 1], None),
            (&[], None),
        ] {
            let found = routing_loop(&hops(met)).map(|found| (found.first_ttl, found.hops));
            assert_eq!(found, expected, "{met:?}");
        }
    }
}
