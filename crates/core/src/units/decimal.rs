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

/// The end of the number that a text begins with; its digits before the point may stand in groups of three, as they are printed.
fn number_end(text: &str) -> usize {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let end_from = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c| !is_number(c)).unwrap_or(rest.len())
    };
    let mut end = end_from(0);
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut is_whole = (1..=3).contains(&end) && text.get(..end).is_some_and(is_digits);
    while is_whole && text.get(end..).is_some_and(|rest| rest.starts_with(' ')) {
        let next_end = end_from(end + 1);
        let group = text.get(end + 1..next_end).unwrap_or_default();
        let digits = group.find('.').unwrap_or(group.len());
        if digits != 3 {
            break;
        }
        is_whole = digits == group.len();
        end = next_end;
    }
    end
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
    let (number, unit) = trimmed.split_at(number_end(trimmed));
    let number = number.replace(' ', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_may_stand_in_groups_as_they_are_printed() {
        let split = |text| {
            split_number(text, "1")
                .map(|(number, unit)| (number.as_f64(), unit))
                .ok()
        };
        assert_eq!(split("61 662 Tbit/s"), Some((61_662.0, "Tbit/s")));
        assert_eq!(split("1 234 567.25M"), Some((1_234_567.25, "M")));
        assert_eq!(split("5 ms"), Some((5.0, "ms")));
        // No groups: what follows the number is its unit, which is unknown then.
        for (text, unit) in [
            ("1 23", "23"),
            ("1234 567", "567"),
            ("1.5 000", "000"),
            ("1 2345", "2345"),
            ("1  000", "000"),
        ] {
            assert_eq!(split(text).map(|(_, unit)| unit), Some(unit), "{text}");
        }
    }
}
