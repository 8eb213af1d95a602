//! Whether a trial counts.

use caudal_experiment::FlowKindFile;

use super::super::metrics::throughput::whole_s;
use super::Carried;
use caudal_experiment::TrialFlow;

/// The part of what UDP should send that may be missing because others had the processor.
const MOST_SHORT: f64 = 0.3;

/// Says whether the trial counts.
pub(super) fn judge(carried: &mut Carried) {
    let emulator = carried
        .after
        .as_ref()
        .and_then(|report| report.emulator.as_ref());
    carried.discarded = spoiled_by_stall(emulator).or_else(|| {
        carried.flows.iter().find_map(|flow| {
            let Some(failure) = flow.failure.as_ref() else {
                return held_back(flow);
            };
            Some(format!("flow {} failed: {failure}", flow.name))
        })
    });
}

/// Why a trial does not count in which UDP was not sent as fast as it should: its threads were ready to and had no processor.
///
/// A sender that waits for its own interface, or that cannot do more, is a result; one that others keep from the processor is not.
fn held_back(flow: &TrialFlow) -> Option<String> {
    let asked = flow
        .offered_bps
        .filter(|_| flow.kind == FlowKindFile::Udp)?;
    let run = flow.run.as_ref()?;
    let direction = run.directions().first()?;
    let flows = run.flows();
    let threads_s = whole_s(direction)? * flows.len() as f64;
    let waited_s: f64 = flows
        .iter()
        .filter_map(|flow| flow.sender.as_ref()?.cpu_wait_s)
        .sum();
    let sent = direction.sent_bytes? as f64 * 8.0 / threads_s;
    let short = 1.0 - sent / asked;
    let explained = waited_s / threads_s;
    (short > MOST_SHORT && explained > short / 2.0).then(|| {
        format!(
            "flow {} sent {:.0} % of what it should, its thread was without a processor {:.0} % of the time",
            flow.name,
            100.0 * (1.0 - short),
            100.0 * explained
        )
    })
}

/// Why a trial does not count in which the emulator stood still.
fn spoiled_by_stall(emulator: Option<&caudal_lab::EmulatorState>) -> Option<String> {
    let run = &emulator?.run;
    run.must_repeat.then(|| {
        format!(
            "this machine stood still for {:.1} ms ({} frames late, {} lost unread)",
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
    fn udp_that_others_kept_from_the_processor_spoils_a_trial_and_udp_that_waits_for_its_interface_does_not()
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
        assert_eq!(held_back(&flow(2_000_000, 0.4)), None);
        assert_eq!(held_back(&flow(1_000_000, 0.02)), None);
        let why = held_back(&flow(1_000_000, 1.0)).unwrap();
        assert!(why.contains("sent 50 % of what it should"), "{why}");
    }

    #[test]
    fn a_trial_in_which_the_emulator_stood_still_does_not_count() {
        let state = |must_repeat: bool| -> caudal_lab::EmulatorState {
            let run = serde_json::json!({"deliveries": 10, "p50_us": 1.0, "p99_us": 2.0, "max_us": 25_300.0,
                "stalls": 3, "unread": 0, "must_repeat": must_repeat});
            serde_json::from_value(serde_json::json!({"device": "tap", "scheduling": "nice", "frames_read": 1,
                "frames_delivered": 1, "frames_refused": 0, "cpu_s": null, "whole": run.clone(), "run": run}))
            .unwrap()
        };
        assert_eq!(spoiled_by_stall(Some(&state(false))), None);
        assert_eq!(spoiled_by_stall(None), None);
        let said = spoiled_by_stall(Some(&state(true))).unwrap();
        assert_eq!(
            said,
            "this machine stood still for 25.3 ms (3 frames late, 0 lost unread)"
        );
    }
}
