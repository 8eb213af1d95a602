//! The watch over flows that end by themselves: readings, time limits, and the end of each.

use crate::admission::PlaceActivity;
use crate::client_refusal::ClientRefusal;
use caudal_core::event::{EndedFlow, Event};
use caudal_core::plan::Ticks;
use caudal_core::sample::FlowEnd;
use caudal_flow::{FlowSet, LimitReached};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_wire::message::Refusal;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// The time the flows may take to end once they were aborted, ns.
const ABORT_NS: u64 = 13_000_000_000;
/// Maximum wait.
const MAX_WAIT_NS: u64 = 1_000_000_000;
/// The interval at which the request to quit is looked at, ns.
const QUIT_CHECK_NS: u64 = 50_000_000;

fn as_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// The reason why a test ended before all its flows had ended by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Its time is over.
    #[error("its time is over")]
    TimeOver,
    /// A limit of the server was reached.
    #[error(transparent)]
    Limit(LimitReached),
    /// Nothing was sent or received for so many seconds.
    #[error("nothing was moved for {0} s")]
    Idle(u64),
    /// This end was stopped.
    #[error("it was stopped from here")]
    Stopped,
}

impl From<&StopReason> for ClientRefusal {
    /// The error that stopped a test.
    fn from(reason: &StopReason) -> Self {
        let kind = match reason {
            StopReason::Limit(_) => Refusal::Limit,
            StopReason::Stopped => Refusal::Stopping,
            _ => Refusal::Other,
        };
        Self::new(kind, reason.to_string())
    }
}

/// The flows that are read at each tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledFlows {
    /// All, and at the start as well.
    All,
    /// Those that still carry payload, from tick 1 on.
    Running,
}

/// The limits of running flows.
#[derive(Debug, Clone)]
pub struct FlowLimits<'a> {
    /// The times at which the flows are read, after tick 0.
    pub ticks: Option<Ticks>,
    /// The flows that are read.
    pub sampled: SampledFlows,
    /// The time after the start at which senders stop.
    pub send_time: Option<Duration>,
    /// The time after the start at which everything stops.
    pub total_time: Option<Duration>,
    /// The maximum time without a byte.
    pub idle_timeout: Option<Duration>,
    /// The maximum time without a byte after the first ones, which may come from a forged address.
    pub first_timeout: Option<Duration>,
    /// Readable when the test is to stop.
    pub stop: Vec<BorrowedFd<'a>>,
    /// Set when the test is to stop.
    pub quit: Option<&'a AtomicBool>,
    /// The time flows have to end by themselves when the test is to stop.
    pub stop_grace: Duration,
    /// The activity of the client at the other end, where this end serves it.
    pub activity: Option<&'a PlaceActivity>,
}

impl FlowLimits<'_> {
    /// No limits, and no readings.
    pub const fn none() -> Self {
        Self {
            ticks: None,
            sampled: SampledFlows::Running,
            send_time: None,
            total_time: None,
            idle_timeout: None,
            first_timeout: None,
            stop: Vec::new(),
            quit: None,
            stop_grace: Duration::ZERO,
            activity: None,
        }
    }
}

/// A stop under way.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    reason: StopReason,
    abort_at_ns: u64,
    is_aborted: bool,
}

/// The watch over running flows.
pub struct FlowWatch<'a> {
    limits: FlowLimits<'a>,
    /// The start of the flows, from which ticks count.
    start_ns: u64,
    /// The time from which the limits count.
    began_ns: u64,
    tick: u64,
    progress: u64,
    progress_ns: u64,
    /// `true` until something follows what came first.
    is_first: bool,
    are_senders_stopped: bool,
    stopping: Option<Stopping>,
    ends: Vec<FlowEnd>,
}

impl<'a> FlowWatch<'a> {
    /// The watch over flows that were started.
    pub fn new(limits: FlowLimits<'a>, set: &FlowSet) -> Self {
        Self {
            are_senders_stopped: limits.send_time.is_none(),
            limits,
            start_ns: set.start_ns(),
            began_ns: monotonic_ns(),
            tick: 1,
            progress: 0,
            progress_ns: monotonic_ns(),
            is_first: true,
            stopping: None,
            ends: Vec::new(),
        }
    }

    /// Watches until every flow has ended: the final reports, and the reason why they ended early.
    pub fn run(
        mut self,
        set: &mut FlowSet,
        events: &mut dyn FnMut(Event),
    ) -> (Vec<FlowEnd>, Option<StopReason>) {
        if self.limits.sampled == SampledFlows::All {
            events(Event::Started { repeat: None });
            let samples = set.sample(0).into_iter();
            samples.map(Event::Sampled).for_each(&mut *events);
        }
        loop {
            let now_ns = monotonic_ns();
            self.read(set, now_ns, events);
            for (end, at_ns) in set.take_ended() {
                self.ends.push(end.clone());
                events(Event::FlowEnded(EndedFlow { end, at_ns }));
            }
            let is_over = self.ends.len() == set.len();
            if is_over || self.is_given_up(now_ns) {
                return (self.ends, self.stopping.map(|stopping| stopping.reason));
            }
            if let Some(activity) = self.limits.activity {
                activity.test_moves(set.progress(), PlaceActivity::MIN_BYTES, now_ns);
            }
            if set.progress() != self.progress {
                // The first datagram, from a source that may be forged, is no activity yet.
                if let (Some(activity), true) = (self.limits.activity, self.progress > 0) {
                    activity.is_active();
                }
                self.is_first &= self.progress == 0;
                (self.progress, self.progress_ns) = (set.progress(), now_ns);
            }
            if let Some(reason) = self.limit_reached(set, now_ns) {
                self.stop(set, reason, now_ns);
            }
            self.enforce(set, now_ns);
            self.wait(set);
        }
    }

