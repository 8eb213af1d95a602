//! A path watched until the user ends it: a probe of each hop in turn, over and over.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, MEASURED_FLOW, ProbeFate, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::PathPhase;
use std::time::Duration;

/// Answers in a row of another hop at the place of the host, or of the host before it, for a path that became longer.
const LONGER_ANSWERS: u32 = 2;
/// Hops beyond the old end that are asked where a path became longer.
const NEXT_HOPS: u8 = 4;

impl PathProber<'_> {
    /// Probes each hop once in a period until the time is over or the observer ends it.
    pub(super) fn watch(&mut self, period: Duration) -> Result<(), ProbeError> {
        self.table.begin_watching();
        self.enter(PathPhase::Watch);
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut next_ns = self.exchange.elapsed_ns();
        let mut beyond_end = 0_u32;
        while !self.is_over() {
            let now_ns = self.exchange.elapsed_ns();
            if now_ns >= next_ns {
                self.ask_each_hop();
                // After a suspension the rounds that were missed are not made up for.
                next_ns = (next_ns + period_ns).max(now_ns);
            }
            for outcome in self.advance_until(next_ns)? {
                let is_end = self
                    .table
                    .end
                    .is_some_and(|end| end.ttl == outcome.request.ttl);
                match outcome.fate {
                    ProbeFate::Answered(answer) if is_end => {
                        let is_passed_on = answer.kind == AnswerKind::TimeExceeded;
                        beyond_end = if is_passed_on { beyond_end + 1 } else { 0 };
                    }
                    _ => {}
                }
            }
            if beyond_end >= LONGER_ANSWERS {
                beyond_end = 0;
                self.find_new_end()?;
            }
        }
        self.table.end_watching();
        Ok(())
    }

    /// Asks every hop up to the last one that answers, unless it still has a probe to answer or to send.
    fn ask_each_hop(&mut self) {
        let last = self.table.last().unwrap_or(1);
        for ttl in 1..=last {
            if self.exchange.pending(ttl) == 0 {
                self.exchange.ask(ProbeRequest {
                    flow: MEASURED_FLOW,
                    ttl,
                    bytes: SMALL_BYTES,
                    priming: Priming::Unprimed,
                });
            }
        }
    }

    /// Looks for the end of a path that became longer.
    fn find_new_end(&mut self) -> Result<(), ProbeError> {
        let Some(end) = self.table.end.take() else {
            return Ok(());
        };
        let mut first = end.ttl.saturating_add(1);
        while first <= self.settings.max_ttl && self.table.end.is_none() && !self.is_stopped() {
            let last = first
                .saturating_add(NEXT_HOPS - 1)
                .min(self.settings.max_ttl);
            self.find_between(first, last)?;
            if self.table.last().is_none_or(|found| found < first) {
                break;
            }
            first = last.saturating_add(1);
        }
        Ok(())
    }
}
