//! What an end of a transfer over TLS or QUIC counted.

use super::content_source::ContentCounts;
use super::failure::TransferFailure;
use super::in_band_end::EndTimes;
use caudal_core::transfer::TransferEnd;
use caudal_sys::clock::{CpuClock, monotonic_ns};
use std::time::Duration;

/// What an end of a transfer over TLS or QUIC counted; times in ns of the monotonic clock, 0 before they have come.
#[derive(Debug)]
pub(crate) struct SecureAccount {
    /// The beginning of the transfer's clock.
    began_ns: u64,
    handshake_ns: u64,
    pub(crate) counts: ContentCounts,
    pub(crate) times: EndTimes,
    /// The time at which the content was on the disk.
    pub(crate) synced_ns: Option<u64>,
    /// The CPU time that storing took on a thread of its own.
    pub(crate) store_cpu_ns: u64,
    /// The digest of the whole content, as far as it is known.
    pub(crate) digest: Option<[u8; 32]>,
    cpu: CpuClock,
    cpu_began: Duration,
}

impl SecureAccount {
    /// The account of an end that begins now.
    pub(crate) fn begin() -> Self {
        let cpu = CpuClock::of_this_thread();
        Self {
            began_ns: monotonic_ns(),
            handshake_ns: 0,
            counts: ContentCounts::default(),
            times: EndTimes::default(),
            synced_ns: None,
            store_cpu_ns: 0,
            digest: None,
            cpu,
            cpu_began: cpu.read().unwrap_or_default(),
        }
    }

    /// The first byte of the handshake was sent or received at `at_ns`; connecting before it took `connect_time`.
    pub(crate) fn set_began(&mut self, at_ns: u64, connect_time: Option<Duration>) {
        let connecting = connect_time.map_or(0, |time| time.as_nanos() as u64);
        self.began_ns = at_ns.saturating_sub(connecting);
    }

    /// The handshake is complete.
    pub(crate) fn set_handshake(&mut self) {
        self.handshake_ns = monotonic_ns();
    }

    /// A time of the monotonic clock, ns after the beginning; `None` for a time that has not come.
    pub(crate) fn since_known(&self, ns: u64) -> Option<u64> {
        (ns > 0).then(|| ns.saturating_sub(self.began_ns))
    }

    /// The account of an end as documents carry it, without what only a sender or a receiver counts.
    pub(crate) fn to_end(&self, result: &Result<(), TransferFailure>) -> TransferEnd {
        let since = |ns: u64| self.since_known(ns).unwrap_or(0);
        let cpu = self.cpu.read().unwrap_or_default();
        TransferEnd {
            bytes: self.counts.bytes,
            calls: self.counts.calls,
            handshake_ns: since(self.handshake_ns),
            first_byte_ns: since(self.counts.first_byte_ns),
            last_byte_ns: since(self.counts.last_byte_ns),
            verified_ns: self.since_known(self.times.verified_ns),
            cpu_ns: cpu.saturating_sub(self.cpu_began).as_nanos() as u64 + self.store_cpu_ns,
            digest: self.digest.filter(|_| result.is_ok()).map(hex::encode),
            failure: result
                .as_ref()
                .err()
                .map(|failure| failure.to_string().into()),
            ..TransferEnd::default()
        }
    }

    /// The account of a receiver.
    pub(crate) fn to_receiver(&self, result: &Result<(), TransferFailure>) -> TransferEnd {
        TransferEnd {
            written_ns: self.since_known(self.times.written_ns),
            synced_ns: self.synced_ns.and_then(|ns| self.since_known(ns)),
            ..self.to_end(result)
        }
    }

    /// The account of a sender.
    pub(crate) fn to_sender(&self, result: &Result<(), TransferFailure>) -> TransferEnd {
        TransferEnd {
            acknowledged_ns: self.since_known(self.times.written_ns),
            ..self.to_end(result)
        }
    }
}
