//! The values of a parameter as text gives them: one value, a list, or a range.

use super::parameter_kind::{ParameterKind, RangeSpacing};

/// The points of a range without a count, in a table.
const TABLE_POINTS: usize = 13;
/// The points of a range without a count, in a figure.
const FIGURE_POINTS: usize = 121;
/// Maximum number of points of a sweep.
const MAX_POINTS: usize = 10_000;

/// The output that the points of a range are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepResolution {
    /// A table, with few points.
    Table,
    /// A figure, with many.
    Figure,
}

/// One or several values of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    kind: ParameterKind,
    parts: Vec<SweepPart>,
}

/// An element of the list.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SweepPart {
    Value(f64),
    /// A range from a lower to a higher value, with its number of points where it is given.
    Range(f64, f64, Option<usize>),
}

impl Sweep {
    /// Parses `9000`, `576,1500,9000`, `576..9000` or `576..9000/20`.
    ///
    /// # Errors
    /// Says what is wrong with the text, and what is accepted.
    pub fn parse(kind: ParameterKind, text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut points = 0;
        for part in text.split(',') {
            let Some((low, rest)) = part.split_once("..") else {
                parts.push(SweepPart::Value(kind.parse_value(part)?));
                points += 1;
                continue;
            };
            let (high, count) = match rest.split_once('/') {
                Some((high, count)) => {
                    let count: usize = count
                        .trim()
                        .parse()
                        .ok()
                        .filter(|count| (2..=MAX_POINTS).contains(count))
                        .ok_or_else(|| {
                            format!(
                                "{count:?} is not a number of points between 2 and {MAX_POINTS}"
                            )
                        })?;
                    (high, Some(count))
                }
                None => (rest, None),
            };
            let (low, high) = (kind.parse_value(low)?, kind.parse_value(high)?);
            if low >= high {
                return Err(format!("the range {part} ends before it begins"));
            }
            if kind.spacing() == RangeSpacing::Logarithmic && low <= 0.0 {
                return Err(format!(
                    "the range {part} is spaced logarithmically and cannot begin at 0"
                ));
            }
            points += count.unwrap_or(FIGURE_POINTS);
            parts.push(SweepPart::Range(low, high, count));
        }
        if points > MAX_POINTS {
            return Err(format!(
                "{points} points are too many; at most {MAX_POINTS}"
            ));
        }
        Ok(Self { kind, parts })
    }

    /// The kind of its values.
    #[must_use]
    pub const fn kind(&self) -> ParameterKind {
        self.kind
    }

    /// The only value; `None` when there are several.
    #[must_use]
    pub fn single_value(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [SweepPart::Value(value)] => Some(*value),
            _ => None,
        }
    }

    /// `true` when there are several values.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.single_value().is_none()
    }

    /// Every value in its order, each once; ranges without a count have more points in a figure.
    #[must_use]
    pub fn values(&self, resolution: SweepResolution) -> Vec<f64> {
        let default_points = match resolution {
            SweepResolution::Table => TABLE_POINTS,
            SweepResolution::Figure => FIGURE_POINTS,
        };
        let mut values: Vec<f64> = Vec::new();
        for part in &self.parts {
            match *part {
                SweepPart::Value(value) => values.push(value),
                SweepPart::Range(low, high, count) => {
                    let last = count.unwrap_or(default_points) - 1;
                    values.extend((0..=last).map(|nth| {
                        let part = nth as f64 / last as f64;
                        match (nth, self.kind.spacing()) {
                            (0, _) => low,
                            _ if nth == last => high,
                            (_, RangeSpacing::Linear) => low + (high - low) * part,
                            (_, RangeSpacing::Logarithmic) => low * (high / low).powf(part),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lists_and_ranges_are_parsed() {
        let values = |kind, text| {
            Sweep::parse(kind, text)
                .unwrap()
                .values(SweepResolution::Table)
        };
        assert_eq!(values(ParameterKind::Packet, "1500"), [1500.0]);
        assert_eq!(
            values(ParameterKind::Packet, "576,1500,9000,1500"),
            [576.0, 1500.0, 9000.0]
        );
        assert_eq!(
            values(ParameterKind::Packet, "500..1500/3"),
            [500.0, 1000.0, 1500.0]
        );
        assert_eq!(values(ParameterKind::Count, "1..4"), [1.0, 2.0, 3.0, 4.0]);
        let losses = values(ParameterKind::Share, "1e-5..1e-1/5");
        assert_eq!(losses.len(), 5);
        assert!((losses[2] - 1e-3).abs() < 1e-12);
        assert_eq!(values(ParameterKind::Share, "0.1%"), [0.001]);
        assert_eq!(values(ParameterKind::Time, "50ms"), [0.05]);
        assert_eq!(
            values(ParameterKind::Packet, "576..9000").len(),
            TABLE_POINTS
        );
        assert_eq!(
            Sweep::parse(ParameterKind::Packet, "576..9000")
                .unwrap()
                .values(SweepResolution::Figure)
                .len(),
            FIGURE_POINTS
        );
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_reason() {
        for (kind, text, why) in [
            (ParameterKind::Packet, "", "is empty"),
            (ParameterKind::Packet, "9000..576", "ends before it begins"),
            (ParameterKind::Packet, "1..2/1", "number of points"),
            (ParameterKind::Packet, "1..2/x", "number of points"),
            (ParameterKind::Packet, "0", "out of range"),
            (ParameterKind::Time, "0..1s", "cannot begin at 0"),
            (ParameterKind::Share, "0", "out of range"),
            (ParameterKind::Share, "1", "out of range"),
            (ParameterKind::Share, "nan", "out of range"),
            (ParameterKind::Share, "x", "number"),
            (ParameterKind::Count, "1.5", "whole number"),
            (ParameterKind::Rate, "10k..", "is empty"),
            (ParameterKind::Rate, "999", "out of range"),
        ] {
            let error = Sweep::parse(kind, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
        assert!(Sweep::parse(ParameterKind::Share, &"1e-5..1e-1,".repeat(100)).is_err());
    }
}
