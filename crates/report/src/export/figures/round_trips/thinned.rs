//! A selection of many samples.

/// The number of points of a line.
const POINTS: usize = 1000;

/// The finite samples in ascending order: of very many as many as a line needs, with the least and the greatest.
#[must_use]
pub fn thinned(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|one| one.is_finite())
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() <= 2 * POINTS {
        return sorted;
    }
    let last = sorted.len() - 1;
    (0..=POINTS)
        .map(|nth| sorted[nth * last / POINTS])
        .collect()
}
