//! The flags between the threads of one end of trains and those that control them.

use std::sync::atomic::{
    AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The flags of one end.
#[derive(Debug, Default)]
pub(super) struct TrainSignals {
    /// Ends sending.
    stop_sending: AtomicBool,
    /// Ends receiving.
    stop_receiving: AtomicBool,
    sending_over: AtomicBool,
    receiving_over: AtomicBool,
    /// Datagrams that this end has sent.
    sent: AtomicU64,
    /// Datagrams that this end has received.
    received: AtomicU64,
    /// Datagrams that the other end has sent in total, plus one; 0 while that is not known.
    expected_plus_one: AtomicU64,
}

impl TrainSignals {
    /// Ends this end's sending.
    pub(super) fn stop_sending(&self) {
        self.stop_sending.store(true, Relaxed);
    }

    /// Ends this end's receiving.
    pub(super) fn stop_receiving(&self) {
        self.stop_receiving.store(true, Relaxed);
    }

    pub(super) fn is_sending_stopped(&self) -> bool {
        self.stop_sending.load(Relaxed)
    }

    pub(super) fn is_receiving_stopped(&self) -> bool {
        self.stop_receiving.load(Relaxed)
    }

    pub(super) fn sending_is_over(&self) {
        self.sending_over.store(true, Release);
    }

    pub(super) fn receiving_is_over(&self) {
        self.receiving_over.store(true, Release);
    }

    pub(super) fn is_sending_over(&self) -> bool {
        self.sending_over.load(Acquire)
    }

    pub(super) fn is_receiving_over(&self) -> bool {
        self.receiving_over.load(Acquire)
    }

    pub(super) fn set_sent(&self, datagrams: u64) {
        self.sent.store(datagrams, Relaxed);
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    pub(super) fn set_received(&self, datagrams: u64) {
        self.received.store(datagrams, Relaxed);
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Tells the receiver how many datagrams the other end has sent in total.
    pub(super) fn expect(&self, datagrams: u64) {
        self.expected_plus_one
            .store(datagrams.saturating_add(1), Relaxed);
    }

    /// The datagrams that the other end has sent in total, once that is known.
    pub(super) fn expected(&self) -> Option<u64> {
        self.expected_plus_one.load(Relaxed).checked_sub(1)
    }
}
