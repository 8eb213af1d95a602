//! The differences of a comparison as a figure.

use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_stats::Estimate;

use super::comparison::Comparison;
use super::format::trimmed;

/// The differences with their intervals, as fractions of A's means; `None` without any.
#[must_use]
pub fn difference_figure(comparison: &Comparison) -> Option<Figure> {
    const MAX_TAKEN: usize = 40;
    const ROW: u32 = 26;
    let drawn: Vec<(String, Estimate, f64, bool)> = comparison
        .cells
        .iter()
        .filter_map(|cell| {
            let (found, first) = (cell.result?, cell.first?);
            let base = first.mean.mean.abs();
            let name = cell.name();
            (base > 0.0).then_some((name, found.difference, base, found.differs))
        })
        .take(MAX_TAKEN)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let points = |which: bool| {
        let all = drawn.iter().enumerate();
        all.filter(|(_, (.., differs))| *differs == which)
            .map(|(at, (_, apart, base, _))| {
                let interval = (apart.low / base, apart.high / base);
                (apart.mean / base, at as f64, Some(interval))
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
        note: Some(format!(
            "{level} % intervals after Welch, not adjusted for multiple comparisons"
        )),
    })
}
