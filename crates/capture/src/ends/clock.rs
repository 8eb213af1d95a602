//! The clock of one capture against that of another.
//!
//! Source: Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", INFOCOM 1999: the line below all
//! delays that is closest to them is the edge of their lower hull over the middle of the time.

/// Minimum span to tell skew from jitter, ns.
const MIN_SPAN_NS: i64 = 10_000_000_000;
/// Minimum delays per direction for an estimate of the skew.
const MIN_DELAYS: usize = 100;

/// A difference between clocks at a time, both in ns.
pub(crate) type Delay = (i64, i64);

/// The slope of the line below the delays, ns for each ns; `None` with too few of them, or too short a time.
pub(crate) fn lower_slope(delays: &[Delay]) -> Option<f64> {
    let (first, last) = (delays.first()?.0, delays.last()?.0);
    if last - first < MIN_SPAN_NS || delays.len() < MIN_DELAYS {
        return None;
    }
    let mut hull: Vec<Delay> = Vec::new();
    for &point in delays {
        while let [.., one, two] = hull[..]
            && is_above(one, two, point)
        {
            hull.pop();
        }
        hull.push(point);
    }
    let mean = delays
        .iter()
        .map(|delay| (delay.0 - first) as f64)
        .sum::<f64>()
        / delays.len() as f64;
    let middle = first + mean as i64;
    let edge = hull.windows(2).find(|edge| edge[1].0 >= middle)?;
    let run = edge[1].0 - edge[0].0;
    (run > 0).then(|| (edge[1].1 - edge[0].1) as f64 / run as f64)
}

/// `true` when the middle one of three points lies on or above the line between the others.
fn is_above(one: Delay, two: Delay, three: Delay) -> bool {
    let cross =
        |a: Delay, b: Delay| i128::from(a.0) * i128::from(b.1) - i128::from(a.1) * i128::from(b.0);
    let (two, three) = (
        (two.0 - one.0, two.1 - one.1),
        (three.0 - one.0, three.1 - one.1),
    );
    cross(two, three) <= 0
}

/// The time from one moment to another, both included, as signed ns of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    from_ns: i64,
    to_ns: i64,
}

impl TimeSpan {
    /// Widens a span so that it contains `at_ns`.
    #[inline]
    pub(crate) fn include(span: &mut Option<Self>, at_ns: i64) {
        let before = span.unwrap_or(Self {
            from_ns: at_ns,
            to_ns: at_ns,
        });
        *span = Some(Self {
            from_ns: before.from_ns.min(at_ns),
            to_ns: before.to_ns.max(at_ns),
        });
    }

    pub(crate) fn contains(&self, at_ns: i64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_below_noisy_delays_has_the_slope_of_the_clock() {
        let delays: Vec<Delay> = (0..10_000_i64)
            .map(|at| {
                let time = at * 10_000_000;
                (time, time / 20_000 + (at * 7_919 % 101) * 10_000)
            })
            .collect();
        let slope = lower_slope(&delays).unwrap();
        assert!((slope - 50e-6).abs() < 1e-6, "{slope}");
        assert_eq!(lower_slope(&delays[..50]), None);
    }
}
