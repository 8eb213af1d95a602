//! The drift of one clock against another, from delays between them.

use std::cmp::Ordering;

/// A delay that was measured at some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimedDelay {
    /// The time it was sent at, ns.
    pub(super) at_ns: f64,
    /// The delay with the offset between the clocks, ns.
    pub(super) delay_ns: f64,
}

/// The drift of the receiver's clock against the sender's, ns per ns: the slope of the line below all delays that is nearest to them.
///
/// It is the edge of their lower convex hull below their mean time, so that queueing, which only adds, does not tilt it. `None` for fewer than
/// two different times. Source: Moon, Skelly and Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements",
/// 1999.
pub(super) fn clock_skew(delays: &[TimedDelay]) -> Option<f64> {
    let mut points: Vec<TimedDelay> = delays.to_vec();
    points.retain(|point| point.at_ns.is_finite() && point.delay_ns.is_finite());
    let order = |one: &TimedDelay, other: &TimedDelay| {
        let at = one.at_ns.total_cmp(&other.at_ns);
        match at {
            Ordering::Equal => one.delay_ns.total_cmp(&other.delay_ns),
            at => at,
        }
    };
    points.sort_by(order);
    points.dedup_by(|later, earlier| later.at_ns <= earlier.at_ns);
    let mean_ns = points.iter().map(|point| point.at_ns).sum::<f64>() / points.len().max(1) as f64;
    let hull = lower_hull(&points);
    let edge = hull
        .windows(2)
        .find(|edge| edge[1].at_ns >= mean_ns)
        .or_else(|| hull.windows(2).last())?;
    let slope = (edge[1].delay_ns - edge[0].delay_ns) / (edge[1].at_ns - edge[0].at_ns);
    slope.is_finite().then_some(slope)
}

/// The corners of the lower convex hull of points of growing time.
fn lower_hull(points: &[TimedDelay]) -> Vec<TimedDelay> {
    let mut hull: Vec<TimedDelay> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..] {
            let turn = (last.at_ns - before.at_ns) * (point.delay_ns - before.delay_ns)
                - (last.delay_ns - before.delay_ns) * (point.at_ns - before.at_ns);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(*point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(skew: f64, queued: impl Fn(u32) -> f64) -> Vec<TimedDelay> {
        (0..200)
            .map(|nth| {
                let at_ns = f64::from(nth) * 1e7;
                TimedDelay {
                    at_ns,
                    delay_ns: -3e9 + skew * at_ns + queued(nth),
                }
            })
            .collect()
    }

    #[test]
    fn the_drift_shows_below_the_queueing() {
        // 40 parts in a million, and queues of up to 5 ms that are empty now and then.
        let queued = |nth: u32| f64::from((nth * 7919) % 11) * 5e5;
        for skew in [-40e-6, 0.0, 40e-6] {
            let found = clock_skew(&delays(skew, queued)).unwrap();
            assert!((found - skew).abs() < 1e-7, "{found} {skew}");
        }
    }

    #[test]
    fn fewer_than_two_times_have_no_drift() {
        assert_eq!(clock_skew(&[]), None);
        let one = TimedDelay {
            at_ns: 5.0,
            delay_ns: 1.0,
        };
        assert_eq!(clock_skew(&[one, one]), None);
        let odd = TimedDelay {
            at_ns: f64::NAN,
            ..one
        };
        assert_eq!(clock_skew(&[one, odd]), None);
    }
}
