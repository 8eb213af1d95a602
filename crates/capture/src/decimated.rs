//! Points of a graph in bounded memory.

use crate::model::GraphPoint;

/// Maximum number of points kept.
const MAX_POINTS: usize = 4096;

/// Points, of which every second is dropped whenever there are too many.
#[derive(Debug, Clone)]
pub(crate) struct DecimatedPoints {
    points: Vec<GraphPoint>,
    stride: u64,
    seen: u64,
}

impl Default for DecimatedPoints {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            stride: 1,
            seen: 0,
        }
    }
}

impl DecimatedPoints {
    /// Takes in the next point.
    pub(crate) fn push(&mut self, time_s: f64, value: f64) {
        if self.seen.is_multiple_of(self.stride) {
            if self.points.len() >= MAX_POINTS {
                let mut at = 0;
                self.points.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.points.push(GraphPoint { time_s, value });
            }
        }
        self.seen += 1;
    }

    /// The points and how many samples each stands for.
    pub(crate) fn into_points(self) -> (Vec<GraphPoint>, u64) {
        (self.points, self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stay_evenly_spaced_and_bounded() {
        let mut points = DecimatedPoints::default();
        for at in 0..100_000 {
            points.push(f64::from(at), 0.0);
        }
        let (points, stride) = points.into_points();
        assert!(points.len() <= MAX_POINTS);
        assert!(
            points
                .windows(2)
                .all(|pair| pair[1].time_s - pair[0].time_s == stride as f64)
        );
    }
}
