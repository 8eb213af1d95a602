//! Quantiles of values, between neighbours in proportion.

/// The median of the finite values; `None` without any.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `fraction` (0 to 1) of the finite values, interpolated between neighbours; `None` without any.
#[must_use]
pub fn quantile(values: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let position = fraction.clamp(0.0, 1.0) * (sorted.len().checked_sub(1)?) as f64;
    let (below, above) = (
        sorted[position.floor() as usize],
        sorted[position.ceil() as usize],
    );
    Some(below + (above - below) * position.fract())
}
