//! The digits of numbers.

/// The text of a number with four significant digits.
#[must_use]
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        below if below < 1e-3 => format!("{value:.3e}"),
        below if below < 0.99995 => format!("{value:.4}"),
        below if below < 9.9995 => format!("{value:.3}"),
        below if below < 99.995 => format!("{value:.2}"),
        below if below < 999.95 => format!("{value:.1}"),
        _ => grouped(value.round()),
    }
}

/// The text of a whole number, with a blank between every three digits from five digits on.
pub(super) fn grouped(value: f64) -> String {
    fixed(value, 0)
}

/// The text of a number with so many decimals, and a blank between every three digits before the point, from five digits on.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, decimals) = match text.split_once('.') {
        Some((whole, decimals)) => (whole, format!(".{decimals}")),
        None => (text.as_str(), String::new()),
    };
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", whole),
    };
    let mut grouped = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        let is_boundary = position > 0 && (whole.len() - position).is_multiple_of(3);
        if is_boundary && whole.len() >= 5 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + &decimals
}

/// The divisor and the prefix with which a value has at most three digits before the point.
pub(super) fn decimal_prefix(value: f64) -> (f64, &'static str) {
    let mut divisor = 1.0;
    for prefix in ["", "k", "M", "G"] {
        // 999.95 would round to 1000 and belongs to the next prefix.
        if value.abs() / divisor < 999.95 {
            return (divisor, prefix);
        }
        divisor *= 1e3;
    }
    (divisor, "T")
}

/// The text of a value with a decimal prefix and four significant digits; whole values have no decimals.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    let (divisor, prefix) = decimal_prefix(value);
    format!("{} {prefix}{unit}", short(value / divisor))
}

/// The text of a number with four significant digits; a whole number has no decimals.
#[must_use]
pub fn short(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 * value.abs().max(1.0) {
        return grouped(value.round());
    }
    digits(value)
}

/// The divisor and the unit with which a time in seconds is shown.
pub(super) fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        0.0 => (1.0, "s"),
        below if below < 1e-6 => (1e-9, "ns"),
        below if below < 1e-3 => (1e-6, "µs"),
        below if below < 1.0 => (1e-3, "ms"),
        _ => (1.0, "s"),
    }
}

/// The text of a time in ns, µs, ms or s, with four significant digits.
pub(super) fn seconds(value: f64) -> String {
    let (divisor, unit) = time_unit(value);
    format!("{} {unit}", short(value / divisor))
}
