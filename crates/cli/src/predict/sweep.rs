//! A value on the command line that may be one, a list, or a range to go through.

use caudal_core::quantity::{self, Unit};
use caudal_core::units::{BitRate, ByteCount, parse_duration, parse_fraction};
use caudal_plot::{Quantity, Scale};

/// Points of a range that does not say how many, in a table.
const POINTS: usize = 13;
/// The same in a figure.
const FIGURE_POINTS: usize = 121;
/// The most points of a sweep.
const MOST_POINTS: usize = 10_000;

/// What a parameter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rate, bit/s; ranges go in equal ratios.
    Rate,
    /// An amount, bytes; ranges go in equal ratios.
    Amount,
    /// The size of a packet, bytes; ranges go in equal steps.
    Packet,
    /// A time, s; ranges go in equal ratios.
    Time,
    /// A share, above 0 and below 1; ranges go in equal ratios.
    Share,
    /// A count from 1 on; ranges go in equal steps.
    Count,
}

impl Kind {
    /// The values a parameter of this kind may have.
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

    const fn is_whole(self) -> bool {
        matches!(self, Self::Rate | Self::Amount | Self::Packet | Self::Count)
    }

    /// How ranges of it go, and axes of it are drawn.
    pub(super) const fn scale(self) -> Scale {
        match self {
            Self::Packet | Self::Count => Scale::Linear,
            _ => Scale::Log,
        }
    }

    /// What an axis of it counts.
    pub(super) const fn quantity(self) -> Quantity {
        match self {
            Self::Rate => Quantity::Rate,
            Self::Amount | Self::Packet => Quantity::Bytes,
            Self::Time => Quantity::Seconds,
            Self::Share => Quantity::Percent,
            Self::Count => Quantity::Number,
        }
    }

    /// A value in words.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Rate => Unit::BitPerSecond.show(value),
            Self::Amount | Self::Packet => Unit::Bytes.show(value),
            Self::Time => Unit::Seconds.show(value),
            Self::Share => format!("{} %", quantity::short(value * 100.0)),
            Self::Count => format!("{value:.0}"),
        }
    }

    fn one(self, text: &str) -> Result<f64, String> {
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

/// One value or several of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    kind: Kind,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    One(f64),
    Range(f64, f64, Option<usize>),
}

impl Sweep {
    /// A single value.
    #[must_use]
    pub fn one(kind: Kind, value: f64) -> Self {
        Self {
            kind,
            parts: vec![Part::One(value)],
        }
    }

    /// Reads `9000`, `576,1500,9000`, `576..9000` or `576..9000/20`.
    ///
    /// # Errors
    /// Says what is wrong, and what would be accepted.
    pub fn parse(kind: Kind, text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut points = 0;
        for part in text.split(',') {
            let Some((low, rest)) = part.split_once("..") else {
                parts.push(Part::One(kind.one(part)?));
                points += 1;
                continue;
            };
            let (high, count) = match rest.split_once('/') {
                Some((high, count)) => {
                    let count: usize = count
                        .trim()
                        .parse()
                        .ok()
                        .filter(|count| (2..=MOST_POINTS).contains(count))
                        .ok_or_else(|| {
                            format!(
                                "{count:?} is not a number of points between 2 and {MOST_POINTS}"
                            )
                        })?;
                    (high, Some(count))
                }
                None => (rest, None),
            };
            let (low, high) = (kind.one(low)?, kind.one(high)?);
            if low >= high {
                return Err(format!("the range {part} ends before it begins"));
            }
            if kind.scale() == Scale::Log && low <= 0.0 {
                return Err(format!(
                    "the range {part} goes in equal ratios and cannot begin at 0"
                ));
            }
            points += count.unwrap_or(FIGURE_POINTS);
            parts.push(Part::Range(low, high, count));
        }
        if points > MOST_POINTS {
            return Err(format!(
                "{points} points are too many; at most {MOST_POINTS}"
            ));
        }
        Ok(Self { kind, parts })
    }

