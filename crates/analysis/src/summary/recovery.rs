//! The rates of TCP around a loss.
//!
//! A receiver hands nothing over until the retransmission of a lost segment has come, and then at once what has arrived meanwhile: a
//! low rate is followed by a high one, though segments arrived evenly.

use super::rate_sample::RateSample;

/// The round trips within which TCP makes up for a lost segment.
const ROUND_TRIPS: f64 = 4.0;
/// The part of the median rate below which nothing may have been handed over for some time.
const LOW: f64 = 0.75;
/// The part of what arrives between two readings that may be missing where a loss is made up for.
const MADE_UP: f64 = 0.5;

/// The number of `samples` that cover the time in which TCP makes up for a loss, for a round-trip time in µs.
pub(super) fn recovery_samples(samples: &[RateSample], rtt_us: Option<f64>) -> usize {
    let length_s = samples.first().map_or(0.0, RateSample::length_s);
    let recovery_s = ROUND_TRIPS * rtt_us.unwrap_or(0.0) / 1e6;
    if length_s > 0.0 {
        (recovery_s / length_s).ceil() as usize
    } else {
        1
    }
}

/// The `rates` with each recovery of at most `max_length` of them at its mean rate: what was handed over at its end has arrived during
/// it. A low rate that is not made up for stays.
pub(super) fn even_out_recoveries(rates: &mut [f64], max_length: usize) {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = sorted.get(sorted.len() / 2).copied() else {
        return;
    };
    let mut at = 0;
    while at < rates.len() {
        let length = recovery_length(&rates[at..], median, max_length);
        if let Some(length) = length {
            let recovery = &mut rates[at..at + length];
            let mean = recovery.iter().sum::<f64>() / length as f64;
            recovery.fill(mean);
        }
        at += length.unwrap_or(1);
    }
}

/// The number of `rates` at their beginning in which a low rate is made up for.
fn recovery_length(rates: &[f64], median: f64, max_length: usize) -> Option<usize> {
    if *rates.first()? >= LOW * median {
        return None;
    }
    let mut missing = 0.0;
    let ends = rates.iter().take(max_length).position(|rate| {
        missing += median - rate;
        missing <= MADE_UP * median && *rate > median
    })?;
    Some(ends + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_takes_a_few_round_trips() {
        let sample =
            |nth: u32| RateSample::new(f64::from(nth) / 10.0, f64::from(nth + 1) / 10.0, 0);
        let samples: Vec<RateSample> = (0..80).map(sample).collect();
        assert_eq!(recovery_samples(&samples, Some(148_000.0)), 6);
        assert_eq!(recovery_samples(&samples, None), 0);
        assert_eq!(recovery_samples(&[], Some(148_000.0)), 1);
    }

    #[test]
    fn what_is_handed_over_after_a_loss_has_arrived_before() {
        let mut rates = vec![9.25; 40];
        rates.splice(20..24, [5.48, 0.0, 11.65, 20.0]);
        let before: f64 = rates.iter().sum();
        even_out_recoveries(&mut rates, 12);
        assert!((rates.iter().sum::<f64>() - before).abs() < 1e-9);
        assert!(
            rates.iter().all(|rate| (9.2..9.3).contains(rate)),
            "{rates:?}"
        );
    }

    #[test]
    fn a_low_rate_that_is_not_made_up_for_stays() {
        let mut slow = vec![9.25; 40];
        slow.splice(20..26, [4.0; 6]);
        let before = slow.clone();
        even_out_recoveries(&mut slow, 12);
        assert_eq!(slow, before);
        // Made up for only long after it.
        let mut late = vec![9.25; 40];
        late[10] = 0.0;
        late[30] = 18.5;
        let before = late.clone();
        even_out_recoveries(&mut late, 12);
        assert_eq!(late, before);
        even_out_recoveries(&mut [], 12);
    }
}
