//! What the places of lost datagrams say: whether they are independent, the interval of their fraction that holds then, and the periods
//! in which they were lost.

use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::plan::Direction;
use caudal_core::sequence::{LossRun, SequenceCounts};
use caudal_stats::{
    Estimate, IntervalMethod, poisson_tail, repetition, student_t_quantile, wilson,
};

/// Maximum probability of as many losses next to each other by independent losses.
const MAX_BY_CHANCE: f64 = 0.001;
/// Minimum number of datagrams of a loss period, and of those of the longest.
const MIN_PERIOD: u64 = 3;
const MIN_OF_LONGEST: f64 = 0.25;
/// Minimum number of complete cycles for an interval.
const MIN_CYCLES: u64 = 5;

/// `true` where more of the lost datagrams followed one another than independent losses would.
fn are_clustered(counts: &SequenceCounts) -> bool {
    let (lost, sent) = (counts.lost as f64, counts.expected as f64);
    let adjacent = counts.lost.saturating_sub(counts.loss_runs.count);
    let by_chance = lost * lost / sent.max(1.0);
    counts.loss_runs.count > 0
        && poisson_tail(adjacent, by_chance).is_some_and(|chance| chance <= MAX_BY_CHANCE)
}

/// The fraction of a flow's datagrams that was lost: with Wilson's interval where the losses are independent; else by cycles, from one
/// run of losses to the next, and without any interval where they are too few.
///
/// The unit is the cycle, as what is lost together is one event: `s² = Σ(Lⱼ - p·Nⱼ)²/(m-1)`, half the interval `t·s/(√m·N̄)`, to which half a
/// period at the ends is added in squares.
pub(super) fn loss_fraction(counts: &SequenceCounts, confidence: f64) -> Option<Estimate> {
    let lost = counts.lost.min(counts.expected);
    if !are_clustered(counts) {
        return wilson(lost, counts.expected, confidence);
    }
    let fraction = lost as f64 / counts.expected as f64;
    Some(by_cycles(counts, fraction, confidence).unwrap_or_else(|| Estimate::single(fraction)))
}

/// The same of several flows over one path. Where what they lost is independent, all datagrams count as one sample. Where it is not, the
/// flows lose together: their intervals add up, each by its part of the datagrams, and one without an interval leaves all without.
pub(super) fn loss_fraction_of_flows(
    flows: &[&SequenceCounts],
    confidence: f64,
) -> Option<Estimate> {
    if let [only] = flows {
        return loss_fraction(only, confidence);
    }
    let lost: u64 = flows.iter().map(|one| one.lost.min(one.expected)).sum();
    let expected: u64 = flows.iter().map(|one| one.expected).sum();
    if !flows.iter().any(|one| are_clustered(one)) {
        return wilson(lost, expected, confidence);
    }
    let fraction = lost as f64 / expected.max(1) as f64;
    let (mut low, mut high, mut n) = (0.0, 0.0, u64::MAX);
    for one in flows.iter().filter(|one| one.expected > 0) {
        let found = loss_fraction(one, confidence)?;
        if found.confidence <= 0.0 {
            return Some(Estimate::single(fraction));
        }
        let part = one.expected as f64 / expected as f64;
        low += part * (found.mean - found.low);
        high += part * (found.high - found.mean);
        n = n.min(found.n);
    }
    Some(Estimate {
        mean: fraction,
        low: (fraction - low).max(0.0),
        high: (fraction + high).min(1.0),
        confidence,
        n,
        method: IntervalMethod::BatchMeansT,
    })
}

