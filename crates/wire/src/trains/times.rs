//! The times of datagrams at one end.

use serde::{Deserialize, Serialize};

/// The times at which datagrams left or arrived, by their numbers, in the order in which they did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramTimes {
    /// The time of the first, ns on a clock of that end.
    pub base_ns: u64,
    /// The numbers of the datagrams in their series, from 0.
    pub numbers: Vec<u32>,
    /// The time of each, ns after `base_ns`.
    pub after_ns: Vec<u64>,
}

impl DatagramTimes {
    /// No times yet, with room for as many.
    #[must_use]
    pub fn with_capacity(datagrams: usize) -> Self {
        Self {
            base_ns: 0,
            numbers: Vec::with_capacity(datagrams),
            after_ns: Vec::with_capacity(datagrams),
        }
    }

    /// Adds the time of a datagram. A time before that of the first counts as that of the first: the wall clock may be set back.
    pub fn push(&mut self, number: u32, at_ns: u64) {
        if self.numbers.is_empty() {
            self.base_ns = at_ns;
        }
        self.numbers.push(number);
        self.after_ns.push(at_ns.saturating_sub(self.base_ns));
    }

    /// The time of each of `total` datagrams, ns on the clock of that end; `None` for those that have none.
    ///
    /// `None` where this cannot be of such a series: what another end reports may be anything.
    #[must_use]
    pub fn by_number(&self, total: u64) -> Option<Vec<Option<u64>>> {
        let total = usize::try_from(total).ok()?;
        if self.numbers.len() != self.after_ns.len() || self.numbers.len() > total {
            return None;
        }
        let mut times = vec![None; total];
        for (number, after_ns) in self.numbers.iter().zip(&self.after_ns) {
            let time = times.get_mut(*number as usize)?;
            if time.is_some() {
                return None;
            }
            *time = Some(self.base_ns.checked_add(*after_ns)?);
        }
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_by_number_in_whatever_order_datagrams_came() {
        let mut times = DatagramTimes::with_capacity(4);
        for (number, at_ns) in [(0, 1000), (2, 1500), (1, 1600)] {
            times.push(number, at_ns);
        }
        assert_eq!(
            times.by_number(4),
            Some(vec![Some(1000), Some(1600), Some(1500), None])
        );
    }

    #[test]
    fn what_cannot_be_of_a_series_is_none() {
        let times = |numbers: &[u32], after_ns: &[u64], base_ns| DatagramTimes {
            base_ns,
            numbers: numbers.to_vec(),
            after_ns: after_ns.to_vec(),
        };
        for impossible in [
            times(&[0, 1], &[0], 0),
            times(&[3], &[0], 0),
            times(&[1, 1], &[0, 5], 0),
            times(&[0, 1, 2, 0], &[0, 1, 2, 3], 0),
            times(&[0], &[1], u64::MAX),
        ] {
            assert_eq!(impossible.by_number(3), None, "{impossible:?}");
        }
        assert_eq!(times(&[], &[], 0).by_number(0), Some(vec![]));
    }
}
