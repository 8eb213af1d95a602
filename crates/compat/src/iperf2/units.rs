//! iperf 2's numbers: lower case suffixes are powers of 1000, upper case ones of 1024; three digits are shown.

use crate::digits::{scaled, three, trimmed};

/// The units in which amounts and rates are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFormat {
    /// Bits, in the unit that fits.
    AdaptiveBits,
    /// Bytes, in the unit that fits.
    AdaptiveBytes,
    /// Bits, divided by this power of 1000 (0 to 4).
    Bits(u32),
    /// Bytes, divided by this power of 1024.
    Bytes(u32),
}

impl UnitFormat {
    /// The units of an option's letter; `None` for any other.
    #[must_use]
    pub fn from_letter(letter: char) -> Option<Self> {
        Some(match letter {
            'a' => Self::AdaptiveBits,
            'A' => Self::AdaptiveBytes,
            'b' => Self::Bits(0),
            'k' => Self::Bits(1),
            'm' => Self::Bits(2),
            'g' => Self::Bits(3),
            't' => Self::Bits(4),
            'B' => Self::Bytes(0),
            'K' => Self::Bytes(1),
            'M' => Self::Bytes(2),
            'G' => Self::Bytes(3),
            'T' => Self::Bytes(4),
            _ => return None,
        })
    }
}

const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];

fn shown(value: f64, base: f64, power: Option<u32>, unit: &str) -> String {
    let (value, power) = match power {
        Some(power) => (value / base.powi(power as i32), power as usize),
        None => scaled(value, base, PREFIXES.len() - 1),
    };
    let prefix = PREFIXES.get(power).unwrap_or(&"");
    three(value, &format!("{prefix}{unit}"))
}

/// An amount of payload, as `1.25 MByte`.
#[must_use]
pub fn bytes(count: f64, format: UnitFormat) -> String {
    let power = match format {
        UnitFormat::AdaptiveBits | UnitFormat::AdaptiveBytes => None,
        UnitFormat::Bits(power) | UnitFormat::Bytes(power) => Some(power),
    };
    if power == Some(0) || power.is_none() && count < 1024.0 {
        return format!("{count:4.0} Byte");
    }
    shown(count, 1024.0, power, "Byte")
}

/// A rate, as `20.9 Mbit`, of bits a second.
#[must_use]
pub fn rate(bps: f64, format: UnitFormat) -> String {
    match format {
        UnitFormat::AdaptiveBits => {
            if bps < 1000.0 {
                return shown(bps, 1000.0, Some(0), "bit");
            }
            shown(bps, 1000.0, None, "bit")
        }
        UnitFormat::Bits(0) => format!("{bps:4.0} bit"),
        UnitFormat::Bits(power) => shown(bps, 1000.0, Some(power), "bit"),
        UnitFormat::AdaptiveBytes => bytes(bps / 8.0, UnitFormat::AdaptiveBytes),
        UnitFormat::Bytes(power) => bytes(bps / 8.0, UnitFormat::Bytes(power)),
    }
}

/// A number with one of the suffixes `kmgt` (powers of 1000) or `KMGT` (powers of 1024); what follows the
/// suffix, such as the B of `13KB`, means nothing.
#[must_use]
pub fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let mut letters = suffix.chars();
    let factor = match letters.next() {
        None => 1.0,
        Some('k') => 1e3,
        Some('m') => 1e6,
        Some('g') => 1e9,
        Some('t') => 1e12,
        Some('K') => 1024.0,
        Some('M') => 1024.0 * 1024.0,
        Some('G') => 1024.0 * 1024.0 * 1024.0,
        Some('T') => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        Some('B' | 'b') => 1.0,
        Some(_) => return None,
    };
    let rest: String = letters.collect();
    if !matches!(
        rest.to_ascii_lowercase().as_str(),
        "" | "b" | "bit" | "bits" | "byte" | "bytes" | "bps"
    ) {
        return None;
    }
    number.is_finite().then_some(number * factor)
}

/// `%.2g` of C, for percentages.
#[must_use]
pub fn percent(part: f64) -> String {
    if part == 0.0 || !part.is_finite() {
        return "0".to_owned();
    }
    // Two digits; 100 is written out, where C would say 1e+02.
    let magnitude = part.abs().log10().floor() as i32;
    let decimals = (1 - magnitude).max(0) as usize;
    trimmed(part, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_those_of_2_1_8() {
        let auto = UnitFormat::AdaptiveBits;
        let cases = [
            (bytes(6_422_588.0, auto), "6.13 MByte"),
            (bytes(135_240.0, auto), " 132 KByte"),
            (bytes(67_620.0, auto), "66.0 KByte"),
            (bytes(131_072.0, auto), " 128 KByte"),
            (bytes(100.0, auto), " 100 Byte"),
            (bytes(2_509_908.0, UnitFormat::Bits(1)), "2451 KByte"),
            (bytes(20_600.0, UnitFormat::Bytes(0)), "20600 Byte"),
            (rate(50_900_000.0, auto), "50.9 Mbit"),
            (rate(1_070_000.0, auto), "1.07 Mbit"),
            (rate(163_136.0, auto), " 163 Kbit"),
            (rate(19_827_000.0, UnitFormat::Bits(1)), "19827 Kbit"),
            (rate(163_136.0, UnitFormat::Bytes(0)), "20392 Byte"),
            (rate(93_900_000.0, UnitFormat::Bytes(2)), "11.2 MByte"),
            (rate(5_200_000_000.0, auto), "5.20 Gbit"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn case_tells_a_thousand_from_1024() {
        let cases = [
            ("1k", Some(1000.0)),
            ("1K", Some(1024.0)),
            ("50m", Some(50e6)),
            ("1.5M", Some(1_572_864.0)),
            ("13KB", Some(13_312.0)),
            ("8192", Some(8192.0)),
            ("2G", Some(2_147_483_648.0)),
            ("fast", None),
            ("", None),
            ("1x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn percentages_have_two_digits() {
        let cases = [
            (0.0, "0"),
            (1.0869, "1.1"),
            (0.04, "0.04"),
            (12.4, "12"),
            (100.0, "100"),
            (50.0, "50"),
            (2.0, "2"),
        ];
        for (part, expected) in cases {
            assert_eq!(percent(part), expected);
        }
    }
}
