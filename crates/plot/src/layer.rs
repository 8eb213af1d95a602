//! The layers of a figure: what is drawn over the axes.

use crate::axis::Axis;

/// A layer of a figure, in data units.
///
/// NaN and `None` are missing values and drawn as such: a gap in a line, a dash in place of a bar. Layers of one name are
/// one series: a line and its band share a colour and an entry in the legend. On an axis of categories the position of
/// the first is 0, of the next 1. Where the vertical axis has the categories, bars, boxes and intervals are horizontal.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line through points in their order; a NaN interrupts it.
    Line {
        /// The name in the legend.
        name: String,
        /// The points.
        points: Vec<(f64, f64)>,
    },
    /// A step line: a value holds until the next x.
    Step {
        /// The name in the legend.
        name: String,
        /// The points; the last x ends the line, after a step to its value if it has one.
        points: Vec<(f64, f64)>,
    },
    /// The area between two values at each x.
    Band {
        /// The name in the legend.
        name: String,
        /// x, the lower and the upper value.
        points: Vec<(f64, f64, f64)>,
    },
    /// Stacked parts of a whole, by interval.
    Stack {
        /// The starts of the intervals and the end of the last, ascending.
        edges: Vec<f64>,
        /// The names and values of the parts, from the lowest, with one value per interval. An interval with a missing
        /// part stays empty, since its whole is unknown too.
        parts: Vec<(String, Vec<f64>)>,
    },
    /// Separate points.
    Points {
        /// The name in the legend.
        name: String,
        /// The points.
        points: Vec<(f64, f64)>,
    },
    /// Distributions as boxes with whiskers. Several such layers stand side by side.
    Boxes {
        /// The name in the legend.
        name: String,
        /// The boxes.
        boxes: Vec<FiveNumbers>,
    },
    /// Bars from zero, one for each category. Several such layers stand side by side.
    Bars {
        /// The name in the legend.
        name: String,
        /// The bars in the order of the categories.
        bars: Vec<Option<Bar>>,
    },
    /// Values with their intervals.
    Intervals {
        /// The name in the legend.
        name: String,
        /// x, y and the interval: of y, or of x where y is the axis of categories.
        points: Vec<IntervalPoint>,
    },
    /// An event: a vertical line.
    Event {
        /// The position on the horizontal axis.
        at: f64,
        /// The label.
        label: String,
    },
    /// A part of the horizontal axis in which something happened.
    Span {
        /// Its beginning.
        from: f64,
        /// Its end.
        to: f64,
        /// The label.
        label: String,
    },
    /// A reference value: a horizontal line.
    Rule {
        /// The value.
        at: f64,
        /// The label.
        label: String,
    },
    /// A named point.
    Mark {
        /// The position.
        at: (f64, f64),
        /// The label.
        label: String,
    },
}

/// x, y, and the interval of the one that is the value.
pub type IntervalPoint = (f64, f64, Option<(f64, f64)>);

/// The five numbers of a distribution that a box shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FiveNumbers {
    /// The position of the box.
    pub at: f64,
    /// The sample at which the lower whisker ends.
    pub low: f64,
    /// The first quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
    /// The sample at which the upper whisker ends.
    pub high: f64,
    /// Samples drawn as points: those beyond the whiskers, or all if they are few.
    pub samples: Vec<f64>,
}

/// A bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// The value at which it ends; it starts at zero.
    pub value: f64,
    /// The interval of the value.
    pub interval: Option<(f64, f64)>,
    /// The results that it is the mean of, drawn as points.
    pub samples: Vec<f64>,
}

impl Bar {
    /// A bar without interval and samples.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl FiveNumbers {
    /// A box whose numbers are unknown.
    #[must_use]
    pub fn missing(at: f64) -> Self {
        Self {
            at,
            median: f64::NAN,
            ..Self::default()
        }
    }

    /// `true` when one of the numbers of the box itself is unknown.
    pub(crate) fn is_missing(&self) -> bool {
        [self.q1, self.median, self.q3]
            .iter()
            .any(|one| one.is_nan())
    }

    /// The five numbers of samples, at a position; `None` without samples. The whiskers end at the last samples within
    /// one and a half times the box's height from the box; the samples beyond are kept. NaN is ignored.
    ///
    /// Quartiles and the median are samples, those of rank ⌈q·n⌉. Source: Tukey, "Exploratory Data Analysis", 1977
    /// (whiskers); Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 1 (quartiles).
    #[must_use]
    pub fn from_samples(at: f64, samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let quantile = |part: f64| {
            let rank = (part * sorted.len() as f64).ceil() as usize;
            sorted[rank.saturating_sub(1)]
        };
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
        let reach = 1.5 * (q3 - q1);
        let inside = |sample: &&f64| (q1 - reach..=q3 + reach).contains(*sample);
        Some(Self {
            at,
            low: sorted.iter().find(inside).copied().unwrap_or(min),
            q1,
            median,
            q3,
            high: sorted.iter().rev().find(inside).copied().unwrap_or(max),
            samples: sorted.iter().filter(|one| !inside(one)).copied().collect(),
        })
    }
}

