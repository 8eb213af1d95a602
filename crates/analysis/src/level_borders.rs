//! The borders between the levels of a series: what stays a level, and what is only noise, growth or drift.

use caudal_stats::median;

/// Maximum change within a level, and minimum change at its border, as parts of the change from one level to the other (in logarithms).
pub(crate) const MAX_DRIFT: f64 = 0.35;
const MIN_STEP: f64 = 0.6;

/// Removes borders between levels that differ little, that drift, or between which the rate changes slowly, the least distinct first.
pub(crate) fn merge_until_distinct(
    borders: &mut Vec<usize>,
    logarithms: &[f64],
    min_bins: usize,
    min_ratio: f64,
) {
    loop {
        let least = (1..borders.len().saturating_sub(1))
            .map(|nth| {
                let (before, after) = (
                    &logarithms[borders[nth - 1]..borders[nth]],
                    &logarithms[borders[nth]..borders[nth + 1]],
                );
                (nth, distinctness(before, after, min_bins, min_ratio))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((nth, distinctness)) if distinctness < 1.0 => borders.remove(nth),
            _ => return,
        };
    }
}

/// How clearly two parts of a series of logarithms are levels: at least 1 where each criterion is met.
fn distinctness(before: &[f64], after: &[f64], min_bins: usize, min_ratio: f64) -> f64 {
    let middle = |part: &[f64]| median(part).unwrap_or(0.0);
    let change = middle(after) - middle(before);
    let near = (min_bins / 2).max(3);
    let end = &before[before.len().saturating_sub(near)..];
    let beginning = &after[..near.min(after.len())];
    let step = (middle(beginning) - middle(end)) / change;
    let drift = |part: &[f64]| drift(part) / change.abs();
    let criteria = [
        change.abs() / min_ratio.ln(),
        step / MIN_STEP,
        MAX_DRIFT / drift(before),
        MAX_DRIFT / drift(after),
    ];
    criteria.into_iter().fold(f64::INFINITY, f64::min)
}

/// The change from the first third of a series to its last.
pub(crate) fn drift(part: &[f64]) -> f64 {
    let third = (part.len() / 3).max(1);
    let middle = |part: &[f64]| median(part).unwrap_or(0.0);
    (middle(&part[part.len() - third..]) - middle(&part[..third])).abs()
}