fn by_cycles(counts: &SequenceCounts, fraction: f64, confidence: f64) -> Option<Estimate> {
    let cycles = &counts.periods.cycles;
    if cycles.count < MIN_CYCLES || cycles.numbers <= 0.0 {
        return None;
    }
    let n = cycles.count as f64;
    let p = cycles.lost / cycles.numbers;
    let squares = cycles.lost_squares - 2.0 * p * cycles.products + p * p * cycles.number_squares;
    let sd = (squares.max(0.0) / (n - 1.0)).sqrt();
    let t = student_t_quantile(f64::midpoint(1.0, confidence), n - 1.0)?;
    let by_chance = t * sd / (n.sqrt() * cycles.numbers / n);
    // A test begins and ends anywhere in a cycle: half a period more or less.
    let at_ends = cycles.lost / n / 2.0 / counts.expected.max(1) as f64;
    let half = by_chance.hypot(at_ends);
    half.is_finite().then(|| Estimate {
        mean: fraction,
        low: (fraction - half).max(0.0),
        high: (fraction + half).min(1.0),
        confidence,
        n: cycles.count,
        method: IntervalMethod::BatchMeansT,
    })
}

/// The periods in which a flow's datagrams were lost, as one episode; `None` where the losses are independent. Its datagrams left evenly
/// from `from_s` to `to_s`.
pub(super) fn loss_periods(
    counts: &SequenceCounts,
    direction: Direction,
    (from_s, to_s): (f64, f64),
    confidence: f64,
) -> Option<Episode> {
    // What another end reports may be anything.
    let is_within = |run: &&LossRun| run.first.saturating_add(run.count) <= counts.expected;
    let runs = || counts.periods.longest.iter().filter(is_within);
    let longest = runs().map(|run| run.count).max()?;
    let min = MIN_PERIOD.max((longest as f64 * MIN_OF_LONGEST) as u64);
    let periods: Vec<&LossRun> = runs().filter(|run| run.count >= min).collect();
    let (first, last) = (*periods.first()?, *periods.last()?);
    if !are_clustered(counts) || to_s <= from_s {
        return None;
    }
    let each_s = (to_s - from_s) / counts.expected.max(1) as f64;
    let at_s = |number: u64| from_s + number as f64 * each_s;
    let shortest = periods.iter().map(|run| run.count).min()?;
    let begins: Vec<f64> = periods.iter().map(|run| at_s(run.first)).collect();
    let sizes = match shortest == longest {
        true => longest.to_string(),
        false => format!("{shortest}–{longest}"),
    };
    let length_ms = longest as f64 * each_s * 1e3;
    let evidence = match (periods.len(), repetition(&begins, confidence)) {
        (1, _) => format!("a loss period of {sizes} datagrams, {length_ms:.0} ms"),
        (count, Some(every)) => format!(
            "{count} loss periods of {sizes} datagrams, up to {length_ms:.0} ms each, one every {:.2} s ({:.0} % CI {:.2}–{:.2} s)",
            every.period,
            confidence * 100.0,
            every.low,
            every.high
        ),
        (count, None) => {
            format!("{count} loss periods of {sizes} datagrams, up to {length_ms:.0} ms each")
        }
    };
    Some(Episode {
        kind: EpisodeKind::LossPeriods,
        from_s: at_s(first.first),
        to_s: Some(at_s(last.first.saturating_add(last.count))),
        direction: Some(direction),
        evidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::SequenceTracker;
    use caudal_stats::random::SplitMix64;

    /// The counts of `sent` datagrams of which those `is_lost` are lost.
    fn counts(sent: u64, mut is_lost: impl FnMut(u64) -> bool) -> SequenceCounts {
        let mut tracker = SequenceTracker::new();
        for number in 0..sent {
            if !is_lost(number) {
                tracker.push(number);
            }
        }
        tracker.finish(Some(sent))
    }

    /// Everything dropped for 50 ms in each second of 5 Mbit/s.
    fn periodic() -> SequenceCounts {
        let starts = [200, 624, 1049, 1474, 1898, 2323];
        let lengths = [22, 23, 24, 25, 23, 24];
        counts(2548, |number| {
            let runs = starts.iter().zip(lengths);
            runs.clone()
                .any(|(start, length)| (*start..start + length).contains(&number))
        })
    }

    #[test]
    fn losses_of_periods_have_the_interval_of_their_cycles() {
        let found = loss_fraction(&periodic(), 0.95).unwrap();
        assert!((found.mean - 0.055_34).abs() < 1e-5);
        assert_eq!((found.n, found.method), (5, IntervalMethod::BatchMeansT));
        // Wilson's would reach from 4.71 to 6.49 %.
        assert!(found.low > 0.049 && found.high < 0.0615, "{found:?}");
        let few = counts(2000, |number| (500..520).contains(&number));
        let few = loss_fraction(&few, 0.95).unwrap();
        assert_eq!((few.mean, few.method), (0.01, IntervalMethod::SingleValue));
    }

    #[test]
    fn periods_are_told_with_their_repetition() {
        let found = loss_periods(&periodic(), Direction::Up, (0.0, 6.0), 0.95).unwrap();
        assert_eq!(
            found.evidence,
            "6 loss periods of 22–25 datagrams, up to 59 ms each, one every 1.00 s (95 % CI 1.00–1.00 s)"
        );
        assert!((found.from_s - 0.471).abs() < 1e-3);
        let one = counts(2000, |number| (500..520).contains(&number));
        let one = loss_periods(&one, Direction::Up, (0.0, 2.0), 0.95).unwrap();
        assert_eq!(one.evidence, "a loss period of 20 datagrams, 20 ms");
        assert_eq!((one.from_s, one.to_s), (0.5, Some(0.52)));
    }

    #[test]
    fn flows_that_lose_together_have_no_narrower_interval_than_one_of_them() {
        let one = periodic();
        let alone = loss_fraction(&one, 0.95).unwrap();
        let together = loss_fraction_of_flows(&[&one, &one, &one], 0.95).unwrap();
        assert_eq!(together.method, IntervalMethod::BatchMeansT);
        assert!(
            (together.low - alone.low).abs() < 1e-9 && (together.high - alone.high).abs() < 1e-9
        );
        // Too few periods in one of them for an interval of all.
        let few = counts(2000, |number| (500..520).contains(&number));
        let mixed = loss_fraction_of_flows(&[&one, &few], 0.95).unwrap();
        assert_eq!(mixed.method, IntervalMethod::SingleValue);
        // Independent losses are one sample.
        let independent = counts(1000, |number| number % 97 == 0);
        let pooled = loss_fraction_of_flows(&[&independent, &independent], 0.95);
        assert_eq!(pooled, wilson(22, 2000, 0.95));
        assert_eq!(loss_fraction_of_flows(&[], 0.95), wilson(0, 0, 0.95));
    }

    #[test]
    fn independent_losses_are_no_periods_and_keep_their_interval() {
        let mut random = SplitMix64::new(5);
        let mut found = 0;
        for nth in 0..1000 {
            let percent = [1, 3, 10, 30][nth % 4];
            let counts = counts(2500, |_| random.below(100) < percent);
            found += u32::from(loss_periods(&counts, Direction::Up, (0.0, 5.0), 0.95).is_some());
        }
        assert!(found <= 5, "{found} of 1000");
    }

    /// The share of 2000 intervals of nominally 95 % that contain the true fraction.
    fn coverage(truth: f64, sent: u64, mut lost: impl FnMut() -> bool) -> f64 {
        let covered = (0..2000).filter(|_| {
            let found = loss_fraction(&counts(sent, |_| lost()), 0.95).unwrap();
            found.method == IntervalMethod::SingleValue || (found.low..=found.high).contains(&truth)
        });
        covered.count() as f64 / 2000.0
    }

    #[test]
    fn the_intervals_of_independent_and_of_bursty_losses_hold() {
        let mut random = SplitMix64::new(11);
        let independent = coverage(0.02, 2500, || random.below(1000) < 20);
        assert!((0.93..=0.97).contains(&independent), "{independent}");
        // Gilbert: periods of 20 on average, after 980 on average.
        let mut is_bad = false;
        let bursty = coverage(0.02, 25_000, || {
            is_bad = match is_bad {
                true => random.below(1000) >= 50,
                false => random.below(100_000) < 102,
            };
            is_bad
        });
        assert!((0.92..=0.97).contains(&bursty), "{bursty}");
    }
}
