//! Waking a fast TCP receiver less often.

use caudal_sys::{tcp, udp};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The number of bytes at which the kernel wakes a receiver (SO_RCVLOWAT): a fast one with a quarter of a megabyte to read
/// rather than with every segment, which saves both ends many wakeups (on loopback a third more goodput with cubic,
/// half more with bbr).
///
/// At 2 Gbit/s and more that much arrives within 1 ms; a timeout of 10 ms limits how long a sudden stop of the flow can
/// leave data unread. A receiver that discards gains nothing and is woken by every segment.
#[derive(Debug)]
pub(super) struct WakeupThreshold {
    is_allowed: bool,
    is_raised: bool,
    since_ns: u64,
    received: u64,
}

impl WakeupThreshold {
    const FAST_BYTES_PER_S: f64 = 2e9 / 8.0;
    const THRESHOLD: u32 = 256 << 10;
    const CHECK_NS: u64 = 10_000_000;
    const READ_TIMEOUT: Duration = Duration::from_millis(10);

    pub(super) const fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            is_raised: false,
            since_ns: 0,
            received: 0,
        }
    }

    pub(super) fn adapt(&mut self, socket: BorrowedFd<'_>, now_ns: u64, received: u64) {
        if !self.is_allowed || now_ns < self.since_ns + Self::CHECK_NS {
            return;
        }
        let elapsed_s = (now_ns - self.since_ns) as f64 / 1e9;
        let is_fast = (received - self.received) as f64 / elapsed_s >= Self::FAST_BYTES_PER_S;
        let is_first = self.since_ns == 0;
        (self.since_ns, self.received) = (now_ns, received);
        if is_fast != self.is_raised && !is_first {
            let (bytes, timeout) = if is_fast {
                (Self::THRESHOLD, Some(Self::READ_TIMEOUT))
            } else {
                (1, None)
            };
            // A kernel that does not support it is read as before.
            let set = udp::set_receive_timeout(socket, timeout)
                .and_then(|()| tcp::set_receive_low_water(socket, bytes));
            self.is_raised = is_fast;
            self.is_allowed = set.is_ok();
        }
    }
}
