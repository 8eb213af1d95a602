//! A stretch of time by one clock.

/// The time from one moment to another, both included, as signed ns of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    from_ns: i64,
    to_ns: i64,
}

impl TimeSpan {
    /// Widens a span so that it contains `at_ns`.
    #[inline]
    pub(crate) fn include(span: &mut Option<Self>, at_ns: i64) {
        let before = span.unwrap_or(Self {
            from_ns: at_ns,
            to_ns: at_ns,
        });
        *span = Some(Self {
            from_ns: before.from_ns.min(at_ns),
            to_ns: before.to_ns.max(at_ns),
        });
    }

    pub(crate) fn contains(&self, at_ns: i64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }
}
