//! The trials that are discarded.

use caudal_experiment::{FlowKindFile, TrialFlow};

use super::measurements::TrialMeasurements;

/// Maximum shortfall of UDP below the offered rate, as a share of it, while its threads wait for a processor.
const MAX_SHORTFALL: f64 = 0.3;

/// The reason to discard a trial: the emulator stalled, a flow failed, or UDP lacked a processor. `None` for a valid trial.
pub(super) fn reason_to_discard(measurements: &TrialMeasurements) -> Option<String> {
    let report = measurements.after.as_ref();
    let emulator = report.and_then(|report| report.emulator.as_ref());
    let probes_a_path = measurements
        .flows
        .iter()
        .any(|flow| flow.kind == FlowKindFile::Path);
    emulator_stalled(emulator, probes_a_path).or_else(|| {
        measurements
            .flows
            .iter()
            .find_map(|flow| match &flow.failure {
                Some(failure) => Some(format!("flow {} failed: {failure}", flow.name)),
                None => lacked_processor(flow),
            })
    })
}

/// The reason to discard a trial in which UDP fell short of its rate because its threads were runnable and waited for a processor.
///
/// A sender that waits for its own interface, or that is at its limit, is a result; one that others keep from the processor is not.
fn lacked_processor(flow: &TrialFlow) -> Option<String> {
    let offered = flow
        .offered_bps
        .filter(|_| flow.kind == FlowKindFile::Udp)?;
    let run = flow.run.as_ref()?;
    let direction = run.directions().first()?;
    let flows = run.flows();
    let threads_s = direction.duration_s()? * flows.len() as f64;
    let waited_s: f64 = flows
        .iter()
        .filter_map(|flow| flow.sender.as_ref()?.cpu_wait_s)
        .sum();
    let sent = direction.sent_bytes? as f64 * 8.0 / threads_s;
    let shortfall = 1.0 - sent / offered;
    let explained = waited_s / threads_s;
    (shortfall > MAX_SHORTFALL && explained > shortfall / 2.0).then(|| {
        format!(
            "flow {} sent {:.0} % of its offered rate, and its threads waited for a processor {:.0} % of the time",
            flow.name,
            100.0 * (1.0 - shortfall),
            100.0 * explained
        )
    })
}

/// The reason to discard a trial in which the emulator stalled.
///
/// A path is read from the shortest of many times, which frames that are late do not change; those lost unread count as losses.
fn emulator_stalled(
    emulator: Option<&caudal_lab::EmulatorState>,
    probes_a_path: bool,
) -> Option<String> {
    let run = &emulator?.run;
    let is_discarded = run.must_repeat && (!probes_a_path || run.unread > 0);
    is_discarded.then(|| {
        format!(
            "the emulator stalled for {:.1} ms ({} frames late, {} lost unread)",
            run.max_us.unwrap_or(0.0) / 1e3,
            run.stalls,
            run.unread
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_that_waits_for_a_processor_discards_a_trial_and_udp_that_waits_for_its_interface_does_not()
     {
        let flow = |sent_bytes: u64, cpu_wait_s: f64| -> TrialFlow {
            serde_json::from_value(serde_json::json!({
                "name": "udp", "kind": "udp", "from": "h1", "to": "h2", "probe": false, "offered_bps": 8e6,
                "run": {
                    "schema": "caudal.run/1", "id": "0", "tool": {"name": "caudal"}, "plan": {"kind": "udp"},
                    "summary": {"directions": [
                        {"direction": "up", "measured_s": 1.5, "omitted_s": 0.5, "sent_bytes": sent_bytes},
                    ]},
                    "flows": [{"id": 0, "direction": "up", "sender": {"cpu_wait_s": cpu_wait_s}}],
                },
            }))
            .unwrap()
        };
        assert_eq!(lacked_processor(&flow(2_000_000, 0.4)), None);
        assert_eq!(lacked_processor(&flow(1_000_000, 0.02)), None);
        let reason = lacked_processor(&flow(1_000_000, 1.0)).unwrap();
        assert!(reason.contains("sent 50 % of its offered rate"), "{reason}");
    }

    #[test]
    fn a_trial_in_which_the_emulator_stalled_is_discarded() {
        let state = |must_repeat: bool, unread: u64| -> caudal_lab::EmulatorState {
            let run = serde_json::json!({"deliveries": 10, "p50_us": 1.0, "p99_us": 2.0, "max_us": 25_300.0,
                "stalls": 3, "unread": unread, "must_repeat": must_repeat});
            serde_json::from_value(serde_json::json!({"device": "tap", "scheduling": "nice", "frames_read": 1,
                "frames_delivered": 1, "frames_refused": 0, "cpu_s": null, "whole": run.clone(), "run": run}))
            .unwrap()
        };
        assert_eq!(emulator_stalled(Some(&state(false, 0)), false), None);
        assert_eq!(emulator_stalled(None, false), None);
        assert_eq!(emulator_stalled(Some(&state(true, 0)), true), None);
        assert!(emulator_stalled(Some(&state(true, 1)), true).is_some());
        let reason = emulator_stalled(Some(&state(true, 0)), false).unwrap();
        assert_eq!(
            reason,
            "the emulator stalled for 25.3 ms (3 frames late, 0 lost unread)"
        );
    }
}
