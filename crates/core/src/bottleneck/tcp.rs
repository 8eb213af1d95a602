//! The bottleneck of a TCP connection.

use super::evidence::{Evidence, MIN_SHARE, percent};
use super::limit::{Bottleneck, LimitedBy};
use super::processor::{out_of_cpu, thread_cpu};
use crate::sample::TcpSnapshot;

/// Finds the bottleneck of a TCP connection that did not reach the rate asked for.
pub(super) fn find_tcp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let Some((first, last)) = measured.tcp else {
        return LimitedBy::new(Bottleneck::Unknown, "the sender's kernel did not report");
    };
    let elapsed_ns = measured.sender_elapsed_ns.unwrap_or(measured.elapsed_ns);
    let shares = TimeShares::between(&first, &last, elapsed_ns as f64 / 1e3);
    limited_by_receiver_window(evidence, &shares, &last)
        .or_else(|| out_of_cpu(evidence))
        .or_else(|| limited_by_send_buffer(&shares))
        .or_else(|| limited_by_idle_sender(evidence, &shares))
        .or_else(|| limited_by_small_send_buffer(evidence))
        .unwrap_or_else(|| limited_by_congestion_window(&shares, &first, &last))
}

/// The shares of a time that the kernel's account of a connection gives; `None` where it has none.
struct TimeShares {
    /// With data outstanding.
    busy: Option<f64>,
    /// Limited by the receiver's window.
    receiver_window: Option<f64>,
    /// Limited by the send buffer.
    send_buffer: Option<f64>,
}

impl TimeShares {
    fn between(first: &TcpSnapshot, last: &TcpSnapshot, elapsed_us: f64) -> Self {
        let share = |then: Option<u64>, now: Option<u64>| {
            Some((now?.saturating_sub(then?) as f64 / elapsed_us).min(1.0))
        };
        Self {
            busy: share(first.busy_us, last.busy_us),
            receiver_window: share(
                first.receiver_window_limited_us,
                last.receiver_window_limited_us,
            ),
            send_buffer: share(first.send_buffer_limited_us, last.send_buffer_limited_us),
        }
    }
}

fn limited_by_receiver_window(
    evidence: &Evidence<'_>,
    shares: &TimeShares,
    last: &TcpSnapshot,
) -> Option<LimitedBy> {
    let share = shares.receiver_window.filter(|share| *share >= MIN_SHARE)?;
    let measured = evidence.measured;
    let (receiver_bound, receiver_cpu) = thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    if receiver_bound || (evidence.machine_busy && !evidence.window_set) {
        return Some(LimitedBy {
            out_of_cpu: receiver_bound,
            ..LimitedBy::new(
                Bottleneck::Receiver,
                format!(
                    "{receiver_cpu}; its window limited the sender {} of the time",
                    percent(share)
                ),
            )
        });
    }
    let set_by = if evidence.window_set {
        " (set by hand)"
    } else {
        ""
    };
    if let Some(queue) = queue_bound_by_window(measured.goodput_bps(), last) {
        return Some(LimitedBy::new(
            Bottleneck::Network,
            format!("{queue}{set_by}"),
        ));
    }
    Some(LimitedBy::new(
        Bottleneck::ReceiverWindow,
        format!(
            "it limited the sender {} of the time; {} bytes{set_by}",
            percent(share),
            last.receiver_window_bytes.unwrap_or(0)
        ),
    ))
}

/// The evidence that the receiver's window only bounds the queue of a full path: the rate is the window over
/// the round-trip time, but that time is many times the path's own. `None` where it is not so.
fn queue_bound_by_window(goodput_bps: f64, last: &TcpSnapshot) -> Option<String> {
    let window = last.receiver_window_bytes? as f64 * 8.0;
    let min_s = f64::from(last.min_rtt_us?.max(1)) / 1e6;
    let now_s = f64::from(last.rtt_us.max(1)) / 1e6;
    let filled = goodput_bps >= 0.5 * window / now_s && goodput_bps < 0.3 * window / min_s;
    filled.then(|| {
        format!(
            "the path is full: rtt {:.2} ms (min {:.2} ms), the difference is queueing; the receiver's window of {} bytes only bounds that queue",
            now_s * 1e3,
            min_s * 1e3,
            last.receiver_window_bytes.unwrap_or(0)
        )
    })
}

fn limited_by_send_buffer(shares: &TimeShares) -> Option<LimitedBy> {
    let share = shares.send_buffer.filter(|share| *share >= MIN_SHARE)?;
    Some(LimitedBy::new(
        Bottleneck::SendBuffer,
        format!("the kernel waited for data {} of the time", percent(share)),
    ))
}

fn limited_by_idle_sender(evidence: &Evidence<'_>, shares: &TimeShares) -> Option<LimitedBy> {
    let idle = 1.0 - shares.busy.filter(|busy| *busy <= 1.0 - MIN_SHARE)?;
    Some(if evidence.asked_bps.is_some() {
        LimitedBy::new(
            Bottleneck::Pacing,
            format!(
                "the schedule left the connection without data {} of the time",
                percent(idle)
            ),
        )
    } else {
        LimitedBy::new(
            Bottleneck::Sender,
            format!(
                "the connection had nothing to send {} of the time",
                percent(idle)
            ),
        )
    })
}

/// The kernel's own account of the send buffer often stays at 0: a sender that is always ahead of the network and
/// still leaves the connection without data has too small a buffer.
fn limited_by_small_send_buffer(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let app_limited = evidence.measured.app_limited;
    (app_limited > 0.5 && evidence.window_set).then(|| {
        LimitedBy::new(
            Bottleneck::SendBuffer,
            format!(
                "the delivery rate was application-limited in {} of the readings while the sender was blocked",
                percent(app_limited)
            ),
        )
    })
}

fn limited_by_congestion_window(
    shares: &TimeShares,
    first: &TcpSnapshot,
    last: &TcpSnapshot,
) -> LimitedBy {
    let Some(busy) = shares.busy else {
        return LimitedBy::unknown("this kernel does not report what a connection waits for");
    };
    LimitedBy::new(
        Bottleneck::Network,
        format!(
            "the congestion window limited it: data was outstanding {} of the time and nothing else limited it; \
             {} segments retransmitted, rtt {:.2} ms (min {:.2} ms)",
            percent(busy),
            last.retransmits.saturating_sub(first.retransmits),
            f64::from(last.rtt_us) / 1e3,
            f64::from(last.min_rtt_us.unwrap_or(last.rtt_us)) / 1e3,
        ),
    )
}
