//! Decimal prefixes of units.

/// The factor of a decimal prefix; `None` for a text that is none.
pub(super) fn decimal_factor(prefix: &str) -> Option<u128> {
    Some(match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" | "m" => 1_000_000,
        "G" | "g" => 1_000_000_000,
        "T" | "t" => 1_000_000_000_000,
        _ => return None,
    })
}

/// `value` with the decimal prefix that leaves at most three digits before the point, and three or four digits in total.
pub(super) fn with_prefix(value: u64, unit: &str) -> String {
    if value < 1000 {
        return format!("{value} {unit}");
    }
    let mut scaled = value as f64 / 1e3;
    let mut prefixes = ["k", "M", "G", "T"].iter();
    let mut prefix = prefixes.next().copied().unwrap_or_default();
    // 999.95 would round to 1000.0 and belongs to the next prefix.
    while scaled >= 999.95 {
        let Some(larger) = prefixes.next() else { break };
        prefix = larger;
        scaled /= 1e3;
    }
    let decimals = if scaled < 99.995 { 2 } else { 1 };
    format!("{scaled:.decimals$} {prefix}{unit}")
}
