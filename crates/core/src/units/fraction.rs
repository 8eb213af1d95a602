//! Fractions as people write them.

use super::decimal::split_number;
use super::error::ParseUnitError;

/// Parses a fraction above 0 and at most 1, written as `5%` or `0.05`. A mere `1` is refused: it is meant as 1 % as often
/// as it is meant as all.
pub fn parse_fraction(text: &str) -> Result<f64, ParseUnitError> {
    const EXAMPLE: &str = "5% or 0.05";
    let (number, unit) = split_number(text, EXAMPLE)?;
    let divisor = match unit {
        "" if number.as_f64() == 1.0 => {
            let problem = "could be 1% or 100%";
            return Err(ParseUnitError::new(text, problem, "1% or 100%"));
        }
        "" => 1.0,
        "%" => 100.0,
        _ => {
            let problem = format!("has the unknown unit {unit:?}");
            return Err(ParseUnitError::new(text, problem, EXAMPLE));
        }
    };
    let fraction = number.as_f64() / divisor;
    if fraction > 0.0 && fraction <= 1.0 {
        Ok(fraction)
    } else {
        let problem = "is not above 0 and at most 1 (100%)";
        Err(ParseUnitError::new(text, problem, EXAMPLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_read_plain_or_in_percent() {
        assert_eq!(parse_fraction("5%"), Ok(0.05));
        assert_eq!(parse_fraction("0.05"), Ok(0.05));
        assert_eq!(parse_fraction("100 %"), Ok(1.0));
        assert_eq!(parse_fraction("1%"), Ok(0.01));
        for text in [
            "", "1", "1.0", "1.", "0", "0%", "-5%", "5", "101%", "NaN", "5%%", "5pp",
        ] {
            assert!(parse_fraction(text).is_err(), "{text}");
        }
    }
}
