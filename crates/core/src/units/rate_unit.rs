//! The units of rates as people write them: `Mbit/s`, `mbit`, `Gbps`, `Mb/s`, and those of bytes, which are told apart.

/// What a unit of rates counts, without its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateUnit {
    /// Bits per second; also a unit that names nothing.
    Bits,
    /// Bytes per second.
    Bytes,
}

/// The endings of "per second".
const PER_SECOND: [&str; 4] = ["/second", "/sec", "/s", "ps"];
/// The names of bits and of bytes in lower case, the longest first. A lone letter is decided by its case.
const NAMES: [(&str, RateUnit); 4] = [
    ("bits", RateUnit::Bits),
    ("bytes", RateUnit::Bytes),
    ("bit", RateUnit::Bits),
    ("byte", RateUnit::Bytes),
];

impl RateUnit {
    /// The unit at the end of `text`, and the prefix before it.
    pub(super) fn split(text: &str) -> (&str, Self) {
        let per_second = PER_SECOND
            .iter()
            .find_map(|ending| strip_ending(text, ending));
        let counted = per_second.unwrap_or(text).trim_end();
        let named = NAMES
            .iter()
            .find_map(|(name, unit)| Some((strip_ending(counted, name)?, *unit)))
            .or_else(|| Some((counted.strip_suffix('B')?, Self::Bytes)))
            .or_else(|| Some((counted.strip_suffix('b')?, Self::Bits)));
        match (named, per_second) {
            (Some((prefix, unit)), _) => (prefix.trim_end(), unit),
            // Nothing is named that is counted per second.
            (None, Some(_)) => (text, Self::Bits),
            (None, None) => (counted, Self::Bits),
        }
    }
}

/// `text` without `ending`, whatever the case of its letters.
fn strip_ending<'t>(text: &'t str, ending: &str) -> Option<&'t str> {
    let (before, end) = text.split_at_checked(text.len().checked_sub(ending.len())?)?;
    end.eq_ignore_ascii_case(ending).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_prefix_and_bits_or_bytes() {
        for (text, prefix, unit) in [
            ("", "", RateUnit::Bits),
            ("M", "M", RateUnit::Bits),
            ("mbit", "m", RateUnit::Bits),
            ("Mb/s", "M", RateUnit::Bits),
            ("Kbits/sec", "K", RateUnit::Bits),
            ("MB/s", "M", RateUnit::Bytes),
            ("GBps", "G", RateUnit::Bytes),
            ("Gbps", "G", RateUnit::Bits),
            ("MByte/s", "M", RateUnit::Bytes),
            ("µ", "µ", RateUnit::Bits),
            ("ps", "ps", RateUnit::Bits),
            ("M/s", "M/s", RateUnit::Bits),
        ] {
            assert_eq!(RateUnit::split(text), (prefix, unit), "{text}");
        }
    }
}
