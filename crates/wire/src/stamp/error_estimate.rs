//! The error estimate of a timestamp (RFC 4656 section 4.1.2, RFC 8762 section 4.2.1).

use super::time::TimestampFormat;

/// Bit S: the clock is synchronized to UTC by an external source.
const SYNCHRONIZED: u16 = 0x8000;
/// Bit Z: timestamps are of PTP.
const PTP: u16 = 0x4000;
/// Maximum of the scale, 6 bits.
const MAX_SCALE: u32 = 63;

/// The error estimate of a clock's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorEstimate {
    /// `true` where the clock says that it is synchronized to UTC by an external source.
    pub is_synchronized: bool,
    /// The format of the timestamps.
    pub format: TimestampFormat,
    /// The maximum error, ns; rounded up to what 8 bits can say.
    pub error_ns: u64,
}

impl ErrorEstimate {
    /// The estimate in two octets: `multiplier · 2⁻³² · 2^scale` s, rounded up; a multiplier is never 0.
    #[must_use]
    pub fn encode(self) -> [u8; 2] {
        // Units of 2⁻³² s.
        let units = (u128::from(self.error_ns) << 32)
            .div_ceil(1_000_000_000)
            .max(1);
        let scale = (0..=MAX_SCALE)
            .find(|scale| units <= 255_u128 << scale)
            .unwrap_or(MAX_SCALE);
        let multiplier = units.div_ceil(1 << scale).min(255) as u16;
        let mut word = ((scale as u16) << 8) | multiplier;
        if self.is_synchronized {
            word |= SYNCHRONIZED;
        }
        if self.format == TimestampFormat::Ptp {
            word |= PTP;
        }
        word.to_be_bytes()
    }

    /// The estimate of two octets; `None` where the multiplier is 0, which is invalid: such a packet's timestamps are not to be trusted.
    /// The format and bit S are those of the octets all the same.
    #[must_use]
    pub fn decode(bytes: [u8; 2]) -> (TimestampFormat, Option<Self>) {
        let word = u16::from_be_bytes(bytes);
        let format = match word & PTP {
            0 => TimestampFormat::Ntp,
            _ => TimestampFormat::Ptp,
        };
        let (scale, multiplier) = (u32::from(word >> 8) & MAX_SCALE, u128::from(word & 0xff));
        let units = multiplier << scale;
        let error_ns = units.saturating_mul(1_000_000_000) >> 32;
        let estimate = Self {
            is_synchronized: word & SYNCHRONIZED != 0,
            format,
            error_ns: u64::try_from(error_ns).unwrap_or(u64::MAX),
        };
        (format, (multiplier > 0).then_some(estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn estimates_are_written_as_rfc_4656_says() {
        let of = |error_ns, is_synchronized, format| ErrorEstimate {
            is_synchronized,
            format,
            error_ns,
        };
        for (estimate, bytes) in [
            // The least: 2⁻³² s.
            (of(0, false, TimestampFormat::Ntp), [0, 1]),
            // 1 s = 128 · 2⁻³² · 2²⁵ s.
            (
                of(1_000_000_000, true, TimestampFormat::Ntp),
                [0x80 | 25, 128],
            ),
            // 16 s, that of a clock that nothing synchronizes.
            (
                of(16_000_000_000, false, TimestampFormat::Ptp),
                [0x40 | 29, 128],
            ),
        ] {
            assert_eq!(estimate.encode(), bytes, "{estimate:?}");
        }
        assert_eq!(
            ErrorEstimate::decode([0x80, 0]),
            (TimestampFormat::Ntp, None)
        );
    }

    proptest! {
        #[test]
        fn an_estimate_never_promises_more_than_was_said(error_ns in 0_u64..1 << 50) {
            let estimate = ErrorEstimate { error_ns, ..ErrorEstimate::default() };
            let (_, read) = ErrorEstimate::decode(estimate.encode());
            let read = read.unwrap();
            prop_assert!(read.error_ns >= error_ns.saturating_sub(1), "{:?}", read);
            prop_assert!(read.error_ns as f64 <= error_ns as f64 * 1.008 + 2.0, "{:?}", read);
        }
    }
}
