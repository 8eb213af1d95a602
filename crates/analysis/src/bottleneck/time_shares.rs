//! The kernel's account of the time of a TCP connection.

use caudal_core::sample::TcpSnapshot;

/// The shares of a time that the kernel's account of a connection gives; `None` where it has none.
pub(super) struct TimeShares {
    /// With data outstanding.
    pub(super) busy: Option<f64>,
    /// Limited by the receiver's window.
    pub(super) receiver_window: Option<f64>,
    /// Limited by the send buffer.
    pub(super) send_buffer: Option<f64>,
}

impl TimeShares {
    pub(super) fn between(first: &TcpSnapshot, last: &TcpSnapshot, elapsed_us: f64) -> Self {
        let share = |then: Option<u64>, now: Option<u64>| {
            Some((now?.saturating_sub(then?) as f64 / elapsed_us).min(1.0))
        };
        Self {
            busy: share(first.busy_us, last.busy_us),
            receiver_window: share(
                first.receiver_window_limited_us,
                last.receiver_window_limited_us,
            ),
            send_buffer: share(first.send_buffer_limited_us, last.send_buffer_limited_us),
        }
    }
}
