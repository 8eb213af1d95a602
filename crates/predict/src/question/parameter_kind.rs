//! The kinds of numeric parameters: their bounds, their text, and the spacing of their ranges.

use caudal_core::quantity::{self, Unit};
use caudal_core::units::{BitRate, ByteCount, parse_duration, parse_fraction};

/// The distances between the values of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeSpacing {
    /// The same difference from each to the next.
    Linear,
    /// The same factor.
    Logarithmic,
}

/// The kind of a numeric parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A rate, bit/s; ranges are spaced logarithmically.
    Rate,
    /// An amount, bytes; ranges are spaced logarithmically.
    Amount,
    /// The size of a packet, bytes; ranges are spaced linearly.
    Packet,
    /// A time, s; ranges are spaced logarithmically.
    Time,
    /// A fraction, above 0 and below 1; ranges are spaced logarithmically.
    Share,
    /// A count of at least 1; ranges are spaced linearly.
    Count,
}

impl ParameterKind {
    /// The smallest and the largest value of this kind.
    const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Rate => (1e3, 1e15),
            Self::Amount => (1.0, 1e18),
            Self::Packet => (1.0, 16_777_216.0),
            Self::Time => (0.0, 315_576_000.0),
            Self::Share => (1e-12, 0.999_999),
            Self::Count => (1.0, 1e6),
        }
    }

    /// `true` when values are whole numbers.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Rate | Self::Amount | Self::Packet | Self::Count)
    }

    /// The spacing of its ranges.
    #[must_use]
    pub const fn spacing(self) -> RangeSpacing {
        match self {
            Self::Packet | Self::Count => RangeSpacing::Linear,
            _ => RangeSpacing::Logarithmic,
        }
    }

    /// The text of a value.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate => Unit::BitPerSecond.show(value),
            Self::Amount | Self::Packet => Unit::Bytes.show(value),
            Self::Time => Unit::Seconds.show(value),
            Self::Share => Unit::Share.show(value),
            Self::Count => quantity::short(value),
        }
    }

    /// Parses one value, such as `10M` or `0.1%`.
    ///
    /// # Errors
    /// When the text is not a value of this kind, or is out of range.
    pub(super) fn parse_value(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let value = match self {
            Self::Rate => text
                .parse::<BitRate>()
                .map(BitRate::as_f64)
                .map_err(|error| error.to_string())?,
            Self::Amount | Self::Packet => text
                .parse::<ByteCount>()
                .map(ByteCount::as_f64)
                .map_err(|error| error.to_string())?,
            Self::Time => parse_duration(text)
                .map(|time| time.as_secs_f64())
                .map_err(|error| error.to_string())?,
            Self::Share => match text.parse::<f64>() {
                Ok(share) => share,
                Err(_) => parse_fraction(text).map_err(|error| error.to_string())?,
            },
            Self::Count => text
                .parse::<u32>()
                .map(f64::from)
                .map_err(|_| format!("{text:?} is not a whole number"))?,
        };
        let (low, high) = self.bounds();
        if value >= low && value <= high {
            return Ok(value);
        }
        Err(match self {
            Self::Share => format!("{text} is out of range: it must lie above 0 and below 100%"),
            _ => format!(
                "{text} is out of range: it must lie between {} and {}",
                self.show(low),
                self.show(high)
            ),
        })
    }
}
