//! Threads that are short of processor time.

use super::evidence::{Evidence, percent};
use super::limit::{Bottleneck, Cause, LimitedBy};

/// The share of a thread's time on a processor from which it counts as out of CPU.
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

/// The same of the receiving thread.
pub(super) fn receiver_cpu(evidence: &Evidence<'_>) -> (bool, String) {
    let measured = evidence.measured;
    thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    )
}

/// The sender, or the machine that both ends share, where it was short of processor time. A receiver is the limit only where
/// payload waited for it, however busy it was.
pub(super) fn out_of_cpu(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let (is_bound, text) = thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    let text = match (is_bound, evidence.machine_busy) {
        (true, _) => text,
        (false, true) => "all processors of the machine both ends share were busy".to_owned(),
        (false, false) => return None,
    };
    Some(LimitedBy::because(Cause::Cpu, Bottleneck::Sender, text))
}
