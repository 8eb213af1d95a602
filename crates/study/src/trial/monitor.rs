//! The monitoring of a trial, from its start to the end of its flows.

use std::time::Duration;

use caudal_experiment::FlowKindFile;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::process;
use caudal_sys::signal::Interrupt;

use super::active_testbed::ActiveTestbed;
use super::flow_process::FlowProcess;
use super::interface_samples::{InterfaceSamples, MAX_READINGS};
use super::measurements::TrialMeasurements;
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::flow_times::nanoseconds;

/// Maximum time that flows take to end after their time: the last data, the server's report.
const GRACE_NS: u64 = 30_000_000_000;
/// The period at which processes are polled, ns.
const POLL_NS: u64 = 20_000_000;

/// Waits until the flows have ended, and reads the counters of the lab at the beginning and the end of the measurement, and
/// at every interval. `zero` is the start of the trial by the monotonic clock, ns.
///
/// # Errors
/// When the user ends it.
pub(super) fn monitor(
    setup: &TrialSetup<'_>,
    testbed: &ActiveTestbed,
    flows: &mut [FlowProcess],
    zero: u64,
    measurements: &mut TrialMeasurements,
    interrupt: &Interrupt,
) -> Result<(), StudyError> {
    let case = setup.case;
    let has_load = case.flows.iter().any(|flow| !flow.probe);
    let is_load = |nth: usize| {
        let flow = &case.flows[nth];
        // What is sent beside a path that is probed ends with the probing.
        if case.probes_a_path() {
            flow.kind == FlowKindFile::Path
        } else {
            !flow.probe || !has_load
        }
    };
    let window = MeasurementWindow::new(setup, flows, zero, is_load);
    let mut samples = InterfaceSamples::default();
    let (mut began, mut ended) = (None, None);
    let mut next_sample = zero;
    let mut deadline = None;
    loop {
        let now = monotonic_ns();
        if began.is_none() && now >= window.begin {
            measurements.before = testbed.report();
            testbed.mark();
            began = Some(monotonic_ns());
        }
        if now >= next_sample && ended.is_none() && samples.len() < MAX_READINGS {
            if let Some(report) = testbed.report() {
                samples.add(report, monotonic_ns().saturating_sub(zero));
            }
            next_sample += window.interval * ((now - next_sample) / window.interval + 1);
        }
        let progress = FlowProgress::poll(flows, is_load, now < window.end);
        if ended.is_none() && window.is_over(now, progress) {
            measurements.after = testbed.report();
            ended = Some(monotonic_ns());
            deadline = Some(monotonic_ns() + GRACE_NS);
            if (window.ends_with_load && progress.load_ended) || progress.failed {
                // Probes have nothing left to measure.
                for flow in flows.iter_mut().filter(|flow| flow.ended.is_none()) {
                    process::interrupt(flow.process.child.id());
                    flow.is_interrupted = true;
                }
            }
        }
        if progress.all_ended || deadline.is_some_and(|deadline| now >= deadline) {
            break;
        }
        let mut until = monotonic_ns() + POLL_NS;
        if began.is_none() {
            until = until.min(window.begin.max(zero));
        } else if ended.is_none() && !window.ends_with_load {
            until = until.min(window.end.max(now + 1));
        }
        wait_until(until, interrupt)?;
    }
    let began = began.unwrap_or(window.begin);
    let ended = ended.unwrap_or_else(monotonic_ns);
    measurements.measured_s = ended.saturating_sub(began) as f64 / 1e9;
    measurements.interfaces = samples.into_series();
    Ok(())
}

/// The measurement by the monotonic clock, ns.
struct MeasurementWindow {
    begin: u64,
    end: u64,
    interval: u64,
    /// `true` when some load ends by itself, and the measurement with it.
    ends_with_load: bool,
}

impl MeasurementWindow {
    fn new(
        setup: &TrialSetup<'_>,
        flows: &[FlowProcess],
        zero: u64,
        is_load: impl Fn(usize) -> bool,
    ) -> Self {
        let ends: Vec<Option<Duration>> = flows.iter().map(|flow| flow.times.end()).collect();
        let latest = ends.iter().flatten().max().copied().unwrap_or_default();
        Self {
            begin: zero + nanoseconds(setup.case.warm_up),
            end: zero + nanoseconds(latest),
            interval: nanoseconds(setup.case.interval).max(1),
            ends_with_load: (0..flows.len()).any(|nth| is_load(nth) && ends[nth].is_none()),
        }
    }

    /// `true` when the measurement ends.
    const fn is_over(&self, now: u64, progress: FlowProgress) -> bool {
        let is_complete = if self.ends_with_load {
            progress.load_ended
        } else {
            now >= self.end
        };
        is_complete || progress.all_ended || progress.failed
    }
}

/// The progress of the flows of a trial.
#[derive(Clone, Copy)]
struct FlowProgress {
    /// Set when every flow has ended.
    all_ended: bool,
    /// Set when every flow that is load has ended.
    load_ended: bool,
    /// Set when a flow failed before the end of the measurement.
    failed: bool,
}

impl FlowProgress {
    fn poll(flows: &mut [FlowProcess], is_load: impl Fn(usize) -> bool, is_early: bool) -> Self {
        let mut progress = Self {
            all_ended: true,
            load_ended: true,
            failed: false,
        };
        for (nth, flow) in flows.iter_mut().enumerate() {
            let has_ended = flow.has_ended();
            progress.all_ended &= has_ended;
            progress.load_ended &= has_ended || !is_load(nth);
            let has_failed = flow.ended.is_some_and(|status| !status.success());
            progress.failed |= has_failed && is_early;
        }
        progress
    }
}

/// Waits until `time` by the monotonic clock, ns.
///
/// # Errors
/// When the user ends it.
fn wait_until(time: u64, interrupt: &Interrupt) -> Result<(), StudyError> {
    loop {
        if interrupt.count() > 0 {
            return Err(StudyError::Interrupted);
        }
        let left = time.saturating_sub(monotonic_ns());
        if left == 0 {
            return Ok(());
        }
        let _ = poll_readable(&[interrupt.fd()], Some(Duration::from_nanos(left)));
    }
}
