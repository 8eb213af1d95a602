//! The offset of the server's clock over a test of several phases.

use caudal_core::echo::ClockOffset;

/// The part by which the error of a measurement may exceed the smallest, and still be used.
const USABLE: f64 = 1.25;
/// An excess of the error that does not matter, ns.
const USABLE_NS: f64 = 100_000.0;

/// The measurements of the clocks' offset before and after each phase. One that was made while a queue drained is left out: half of
/// the round trip it took is its error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockTrack {
    points: Vec<ClockOffset>,
}

impl ClockTrack {
    /// The track of these measurements, with times after the start of the test.
    #[must_use]
    pub fn new(mut points: Vec<ClockOffset>) -> Self {
        let smallest = points.iter().map(|point| point.bound_ns).min();
        let limit = smallest.map_or(0.0, |ns| ns as f64 * USABLE + USABLE_NS);
        points.retain(|point| point.bound_ns as f64 <= limit);
        points.sort_by_key(|point| point.at_ns);
        Self { points }
    }

    /// The server's clock less the client's at `at_ns` after the start, on straight lines between the measurements; `None`
    /// without any.
    #[must_use]
    pub fn offset_ns(&self, at_ns: i64) -> Option<i64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let later = self.points.partition_point(|point| point.at_ns <= at_ns);
        let before = later.checked_sub(1).and_then(|nth| self.points.get(nth));
        let (before, after) = match (before, self.points.get(later)) {
            (None, _) => return Some(first.offset_ns),
            (_, None) => return Some(last.offset_ns),
            (Some(before), Some(after)) => (before, after),
        };
        // The times may be anything: those of two points can be further apart than an i64 holds.
        let since = |at_ns: i64| (i128::from(at_ns) - i128::from(before.at_ns)) as f64;
        let part = since(at_ns) / since(after.at_ns);
        let change = after.offset_ns.saturating_sub(before.offset_ns) as f64;
        Some(
            before
                .offset_ns
                .saturating_add((change * part).round() as i64),
        )
    }

    /// The maximum error of the offset, ns: the same at every time, as far as it comes from the path.
    #[must_use]
    pub fn bound_ns(&self) -> Option<i64> {
        self.points.iter().map(|point| point.bound_ns).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_s: i64, offset_ms: i64, bound_ms: i64) -> ClockOffset {
        ClockOffset {
            at_ns: at_s * 1_000_000_000,
            offset_ns: offset_ms * 1_000_000,
            bound_ns: bound_ms * 1_000_000,
        }
    }

    #[test]
    fn a_measurement_made_behind_a_full_queue_is_left_out() {
        let track = ClockTrack::new(vec![
            point(10, 100, 10),
            point(0, 90, 10),
            point(5, -400, 300),
        ]);
        assert_eq!(track.offset_ns(5_000_000_000), Some(95_000_000));
        assert_eq!(track.offset_ns(-1), Some(90_000_000));
        assert_eq!(track.offset_ns(i64::MAX), Some(100_000_000));
        assert_eq!(track.bound_ns(), Some(10_000_000));
        assert_eq!(ClockTrack::default().offset_ns(0), None);
    }
}
