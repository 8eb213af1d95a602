//! The tests that one source may begin in an hour, and the payload they may carry. Time is an argument.

use caudal_flow::ClientSource;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An hour, ns.
const HOUR_NS: u64 = 3_600_000_000_000;
/// The least payload with which a test makes sense, bytes.
const MIN_BYTES: u64 = 64 << 10;
/// Maximum number of sources that are known: beyond it the one whose hour began first is forgotten.
const MAX_SOURCES: usize = 4096;

/// The use that a source has made of its hour.
#[derive(Debug, Clone, Copy)]
struct Hour {
    began_ns: u64,
    starts: u32,
    bytes: u64,
}

/// The budgets of all sources.
#[derive(Debug)]
pub(crate) struct StartBudget {
    max_starts: u32,
    max_bytes: u64,
    hours: Mutex<HashMap<ClientSource, Hour>>,
}

impl StartBudget {
    /// Budgets of so many tests and so much payload an hour.
    pub(crate) fn new(max_starts: u32, max_bytes: u64) -> Self {
        Self {
            max_starts,
            max_bytes,
            hours: Mutex::default(),
        }
    }

    /// Begins a test at `now_ns`: the payload it may carry, half of what is left, so that tests at once stay within it together; the time to
    /// wait, ns, where the source has used up its hour.
    pub(crate) fn begin(&self, source: ClientSource, now_ns: u64) -> Result<u64, u64> {
        let mut hours = self.lock();
        make_room(&mut hours, source, now_ns);
        let hour = hours.entry(source).or_insert(Hour {
            began_ns: now_ns,
            starts: 0,
            bytes: 0,
        });
        let share = self.max_bytes.saturating_sub(hour.bytes) / 2;
        if hour.starts >= self.max_starts || share < MIN_BYTES {
            return Err((hour.began_ns + HOUR_NS).saturating_sub(now_ns));
        }
        hour.starts += 1;
        hour.bytes += share;
        Ok(share)
    }

    /// Gives back what a test has not carried of the `share` that it might.
    pub(crate) fn ended(&self, source: ClientSource, share: u64, carried: u64) {
        if let Some(hour) = self.lock().get_mut(&source) {
            hour.bytes = hour.bytes.saturating_sub(share).saturating_add(carried);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientSource, Hour>> {
        self.hours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the hours that are over, and the oldest where there are too many.
fn make_room(hours: &mut HashMap<ClientSource, Hour>, newcomer: ClientSource, now_ns: u64) {
    let is_over = |hour: &Hour| now_ns >= hour.began_ns + HOUR_NS;
    if hours.get(&newcomer).is_some_and(is_over) {
        hours.remove(&newcomer);
    }
    if hours.len() < MAX_SOURCES || hours.contains_key(&newcomer) {
        return;
    }
    hours.retain(|_, hour| !is_over(hour));
    if hours.len() >= MAX_SOURCES {
        let oldest = hours.iter().min_by_key(|(_, hour)| hour.began_ns);
        if let Some(source) = oldest.map(|(source, _)| *source) {
            hours.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn source(address: u32) -> ClientSource {
        IpAddr::from(address.to_be_bytes()).into()
    }

    #[test]
    fn a_source_has_so_many_tests_and_so_much_payload_an_hour() {
        let budget = StartBudget::new(2, 1_000_000);
        assert_eq!(budget.begin(source(1), 0), Ok(500_000));
        budget.ended(source(1), 500_000, 400_000);
        assert_eq!(budget.begin(source(1), 5), Ok(300_000));
        assert_eq!(budget.begin(source(1), 10), Err(HOUR_NS - 10));
        assert_eq!(budget.begin(source(2), 10), Ok(500_000));
        assert_eq!(budget.begin(source(1), HOUR_NS), Ok(500_000));
        budget.ended(source(1), 500_000, u64::MAX);
        assert!(budget.begin(source(1), HOUR_NS + 1).is_err());
    }

    #[test]
    fn tests_at_once_stay_within_the_payload_together() {
        let budget = StartBudget::new(1000, 10_000_000);
        let shares = std::iter::from_fn(|| budget.begin(source(1), 0).ok());
        assert!(shares.sum::<u64>() <= 10_000_000);
    }

    #[test]
    fn no_number_of_sources_takes_more_than_its_room() {
        let budget = StartBudget::new(1, u64::MAX);
        for address in 0..3 * MAX_SOURCES as u32 {
            budget.begin(source(address), u64::from(address)).unwrap();
        }
        assert_eq!(budget.lock().len(), MAX_SOURCES);
    }
}
