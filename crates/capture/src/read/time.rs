//! The resolution and the origin of an interface's times.

const NS: u128 = 1_000_000_000;

/// How times of an interface are turned into ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeScale {
    /// Ticks of a second.
    per_second: u128,
    /// Seconds to add (pcapng `if_tsoffset`).
    offset_s: i64,
}

impl TimeScale {
    /// Times in µs, pcapng's default.
    pub(crate) const MICROSECONDS: Self = Self {
        per_second: 1_000_000,
        offset_s: 0,
    };

    /// The scale of an `if_tsresol` option: a negative power of 10, or of 2 with the highest bit set. `None` where nothing
    /// could be told apart any more.
    pub(crate) fn from_resolution(resolution: u8) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7f);
        let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
        Some(Self {
            per_second: base.checked_pow(exponent)?,
            offset_s: 0,
        })
    }

    /// The same with other seconds to add.
    pub(crate) fn with_offset(self, offset_s: i64) -> Self {
        Self { offset_s, ..self }
    }

    /// The width of a tick, ns.
    pub(crate) fn resolution_ns(self) -> f64 {
        NS as f64 / self.per_second as f64
    }

    /// Ticks as ns since 1970, within what 64 bits hold.
    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        let ns = match self.per_second {
            1_000_000 => ticks.saturating_mul(1_000),
            NS => ticks,
            other => u64::try_from(u128::from(ticks) * NS / other).unwrap_or(u64::MAX),
        };
        if self.offset_s == 0 {
            return ns;
        }
        let shifted = i128::from(ns) + i128::from(self.offset_s) * NS as i128;
        u64::try_from(shifted.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_any_resolution_become_nanoseconds() {
        let scale = |resolution| TimeScale::from_resolution(resolution).unwrap();
        assert_eq!(TimeScale::MICROSECONDS.ns(1_500_000), 1_500_000_000);
        assert_eq!(scale(9).ns(7), 7);
        assert_eq!(scale(3).ns(1_500), 1_500_000_000);
        assert_eq!(scale(12).ns(1_999), 1);
        assert_eq!(scale(0x80 | 10).ns(1_536), 1_500_000_000);
        assert_eq!(scale(6).with_offset(-1).ns(1_500_000), 500_000_000);
        assert_eq!(scale(0).ns(u64::MAX), u64::MAX);
        assert_eq!(TimeScale::from_resolution(100), None);
    }
}
