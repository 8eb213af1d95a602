//! The course of a run in a few points, for a list to draw.

use caudal_core::run::{FlowReport, Run, RunResult};
use std::fmt::Write as _;

/// Maximum number of points.
const MAX_POINTS: usize = 32;
/// What the greatest point is.
const FULL_SCALE: f64 = 1000.0;

/// What one reading adds: from, to (s), and the value in between.
type Span = (f64, f64, f64);

/// The main result of a run over time, by its intervals: the goodput of all flows, the round-trip time of a test of latency under load, the
/// connections per second; in at most 32 equal parts of the test, each in thousandths of the greatest.
///
/// `None` where the run has fewer than two intervals, or nothing above 0.
pub(super) fn outline(run: &Run) -> Option<Vec<u16>> {
    let (spans, is_summed) = spans(run);
    let end = spans.iter().map(|span| span.1).fold(0.0, f64::max);
    let longest = spans.iter().map(|span| span.1 - span.0).fold(0.0, f64::max);
    // Never finer than the intervals, of which several flows have the same.
    let parts = if longest > 0.0 {
        (end / longest).round()
    } else {
        0.0
    };
    let parts = (parts.min(MAX_POINTS as f64)) as usize;
    if parts < 2 || !end.is_finite() {
        return None;
    }
    let width = end / parts as f64;
    let points: Vec<f64> = (0..parts)
        .map(|nth| {
            mean_within(
                &spans,
                nth as f64 * width,
                (nth + 1) as f64 * width,
                is_summed,
            )
        })
        .collect();
    let greatest = points.iter().copied().fold(0.0, f64::max);
    let scaled = points
        .iter()
        .map(|point| (point / greatest * FULL_SCALE).round() as u16);
    (greatest > 0.0 && greatest.is_finite()).then(|| scaled.collect())
}

/// The readings of a run, and whether those that overlap add up.
fn spans(run: &Run) -> (Vec<Span>, bool) {
    let spans: Vec<Span> = match &run.result {
        Some(RunResult::Quality(report)) => {
            let intervals = report.intervals.iter();
            let spans = intervals.filter_map(|one| Some((one.start_s, one.end_s, one.rtt_us?)));
            return (spans.filter(is_sound).collect(), false);
        }
        Some(RunResult::Connect(report)) => {
            let intervals = report.intervals.iter();
            intervals
                .map(|one| (one.start_s, one.end_s, one.per_s))
                .collect()
        }
        _ => run
            .flows
            .iter()
            .flatten()
            .flat_map(FlowReport::intervals)
            .filter_map(|one| Some((one.start_s, one.end_s, one.goodput_bps.or(one.sent_bps)?)))
            .collect(),
    };
    (spans.into_iter().filter(is_sound).collect(), true)
}

fn is_sound(span: &Span) -> bool {
    let (from, to, value) = *span;
    from >= 0.0 && to > from && to.is_finite() && value.is_finite() && value >= 0.0
}

/// The mean over time from `from` to `to`: of the sum of all spans, or of the spans that there are.
fn mean_within(spans: &[Span], from: f64, to: f64, is_summed: bool) -> f64 {
    let overlap = |span: &Span| (span.1.min(to) - span.0.max(from)).max(0.0);
    let total: f64 = spans.iter().map(|span| overlap(span) * span.2).sum();
    let time = match is_summed {
        true => to - from,
        false => spans.iter().map(overlap).sum(),
    };
    if time > 0.0 { total / time } else { 0.0 }
}

/// The points as the store has them.
pub(super) fn to_text(points: &[u16]) -> String {
    points
        .iter()
        .enumerate()
        .fold(String::new(), |mut text, (nth, point)| {
            let comma = if nth == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{point}");
            text
        })
}

/// The points of a text of the store; what is none is left out.
pub(super) fn from_text(text: &str) -> Vec<u16> {
    let points = text.split(',').filter_map(|point| point.parse().ok());
    points.take(MAX_POINTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::interval::Interval;

    fn run(flows: &[&[(f64, f64, f64)]]) -> Run {
        let text = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../core/tests/corpus/tcp-bidir.json"
        ));
        let mut run: Run = serde_json::from_str(&text.unwrap()).unwrap();
        let flow = run.flows.as_ref().unwrap()[0].clone();
        let with = |intervals: &[(f64, f64, f64)]| FlowReport {
            intervals: Some(
                intervals
                    .iter()
                    .map(|&(start_s, end_s, bps)| Interval {
                        start_s,
                        end_s,
                        goodput_bps: Some(bps),
                        ..Interval::default()
                    })
                    .collect(),
            ),
            ..flow.clone()
        };
        run.flows = Some(flows.iter().map(|intervals| with(intervals)).collect());
        run
    }

    #[test]
    fn flows_add_up_and_the_greatest_is_a_thousand() {
        let first = [(0.0, 1.0, 10.0), (1.0, 2.0, 20.0), (2.0, 3.0, 0.0)];
        let second = [(0.0, 1.0, 10.0), (1.0, 2.0, 20.0), (2.0, 3.0, 20.0)];
        assert_eq!(
            outline(&run(&[&first, &second])),
            Some(vec![500, 1000, 500])
        );
        // An outage at the end is a part of it.
        assert_eq!(outline(&run(&[&first])), Some(vec![500, 1000, 0]));
    }

    #[test]
    fn many_intervals_are_a_few_points() {
        let many: Vec<_> = (0..36_000)
            .map(f64::from)
            .map(|at| (at, at + 1.0, at))
            .collect();
        let points = outline(&run(&[&many])).unwrap();
        assert_eq!(points.len(), MAX_POINTS);
        assert!(points.is_sorted());
        assert_eq!(from_text(&to_text(&points)), points);
    }

    #[test]
    fn what_has_no_course_has_no_outline() {
        for none in [
            &[][..],
            &[(0.0, 1.0, 5.0)],
            &[(0.0, 1.0, 0.0), (1.0, 2.0, 0.0)],
            &[(0.0, f64::INFINITY, 5.0), (2.0, 1.0, 5.0)],
            &[(0.0, 1.0, f64::NAN), (1.0, 2.0, f64::NAN)],
        ] {
            assert_eq!(outline(&run(&[none])), None, "{none:?}");
        }
        assert_eq!(from_text("1,x,70000,2"), [1, 2]);
    }
}
