//! The ECN field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The lower two bits of the former TOS byte. Source: RFC 3168 section 5.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    /// 00: not of an ECN-capable transport.
    #[default]
    NotEct,
    /// 01: ECT(1), which a scalable congestion control sends (RFC 9331).
    Ect1,
    /// 10: ECT(0).
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

/// A text that is no ECN field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no ECN field: give not, ect0, ect1 or ce")]
pub struct UnknownEcn(String);

impl Ecn {
    /// Every value, in the order of its bits.
    pub const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// The field of a TOS byte.
    #[must_use]
    pub const fn from_tos(tos: u8) -> Self {
        match tos & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// `true` for what is sent by default.
    #[must_use]
    pub fn is_not_ect(&self) -> bool {
        *self == Self::NotEct
    }
}

impl FromStr for Ecn {
    type Err = UnknownEcn;

    /// Parses `not`, `ect0`, `ect1` or `ce`, and the names as RFCs write them.
    fn from_str(text: &str) -> Result<Self, UnknownEcn> {
        match text.trim().to_ascii_lowercase().as_str() {
            "not" | "not-ect" => Ok(Self::NotEct),
            "ect0" | "ect(0)" => Ok(Self::Ect0),
            "ect1" | "ect(1)" => Ok(Self::Ect1),
            "ce" => Ok(Self::Ce),
            _ => Err(UnknownEcn(text.to_owned())),
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_its_bits_and_prints_as_it_is_read() {
        for ecn in Ecn::ALL {
            assert_eq!(Ecn::from_tos(0xb8 | ecn.bits()), ecn);
            assert_eq!(ecn.to_string().parse(), Ok(ecn));
        }
        for text in ["", "ect", "ect2", "1"] {
            assert!(text.parse::<Ecn>().is_err(), "{text}");
        }
    }
}
