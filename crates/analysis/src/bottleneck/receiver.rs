//! The receiver as the bottleneck of a TCP connection: its window, its application, or its processor.

use super::evidence::{Evidence, MIN_SHARE, percent};
use super::network::link_limit;
use super::processor::receiver_cpu;
use super::time_shares::TimeShares;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::sample::TcpSnapshot;

/// The receiver, where its window limited the sender for a considerable share of the time.
///
/// The window that a receiver advertises is the room left in its buffer. Where the buffer is full of payload that nobody has read,
/// the application is the limit; where it is empty, the buffer is too small for the path.
pub(super) fn limited_by_receiver(
    evidence: &Evidence<'_>,
    shares: &TimeShares,
    last: &TcpSnapshot,
) -> Option<LimitedBy> {
    let share = shares.receiver_window.filter(|share| *share >= MIN_SHARE)?;
    let limited = format!(
        "its window limited the sender {} of the time",
        percent(share)
    );
    let (is_bound, cpu) = receiver_cpu(evidence);
    let unread = unread(evidence);
    if let Some(unread) = &unread {
        let cause = if is_bound {
            Cause::Cpu
        } else {
            Cause::Application
        };
        return Some(LimitedBy::because(
            cause,
            Bottleneck::Receiver,
            format!("{unread}; {limited}; {cpu}"),
        ));
    }
    let is_machine_busy = evidence.machine_busy && !evidence.window_set;
    if is_bound || is_machine_busy {
        return Some(LimitedBy {
            cause: is_bound.then_some(Cause::Cpu),
            ..LimitedBy::new(Bottleneck::Receiver, format!("{cpu}; {limited}"))
        });
    }
    let set_by = if evidence.window_set {
        " (set by hand)"
    } else {
        ""
    };
    let window = last.receiver_window_bytes.unwrap_or(0);
    if is_queue_bound_by_window(evidence.measured.goodput_bps(), last) {
        let why = format!("the receiver's window of {window} bytes{set_by} only bounds the queue");
        return Some(link_limit(evidence, last, &why));
    }
    let empty = match evidence.measured.receiver_readings {
        Some(_) => ", and its application read what arrived",
        None => "",
    };
    Some(LimitedBy::new(
        Bottleneck::ReceiverWindow,
        format!(
            "it limited the sender {} of the time; {window} bytes{set_by}{empty}",
            percent(share)
        ),
    ))
}

/// The receiver of a loopback whose thread was short of processor time. Its window need not have closed: a thread that loses the
/// processor while it holds the socket keeps segments from being acknowledged, and the sender sees a full path.
pub(super) fn limited_by_receiver_on_loopback(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let (is_bound, cpu) = receiver_cpu(evidence);
    (evidence.is_loopback && is_bound).then(|| {
        let why = format!("{cpu}; a loopback has no queue but that of its receiver");
        LimitedBy::because(Cause::Cpu, Bottleneck::Receiver, why)
    })
}

/// Minimum share of the time that a receiving thread waits for a processor to be starved.
const STARVED: f64 = 0.5;

/// The receiver whose thread waited for a processor most of the time, as under the quota of a control group, where nothing speaks for
/// `network`, the network's own verdict. A starved receiver reads and acknowledges in bursts: to the sender that is a congestion window, or
/// segments that arrive late and were sent again for nothing.
pub(super) fn limited_by_starved_receiver(
    evidence: &Evidence<'_>,
    network: &LimitedBy,
) -> Option<LimitedBy> {
    let nothing_speaks_for_it = matches!(network.cause, None | Some(Cause::Reordering));
    let (is_bound, cpu) = receiver_cpu(evidence);
    let is_starved = is_bound && evidence.measured.receiver_cpu_wait >= STARVED;
    (nothing_speaks_for_it && is_starved).then(|| {
        let why = format!("{cpu}; the sender saw no queue and no loss that would explain its rate");
        LimitedBy::because(Cause::Cpu, Bottleneck::Receiver, why)
    })
}

/// The evidence that payload waited in the receive buffer for the application; `None` where it did not. A receiver that does not
/// report its buffer shows it by a window that shrinks: what is left of the buffer.
fn unread(evidence: &Evidence<'_>) -> Option<String> {
    let measured = evidence.measured;
    if let Some(receiver) = measured.receiver_readings.filter(|all| all.count > 0) {
        let share = receiver.unread_share();
        return (share >= MIN_SHARE).then(|| {
            format!(
                "its receive buffer was at least half full of unread payload in {} of {} readings, {:.0} bytes on average",
                percent(share),
                receiver.count,
                receiver.mean_unread_bytes()
            )
        });
    }
    let sender = measured.sender_readings.filter(|all| all.count > 0)?;
    let share = sender.share(sender.receiver_window_shrunk);
    (share >= MIN_SHARE).then(|| {
        format!(
            "the window it advertised was below half of its maximum of {} bytes in {} of the readings",
            sender.max_receiver_window_bytes,
            percent(share)
        )
    })
}

/// `true` when the receiver's window only bounds the queue of a full path: the rate is the window over the round-trip time,
/// but that time is many times the path's own.
fn is_queue_bound_by_window(goodput_bps: f64, last: &TcpSnapshot) -> bool {
    let Some(window) = last.receiver_window_bytes else {
        return false;
    };
    let bits = window as f64 * 8.0;
    let min_s = f64::from(last.min_rtt_us.unwrap_or(last.rtt_us).max(1)) / 1e6;
    let now_s = f64::from(last.rtt_us.max(1)) / 1e6;
    goodput_bps >= 0.5 * bits / now_s && goodput_bps < 0.3 * bits / min_s
}
