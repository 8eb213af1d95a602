//! The quantities of an interval that figures and tables show, in base units.

use caudal_core::interval::Interval;

/// The length, s.
#[must_use]
pub fn length_s(interval: &Interval) -> f64 {
    interval.end_s - interval.start_s
}

/// Payload that arrived, bytes.
#[must_use]
pub fn bytes(interval: &Interval) -> Option<f64> {
    interval.bytes.map(|bytes| bytes as f64)
}

/// Payload that arrived per second, bit/s.
#[must_use]
pub const fn goodput_bps(interval: &Interval) -> Option<f64> {
    interval.goodput_bps
}

/// The smoothed round-trip time at its end, s.
#[must_use]
pub fn rtt_s(interval: &Interval) -> Option<f64> {
    Some(f64::from(interval.tcp?.rtt_us?) / 1e6)
}

/// The congestion window at its end, bytes.
#[must_use]
pub fn cwnd_bytes(interval: &Interval) -> Option<f64> {
    Some(interval.tcp?.cwnd_bytes? as f64)
}

/// Segments retransmitted.
#[must_use]
pub fn retransmits(interval: &Interval) -> Option<f64> {
    Some(interval.tcp?.retransmits? as f64)
}

/// Datagrams that arrived.
#[must_use]
pub fn datagrams(interval: &Interval) -> Option<f64> {
    Some(interval.udp?.datagrams? as f64)
}

/// The change in the number of datagrams missing.
#[must_use]
pub fn lost(interval: &Interval) -> Option<f64> {
    Some(interval.udp?.lost? as f64)
}

/// Datagrams that arrived after a later one.
#[must_use]
pub fn reordered(interval: &Interval) -> Option<f64> {
    Some(interval.udp?.reordered? as f64)
}

/// The smoothed jitter at its end, s.
#[must_use]
pub fn jitter_s(interval: &Interval) -> Option<f64> {
    Some(interval.udp?.jitter_rfc3550_us? / 1e6)
}

/// The fraction of its datagrams that were lost; `None` where the counts are unknown or zero.
#[must_use]
pub fn loss(interval: &Interval) -> Option<f64> {
    let (lost, arrived) = (lost(interval)?, datagrams(interval)?);
    let sent = lost + arrived;
    (sent > 0.0).then(|| (lost / sent).max(0.0))
}

/// The fraction of the datagrams that arrived which did so after a later one.
#[must_use]
pub fn reordering(interval: &Interval) -> Option<f64> {
    let arrived = datagrams(interval).filter(|arrived| *arrived > 0.0)?;
    Some(reordered(interval)? / arrived)
}
