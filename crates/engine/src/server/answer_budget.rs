//! A limit on datagrams that answer strangers.

/// Maximum number of answers a second.
const MAX_ANSWERS: u64 = 200;
/// A second, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// The answers that may still be sent in the current second: enough for clients that reach the wrong server, too few to be of use against
/// anybody.
#[derive(Debug, Default)]
pub(super) struct AnswerBudget {
    second: u64,
    sent: u64,
}

impl AnswerBudget {
    /// `true` when one more may be sent at `now_ns`.
    pub(super) fn take(&mut self, now_ns: u64) -> bool {
        let second = now_ns / SECOND_NS;
        if second != self.second {
            *self = Self { second, sent: 0 };
        }
        self.sent += 1;
        self.sent <= MAX_ANSWERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_answered_in_a_second_than_the_limit() {
        let mut budget = AnswerBudget::default();
        let answered = |budget: &mut AnswerBudget, at_ns| {
            (0..1000).filter(|_| budget.take(at_ns)).count() as u64
        };
        assert_eq!(answered(&mut budget, 5 * SECOND_NS), MAX_ANSWERS);
        assert_eq!(answered(&mut budget, 6 * SECOND_NS - 1), 0);
        assert_eq!(answered(&mut budget, 6 * SECOND_NS), MAX_ANSWERS);
    }
}
