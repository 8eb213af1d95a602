//! The differences of a comparison as a figure.

use caudal_plot::{Axis, AxisQuantity, Figure, Layer};

use super::comparison::{ComparedMetric, Comparison};
use super::format::trimmed;

/// A difference with both ends of its interval.
type Ends = (f64, f64, f64);

/// The difference of a metric over the runs, or of two single runs by what happened within them, and whether it is shown.
fn difference(cell: &ComparedMetric) -> Option<(Ends, bool)> {
    if let Some(found) = cell.result {
        let apart = found.difference;
        return Some(((apart.mean, apart.low, apart.high), found.differs));
    }
    let within = cell.within_run?;
    let differs = within.low > 0.0 || within.high < 0.0;
    Some(((within.mean, within.low, within.high), differs))
}

/// The differences with their intervals, as fractions of A's means; `None` without any.
#[must_use]
pub fn difference_figure(comparison: &Comparison) -> Option<Figure> {
    const MAX_TAKEN: usize = 40;
    const ROW: u32 = 26;
    let drawn: Vec<(String, Ends, f64, bool)> = comparison
        .cells
        .iter()
        .filter_map(|cell| {
            let base = cell.first?.mean.mean.abs();
            let (ends, differs) = difference(cell)?;
            (base > 0.0).then(|| (cell.name(), ends, base, differs))
        })
        .take(MAX_TAKEN)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let points = |which: bool| {
        let all = drawn.iter().enumerate();
        all.filter(|(_, (.., differs))| *differs == which)
            .map(|(at, (_, (mean, low, high), base, _))| {
                (mean / base, at as f64, Some((low / base, high / base)))
            })
            .collect::<Vec<_>>()
    };
    let mut layers = vec![Layer::Event {
        at: 0.0,
        label: "equal".to_owned(),
    }];
    for (name, which) in [("shown to differ", true), ("not shown to differ", false)] {
        let points = points(which);
        if !points.is_empty() {
            layers.push(Layer::Intervals {
                name: name.to_owned(),
                points,
            });
        }
    }
    let is_within = comparison
        .cells
        .iter()
        .any(|cell| cell.result.is_none() && cell.within_run.is_some());
    let level = trimmed(comparison.confidence * 100.0);
    let names: Vec<String> = drawn.iter().map(|(name, ..)| name.clone()).collect();
    let rows = u32::try_from(names.len()).unwrap_or(40);
    Some(Figure {
        title: format!(
            "{} minus {}",
            comparison.second.given, comparison.first.given
        ),
        description: format!(
            "Differences of the means of {} from those of {}, as fractions of the latter, each with its {level} % interval",
            comparison.second.given, comparison.first.given
        ),
        x: Axis::linear("difference, fraction of A", AxisQuantity::Percent).from_zero(),
        y: Axis::categories("", names),
        layers,
        size: (Figure::SIZE.0, 190 + ROW * rows),
        note: Some(if is_within {
            format!(
                "{level} % intervals of what happened within the runs; how much runs vary is unknown"
            )
        } else {
            format!("{level} % intervals after Welch, not adjusted for multiple comparisons")
        }),
    })
}
