//! Timestamps of 64 bits, in the two formats of RFC 8762.

/// Seconds from the epoch of NTP, 1900, to that of Unix, 1970 (RFC 5905 figure 4).
const NTP_EPOCH_S: u64 = 2_208_988_800;
const NS_PER_S: u64 = 1_000_000_000;

/// The format of timestamps, which bit Z of an error estimate names (RFC 8186 section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampFormat {
    /// NTP's: seconds since 1900 and a fraction of 2⁻³² s (RFC 5905 section 6).
    #[default]
    Ntp,
    /// PTP's, truncated: seconds since 1970 and nanoseconds (RFC 8186). A clock on the timescale of PTP is ahead of UTC by the leap
    /// seconds, which cannot be seen here: they are part of the offset of its clock.
    Ptp,
}

impl TimestampFormat {
    /// A time, ns since 1970, in this format.
    #[must_use]
    pub fn encode(self, unix_ns: u64) -> [u8; 8] {
        let (seconds, ns) = (unix_ns / NS_PER_S, unix_ns % NS_PER_S);
        let (high, low) = match self {
            // Rounded up, so that the nanosecond is the same when it is read.
            Self::Ntp => (
                seconds.wrapping_add(NTP_EPOCH_S),
                (ns << 32).div_ceil(NS_PER_S),
            ),
            Self::Ptp => (seconds, ns),
        };
        let word = (high << 32) | (low & u64::from(u32::MAX));
        word.to_be_bytes()
    }

    /// The time in ns since 1970 that these bytes stand for, of those 2³² s apart the one that is next to `near_ns`.
    #[must_use]
    pub fn decode(self, bytes: [u8; 8], near_ns: u64) -> u64 {
        let word = u64::from_be_bytes(bytes);
        let (high, low) = (word >> 32, word & u64::from(u32::MAX));
        let (seconds, ns) = match self {
            Self::Ntp => (
                high.wrapping_sub(NTP_EPOCH_S) & u64::from(u32::MAX),
                (low.saturating_mul(NS_PER_S)) >> 32,
            ),
            Self::Ptp => (high, low),
        };
        // The difference to a time that is near it, between -2³¹ and 2³¹ s.
        let near_s = near_ns / NS_PER_S;
        let ahead = seconds.wrapping_sub(near_s) as u32 as i32;
        let seconds = near_s.saturating_add_signed(i64::from(ahead));
        seconds.saturating_mul(NS_PER_S).saturating_add(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-28 00:00:00 UTC.
    const NOW_NS: u64 = 1_795_824_000 * NS_PER_S;

    #[test]
    fn times_are_written_as_the_standards_say() {
        // RFC 5905 figure 4: 1 January 1970 is 2 208 988 800 s of NTP; a half second is the highest bit of the fraction.
        let half = NS_PER_S / 2;
        assert_eq!(
            TimestampFormat::Ntp.encode(half),
            [0x83, 0xaa, 0x7e, 0x80, 0x80, 0, 0, 0]
        );
        assert_eq!(
            TimestampFormat::Ptp.encode(NS_PER_S + half),
            [0, 0, 0, 1, 0x1d, 0xcd, 0x65, 0x00]
        );
    }

    #[test]
    fn a_time_after_2036_is_read_in_its_own_era() {
        // 7 February 2036 06:28:16 UTC: NTP's seconds begin again.
        let rollover_ns = 2_085_978_496 * NS_PER_S;
        let bytes = TimestampFormat::Ntp.encode(rollover_ns + 7);
        assert_eq!(bytes[..4], [0; 4]);
        assert_eq!(
            TimestampFormat::Ntp.decode(bytes, rollover_ns - 5),
            rollover_ns + 7
        );
    }

    proptest! {
        #[test]
        fn a_time_reads_back_to_the_nanosecond(ns in 0_u64..4_000_000_000_000_000_000, near_s in -1_000_000_000_i64..1_000_000_000) {
            let near_ns = ns.saturating_add_signed(near_s * 1_000_000_000);
            for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
                prop_assert_eq!(format.decode(format.encode(ns), near_ns), ns);
            }
        }

        #[test]
        fn any_bytes_are_a_time(bytes: [u8; 8], near_ns: u64) {
            let _ = TimestampFormat::Ntp.decode(bytes, near_ns);
            let _ = TimestampFormat::Ptp.decode(bytes, near_ns.min(NOW_NS));
        }
    }
}