impl Layer {
    /// The empirical distribution function: the share of samples that are at most x, from 0 to 1, as a step line. NaN is ignored;
    /// infinite samples count but have no position, so that the line ends below 1.
    #[must_use]
    pub fn cdf(name: &str, samples: &[f64]) -> Self {
        let sorted = sorted(samples);
        let mut points: Vec<(f64, f64)> = sorted
            .first()
            .map(|first| (*first, 0.0))
            .into_iter()
            .collect();
        for (index, sample) in sorted.iter().enumerate() {
            // Of equal samples the last gives the share.
            if sorted.get(index + 1) != Some(sample) {
                points.push((*sample, (index + 1) as f64 / sorted.len() as f64));
            }
        }
        Self::Step {
            name: name.to_owned(),
            points,
        }
    }

    /// Returns whether a series has nothing to show in a layer.
    pub(crate) fn is_empty(&self, series: &str) -> bool {
        match self {
            Self::Line { points, .. } | Self::Step { points, .. } | Self::Points { points, .. } => {
                points.iter().all(|(x, y)| x.is_nan() || y.is_nan())
            }
            Self::Band { points, .. } => points
                .iter()
                .all(|(x, low, high)| x.is_nan() || low.is_nan() || high.is_nan()),
            Self::Stack { parts, .. } => parts
                .iter()
                .filter(|(name, _)| name == series)
                .all(|(_, values)| values.iter().all(|value| value.is_nan())),
            Self::Boxes { boxes, .. } => boxes.iter().all(FiveNumbers::is_missing),
            Self::Bars { bars, .. } => bars
                .iter()
                .all(|bar| bar.as_ref().is_none_or(|bar| bar.value.is_nan())),
            Self::Intervals { points, .. } => {
                points.iter().all(|(x, y, _)| x.is_nan() || y.is_nan())
            }
            Self::Event { .. } | Self::Span { .. } | Self::Rule { .. } | Self::Mark { .. } => true,
        }
    }

    /// `true` when a dash is drawn for a missing value.
    pub(crate) fn has_missing(&self, x: &Axis, y: &Axis) -> bool {
        let places = x.categories.as_ref().or(y.categories.as_ref());
        let unknown = |bar: &Option<Bar>| bar.as_ref().is_none_or(|bar| bar.value.is_nan());
        match self {
            Self::Boxes { boxes, .. } => boxes.iter().any(FiveNumbers::is_missing),
            Self::Bars { bars, .. } => {
                bars.iter().any(unknown) || places.is_some_and(|names| names.len() > bars.len())
            }
            Self::Intervals { points, .. } => {
                let categories_on_y = y.categories.is_some();
                let value = |(x, y, _): &(f64, f64, _)| if categories_on_y { *x } else { *y };
                places.is_some() && points.iter().any(|point| value(point).is_nan())
            }
            _ => false,
        }
    }

    /// The names of the series in the layer.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Line { name, .. }
            | Self::Step { name, .. }
            | Self::Band { name, .. }
            | Self::Points { name, .. }
            | Self::Boxes { name, .. }
            | Self::Bars { name, .. }
            | Self::Intervals { name, .. } => vec![name],
            Self::Stack { parts, .. } => parts.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Event { .. } | Self::Span { .. } | Self::Rule { .. } | Self::Mark { .. } => {
                Vec::new()
            }
        }
    }
}

/// Samples in ascending order, without NaN.
fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples
        .iter()
        .copied()
        .filter(|one| !one.is_nan())
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cdf_rises_from_zero_to_one() {
        let Layer::Step { points, .. } = Layer::cdf("rtt", &[3.0, f64::NAN, 1.0, 2.0, 2.0]) else {
            panic!("a cdf is a line in steps");
        };
        assert_eq!(points, [(1.0, 0.0), (1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]);
        let Layer::Step { points, .. } = Layer::cdf("none", &[]) else {
            panic!("a cdf is a line in steps");
        };
        assert!(points.is_empty());
    }

    #[test]
    fn whiskers_end_at_samples_and_the_samples_beyond_are_kept() {
        let five = FiveNumbers::from_samples(8.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 20.0]).unwrap();
        assert_eq!(
            (five.at, five.low, five.q1, five.median, five.q3, five.high),
            (8.0, 1.0, 2.0, 3.0, 5.0, 5.0)
        );
        assert_eq!(five.samples, [20.0]);
        assert_eq!(FiveNumbers::from_samples(0.0, &[f64::NAN]), None);
        let alone = FiveNumbers::from_samples(0.0, &[7.0]).unwrap();
        assert_eq!((alone.low, alone.median, alone.high), (7.0, 7.0, 7.0));
    }
}
