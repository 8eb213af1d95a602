//! What is looked at while a trial lasts.

use std::time::Duration;

use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::process;
use caudal_sys::signal::Interrupt;

use super::ground::Ground;
use super::running::Running;
use super::samples::{MOST_SAMPLES, Samples};
use super::{Carried, Stage, Trouble, nanos};

/// How long flows may take to end after their time: the last data, the other end's account.
const GRACE_NS: u64 = 30_000_000_000;
/// How often processes are looked at, ns.
const LOOK_NS: u64 = 20_000_000;

/// Watches over the flows from the trial's start to their end, and reads the lab's counters at the right moments.
pub(super) fn watch(
    stage: &Stage<'_>,
    ground: &Ground,
    flows: &mut [Running],
    zero: u64,
    carried: &mut Carried,
    interrupt: &'static Interrupt,
) -> Result<(), Trouble> {
    let case = stage.case;
    let is_load = |nth: usize| !case.flows[nth].probe;
    let has_load = case.flows.iter().any(|flow| !flow.probe);
    let counts = |nth: usize| is_load(nth) || !has_load;
    let ends: Vec<Option<Duration>> = flows.iter().map(|flow| flow.times.end()).collect();
    // With a load that ends by itself, measuring ends with it.
    let by_itself = (0..flows.len()).any(|nth| counts(nth) && ends[nth].is_none());
    let timed = ends.iter().flatten().max().copied().unwrap_or_default();
    let end = zero + nanos(timed);
    let begin = zero + nanos(case.warm_up);
    let every = nanos(case.interval).max(1);
    let mut samples = Samples::default();
    let (mut began, mut ended) = (None, None);
    let mut next_sample = zero;
    let mut deadline = None;
    loop {
        let now = monotonic_ns();
        if began.is_none() && now >= begin {
            carried.before = ground.report();
            ground.mark();
            began = Some(monotonic_ns());
        }
        if now >= next_sample && ended.is_none() && samples.at_s.len() < MOST_SAMPLES {
            if let Some(report) = ground.report() {
                samples.take(report, monotonic_ns().saturating_sub(zero));
            }
            next_sample += every * ((now - next_sample) / every + 1);
        }
        let mut all_over = true;
        let mut load_over = true;
        for (nth, flow) in flows.iter_mut().enumerate() {
            let over = flow.is_over();
            all_over &= over;
            load_over &= over || !counts(nth);
        }
        let failed = flows
            .iter()
            .any(|flow| flow.ended.is_some_and(|status| !status.success()) && now < end);
        if ended.is_none()
            && ((by_itself && load_over) || (!by_itself && now >= end) || all_over || failed)
        {
            carried.after = ground.report();
            ended = Some(monotonic_ns());
            deadline = Some(monotonic_ns() + GRACE_NS);
            if (by_itself && load_over) || failed {
                // What only looks on has nothing left to see.
                for flow in flows.iter_mut().filter(|flow| flow.ended.is_none()) {
                    process::interrupt(flow.process.child.id());
                    flow.told_to_end = true;
                }
            }
        }
        if all_over || deadline.is_some_and(|deadline| now >= deadline) {
            break;
        }
        let mut until = monotonic_ns() + LOOK_NS;
        if began.is_none() {
            until = until.min(begin.max(zero));
        } else if ended.is_none() && !by_itself {
            until = until.min(end.max(now + 1));
        }
        wait_until(until, interrupt)?;
    }
    let (began, ended) = (began.unwrap_or(begin), ended.unwrap_or_else(monotonic_ns));
    carried.measured_s = ended.saturating_sub(began) as f64 / 1e9;
    carried.interfaces = samples.series();
    Ok(())
}

/// Waits for a moment of the monotonic clock, or until the user ends it.
fn wait_until(moment: u64, interrupt: &Interrupt) -> Result<(), Trouble> {
    loop {
        if interrupt.count() > 0 {
            return Err(Trouble::Interrupted);
        }
        let left = moment.saturating_sub(monotonic_ns());
        if left == 0 {
            return Ok(());
        }
        let _ = poll_readable(&[interrupt.fd()], Some(Duration::from_nanos(left)));
    }
}
