//! Threads that are short of processor time.

use super::evidence::{Evidence, percent};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::readings::{ReceiverReadings, SenderReadings};

/// Minimum share of a thread's time on a processor to count as out of CPU.
pub const CPU_BOUND: f64 = 0.85;

/// `true` when a thread was short of processor time, with the text of that evidence: a thread that is runnable and waits
/// for a processor cannot do more either.
pub(super) fn thread_cpu(used: f64, waited: f64) -> (bool, String) {
    let text = if waited >= 0.02 {
        format!(
            "its thread was on a processor {} of the time and waiting for one {}",
            percent(used),
            percent(waited)
        )
    } else {
        format!(
            "its thread was on a processor {} of the time",
            percent(used)
        )
    };
    (used + waited >= CPU_BOUND, text)
}

/// Minimum share of readings with work to do and no processor for a thread to count as out of CPU.
const WAITED_READINGS: f64 = 0.5;

/// The same of the receiving thread. A wait for a processor that lasts is not in the kernel's account yet: then the thread was
/// ready to run in readings in which payload waited for it.
pub(super) fn receiver_cpu(evidence: &Evidence<'_>) -> (bool, String) {
    let measured = evidence.measured;
    let (is_bound, text) = thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let waited = measured
        .receiver_readings
        .map_or(0.0, |all: ReceiverReadings| all.runnable_share());
    if !is_bound && waited >= WAITED_READINGS {
        let text = format!(
            "{text}, and ready to run in {} of the readings while payload waited for it",
            percent(waited)
        );
        return (true, text);
    }
    (is_bound, text)
}

/// The share of the readings in which the sending thread had no processor while the connection had nothing to send.
fn sender_waited(readings: &SenderReadings) -> f64 {
    readings.share(readings.runnable)
}

/// The sender, or the machine that both ends share, where it was short of processor time. A receiver is the limit only where
/// payload waited for it, however busy it was.
pub(super) fn out_of_cpu(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let (is_bound, text) = thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    let waited = measured.sender_readings.as_ref().map_or(0.0, sender_waited);
    let text = match (is_bound, evidence.machine_busy) {
        (true, _) => text,
        _ if waited >= WAITED_READINGS => format!(
            "{text}, and ready to run in {} of the readings while the connection had nothing to send",
            percent(waited)
        ),
        (false, true) => "all processors of the machine both ends share were busy".to_owned(),
        (false, false) => return None,
    };
    Some(LimitedBy::because(Cause::Cpu, Bottleneck::Sender, text))
}
