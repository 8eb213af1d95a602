//! Regular repetition of events.

use crate::critical::two_sided_t;
use crate::welford::Welford;

/// The time from one event to the next, of events that repeat regularly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repetition {
    /// The mean time, in the unit of the times.
    pub period: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

/// The repetition of events at ascending `times`; `None` where they do not repeat regularly, or are fewer than five.
///
/// Regular is a coefficient of variation of the times between them below 0.1 for five events, below 0.25 from six and below 0.3 from ten
/// on: uniformly scattered events are that even in at most 1 % of the cases.
#[must_use]
pub fn repetition(times: &[f64], confidence: f64) -> Option<Repetition> {
    let between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let max_variation = match times.len() {
        0..=4 => return None,
        5 => 0.1,
        6..=9 => 0.25,
        _ => 0.3,
    };
    let seen: Welford = between.iter().collect();
    let (period, sd) = (seen.mean()?, seen.sd()?);
    let is_regular = period.is_finite() && period > 0.0 && sd / period < max_variation;
    let n = between.len() as f64;
    let half = two_sided_t(confidence, n - 1.0)? * sd / n.sqrt();
    is_regular.then_some(Repetition {
        period,
        low: (period - half).max(0.0),
        high: period + half,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn events_at_a_distance_repeat() {
        let times = [
            0.473, 1.466, 2.471, 3.476, 4.468, 5.470, 6.465, 7.474, 8.472, 9.469,
        ];
        let found = repetition(&times, 0.95).unwrap();
        assert!((found.period - 0.99956).abs() < 1e-5);
        assert!(found.low > 0.994 && found.high < 1.005);
        assert_eq!(repetition(&times[..4], 0.95), None);
    }

    #[test]
    fn scattered_events_seldom_look_regular() {
        let mut random = SplitMix64::new(1);
        for count in [5, 6, 8, 10, 20] {
            let regular = (0..4000).filter(|_| {
                let mut times: Vec<f64> = (0..count).map(|_| random.next_u64() as f64).collect();
                times.sort_by(f64::total_cmp);
                repetition(&times, 0.95).is_some()
            });
            let share = regular.count() as f64 / 4000.0;
            assert!(share <= 0.012, "{share} of {count}");
        }
    }

    #[test]
    fn times_that_are_not_finite_do_not_repeat() {
        assert_eq!(repetition(&[f64::NAN; 12], 0.95), None);
        assert_eq!(repetition(&[1.0; 12], 0.95), None);
        assert_eq!(repetition(&[], 0.95), None);
    }
}
