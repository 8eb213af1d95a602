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
