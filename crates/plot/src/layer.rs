//! What can be drawn over the axes.

/// One thing drawn over the axes, in data units.
///
/// NaN and `None` are holes and drawn as such: a gap in a line, a dash where a bar would stand. Layers of one name are
/// one series: a line and its band share a colour and a place in the legend. On an axis of categories the position of
/// the first is 0, of the next 1. Where the vertical axis is the one of categories, bars, boxes and intervals lie.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line through points in their order; what is not a number breaks it.
    Line {
        /// The name in the legend.
        name: String,
        /// The points.
        points: Vec<(f64, f64)>,
    },
    /// A line in steps: a value holds until the next x.
    Step {
        /// The name in the legend.
        name: String,
        /// The points; the last x ends the line, after a rise to its value if it has one.
        points: Vec<(f64, f64)>,
    },
    /// The area between two values at each x.
    Band {
        /// The name in the legend.
        name: String,
        /// x, the lower and the upper value.
        points: Vec<(f64, f64, f64)>,
    },
    /// Parts of a whole, one upon the other, between edges.
    Stack {
        /// Where the intervals begin, and where the last ends, ascending.
        edges: Vec<f64>,
        /// Names and values of the parts, from the lowest, one value for each interval. An interval with a part that
        /// is not known stays empty: its whole is not known either.
        parts: Vec<(String, Vec<f64>)>,
    },
    /// Points by themselves.
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
    /// Values with the intervals they are known within.
    Intervals {
        /// The name in the legend.
        name: String,
        /// x, y and the interval: of y, or of x where y is the axis of categories.
        points: Vec<Known>,
    },
    /// Something that happened: a vertical line.
    Event {
        /// When.
        at: f64,
        /// What.
        label: String,
    },
    /// A value to compare with: a horizontal line.
    Rule {
        /// The value.
        at: f64,
        /// What it is.
        label: String,
    },
    /// A point worth a name.
    Mark {
        /// Where.
        at: (f64, f64),
        /// What it is.
        label: String,
    },
}

/// x, y, and the interval one of them is known within.
pub type Known = (f64, f64, Option<(f64, f64)>);

/// A distribution: what a box shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FiveNumbers {
    /// Where the box stands.
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
    /// Samples beyond the whiskers, or all if they are few.
    pub singles: Vec<f64>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// Where it ends; it begins at zero.
    pub value: f64,
    /// The interval the value is known within.
    pub interval: Option<(f64, f64)>,
    /// The single runs it is the mean of.
    pub singles: Vec<f64>,
}

impl Bar {
    /// A bar of a value alone.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl FiveNumbers {
    /// The place of a box that is not known.
    #[must_use]
    pub fn missing(at: f64) -> Self {
        Self {
            at,
            median: f64::NAN,
            ..Self::default()
        }
    }

    /// Whether one of the numbers of the box itself is not known.
    pub(super) fn is_missing(&self) -> bool {
        [self.q1, self.median, self.q3]
            .iter()
            .any(|one| one.is_nan())
    }

    /// The five numbers of samples, at a position; `None` without samples. The whiskers end at the last samples within
    /// one and a half times the box's height from the box; the samples beyond are the singles. NaN is no sample.
    ///
    /// Quartiles interpolate between the neighbouring samples. Source: Tukey, "Exploratory Data Analysis", 1977
    /// (whiskers); Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 7 (quartiles).
    #[must_use]
    pub fn of(at: f64, samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let quantile = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (below, above) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            // Equal neighbours first: the difference of two infinite ones is no number.
            if below == above {
                below
            } else {
                below + (above - below) * place.fract()
            }
        };
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
        let reach = 1.5 * (q3 - q1);
        let inside = |sample: &&f64| (q1 - reach..=q3 + reach).contains(*sample);
        Some(Self {
            at,
            low: sorted.iter().find(inside).copied().unwrap_or(least),
            q1,
            median,
            q3,
            high: sorted.iter().rev().find(inside).copied().unwrap_or(most),
            singles: sorted.iter().filter(|one| !inside(one)).copied().collect(),
        })
    }
}

impl Layer {
    /// The share of samples that are at most x, from 0 to 1, as a line in steps. NaN is no sample; infinite samples
    /// count but have no place, so that the line ends below 1.
    #[must_use]
    pub fn cdf(name: &str, samples: &[f64]) -> Self {
        let sorted = sorted(samples);
        let mut points: Vec<(f64, f64)> = sorted
            .first()
            .map(|least| (*least, 0.0))
            .into_iter()
            .collect();
        for (nth, sample) in sorted.iter().enumerate() {
            // Of equal samples the last one tells the share.
            if sorted.get(nth + 1) != Some(sample) {
                points.push((*sample, (nth + 1) as f64 / sorted.len() as f64));
            }
        }
        Self::Step {
            name: name.to_owned(),
            points,
        }
    }

    /// The names of its series.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Line { name, .. }
            | Self::Step { name, .. }
            | Self::Band { name, .. }
            | Self::Points { name, .. }
            | Self::Boxes { name, .. }
            | Self::Bars { name, .. }
            | Self::Intervals { name, .. } => vec![name],
            Self::Stack { parts, .. } => parts.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Event { .. } | Self::Rule { .. } | Self::Mark { .. } => Vec::new(),
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
    fn a_cdf_rises_from_nothing_to_all() {
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
    fn whiskers_end_at_samples_and_the_rest_are_singles() {
        let five = FiveNumbers::of(8.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 20.0]).unwrap();
        assert_eq!(
            (five.at, five.low, five.q1, five.median, five.q3, five.high),
            (8.0, 1.0, 2.25, 3.5, 4.75, 5.0)
        );
        assert_eq!(five.singles, [20.0]);
        assert_eq!(FiveNumbers::of(0.0, &[f64::NAN]), None);
        let alone = FiveNumbers::of(0.0, &[7.0]).unwrap();
        assert_eq!((alone.low, alone.median, alone.high), (7.0, 7.0, 7.0));
    }
}
