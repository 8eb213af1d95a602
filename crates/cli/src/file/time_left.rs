//! The time that the transfers of a campaign that are left should take.

/// The time that each cell's last transfer took, from which the time that is left follows.
#[derive(Debug, Clone)]
pub(super) struct TimeLeft {
    /// The size of each cell's content, bytes.
    sizes: Vec<u64>,
    /// The time that the last transfer of each cell took, s.
    took_s: Vec<Option<f64>>,
}

impl TimeLeft {
    /// The time of cells with contents of these sizes.
    pub(super) fn new(sizes: Vec<u64>) -> Self {
        Self {
            took_s: vec![None; sizes.len()],
            sizes,
        }
    }

    /// A transfer of this cell took so long, with all that comes before and after it.
    pub(super) fn took(&mut self, cell: usize, elapsed_s: f64) {
        if let Some(took_s) = self.took_s.get_mut(cell) {
            *took_s = Some(elapsed_s);
        }
    }

    /// The time that so many transfers of each cell should take, s; `None` before any was made. A cell of which there is none yet is
    /// taken to move its bytes at the mean rate of the others.
    pub(super) fn of(&self, left: &[u32]) -> Option<f64> {
        let known = || self.sizes.iter().zip(&self.took_s);
        let (bytes, seconds) = known()
            .filter_map(|(size, took_s)| Some((*size as f64, (*took_s)?)))
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if self.took_s.iter().all(Option::is_none) {
            return None;
        }
        let each = known().zip(left).map(|((size, took_s), left)| {
            let guessed = || *size as f64 * seconds / f64::max(bytes, 1.0);
            f64::from(*left) * took_s.unwrap_or_else(guessed)
        });
        Some(each.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_it_took() {
        let mut time = TimeLeft::new(vec![100, 100, 1000]);
        assert_eq!(time.of(&[1, 1, 1]), None);
        time.took(0, 2.0);
        assert_eq!(time.of(&[3, 0, 0]), Some(6.0));
        // 100 bytes in 2 s: 1000 in 20.
        assert_eq!(time.of(&[0, 1, 1]), Some(22.0));
        time.took(2, 5.0);
        assert_eq!(time.of(&[0, 0, 2]), Some(10.0));
    }
}
