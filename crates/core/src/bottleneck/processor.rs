//! Threads that are short of processor time.

use super::evidence::{Evidence, percent};
use super::limit::{Bottleneck, LimitedBy};

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

/// The end that was short of processor time, if one was.
pub(super) fn out_of_cpu(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let (sender_bound, sender) =
        thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    let (receiver_bound, receiver) = thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let (limit, evidence) = if sender_bound {
        (Bottleneck::Sender, sender)
    } else if receiver_bound {
        (Bottleneck::Receiver, receiver)
    } else if evidence.machine_busy {
        let busy = "all processors of the machine both ends share were busy";
        (Bottleneck::Sender, busy.to_owned())
    } else {
        return None;
    };
    Some(LimitedBy {
        out_of_cpu: true,
        ..LimitedBy::new(limit, evidence)
    })
}
