//! Attempts as they are made: the threads that make them, and what they add up to.

use super::attempt::AttemptSettings;
use super::openers::Openers;
use caudal_analysis::connect::{ConnectConditions, ConnectEnds, ConnectTally};
use caudal_core::event::Event;
use caudal_core::plan::ConnectPlan;
use caudal_core::text::ExternalText;
use caudal_flow::RunError;
use caudal_sys::affinity::available_cpus;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::host::{local_port_count, time_wait_sockets};
use std::time::Duration;

/// The interval at which attempts that have ended are added up, ns.
const TAKE_NS: u64 = 50_000_000;

/// Attempts as they are made, and what they add up to.
pub(super) struct OpeningRun {
    openers: Option<Openers>,
    tally: ConnectTally,
    start_ns: u64,
    /// The planned end, ns of the monotonic clock.
    end_ns: u64,
    interval_ns: u64,
    /// The end of the current interval, ns after the start.
    interval_end_ns: u64,
    /// The end of the last attempt, ns after the start.
    last_ns: u64,
    /// The end of the test, ns after the start; 0 before.
    over_ns: u64,
    last_failure: Option<ExternalText>,
}

impl OpeningRun {
    /// Begins to open connections now.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start(
        plan: &ConnectPlan,
        settings: AttemptSettings,
        cpu: impl Fn(usize) -> Option<usize>,
    ) -> Result<Self, RunError> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let start_ns = monotonic_ns();
        Ok(Self {
            openers: Some(Openers::spawn(plan, settings, start_ns, cpu)?),
            tally: ConnectTally::new(plan.time, plan.period),
            start_ns,
            end_ns: start_ns.saturating_add(ns(plan.time)),
            interval_ns: ns(plan.interval).max(1),
            interval_end_ns: ns(plan.interval).max(1),
            last_ns: 0,
            over_ns: 0,
            last_failure: None,
        })
    }

    /// The time at which [`Self::advance`] is to be called, ns of the monotonic clock; `None` when it is over.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let now_ns = monotonic_ns();
        // After the end the threads are looked at until all have ended.
        let end_ns = self.end_ns.max(now_ns + 1_000_000);
        self.openers.as_ref().map(|_| end_ns.min(now_ns + TAKE_NS))
    }

    /// Adds up what has ended by `now_ns` of the monotonic clock, with an event for each interval that is over.
    pub(super) fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        let Some(openers) = &self.openers else {
            return;
        };
        if now_ns >= self.end_ns {
            openers.stop();
        }
        // Read before the attempts are taken: none ends after that.
        let is_over = openers.is_over();
        let ended = openers.take_ended();
        self.last_failure = openers.last_failure();
        for attempt in &ended {
            while attempt.end_ns >= self.interval_end_ns && self.interval_end_ns < self.planned_ns()
            {
                self.close_interval(self.interval_end_ns, events);
            }
            self.last_ns = self.last_ns.max(attempt.end_ns);
            self.tally.add(attempt);
        }
        let elapsed_ns = now_ns.saturating_sub(self.start_ns);
        while elapsed_ns >= self.interval_end_ns + TAKE_NS
            && self.interval_end_ns < self.planned_ns()
        {
            self.close_interval(self.interval_end_ns, events);
        }
        if is_over {
            self.end(elapsed_ns, events);
        }
    }

    /// The planned duration, ns.
    const fn planned_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    fn close_interval(&mut self, end_ns: u64, events: &mut dyn FnMut(Event)) {
        let interval = self.tally.close_interval(end_ns as f64 / 1e9);
        events(Event::Connections { interval });
        self.interval_end_ns = end_ns.saturating_add(self.interval_ns);
    }

    /// Ends the test, with what has happened of the last interval.
    fn end(&mut self, elapsed_ns: u64, events: &mut dyn FnMut(Event)) {
        self.openers = None;
        // A test that was ended by its number ended with its last connection.
        let planned_ns = self.planned_ns();
        self.over_ns = if elapsed_ns >= planned_ns {
            planned_ns.max(self.last_ns)
        } else {
            self.last_ns.max(1)
        };
        let began_ns = self.interval_end_ns - self.interval_ns;
        if self.over_ns > began_ns {
            self.close_interval(self.over_ns, events);
        }
    }

    /// Ends the attempts; those that are being made are given up.
    pub(super) fn stop(&self) {
        if let Some(openers) = &self.openers {
            openers.stop();
        }
    }

    /// `true` when all attempts have ended.
    pub(super) const fn is_over(&self) -> bool {
        self.openers.is_none()
    }

    /// The time at which the last attempt ended that reached the server, ns of the monotonic clock.
    pub(super) fn heard_ns(&self) -> u64 {
        self.start_ns + self.last_ns
    }

    /// What the attempts add up to, the duration, and the text of the last failure that has one.
    pub(super) fn finish(mut self) -> (ConnectTally, Duration, Option<ExternalText>) {
        self.stop();
        if let Some(openers) = self.openers.take() {
            for attempt in openers.take_ended() {
                self.last_ns = self.last_ns.max(attempt.end_ns);
                self.tally.add(&attempt);
            }
            drop(openers);
            self.end(monotonic_ns().saturating_sub(self.start_ns), &mut |_| {});
        }
        let elapsed = Duration::from_nanos(self.over_ns);
        (self.tally, elapsed, self.last_failure)
    }
}

/// The conditions at this end after a test.
pub(super) fn conditions(plan: &ConnectPlan) -> ConnectConditions {
    ConnectConditions {
        parallel: plan.parallel,
        round_trips: plan.round_trips(),
        scheduled_per_s: plan.scheduled_per_s(),
        client_cpus: available_cpus().len() as u32,
        timeout_s: plan.timeout.as_secs_f64(),
        ends: ConnectEnds::Apart,
        local_ports: local_port_count(),
        time_wait: time_wait_sockets(),
    }
}
