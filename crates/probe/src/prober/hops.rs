//! The hops of a path, by TTL.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, MEASURED_FLOW, ProbeFate, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::PathPhase;
use std::collections::BTreeMap;

/// Probes per hop that does not answer.
const TRIES: u32 = 3;
/// Hops probed together: few at first, as most probes beyond the host are wasted.
const FIRST_HOPS: u8 = 4;
/// Maximum hops in a row without an answer before probing ends.
const MAX_SILENT: u8 = 12;
/// Probes per hop where round-trip times alone are measured.
const ROUND_TRIPS: u32 = 10;
/// Time between two probes, ns.
const GAP_NS: u64 = 10_000_000;
/// The time between two probes to a router that refuses them, ns: Linux takes two answers of its limit for each such message, one for
/// the route and one for ICMP (net/ipv4/route.c, `ip_error`).
const REFUSAL_GAP_NS: u64 = 2_100_000_000;
/// Probes per hop before a router that refuses them, and maximum time of all, ns.
const REFUSAL_TRIES: u32 = 2;
const REFUSAL_NS: u64 = 12_000_000_000;
/// Probes per hop for its round-trip time where the path ends at a router.
const REFUSED_ROUND_TRIPS: u32 = 3;
/// Further probes of a hop whose last ones may have been lost or not.
const OPEN_ROUND_TRIPS: u32 = 4;

impl PathProber<'_> {
    /// Finds the hops, up to the host or until nothing answers any more.
    pub(super) fn find_hops(&mut self) -> Result<(), ProbeError> {
        self.enter(PathPhase::Hops);
        self.exchange.set_gap_ns(GAP_NS);
        let mut first = 1;
        let mut count = FIRST_HOPS;
        while first <= self.settings.max_ttl && !self.is_stopped() {
            let last = first.saturating_add(count - 1).min(self.settings.max_ttl);
            self.find_between(first, last)?;
            if let Some(found) = self.find_loop()? {
                self.table.end_at(found.first_ttl + found.hops - 1);
                self.routing_loop = Some(found);
                break;
            }
            let farthest = self.table.last().unwrap_or(0);
            if self.table.end.is_some() || last - farthest.min(last) >= MAX_SILENT {
                break;
            }
            first = last + 1;
            count = count.saturating_mul(2);
        }
        self.find_before_refusal()
    }

    /// Asks the hops before one that refuses probes again, from the first on: that one may refuse them at any TTL, and its answers to
    /// others kept it from saying so.
    fn find_before_refusal(&mut self) -> Result<(), ProbeError> {
        let target = self.settings.target;
        let deadline_ns = self.exchange.elapsed_ns() + REFUSAL_NS;
        for ttl in self.table.silent_before_refusal(target) {
            for _ in 0..REFUSAL_TRIES {
                let is_known = !self.table.silent_before_refusal(target).contains(&ttl);
                if is_known || self.is_stopped() || self.exchange.elapsed_ns() >= deadline_ns {
                    break;
                }
                self.exchange.delay(ttl, REFUSAL_GAP_NS);
                self.exchange.ask(small(ttl));
                while !self.exchange.is_idle() && !self.is_stopped() {
                    self.advance()?;
                }
            }
        }
        Ok(())
    }

    /// Measures round-trip times alone.
    pub(super) fn measure_round_trips(&mut self) -> Result<(), ProbeError> {
        self.enter(PathPhase::RoundTrips);
        let hops = self.table.answering();
        if self.ends_at_router() {
            // Its answers are limited together, whatever they say.
            for ttl in &hops {
                self.table.count_anew(*ttl);
            }
            for _ in 0..REFUSED_ROUND_TRIPS {
                for ttl in &hops {
                    self.exchange.delay(*ttl, REFUSAL_GAP_NS);
                    self.exchange.ask(small(*ttl));
                }
                self.advance_all()?;
            }
            return Ok(());
        }
        for ttl in &hops {
            for _ in 0..ROUND_TRIPS {
                self.exchange.ask(small(*ttl));
            }
        }
        self.advance_all()?;
        for ttl in hops {
            for _ in 0..OPEN_ROUND_TRIPS {
                if self.exchange.is_loss_open(ttl) {
                    self.exchange.ask(small(ttl));
                }
            }
        }
        self.advance_all()
    }

    /// Waits until every probe is done or the time is over.
    fn advance_all(&mut self) -> Result<(), ProbeError> {
        while !self.exchange.is_idle() && !self.is_over() {
            self.advance()?;
        }
        Ok(())
    }

    pub(super) fn find_between(&mut self, first: u8, last: u8) -> Result<(), ProbeError> {
        let mut tries: BTreeMap<u8, u32> = BTreeMap::new();
        for ttl in first..=last {
            self.exchange.ask(small(ttl));
        }
        while !self.exchange.is_idle() && !self.is_stopped() {
            for outcome in self.advance()? {
                let ttl = outcome.request.ttl;
                match outcome.fate {
                    ProbeFate::Answered(answer) if answer.kind != AnswerKind::TimeExceeded => {
                        self.exchange.forget_beyond(ttl);
                    }
                    ProbeFate::Answered(_) => {}
                    _ => {
                        let tried = tries.entry(ttl).or_insert(1);
                        let is_beyond = self.table.end.is_some_and(|end| end.ttl < ttl);
                        if *tried < TRIES && !is_beyond {
                            *tried += 1;
                            if *tried == TRIES {
                                // A router says that the host is not there after three seconds of asking for it (RFC 4861 section 7.2.2; Linux does as much for
                                // ARP).
                                self.exchange.wait_longest();
                            }
                            self.exchange.ask(small(ttl));
                        }
                    }
                }
            }
        }
        self.exchange.wait_as_usual();
        Ok(())
    }
}

/// A probe whose round-trip time is reported.
const fn small(ttl: u8) -> ProbeRequest {
    ProbeRequest {
        flow: MEASURED_FLOW,
        ttl,
        bytes: SMALL_BYTES,
        priming: Priming::Unprimed,
    }
}
