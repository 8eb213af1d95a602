//! The metrics of RFC 6349, which compare a transfer with the ideal one.

use std::time::Duration;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};

/// The ideal transfer time: `8 · size / goodput`; `None` for a goodput of zero.
///
/// Source: RFC 6349 section 4.1.
#[must_use]
pub fn ideal_transfer_time(size: ByteCount, goodput: BitRate) -> Option<Duration> {
    let seconds = size.as_f64() * 8.0 / goodput.as_f64();
    Duration::try_from_secs_f64(seconds).ok()
}

/// The transfer time ratio: actual over ideal transfer time, ideally 1; `None` for an ideal of zero.
///
/// Source: RFC 6349 section 4.1.
#[must_use]
pub fn transfer_time_ratio(actual: Duration, ideal: Duration) -> Option<f64> {
    (!ideal.is_zero()).then(|| actual.as_secs_f64() / ideal.as_secs_f64())
}

/// TCP efficiency: the share of bytes sent that were not retransmissions; `None` when nothing was sent or more was retransmitted.
///
/// `(sent − retransmitted) / sent`, with `sent` including retransmissions. Source: RFC 6349 section 4.2.
#[must_use]
pub fn tcp_efficiency(sent: ByteCount, retransmitted: ByteCount) -> Option<f64> {
    (sent.get() > 0 && retransmitted <= sent)
        .then(|| (sent.get() - retransmitted.get()) as f64 / sent.as_f64())
}

/// The buffer delay: the increase of the round-trip time under load as a share of the baseline; `None` for a baseline of zero.
///
/// `(loaded − baseline) / baseline`. Source: RFC 6349 section 4.3.
#[must_use]
pub fn buffer_delay(loaded: Duration, baseline: Duration) -> Option<f64> {
    (!baseline.is_zero())
        .then(|| (loaded.as_secs_f64() - baseline.as_secs_f64()) / baseline.as_secs_f64())
}

/// The observation of a transfer that is compared with the ideal one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferObservation {
    /// The transfer time.
    pub duration: Option<Duration>,
    /// Bytes retransmitted.
    pub retransmitted: Option<ByteCount>,
    /// The round-trip time under load.
    pub loaded_rtt: Option<Duration>,
}

/// Computes the metrics of a transfer of `bytes` at a maximum `goodput` over a path with the unloaded round-trip time `rtt`.
#[must_use]
pub fn metrics(
    bytes: ByteCount,
    goodput: BitRate,
    rtt: Duration,
    observed: &TransferObservation,
) -> Vec<Prediction> {
    let Some(ideal) = ideal_transfer_time(bytes, goodput) else {
        return Vec::new();
    };
    let mut all = vec![ideal_time_metric(bytes, goodput, ideal)];
    all.extend(
        observed
            .duration
            .and_then(|duration| transfer_time_metric(duration, ideal)),
    );
    all.extend(
        observed
            .retransmitted
            .and_then(|retransmitted| efficiency_metric(bytes, retransmitted)),
    );
    all.extend(
        observed
            .loaded_rtt
            .and_then(|loaded| buffer_delay_metric(loaded, rtt)),
    );
    all
}

fn ideal_time_metric(bytes: ByteCount, goodput: BitRate, ideal: Duration) -> Prediction {
    Prediction::new(
        "ideal_time",
        "ideal transfer time",
        ideal.as_secs_f64(),
        Unit::Seconds,
    )
    .detail("RFC 6349, without handshake and slow start".to_owned())
    .assumes("the link is full from the first byte to the last")
    .source("RFC 6349 section 4.1")
    .step(format!(
        "{} × 8 / {} = {}",
        size(bytes),
        rate(goodput),
        time(ideal)
    ))
}

fn transfer_time_metric(duration: Duration, ideal: Duration) -> Option<Prediction> {
    let ratio = transfer_time_ratio(duration, ideal)?;
    Some(
        Prediction::new(
            "transfer_time_ratio",
            "transfer time ratio",
            ratio,
            Unit::Ratio,
        )
        .detail(format!("took {}", time(duration)))
        .assumes("the time is that of the same amount")
        .source("RFC 6349 section 4.1")
        .within(Tolerance::SHARE)
        .step(format!("{} / {} = {ratio:.4}", time(duration), time(ideal))),
    )
}

fn efficiency_metric(bytes: ByteCount, retransmitted: ByteCount) -> Option<Prediction> {
    let sent = bytes + retransmitted;
    let share = tcp_efficiency(sent, retransmitted)?;
    Some(
        Prediction::new("tcp_efficiency", "TCP efficiency", share, Unit::Share)
            .detail(format!("{} retransmitted", size(retransmitted)))
            .assumes("the bytes retransmitted are those of retransmitted segments")
            .source("RFC 6349 section 4.2")
            .step(format!(
                "({} − {}) / {} = {}",
                sent.get(),
                retransmitted.get(),
                sent.get(),
                Unit::Share.show(share)
            )),
    )
}

fn buffer_delay_metric(loaded: Duration, baseline: Duration) -> Option<Prediction> {
    let share = buffer_delay(loaded, baseline)?;
    Some(
        Prediction::new("buffer_delay", "buffer delay", share, Unit::Share)
            .detail(format!("{} loaded, {} idle", time(loaded), time(baseline)))
            .assumes("the round-trip time given is that of the idle path")
            .source("RFC 6349 section 4.3")
            .step(format!(
                "({} − {}) / {} = {}",
                time(loaded),
                time(baseline),
                time(baseline),
                Unit::Share.show(share)
            )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::framing::Framing;

    #[test]
    fn the_metrics_match_the_examples_of_the_rfc() {
        let bare = Framing {
            timestamps: false,
            ..Framing::default()
        };
        let goodput = bare.tcp_ceiling(BitRate::from_bps(100_000_000));
        let ideal = ideal_transfer_time(ByteCount::new(100_000_000), goodput).unwrap();
        assert_eq!(format!("{:.4}", ideal.as_secs_f64()), "8.4274");
        let ratio = transfer_time_ratio(Duration::from_millis(10_200), ideal).unwrap();
        assert_eq!(format!("{ratio:.4}"), "1.2103");
        let slow = transfer_time_ratio(Duration::from_millis(10_500), ideal).unwrap();
        assert_eq!(format!("{slow:.2}"), "1.25");
        let share = tcp_efficiency(ByteCount::new(102_000), ByteCount::new(2_000)).unwrap();
        assert_eq!(format!("{:.3}", share * 100.0), "98.039");
        let delay = buffer_delay(Duration::from_millis(32), Duration::from_millis(25)).unwrap();
        assert_eq!(format!("{:.1}", delay * 100.0), "28.0");
    }

    #[test]
    fn metrics_of_zero_are_undefined() {
        assert_eq!(ideal_transfer_time(ByteCount::new(1), BitRate::ZERO), None);
        assert_eq!(transfer_time_ratio(Duration::ZERO, Duration::ZERO), None);
        assert_eq!(tcp_efficiency(ByteCount::ZERO, ByteCount::ZERO), None);
        assert_eq!(tcp_efficiency(ByteCount::new(1), ByteCount::new(2)), None);
        assert_eq!(buffer_delay(Duration::from_secs(1), Duration::ZERO), None);
    }
}