    /// What it counts.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The only value; `None` for a sweep.
    #[must_use]
    pub fn only(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [Part::One(value)] => Some(*value),
            _ => None,
        }
    }

    /// Every value in its order, each once; ranges without a count are finer in a figure.
    #[must_use]
    pub fn values(&self, figure: bool) -> Vec<f64> {
        let usual = if figure { FIGURE_POINTS } else { POINTS };
        let mut values: Vec<f64> = Vec::new();
        for part in &self.parts {
            match *part {
                Part::One(value) => values.push(value),
                Part::Range(low, high, count) => {
                    let last = count.unwrap_or(usual) - 1;
                    values.extend((0..=last).map(|nth| {
                        let part = nth as f64 / last as f64;
                        match (nth, self.kind.scale()) {
                            (0, _) => low,
                            _ if nth == last => high,
                            (_, Scale::Linear) => low + (high - low) * part,
                            (_, Scale::Log) => low * (high / low).powf(part),
                        }
                    }));
                }
            }
        }
        if self.kind.is_whole() {
            values.iter_mut().for_each(|value| *value = value.round());
        }
        let mut seen = std::collections::BTreeSet::new();
        values.retain(|value| seen.insert(value.to_bits()));
        values
    }
}

/// A value parser for clap.
macro_rules! parser {
    ($name:ident, $kind:ident) => {
        pub(super) fn $name(text: &str) -> Result<Sweep, String> {
            Sweep::parse(Kind::$kind, text)
        }
    };
}
parser!(rate, Rate);
parser!(amount, Amount);
parser!(packet, Packet);
parser!(time, Time);
parser!(share, Share);
parser!(count, Count);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lists_and_ranges_are_read() {
        let values = |kind, text| Sweep::parse(kind, text).unwrap().values(false);
        assert_eq!(values(Kind::Packet, "1500"), [1500.0]);
        assert_eq!(
            values(Kind::Packet, "576,1500,9000,1500"),
            [576.0, 1500.0, 9000.0]
        );
        assert_eq!(values(Kind::Packet, "500..1500/3"), [500.0, 1000.0, 1500.0]);
        assert_eq!(values(Kind::Count, "1..4"), [1.0, 2.0, 3.0, 4.0]);
        let losses = values(Kind::Share, "1e-5..1e-1/5");
        assert_eq!(losses.len(), 5);
        assert!((losses[2] - 1e-3).abs() < 1e-12);
        assert_eq!(values(Kind::Share, "0.1%"), [0.001]);
        assert_eq!(values(Kind::Time, "50ms"), [0.05]);
        assert_eq!(values(Kind::Packet, "576..9000").len(), POINTS);
        assert_eq!(
            Sweep::parse(Kind::Packet, "576..9000")
                .unwrap()
                .values(true)
                .len(),
            FIGURE_POINTS
        );
    }

    #[test]
    fn what_is_no_sweep_says_why() {
        for (kind, text, why) in [
            (Kind::Packet, "", "is empty"),
            (Kind::Packet, "9000..576", "ends before it begins"),
            (Kind::Packet, "1..2/1", "number of points"),
            (Kind::Packet, "1..2/x", "number of points"),
            (Kind::Packet, "0", "out of range"),
            (Kind::Time, "0..1s", "cannot begin at 0"),
            (Kind::Share, "0", "out of range"),
            (Kind::Share, "1", "out of range"),
            (Kind::Share, "nan", "out of range"),
            (Kind::Share, "x", "number"),
            (Kind::Count, "1.5", "whole number"),
            (Kind::Rate, "10k..", "is empty"),
            (Kind::Rate, "999", "out of range"),
        ] {
            let error = Sweep::parse(kind, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
        assert!(Sweep::parse(Kind::Share, &"1e-5..1e-1,".repeat(100)).is_err());
    }
}
