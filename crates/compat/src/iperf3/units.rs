//! Numbers as iperf3 reads and writes them: bytes in steps of 1024, rates in steps of 1000.

use crate::digits::{scaled, three, trimmed};

/// Reads a number with a suffix k, m, g or t of either case; `step` is 1000 or 1024.
pub fn parse(text: &str, step: f64) -> Option<f64> {
    let text = text.trim();
    let (number, suffix) = match text.char_indices().last() {
        Some((at, last)) if last.is_ascii_alphabetic() => (&text[..at], Some(last)),
        _ => (text, None),
    };
    let number: f64 = number
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())?;
    let power = match suffix.map(|suffix| suffix.to_ascii_lowercase()) {
        None => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    Some(number * step.powi(power))
}

/// Reads a whole number, as C reads one: decimal, octal or hexadecimal.
pub fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return i64::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

const BYTES: [&str; 5] = ["Bytes", "KBytes", "MBytes", "GBytes", "TBytes"];
const BITS: [&str; 5] = ["bits", "Kbits", "Mbits", "Gbits", "Tbits"];

/// An amount of bytes in the unit that fits.
pub fn bytes(bytes: f64) -> String {
    in_fitting(&BYTES, bytes, 1024.0)
}

fn in_fitting(units: &[&str; 5], number: f64, step: f64) -> String {
    let (number, power) = scaled(number, step, units.len() - 1);
    three(number, units[power])
}

/// A rate of so many bytes a second, in the unit of `-f`: k, m, g, t for bits, K, M, G, T for bytes;
/// anything else for the unit of bits that fits.
pub fn rate(bytes_per_second: f64, format: char) -> String {
    let power = match format.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return format!("{}/sec", in_fitting(&BITS, bytes_per_second * 8.0, 1000.0)),
    };
    let shown = if format.is_ascii_uppercase() {
        three(
            bytes_per_second / 1024_f64.powi(power),
            BYTES[power as usize],
        )
    } else {
        three(
            bytes_per_second * 8.0 / 1000_f64.powi(power),
            BITS[power as usize],
        )
    };
    format!("{shown}/sec")
}

/// A percentage with two significant digits, as C's `%.2g` writes it, but 100 for what that would
/// write as 1e+02.
pub fn percent(percent: f64) -> String {
    if percent == 0.0 {
        return "0".to_owned();
    }
    if percent >= 99.5 {
        return "100".to_owned();
    }
    let exponent = percent.log10().floor();
    let decimals = (1.0 - exponent).max(0.0) as usize;
    if exponent < -5.0 {
        return format!("{percent:.1e}");
    }
    trimmed(percent, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_suffixes_of_either_case() {
        let cases = [
            ("1", 1000.0, Some(1.0)),
            ("10m", 1000.0, Some(1e7)),
            ("10M", 1000.0, Some(1e7)),
            ("1.5K", 1024.0, Some(1536.0)),
            ("2g", 1024.0, Some(2_147_483_648.0)),
            ("1T", 1000.0, Some(1e12)),
            ("x", 1000.0, None),
            ("1Q", 1000.0, None),
            ("", 1000.0, None),
            ("nan", 1000.0, None),
            ("inf", 1000.0, None),
        ];
        for (text, step, expected) in cases {
            assert_eq!(parse(text, step), expected, "{text:?}");
        }
        assert_eq!(["52", "064", "0x34"].map(parse_integer), [Some(52); 3]);
    }

    #[test]
    fn amounts_and_rates_fit_three() {
        let amounts = [
            0.0,
            106.0,
            131_072.0,
            98_304.0,
            1_049_624_576.0,
            2_534_030_704.0,
        ]
        .map(bytes);
        assert_eq!(
            amounts,
            [
                "0.00 Bytes",
                " 106 Bytes",
                " 128 KBytes",
                "96.0 KBytes",
                "1001 MBytes",
                "2.36 GBytes"
            ]
        );
        assert_eq!(rate(131_072.0, 'a'), "1.05 Mbits/sec");
        assert_eq!(rate(0.0, 'a'), "0.00 bits/sec");
        assert_eq!(rate(2_154_823_680.0, 'M'), "2055 MBytes/sec");
        assert_eq!(rate(125_000_000.0, 'm'), "1000 Mbits/sec");
    }

    #[test]
    fn percentages_have_two_digits() {
        let shown = [0.0, 2.943, 8.2, 0.001_23, 12.3, 99.9, 100.0, 50.0].map(percent);
        assert_eq!(
            shown,
            ["0", "2.9", "8.2", "0.0012", "12", "100", "100", "50"]
        );
    }
}
