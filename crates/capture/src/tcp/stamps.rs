//! Timestamps that wait for their echo (RFC 7323 section 4).

use std::collections::VecDeque;

/// Maximum number kept; the oldest are dropped.
const MAX_STAMPS: usize = 1024;

/// The timestamps that one end sent, each with the time of its first segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentStamps {
    sent: VecDeque<(u32, u64)>,
}

impl SentStamps {
    /// A segment with payload, SYN or FIN carried `value`.
    #[inline]
    pub(crate) fn sent(&mut self, value: u32, at_ns: u64) {
        let is_new = self
            .sent
            .back()
            .is_none_or(|(latest, _)| value.wrapping_sub(*latest).cast_signed() > 0);
        if is_new {
            if self.sent.len() >= MAX_STAMPS {
                self.sent.pop_front();
            }
            self.sent.push_back((value, at_ns));
        }
    }

    /// The time since `value` was first sent, when this is its first echo.
    #[inline]
    pub(crate) fn echoed(&mut self, value: u32, at_ns: u64) -> Option<u64> {
        while let Some(&(oldest, sent)) = self.sent.front() {
            let later = oldest.wrapping_sub(value).cast_signed();
            if later > 0 {
                return None;
            }
            self.sent.pop_front();
            if later == 0 {
                return Some(at_ns.saturating_sub(sent));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_echo_of_the_first_segment_counts() {
        let mut stamps = SentStamps::default();
        stamps.sent(u32::MAX, 10);
        stamps.sent(u32::MAX, 11);
        stamps.sent(1, 20);
        assert_eq!(stamps.echoed(u32::MAX, 30), Some(20));
        assert_eq!(stamps.echoed(u32::MAX, 40), None);
        assert_eq!(stamps.echoed(0, 40), None);
        assert_eq!(stamps.echoed(1, 45), Some(25));
    }
}
