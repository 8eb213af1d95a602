//! What the page says that it received: a stranger's word, held against what was sent.

use caudal_core::plan::PhaseLoad;

/// Maximum number of counts of a phase.
const MAX_COUNTS: usize = 2000;

/// The payload that had arrived by a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountAt {
    /// The time after the start of the phase, s.
    pub(super) at_s: f64,
    /// Payload until then, bytes.
    pub(super) bytes: u64,
}

/// The counts of a phase, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PageCounts(Vec<CountAt>);

impl PageCounts {
    /// Adds a count; one that goes back in time or in payload is left out.
    pub(super) fn add(&mut self, ms: f64, bytes: u64) {
        let at_s = ms / 1e3;
        let last = self.0.last().copied().unwrap_or(CountAt {
            at_s: 0.0,
            bytes: 0,
        });
        let is_next = at_s.is_finite() && at_s > last.at_s && bytes >= last.bytes;
        if is_next && self.0.len() < MAX_COUNTS {
            self.0.push(CountAt { at_s, bytes });
        }
    }

    /// The counts, none of which exceeds what was `sent`; `None` where they do not cover a phase of `time_s`.
    pub(super) fn within(&self, sent: u64, time_s: f64) -> Option<Vec<CountAt>> {
        let last = self.0.last()?;
        if last.at_s < 0.9 * time_s || self.0.len() < 5 {
            return None;
        }
        let zero = CountAt {
            at_s: 0.0,
            bytes: 0,
        };
        let within = self.0.iter().map(|one| CountAt {
            bytes: one.bytes.min(sent),
            ..*one
        });
        Some(std::iter::once(zero).chain(within).collect())
    }
}

/// The payload that had arrived at a time, between counts; `None` outside them.
pub(super) fn bytes_at(counts: &[CountAt], at_s: f64) -> Option<f64> {
    let after = counts.partition_point(|count| count.at_s < at_s);
    let next = counts.get(after)?;
    let Some(before) = after.checked_sub(1).and_then(|nth| counts.get(nth)) else {
        return (next.at_s <= at_s).then_some(next.bytes as f64);
    };
    let share = (at_s - before.at_s) / (next.at_s - before.at_s).max(1e-9);
    Some(before.bytes as f64 + share * (next.bytes as f64 - before.bytes as f64))
}

/// The rates between `from_s` and `to_s` in intervals of this length, bit/s, as far as counts cover them.
pub(super) fn rates(counts: &[CountAt], from_s: f64, to_s: f64, length_s: f64) -> Vec<f64> {
    let n = ((to_s - from_s) / length_s + 1e-6).floor().max(0.0) as u32;
    let edge = |nth: u32| bytes_at(counts, from_s + f64::from(nth) * length_s);
    (0..n)
        .map_while(|nth| Some((edge(nth + 1)? - edge(nth)?) * 8.0 / length_s))
        .collect()
}

/// What the page said of one phase.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PagePhase {
    /// The load of the phase.
    pub(super) load: PhaseLoad,
    /// What it received.
    pub(super) counts: PageCounts,
    /// The share of the time in which it had nothing left to send.
    pub(super) starved: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_grow_and_never_beyond_what_was_sent() {
        let mut counts = PageCounts::default();
        for (ms, bytes) in [
            (100.0, 10),
            (50.0, 90),
            (f64::NAN, 5),
            (200.0, 5),
            (200.0, 1000),
            (300.0, 2000),
            (400.0, 3000),
            (500.0, u64::MAX),
        ] {
            counts.add(ms, bytes);
        }
        let within = counts.within(2500, 0.5).unwrap();
        let bytes: Vec<u64> = within.iter().map(|count| count.bytes).collect();
        assert_eq!(bytes, [0, 10, 1000, 2000, 2500, 2500]);
        assert_eq!(counts.within(2500, 5.0), None, "they end too early");
        for nth in 0..2 * MAX_COUNTS as u64 {
            counts.add(1000.0 + nth as f64, u64::MAX);
        }
        assert_eq!(counts.0.len(), MAX_COUNTS);
    }

    #[test]
    fn rates_are_those_between_counts() {
        let at = |at_s, bytes| CountAt { at_s, bytes };
        let counts = [at(0.0, 0), at(0.9, 900), at(2.1, 2100)];
        let rates = rates(&counts, 0.5, 2.0, 0.5);
        assert_eq!(rates.len(), 3);
        assert!(
            rates.iter().all(|bps| (bps - 8000.0).abs() < 1e-6),
            "{rates:?}"
        );
        assert_eq!(bytes_at(&counts, 2.2), None);
        assert_eq!(super::rates(&counts, 1.0, 9.0, 0.5).len(), 2);
    }
}
