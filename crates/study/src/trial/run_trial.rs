//! A trial from its testbed to its measurements.

use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::signal::Interrupt;

use super::active_testbed::ActiveTestbed;
use super::awake::AwakeProcessors;
use super::discard::reason_to_discard;
use super::lead_time::lead_time;
use super::measurements::TrialMeasurements;
use super::monitor::monitor;
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::flow_times::nanoseconds;

/// Carries a case out once: a network built for it, and a process for each flow, which all start together.
///
/// # Errors
/// When the network cannot be built, a server does not reply, or the user ends it.
pub fn run_trial(
    setup: &TrialSetup<'_>,
    interrupt: &Interrupt,
) -> Result<TrialMeasurements, StudyError> {
    let mut measurements = TrialMeasurements::default();
    let testbed = ActiveTestbed::build(setup, &mut measurements.warnings)?;
    let awake = setup.case.awake.then(AwakeProcessors::keep);
    let captures = testbed.capture(setup, &mut measurements)?;
    if interrupt.count() > 0 {
        return Err(StudyError::Interrupted);
    }
    let zero_ns = realtime_ns() + nanoseconds(lead_time(setup.case, setup.testbed));
    // To the microsecond, as it is written.
    let zero_ns = zero_ns - zero_ns % 1000;
    measurements.zero_ns = zero_ns;
    let zero = monotonic_ns() + zero_ns.saturating_sub(realtime_ns());
    let mut flows = Vec::with_capacity(setup.case.flows.len());
    for flow in &setup.case.flows {
        flows.push(testbed.start(setup, flow, zero_ns)?);
    }
    let monitored = monitor(
        setup,
        &testbed,
        &mut flows,
        zero,
        &mut measurements,
        interrupt,
    );
    if monitored.is_ok() {
        for (nth, (flow, process)) in setup.case.flows.iter().zip(flows).enumerate() {
            let (result, samples) = process.finish(flow, setup.testbed, &mut measurements);
            measurements.flows.push(result);
            if let Some(samples) = samples {
                measurements.round_trips.insert(nth, samples);
            }
        }
    }
    drop(awake);
    captures.finish(&mut measurements.warnings);
    drop(testbed);
    monitored?;
    measurements.discarded = reason_to_discard(&measurements);
    Ok(measurements)
}
