//! Echoes of a host on the way, all the time that a test takes.

use super::phase_run::PhaseRun;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{ViaHost, ViaPhase};
use caudal_stats::DistributionSummary;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::icmp_echo::EchoRequester;
use caudal_sys::poll::poll_readable;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two requests, ns.
const PERIOD_NS: u64 = 20_000_000;
/// The time that the last replies may take, ns.
const LAST_NS: u64 = 1_000_000_000;
/// Maximum number of requests: more than a day of them.
const MAX_REQUESTS: usize = 5_000_000;
/// Maximum number of replies read before the next request is sent: whatever the host sends, a test ends.
const MAX_READ: u32 = 1024;

/// A host on the way that is to answer echoes.
#[derive(Debug, Clone)]
pub struct ViaTarget {
    /// The host as it was named.
    pub host: String,
    /// Its address.
    pub address: SocketAddr,
}

/// A request.
#[derive(Debug, Clone, Copy)]
struct SentEcho {
    /// Sent, ns of the monotonic clock.
    sent_ns: u64,
    /// The same, ns since 1970.
    stamp_ns: u64,
    rtt_ns: Option<u64>,
}

/// The thread that sends the requests; it ends when dropped.
pub(super) struct ViaProbe {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<SentEcho>>>,
}

impl ViaProbe {
    /// Begins to send requests.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(super) fn start(target: &ViaTarget) -> io::Result<Self> {
        let requester = EchoRequester::open(target.address, std::process::id() as u16)?;
        let stop: Arc<AtomicBool> = Arc::default();
        let thread_stop = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("via".to_owned())
            .spawn(move || send_until(&requester, &thread_stop))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends it: what the host answered in each phase.
    pub(super) fn finish(mut self, target: &ViaTarget, phases: &[PhaseRun]) -> ViaHost {
        let echoes = self.end();
        let mut all: Vec<ViaPhase> = phases
            .iter()
            .map(|phase| of_phase(&echoes, phase))
            .collect();
        let idle = phases
            .iter()
            .position(|phase| phase.plan.load == PhaseLoad::Idle);
        let idle_us = idle.and_then(|nth| Some(all.get(nth)?.rtt_us?.mean));
        for (phase, run) in all.iter_mut().zip(phases) {
            if run.plan.load != PhaseLoad::Idle {
                phase.added_us = idle_us.and_then(|idle| Some(phase.rtt_us?.mean - idle));
            }
        }
        ViaHost {
            host: target.host.clone().into(),
            address: target.address.ip().to_string().into(),
            phases: all,
        }
    }

    fn end(&mut self) -> Vec<SentEcho> {
        self.stop.store(true, Relaxed);
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for ViaProbe {
    fn drop(&mut self) {
        self.end();
    }
}

/// The echoes of the part of a phase that counts.
fn of_phase(echoes: &[SentEcho], phase: &PhaseRun) -> ViaPhase {
    let (ramp, time) = (
        phase.plan.ramp.as_nanos() as u64,
        phase.plan.time.as_nanos() as u64,
    );
    let from_ns = phase.began_ns.saturating_add(ramp);
    let to_ns = phase.began_ns.saturating_add(time);
    let within = echoes
        .iter()
        .filter(|echo| (from_ns..to_ns).contains(&echo.sent_ns));
    let within: Vec<&SentEcho> = within.collect();
    let times = within.iter().filter_map(|echo| echo.rtt_ns);
    let times: Vec<f64> = times.map(|ns| ns as f64 / 1e3).collect();
    ViaPhase {
        sent: within.len() as u64,
        lost: (within.len() - times.len()) as u64,
        rtt_us: DistributionSummary::from_series(&times, 0.95),
        added_us: None,
    }
}

fn send_until(requester: &EchoRequester, stop: &AtomicBool) -> Vec<SentEcho> {
    let mut echoes: Vec<SentEcho> = Vec::new();
    let start_ns = monotonic_ns();
    loop {
        let now_ns = monotonic_ns();
        let nth = echoes.len() as u64;
        let due_ns = start_ns.saturating_add(nth.saturating_mul(PERIOD_NS));
        let is_over = stop.load(Relaxed) || echoes.len() >= MAX_REQUESTS;
        let last_ns = echoes.last().map_or(0, |last| last.sent_ns);
        let is_answered = echoes.last().is_none_or(|last| last.rtt_ns.is_some());
        if is_over && (is_answered || now_ns.saturating_sub(last_ns) > LAST_NS) {
            return echoes;
        }
        if !is_over && now_ns >= due_ns {
            let stamp_ns = realtime_ns();
            // One that the kernel refuses is lost.
            let _ = requester.send(nth as u16, nth.to_be_bytes());
            echoes.push(SentEcho {
                sent_ns: now_ns,
                stamp_ns,
                rtt_ns: None,
            });
        }
        let wait_ns = due_ns.saturating_sub(monotonic_ns()).clamp(1, PERIOD_NS);
        let _ = poll_readable(&[requester.as_fd()], Some(Duration::from_nanos(wait_ns)));
        for _ in 0..MAX_READ {
            let Ok(Some(reply)) = requester.receive() else {
                break;
            };
            let nth = u64::from_be_bytes(reply.content) as usize;
            let Some(echo) = echoes.get_mut(nth).filter(|echo| echo.rtt_ns.is_none()) else {
                continue;
            };
            let by_program_ns = monotonic_ns().saturating_sub(echo.sent_ns);
            let by_kernel_ns = reply
                .arrived_ns
                .and_then(|at| at.checked_sub(echo.stamp_ns));
            // The wall clock may have been set meanwhile.
            let by_kernel_ns = by_kernel_ns.filter(|ns| *ns <= by_program_ns);
            echo.rtt_ns = Some(by_kernel_ns.unwrap_or(by_program_ns));
        }
    }
}
