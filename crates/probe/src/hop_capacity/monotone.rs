//! Slopes that never fall from hop to hop.

/// The values nearest to `values` that never fall, by the pool-adjacent-violators algorithm; of each value how many it was pooled with.
///
/// Input are (value, weight) with weights above zero. Source: Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under
/// Order Restrictions", 1972, section 1.2.
pub(super) fn non_decreasing(values: &[(f64, f64)]) -> Vec<(f64, usize)> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, weight) in values {
        let mut block = (*value, *weight, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 > block.0) {
            let weight = before.1 + block.1;
            let value = (before.0 * before.1 + block.0 * block.1) / weight;
            block = (value, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    blocks
        .iter()
        .flat_map(|(value, _, count)| std::iter::repeat_n((*value, *count), *count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_fall_are_replaced_by_their_weighted_mean() {
        let values = [(1.0, 1.0), (4.0, 3.0), (2.0, 1.0), (6.0, 1.0)];
        let pooled = [(1.0, 1), (3.5, 2), (3.5, 2), (6.0, 1)];
        assert_eq!(non_decreasing(&values), pooled);
        assert!(non_decreasing(&[]).is_empty());
    }
}
