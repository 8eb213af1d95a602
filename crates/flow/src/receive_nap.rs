//! Sleeping between receives of fast datagrams, in place of waiting in the socket.
//!
//! A receiver that waits in its socket is woken by whoever delivers the next message: a sender over loopback, or the interrupt of a network
//! card. Where messages come faster than that takes, the receiver takes what there is without waiting, sleeps for a moment, and nobody has
//! to wake it. The kernel's timestamps tell when each message arrived.

use std::time::Duration;

/// The longest nap, ns.
const MAX_NAP_NS: u64 = 50_000;
/// The shortest nap that is worth its timer, ns.
const MIN_NAP_NS: u64 = 10_000;
/// Maximum mean time between two messages for naps, ns: two or more arrive in one.
const MAX_INTERVAL_NS: u64 = 25_000;
/// The period over which arrivals are counted, ns.
const PERIOD_NS: u64 = 1_000_000;
/// The part of the socket's buffer that arrivals may fill during a nap is one in this many. The kernel counts a message of few bytes at
/// several times its length, and a timer may be late.
const BUFFER_DIVISOR: u64 = 16;

/// The decision whether a receiver naps.
#[derive(Debug)]
pub(crate) struct ReceiveNap {
    max_bytes: u64,
    since_ns: u64,
    messages: u64,
    bytes: u64,
    has_times: bool,
    nap_ns: Option<u64>,
    is_empty: bool,
}

impl ReceiveNap {
    /// No naps yet, with a socket buffer of `buffer_bytes`, as the kernel counts them.
    pub(crate) const fn new(now_ns: u64, buffer_bytes: u64) -> Self {
        Self {
            max_bytes: buffer_bytes / BUFFER_DIVISOR,
            since_ns: now_ns,
            messages: 0,
            bytes: 0,
            has_times: true,
            nap_ns: None,
            is_empty: false,
        }
    }

    /// `true` while the receiver takes what there is without waiting.
    pub(crate) const fn is_on(&self) -> bool {
        self.nap_ns.is_some()
    }

    /// Counts a message of this many bytes; `has_time` when the kernel told when it arrived, without which there are no naps.
    pub(crate) const fn add(&mut self, bytes: usize, has_time: bool) {
        self.messages += 1;
        self.bytes += bytes as u64;
        self.has_times &= has_time;
    }

    /// Decides anew after a receive at `now_ns`.
    pub(crate) fn received(&mut self, now_ns: u64) {
        self.is_empty = false;
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        if elapsed_ns < PERIOD_NS {
            return;
        }
        let is_fast = self.messages.saturating_mul(MAX_INTERVAL_NS) >= elapsed_ns;
        let fits_ns = self
            .max_bytes
            .saturating_mul(elapsed_ns)
            .checked_div(self.bytes)
            .unwrap_or(0);
        let nap_ns = fits_ns.min(MAX_NAP_NS);
        self.nap_ns = (is_fast && self.has_times && nap_ns >= MIN_NAP_NS).then_some(nap_ns);
        (self.since_ns, self.messages, self.bytes) = (now_ns, 0, 0);
    }

    /// The nap to take where nothing has arrived; `None` where the receiver is to wait in the socket: nothing came during the last nap.
    pub(crate) fn nap(&mut self) -> Option<Duration> {
        if std::mem::replace(&mut self.is_empty, true) {
            self.nap_ns = None;
        }
        self.nap_ns.map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives this many messages of `bytes` bytes a millisecond for 5 ms.
    fn after(messages: u64, bytes: usize, buffer_bytes: u64, has_time: bool) -> ReceiveNap {
        let mut nap = ReceiveNap::new(0, buffer_bytes);
        for ms in 1..=5 {
            for _ in 0..messages {
                nap.add(bytes, has_time);
            }
            nap.received(ms * 1_000_000);
        }
        nap
    }

    #[test]
    fn fast_messages_are_napped_for_as_long_as_the_buffer_has_room() {
        const MB: u64 = 1 << 20;
        let mut fast = after(200, 1448, 8 * MB, true);
        assert!(fast.is_on());
        assert_eq!(fast.nap(), Some(Duration::from_micros(50)));
        // 200 kB arrive in a millisecond, and 13 kB have room.
        let nap = after(200, 1000, 212_992, true).nap();
        assert_eq!(nap, Some(Duration::from_nanos(50_000)));
        let nap = after(200, 4000, 212_992, true)
            .nap()
            .map(|nap| nap.as_micros());
        assert_eq!(nap, Some(16));
        assert_eq!(after(200, 40_000, 212_992, true).nap(), None);
        assert_eq!(after(20, 1448, 8 * MB, true).nap(), None);
        assert_eq!(after(200, 1448, 8 * MB, false).nap(), None);
    }

    #[test]
    fn a_nap_without_arrivals_is_the_last() {
        let mut nap = after(200, 1448, 8 << 20, true);
        assert!(nap.nap().is_some());
        nap.add(1448, true);
        nap.received(5_100_000);
        assert!(nap.nap().is_some());
        assert_eq!(nap.nap(), None);
        assert!(!nap.is_on());
    }
}
