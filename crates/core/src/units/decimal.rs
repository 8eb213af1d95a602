//! Decimal numbers as people write them.

use super::error::ParseUnitError;

/// A decimal number as written, without the rounding of a float: `digits / 10^decimals`.
#[derive(Clone, Copy)]
pub(super) struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// The product with `factor`, to the nearest whole; `None` on overflow.
    pub(super) fn times(self, factor: u128) -> Option<u128> {
        let scale = 10_u128.checked_pow(self.decimals)?;
        let product = self.digits.checked_mul(factor)?;
        Some(product.checked_add(scale / 2)? / scale)
    }

    /// The number as a float.
    pub(super) fn as_f64(self) -> f64 {
        self.digits as f64 / 10_f64.powi(self.decimals.cast_signed())
    }
}

/// The number at the beginning of `text` and the unit after it, both without surrounding blanks.
pub(super) fn split_number<'t>(
    text: &'t str,
    example: &'static str,
) -> Result<(Decimal, &'t str), ParseUnitError> {
    // Enough for any u64 and any nanosecond; more is a typing error.
    const MAX_DIGITS: usize = 24;
    let error = |problem: &str| ParseUnitError::new(text, problem, example);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(error("is empty"));
    }
    let after_minus = trimmed
        .strip_prefix('-')
        .and_then(|rest| rest.chars().next());
    if after_minus.is_some_and(|c| c.is_ascii_digit() || c == '.') {
        return Err(error("is negative"));
    }
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(error("does not begin with a number"));
    }
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    if whole.len() + fraction.len() > MAX_DIGITS {
        return Err(error("has too many digits"));
    }
    let digits = whole
        .bytes()
        .chain(fraction.bytes())
        .fold(0, |sum: u128, digit| sum * 10 + u128::from(digit - b'0'));
    let decimals = fraction.len() as u32;
    Ok((Decimal { digits, decimals }, unit.trim_start()))
}
