//! The hops of a path, by TTL.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, MEASURED_FLOW, ProbeFate, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::PathPhase;
use std::collections::BTreeMap;

/// The probes of a hop that does not answer.
const TRIES: u32 = 3;
/// The hops that are probed together: few first, as most of what lies beyond the host is probed in vain.
const FIRST_HOPS: u8 = 4;
/// The hops in a row without an answer after which nothing beyond them is probed.
const MAX_SILENT: u8 = 12;
/// The probes of each hop where round-trip times alone are measured.
const ROUND_TRIPS: u32 = 10;
/// The time between two probes, ns.
const GAP_NS: u64 = 10_000_000;

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
            let farthest = self.table.last().unwrap_or(0);
            if self.table.end.is_some() || last - farthest.min(last) >= MAX_SILENT {
                break;
            }
            first = last + 1;
            count = count.saturating_mul(2);
        }
        Ok(())
    }

    /// Measures round-trip times alone.
    pub(super) fn measure_round_trips(&mut self) -> Result<(), ProbeError> {
        self.enter(PathPhase::RoundTrips);
        for ttl in self.table.answering() {
            for _ in 0..ROUND_TRIPS {
                self.exchange.ask(small(ttl));
            }
        }
        while !self.exchange.is_idle() && !self.is_over() {
            self.advance()?;
        }
        Ok(())
    }

    fn find_between(&mut self, first: u8, last: u8) -> Result<(), ProbeError> {
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
