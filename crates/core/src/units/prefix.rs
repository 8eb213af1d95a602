//! Prefixes of units.

/// The factor of a decimal prefix, of either case; `None` for a text that is none.
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

/// The factor of a binary prefix, of either case, as `Ki` and `mi`; `None` for a text that is none.
pub(super) fn binary_factor(prefix: &str) -> Option<u128> {
    let power = match prefix.strip_suffix(['i', 'I'])? {
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    Some(1 << power)
}
