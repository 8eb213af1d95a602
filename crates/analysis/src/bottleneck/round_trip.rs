//! The round-trip times of a connection as evidence.

use caudal_core::sample::TcpSnapshot;

/// The minimum round-trip time, s.
pub(super) fn min_rtt_s(last: &TcpSnapshot) -> f64 {
    f64::from(last.min_rtt_us.unwrap_or(last.rtt_us)) / 1e6
}

/// A round-trip time in s beside the minimum, as text.
pub(super) fn round_trips(rtt_s: f64, last: &TcpSnapshot) -> String {
    format!(
        "rtt {:.2} ms (min {:.2} ms)",
        rtt_s * 1e3,
        min_rtt_s(last) * 1e3
    )
}
