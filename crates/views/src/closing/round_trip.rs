//! The round-trip time of a direction without load and under it.

use crate::text::{bytes, time_us};
use caudal_core::bottleneck::{Bottleneck, Cause};
use caudal_core::plan::Transport;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;

/// Minimum rise of the round-trip time under load that is called a queue, µs.
const MIN_QUEUE_US: f64 = 1_000.0;
/// Minimum rise, as a part of the idle round-trip time.
const MIN_QUEUE_PART: f64 = 0.2;
/// Minimum rise that is called bufferbloat, where it is also more than the idle round-trip time, µs: a queue that is longer than a
/// round trip is more than any sender needs to keep a link busy.
const MIN_BUFFERBLOAT_US: f64 = 30_000.0;

/// The round-trip time without load and under it, and how much of it is queueing.
pub(super) fn rtt_line(run: &Run, summary: &DirectionSummary) -> Option<String> {
    let before = run.throughput().and_then(|test| test.idle_rtt_us);
    let environment = run.environment.as_ref();
    let is_tcp = run.plan.transport() == Some(Transport::Tcp);
    if is_tcp && environment.is_some_and(|all| all.tcp_proxy.is_some()) {
        return Some(format!("  rtt: {} idle, end to end", time_us(before?)));
    }
    let tcp = summary.tcp.as_ref()?;
    let min = tcp.rtt_min_us.map(f64::from);
    let idle_us = before.into_iter().chain(min).reduce(f64::min)?;
    let Some(loaded_us) = tcp.rtt_mean_us else {
        let is_sparse = matches!(run.plan.rate(), Some(rate) if rate.limit().is_some());
        return is_sparse.then(|| {
            format!(
                "  rtt: {} idle; under this load not known: the receiver delays its acknowledgements",
                time_us(idle_us)
            )
        });
    };
    let times = format!(
        "  rtt: {} idle, {} loaded",
        time_us(idle_us),
        time_us(loaded_us)
    );
    let queue_us = loaded_us - idle_us;
    if queue_us < MIN_QUEUE_US || queue_us < MIN_QUEUE_PART * idle_us {
        return Some(times);
    }
    let by = summary.limited_by.as_ref();
    let cause = by.and_then(|by| by.cause);
    // A mean over a time in which nothing passed is no queue.
    if matches!(
        cause,
        Some(Cause::Outage | Cause::Stopped | Cause::MtuBlackHole)
    ) {
        return Some(times);
    }
    // Where the network lost what there was no queue for, the time is not spent in one.
    if by.is_some_and(|by| by.limit == Bottleneck::Network)
        && !matches!(cause, Some(Cause::LinkRate | Cause::Bufferbloat))
    {
        return Some(times);
    }
    let is_bloated = match cause {
        Some(Cause::Bufferbloat) => true,
        Some(Cause::LinkRate) => false,
        _ => queue_us >= MIN_BUFFERBLOAT_US && queue_us >= idle_us,
    };
    let name = if is_bloated { "bufferbloat" } else { "queue" };
    let queued = summary.goodput_mean().map_or_else(String::new, |bps| {
        let count = bps / 8.0 * queue_us / 1e6;
        format!(", {}", bytes(count as u64))
    });
    Some(format!("{times}; {name}: {}{queued}", time_us(queue_us)))
}
