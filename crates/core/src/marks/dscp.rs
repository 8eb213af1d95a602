//! Differentiated services code points, by number and by name.

use std::fmt;
use std::str::FromStr;

/// A differentiated services code point, 0 to 63: the upper six bits of the former TOS byte (RFC 2474).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dscp(u8);

/// The names of code points in upper case, the usual one of a code point first.
///
/// Source: RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE).
const NAMES: [(&str, u8); 24] = [
    ("CS0", 0),
    ("DEFAULT", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// A text that is no code point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no DSCP: give a number from 0 to 63 or a name such as EF, AF41, CS5 or LE")]
pub struct UnknownDscp(String);

impl Dscp {
    /// The code point of a TOS byte, whose lower two bits are ECN.
    #[must_use]
    pub const fn from_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }

    /// The number, 0 to 63.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The code point of this name, of either case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let found = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, number)| Self(*number))
    }
}

impl FromStr for Dscp {
    type Err = UnknownDscp;

    /// Parses `46` or `EF`.
    fn from_str(text: &str) -> Result<Self, UnknownDscp> {
        let text = text.trim();
        let number = || text.parse().ok().filter(|number| *number < 64).map(Self);
        Self::from_name(text)
            .or_else(number)
            .ok_or_else(|| UnknownDscp(text.to_owned()))
    }
}

impl fmt::Display for Dscp {
    /// The name where there is one, or else the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_read_by_number_and_by_name() {
        for (text, number) in [
            ("EF", 46),
            ("ef", 46),
            ("AF41", 34),
            ("CS5", 40),
            ("LE", 1),
            ("0", 0),
            ("63", 63),
            (" 46 ", 46),
        ] {
            assert_eq!(text.parse::<Dscp>().map(Dscp::get), Ok(number), "{text}");
        }
        for text in ["", "64", "-1", "AF44", "E F", "0x2e"] {
            let error = text.parse::<Dscp>().unwrap_err().to_string();
            assert!(error.contains("AF41") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_code_point_prints_as_it_is_read() {
        for number in 0..64 {
            let dscp = Dscp(number);
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
        assert_eq!(Dscp::from_tos(0xb8).to_string(), "EF");
    }
}
