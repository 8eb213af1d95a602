//! Watches over the legs of a test: intervals, time limits, the end of each.

use super::leg::{Figures, Leg};
use super::{Event, Tell, sends};
use crate::bell::Bell;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long after it was told to end a leg may go on, ns.
const FAREWELL_NS: u64 = 13_000_000_000;

/// What an attendant holds the legs to.
pub(super) struct Watch<'a> {
    pub tell: &'a Tell,
    pub interval: Option<Duration>,
    /// When senders are to stop.
    pub stop_ns: Option<u64>,
    /// When everything is to stop.
    pub end_ns: Option<u64>,
    /// How long nothing may move.
    pub idle: Option<Duration>,
    /// Readable when all is to stop now.
    pub stop: &'a [BorrowedFd<'a>],
}

/// Watches until every leg has ended; what each moved, and why it ended early, if all of it did.
pub(super) fn attend(
    legs: &mut [Leg],
    bell: &mut Bell,
    watch: &Watch<'_>,
) -> (Vec<Figures>, Option<String>) {
    let start = legs
        .iter()
        .map(|leg| leg.start_ns)
        .min()
        .unwrap_or_else(monotonic_ns);
    let interval = watch
        .interval
        .map(|interval| (interval.as_nanos() as u64).max(1_000_000));
    let mut totals = vec![Figures::default(); legs.len()];
    let mut tick = 1;
    let (mut progress, mut progress_at) = (0, monotonic_ns());
    let mut stopped = watch.stop_ns.is_none();
    let mut why = None;
    let mut leave_by = None;
    loop {
        let now = monotonic_ns();
        if let Some(interval) = interval {
            while now >= start + tick * interval {
                for leg in legs.iter_mut().filter(|leg| !leg.over) {
                    // A leg whose payload has all moved has no further intervals, whatever it still waits for.
                    if leg.notes.ended_ns.load(Relaxed) != 0 {
                        continue;
                    }
                    let figures = leg.interval(leg.start_ns.max(start) + tick * interval);
                    (watch.tell)(Event::Interval(Arc::clone(&leg.info), figures));
                }
                tick += 1;
            }
        }
        for (leg, total) in legs.iter_mut().zip(&mut totals) {
            if leg.ended() {
                if watch.interval.is_some()
                    && tick > 1
                    && leg.moved_since()
                    && !sends(leg.info.role)
                {
                    let at = leg.end_ns();
                    let rest = leg.interval(at);
                    (watch.tell)(Event::Interval(Arc::clone(&leg.info), rest));
                }
                *total = leg.total();
                (watch.tell)(Event::Ended(Arc::clone(&leg.info), *total));
            }
        }
        if legs.iter().all(|leg| leg.over) {
            return (totals, why);
        }
        let moved: u64 = legs
            .iter()
            .map(|leg| leg.counters.bytes.load(Relaxed))
            .sum();
        if moved != progress {
            (progress, progress_at) = (moved, now);
        }
        let mut until = now + 1_000_000_000;
        if let Some(interval) = interval {
            until = until.min(start + tick * interval);
        }
        let mut reason = None;
        if let (false, Some(at)) = (stopped, watch.stop_ns) {
            if now >= at {
                stopped = true;
                legs.iter()
                    .filter(|leg| sends(leg.info.role))
                    .for_each(Leg::stop);
            } else {
                until = until.min(at);
            }
        }
        if let Some(at) = watch.end_ns {
            if now >= at {
                reason = Some("its time is over".to_owned());
            } else {
                until = until.min(at);
            }
        }
        if let Some(idle) = watch.idle {
            let at = progress_at + idle.as_nanos() as u64;
            if now >= at {
                reason = Some(format!("nothing was moved for {} s", idle.as_secs()));
            } else {
                until = until.min(at);
            }
        }
        if leave_by.is_some_and(|by| now >= by) {
            return (totals, why);
        }
        if let Some(reason) = reason.take().filter(|_| why.is_none()) {
            why = Some(reason);
            leave_by = Some(now + FAREWELL_NS);
            legs.iter().filter(|leg| !leg.over).for_each(Leg::abort);
        }
        let mut fds = vec![bell.fd()];
        if leave_by.is_none() {
            fds.extend(watch.stop);
        }
        let wait = Duration::from_nanos(until.saturating_sub(monotonic_ns()).max(1));
        match poll_readable(&fds, Some(wait)) {
            Ok(ready) => {
                if ready.iter().skip(1).any(|ready| *ready) {
                    reason = Some("it was stopped from here".to_owned());
                }
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
        let _ = bell.was_rung();
        if let Some(reason) = reason {
            if why.is_none() {
                why = Some(reason);
                leave_by = Some(now + FAREWELL_NS);
            }
            legs.iter().filter(|leg| !leg.over).for_each(Leg::abort);
        }
    }
}
