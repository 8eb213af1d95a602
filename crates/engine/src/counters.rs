//! The counters a flow's thread writes and everybody else reads.

use caudal_core::sample::{ReceiverCounters, SenderCounters};
use caudal_sys::clock::CpuClock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// One end of one flow, counted by its own thread. Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct FlowCounters {
    /// Payload bytes.
    pub bytes: AtomicU64,
    /// Datagrams.
    pub datagrams: AtomicU64,
    /// System calls.
    pub calls: AtomicU64,
    /// Datagrams the kernel refused to send.
    pub send_errors: AtomicU64,
    /// Time waited for credit, ns.
    pub credit_wait_ns: AtomicU64,
    /// Duplicate datagrams.
    pub duplicate: AtomicU64,
    /// Reordered datagrams.
    pub reordered: AtomicU64,
    /// Late datagrams.
    pub late: AtomicU64,
    /// Corrupt datagrams.
    pub corrupt: AtomicU64,
    /// Datagrams missing so far.
    pub lost: AtomicU64,
    /// RFC 3550 jitter, ns.
    pub jitter_ns: AtomicU64,
    /// Monotonic time of the first payload, ns; 0 before.
    pub first_ns: AtomicU64,
    /// Monotonic time of the latest payload, ns.
    pub last_ns: AtomicU64,
    cpu: OnceLock<CpuClock>,
    cpu_last_ns: AtomicU64,
    cpu_wait_last_ns: AtomicU64,
}

impl FlowCounters {
    /// To be called by the thread that carries the flow, once.
    pub fn claim(&self) {
        let _ = self.cpu.set(CpuClock::of_this_thread());
    }

    /// To be called by the thread that carries the flow when it is about to end.
    pub fn release(&self) {
        self.cpu_ns();
        self.cpu_wait_ns();
    }

    fn cpu_wait_ns(&self) -> u64 {
        match self.cpu.get().and_then(|clock| clock.waited()) {
            Some(time) => {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                self.cpu_wait_last_ns.fetch_max(time, Relaxed).max(time)
            }
            None => self.cpu_wait_last_ns.load(Relaxed),
        }
    }

    fn cpu_ns(&self) -> u64 {
        match self.cpu.get().and_then(|clock| clock.read()) {
            Some(time) => {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                self.cpu_last_ns.fetch_max(time, Relaxed).max(time)
            }
            None => self.cpu_last_ns.load(Relaxed),
        }
    }

    /// What a sender has done so far.
    pub fn sender(&self) -> SenderCounters {
        SenderCounters {
            bytes: self.bytes.load(Relaxed),
            datagrams: self.datagrams.load(Relaxed),
            send_errors: self.send_errors.load(Relaxed),
            calls: self.calls.load(Relaxed),
            cpu_ns: self.cpu_ns(),
            cpu_wait_ns: self.cpu_wait_ns(),
            credit_wait_ns: self.credit_wait_ns.load(Relaxed),
            tcp: None,
        }
    }

    /// What a receiver has seen so far; times count from `start_ns`.
    pub fn receiver(&self, start_ns: u64) -> ReceiverCounters {
        let after_start = |at: &AtomicU64| at.load(Relaxed).saturating_sub(start_ns);
        ReceiverCounters {
            bytes: self.bytes.load(Relaxed),
            datagrams: self.datagrams.load(Relaxed),
            duplicate: self.duplicate.load(Relaxed),
            reordered: self.reordered.load(Relaxed),
            late: self.late.load(Relaxed),
            corrupt: self.corrupt.load(Relaxed),
            lost: self.lost.load(Relaxed),
            socket_drops: 0,
            jitter_rfc3550_ns: self.jitter_ns.load(Relaxed),
            calls: self.calls.load(Relaxed),
            cpu_ns: self.cpu_ns(),
            cpu_wait_ns: self.cpu_wait_ns(),
            first_ns: after_start(&self.first_ns),
            last_ns: after_start(&self.last_ns),
        }
    }
}

/// What others may tell a flow's thread, and what it tells them.
#[derive(Debug, Default)]
pub struct Orders {
    /// The flow is to end now.
    pub stop: AtomicBool,
    /// The flow's thread has counted its last.
    pub over: AtomicBool,
    /// Datagrams the other end has sent in all, plus one; 0 while that is unknown.
    pub expected_plus_one: AtomicU64,
}

impl Orders {
    /// Whether the flow is to end now.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// How many datagrams the other end has sent in all, once it has said so.
    pub fn expected(&self) -> Option<u64> {
        self.expected_plus_one.load(Relaxed).checked_sub(1)
    }
}
