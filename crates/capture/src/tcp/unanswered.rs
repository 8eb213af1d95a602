//! Times in which nothing came from an end that was sent to again and again.

/// Minimum length of such a time, ns: two retransmission timeouts can come within it where a few segments are lost.
const MIN_NS: u64 = 1_000_000_000;
/// Minimum number of segments sent again in it.
const MIN_REPEATED: u32 = 2;

/// A time in which an end was not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnansweredTime {
    /// When it was heard last, ns after the first frame of the flow.
    pub(crate) from_ns: u64,
    /// When it was heard again; `None` where it was not.
    pub(crate) to_ns: Option<u64>,
    /// The segments that were sent to it again meanwhile.
    pub(crate) repeated: u32,
    /// The first of them.
    pub(crate) frame: u64,
}

/// Looks for such times of one end.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnansweredWatch {
    /// When it was heard last; `None` before.
    heard_ns: Option<u64>,
    repeated: u32,
    first_repeated: u64,
    longest: Option<UnansweredTime>,
    count: u64,
}

impl UnansweredWatch {
    /// Takes in that a segment of the end was captured.
    #[inline]
    pub(crate) fn heard(&mut self, at_ns: u64) {
        if self.repeated > 0 {
            self.end(at_ns, Some(at_ns));
        }
        (self.heard_ns, self.repeated) = (Some(at_ns), 0);
    }

    /// Takes in that a segment was sent to the end again.
    pub(crate) const fn repeated(&mut self, frame: u64) {
        if self.repeated == 0 {
            self.first_repeated = frame;
        }
        self.repeated = self.repeated.saturating_add(1);
    }

    fn end(&mut self, until_ns: u64, to_ns: Option<u64>) {
        let Some(from_ns) = self.heard_ns else {
            return;
        };
        let length_ns = until_ns.saturating_sub(from_ns);
        if self.repeated < MIN_REPEATED || length_ns < MIN_NS {
            return;
        }
        self.count += 1;
        let is_longest = self.longest.is_none_or(|longest| {
            let to_ns = longest.to_ns.unwrap_or(u64::MAX);
            length_ns > to_ns.saturating_sub(longest.from_ns)
        });
        if is_longest {
            self.longest = Some(UnansweredTime {
                from_ns,
                to_ns,
                repeated: self.repeated,
                frame: self.first_repeated,
            });
        }
    }

    /// How many there were in a flow whose last frame was at `last_ns`, and the longest.
    pub(crate) fn finish(&self, last_ns: u64) -> Option<(u64, UnansweredTime)> {
        let mut ended = self.clone();
        ended.end(last_ns, None);
        Some((ended.count, ended.longest?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_end_that_is_asked_again_and_again_and_does_not_answer_is_silent() {
        let mut watch = UnansweredWatch::default();
        watch.heard(500 * MS);
        for frame in 10..14 {
            watch.repeated(frame);
        }
        watch.heard(2_700 * MS);
        let silence = UnansweredTime {
            from_ns: 500 * MS,
            to_ns: Some(2_700 * MS),
            repeated: 4,
            frame: 10,
        };
        assert_eq!(watch.finish(9_000 * MS), Some((1, silence)));
        // Once more, to the end.
        watch.repeated(20);
        watch.repeated(21);
        let (count, longest) = watch.finish(9_000 * MS).unwrap();
        assert_eq!((count, longest.to_ns, longest.frame), (2, None, 20));
    }

    #[test]
    fn idle_time_and_single_losses_are_no_silence() {
        let mut watch = UnansweredWatch::default();
        watch.heard(0);
        watch.heard(60_000 * MS);
        watch.repeated(5);
        watch.heard(61_500 * MS);
        watch.repeated(6);
        watch.repeated(7);
        watch.heard(61_900 * MS);
        assert_eq!(watch.finish(62_000 * MS), None);
        // Before it was heard at all, it is a handshake that failed.
        let mut watch = UnansweredWatch::default();
        watch.repeated(1);
        watch.repeated(2);
        assert_eq!(watch.finish(9_000 * MS), None);
    }
}
