//! The bytes that measurements may move in a day.

use jiff::civil::Date;

/// The bytes that measurements may move in a day of local time, and those they have moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DailyBudget {
    max: Option<u64>,
    day: Date,
    used: u64,
}

impl DailyBudget {
    /// The budget of today, of which `used` bytes are gone already; without a limit where `max` is none.
    pub(super) const fn new(max: Option<u64>, today: Date, used: u64) -> Self {
        Self {
            max,
            day: today,
            used,
        }
    }

    /// `true` where a test that is expected to move so many bytes fits into what is left today.
    pub(super) fn allows(&mut self, today: Date, expected: u64) -> bool {
        self.begin_day(today);
        self.max
            .is_none_or(|max| self.used < max && self.used.saturating_add(expected) <= max)
    }

    /// Takes note of the bytes of a test.
    pub(super) fn spend(&mut self, today: Date, bytes: u64) {
        self.begin_day(today);
        self.used = self.used.saturating_add(bytes);
    }

    fn begin_day(&mut self, today: Date) {
        if today != self.day {
            self.day = today;
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_test_that_would_exceed_the_bytes_of_a_day_waits_for_the_next() {
        let (monday, tuesday) = (date(2026, 11, 23), date(2026, 11, 24));
        let mut budget = DailyBudget::new(Some(1000), monday, 100);
        assert!(budget.allows(monday, 900) && !budget.allows(monday, 901));
        budget.spend(monday, 900);
        assert!(!budget.allows(monday, 0));
        assert!(budget.allows(tuesday, 1000));
        assert!(DailyBudget::new(None, monday, u64::MAX).allows(monday, u64::MAX));
    }
}
