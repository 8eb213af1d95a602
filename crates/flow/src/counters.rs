//! The counters a flow's thread writes and other threads read.

use super::out_of_order::OutOfOrderBytes;
use super::transit::TransitCounters;
use caudal_core::readings::{ReceiverReadings, SenderReadings};
use caudal_core::sample::{ReceiverCounters, SenderCounters};
use caudal_core::tcp_trace::TcpTrace;
use caudal_sys::clock::CpuClock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The counters of one end of one flow, written by its own thread, on cache lines of their own.
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
    /// Of these, those that a firewall of this host refused.
    pub send_forbidden: AtomicU64,
    /// Time waited for the receiver's credit, ns.
    pub(crate) credit_wait_ns: AtomicU64,
    /// Time waited for the source of the payload, ns.
    pub(crate) source_wait_ns: AtomicU64,
    /// Time waited for the schedule of a rate, ns.
    pub(crate) pace_wait_ns: AtomicU64,
    /// Duplicate datagrams.
    pub(crate) duplicate: AtomicU64,
    /// Reordered datagrams.
    pub(crate) reordered: AtomicU64,
    /// Late datagrams.
    pub(crate) late: AtomicU64,
    /// Damaged datagrams.
    pub(crate) corrupt: AtomicU64,
    /// Datagrams missing so far.
    pub(crate) lost: AtomicU64,
    /// Datagrams marked CE.
    pub(crate) ce: AtomicU64,
    /// RFC 3550 jitter, ns.
    pub(crate) jitter_ns: AtomicU64,
    /// Monotonic time of the first payload, ns; 0 before.
    pub first_ns: AtomicU64,
    /// Monotonic time of the latest payload, ns.
    pub last_ns: AtomicU64,
    /// Monotonic time at which the flow's last payload was sent or received and no more was expected, ns; 0 before.
    ended_ns: AtomicU64,
    /// Reads by the part of the buffer that they filled, in eighths, where they are counted.
    pub(crate) read_sizes: OnceLock<[AtomicU64; 8]>,
    /// One-way transit times, where datagrams carry the sender's wall clock.
    pub transit: TransitCounters,
    /// The states in which the connection was found, which the flow's thread does not touch.
    readings: Mutex<ConnectionReadings>,
    cpu: OnceLock<CpuClock>,
    cpu_last_ns: AtomicU64,
    cpu_wait_last_ns: AtomicU64,
}

/// The states in which a connection was found; only those of its role are counted.
#[derive(Debug, Default)]
pub(super) struct ConnectionReadings {
    pub(super) sender: Option<SenderReadings>,
    pub(super) trace: Option<TcpTrace>,
    pub(super) receiver: Option<ReceiverReadings>,
    pub(super) out_of_order: OutOfOrderBytes,
}

impl FlowCounters {
    /// Changes or reads the states in which the connection was found; never called by the flow's thread.
    pub(super) fn with_readings<T>(&self, of: impl FnOnce(&mut ConnectionReadings) -> T) -> T {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        of(&mut readings)
    }

    /// Attaches the calling thread's CPU clock; to be called once by the flow's own thread.
    pub fn attach_thread(&self) {
        let _ = self.cpu.set(CpuClock::of_this_thread());
    }

    /// Reads the CPU clock of the flow's thread for the last time; to be called by that thread before it ends.
    pub fn detach_thread(&self) {
        self.cpu_ns();
        self.cpu_wait_ns();
    }

    /// Sets the end of the flow, ns of the monotonic clock; the first time counts.
    pub fn set_ended(&self, now_ns: u64) {
        let _ = self.ended_ns.compare_exchange(0, now_ns, Relaxed, Relaxed);
    }

    /// The end of the flow, ns of the monotonic clock; `None` while it runs.
    pub(crate) fn ended_ns(&self) -> Option<u64> {
        Some(self.ended_ns.load(Relaxed)).filter(|at| *at != 0)
    }

    /// `true` when the flow's thread runs or waits for a processor now.
    pub(super) fn is_runnable(&self) -> bool {
        self.cpu
            .get()
            .is_some_and(|clock| clock.is_runnable() == Some(true))
    }

    fn cpu_ns(&self) -> u64 {
        let time = self.cpu.get().and_then(|clock| clock.read());
        latest(time, &self.cpu_last_ns)
    }

    fn cpu_wait_ns(&self) -> u64 {
        let time = self.cpu.get().and_then(|clock| clock.waited());
        latest(time, &self.cpu_wait_last_ns)
    }

    /// The counters of a sender.
    pub(crate) fn sender(&self) -> SenderCounters {
        SenderCounters {
            bytes: self.bytes.load(Relaxed),
            datagrams: self.datagrams.load(Relaxed),
            send_errors: self.send_errors.load(Relaxed),
            send_forbidden: self.send_forbidden.load(Relaxed),
            calls: self.calls.load(Relaxed),
            cpu_ns: self.cpu_ns(),
            cpu_wait_ns: self.cpu_wait_ns(),
            credit_wait_ns: self.credit_wait_ns.load(Relaxed),
            source_wait_ns: self.source_wait_ns.load(Relaxed),
            pace_wait_ns: self.pace_wait_ns.load(Relaxed),
            readings: self.with_readings(|readings| readings.sender),
            tcp: None,
        }
    }

    /// The counters of a receiver; times count from `start_ns`.
    pub fn receiver(&self, start_ns: u64) -> ReceiverCounters {
        let after_start = |at: &AtomicU64| at.load(Relaxed).saturating_sub(start_ns);
        let read_sizes = self.read_sizes.get();
        ReceiverCounters {
            bytes: self.bytes.load(Relaxed),
            waiting_bytes: 0,
            datagrams: self.datagrams.load(Relaxed),
            duplicate: self.duplicate.load(Relaxed),
            reordered: self.reordered.load(Relaxed),
            late: self.late.load(Relaxed),
            corrupt: self.corrupt.load(Relaxed),
            lost: self.lost.load(Relaxed),
            socket_drops: 0,
            ce: self.ce.load(Relaxed),
            jitter_rfc3550_ns: self.jitter_ns.load(Relaxed),
            calls: self.calls.load(Relaxed),
            cpu_ns: self.cpu_ns(),
            cpu_wait_ns: self.cpu_wait_ns(),
            first_ns: after_start(&self.first_ns),
            last_ns: after_start(&self.last_ns),
            read_sizes: read_sizes.map(|sizes| std::array::from_fn(|nth| sizes[nth].load(Relaxed))),
            readings: self.with_readings(|readings| readings.receiver),
            transit: self.transit.read(),
        }
    }
}

/// The latest value of a clock that cannot be read any more once its thread has ended.
fn latest(time: Option<Duration>, last_ns: &AtomicU64) -> u64 {
    match time {
        Some(time) => {
            let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            last_ns.fetch_max(time_ns, Relaxed).max(time_ns)
        }
        None => last_ns.load(Relaxed),
    }
}