    /// Reads the flows when that is due.
    fn read(&mut self, set: &FlowSet, now_ns: u64, events: &mut dyn FnMut(Event)) {
        while self.tick_ns().is_some_and(|at_ns| now_ns >= at_ns) {
            let samples = match self.limits.sampled {
                SampledFlows::All => set.sample(self.tick),
                SampledFlows::Running => set.sample_running(self.tick),
            };
            samples
                .into_iter()
                .map(Event::Sampled)
                .for_each(&mut *events);
            self.tick += 1;
        }
    }

    fn tick_ns(&self) -> Option<u64> {
        let at = self.limits.ticks?.at(self.tick)?;
        Some(self.start_ns.saturating_add(as_ns(at)))
    }

    fn limit_ns(&self, time: Option<Duration>) -> Option<u64> {
        time.map(|time| self.began_ns.saturating_add(as_ns(time)))
    }

    /// The maximum time without a byte now.
    fn timeout(&self) -> Option<Duration> {
        let first = self.limits.first_timeout.filter(|_| self.is_first);
        let timeouts = [self.limits.idle_timeout, first];
        timeouts.into_iter().flatten().min()
    }

    fn idle_at_ns(&self) -> Option<u64> {
        Some(self.progress_ns.saturating_add(as_ns(self.timeout()?)))
    }

    fn limit_reached(&self, set: &FlowSet, now_ns: u64) -> Option<StopReason> {
        if let Some(reached) = set.limit_reached(now_ns) {
            return Some(StopReason::Limit(reached));
        }
        let has_passed = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| now_ns >= at_ns);
        if has_passed(self.limit_ns(self.limits.total_time)) {
            Some(StopReason::TimeOver)
        } else if has_passed(self.idle_at_ns()) {
            let timeout = self.timeout().unwrap_or_default();
            Some(StopReason::Idle(timeout.as_secs()))
        } else if self.limits.quit.is_some_and(|quit| quit.load(Relaxed)) {
            Some(StopReason::Stopped)
        } else {
            None
        }
    }

    /// Stops all flows, those of a test that is stopped from here with some time to end by themselves.
    fn stop(&mut self, set: &FlowSet, reason: StopReason, now_ns: u64) {
        let has_grace = reason == StopReason::Stopped && !self.limits.stop_grace.is_zero();
        let abort_at_ns = match self.stopping {
            Some(stopping) if has_grace => stopping.abort_at_ns,
            Some(stopping) => stopping.abort_at_ns.min(now_ns),
            None if has_grace => {
                set.stop_senders();
                set.stop_receivers();
                now_ns + as_ns(self.limits.stop_grace)
            }
            None => now_ns,
        };
        self.stopping = Some(Stopping {
            reason: self.stopping.map_or(reason, |before| before.reason),
            abort_at_ns,
            is_aborted: self.stopping.is_some_and(|before| before.is_aborted),
        });
    }

    /// Does what is due to the flows: their senders stop, or all are aborted.
    fn enforce(&mut self, set: &FlowSet, now_ns: u64) {
        if !self.are_senders_stopped
            && self
                .limit_ns(self.limits.send_time)
                .is_some_and(|at_ns| now_ns >= at_ns)
        {
            self.are_senders_stopped = true;
            set.stop_senders();
        }
        if let Some(stopping) = &mut self.stopping
            && !stopping.is_aborted
            && now_ns >= stopping.abort_at_ns
        {
            stopping.is_aborted = true;
            set.stop_all();
        }
    }

    /// `true` when the flows have not ended though they were aborted.
    fn is_given_up(&self, now_ns: u64) -> bool {
        self.stopping
            .is_some_and(|stopping| now_ns >= stopping.abort_at_ns + ABORT_NS)
    }

    /// Waits until a flow has ended, the test is to stop, or something is due.
    fn wait(&mut self, set: &FlowSet) {
        let now_ns = monotonic_ns();
        let max_ns = match self.limits.quit {
            Some(_) => QUIT_CHECK_NS,
            None => MAX_WAIT_NS,
        };
        let until_ns = match self.stopping {
            Some(stopping) if !stopping.is_aborted => Some(stopping.abort_at_ns),
            Some(_) => None,
            None => {
                let senders_ns = self
                    .limit_ns(self.limits.send_time)
                    .filter(|_| !self.are_senders_stopped);
                let total_ns = self.limit_ns(self.limits.total_time);
                [senders_ns, total_ns, set.limit_due_ns(), self.idle_at_ns()]
                    .into_iter()
                    .flatten()
                    .min()
            }
        };
        let due_ns = [until_ns, self.tick_ns()].into_iter().flatten().min();
        let until_ns = due_ns.map_or(now_ns + max_ns, |due_ns| due_ns.min(now_ns + max_ns));
        let mut fds = vec![set.ended_fd()];
        if self.stopping.is_none() {
            fds.extend(&self.limits.stop);
        }
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns).max(1));
        match poll_readable(&fds, Some(left)) {
            Ok(ready) if ready.iter().skip(1).any(|ready| *ready) => {
                self.stop(set, StopReason::Stopped, monotonic_ns());
            }
            Err(cause) if cause.kind() != io::ErrorKind::Interrupted => {
                thread::sleep(Duration::from_millis(10));
            }
            _ => {}
        }
        set.reset_ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_kind_of_the_reason_that_stopped_a_test() {
        let limit = StopReason::Limit(LimitReached::Time);
        assert_eq!(ClientRefusal::from(&limit).kind, Refusal::Limit);
        let idle = ClientRefusal::from(&StopReason::Idle(2));
        assert_eq!(
            (idle.kind, idle.message.as_received()),
            (Refusal::Other, "nothing was moved for 2 s")
        );
    }
}
