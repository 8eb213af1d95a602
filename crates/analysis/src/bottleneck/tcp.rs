//! The bottleneck of a TCP connection.

use super::course::SecondHalf;
use super::evidence::{Evidence, MIN_SHARE, is_full, percent};
use super::network::{limited_by_network, link_limit};
use super::processor::out_of_cpu;
use super::receiver::{
    limited_by_receiver, limited_by_receiver_on_loopback, limited_by_starved_receiver,
};
use super::time_shares::TimeShares;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::sample::TcpSnapshot;

/// Minimum share of readings without data to send for a connection to be short of it.
const SHORT_OF_DATA: f64 = 0.5;
/// The part of a pacing rate set by hand that counts as reaching it: the kernel's pacing counts headers too.
const PACED: f64 = 0.85;

/// Finds the bottleneck of a TCP connection that did not reach the rate asked for.
pub(super) fn find_tcp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let Some((first, last)) = measured.tcp else {
        return LimitedBy::new(Bottleneck::Unknown, "the sender's kernel did not report");
    };
    let elapsed_ns = measured.sender_elapsed_ns.unwrap_or(measured.elapsed_ns);
    let shares = TimeShares::between(&first, &last, elapsed_ns as f64 / 1e3);
    limited_by_full_link(evidence, &last)
        .or_else(|| limited_by_source(evidence))
        .or_else(|| limited_by_receiver(evidence, &shares, &last))
        .or_else(|| out_of_cpu(evidence))
        .or_else(|| limited_by_send_buffer(evidence, &shares, &last))
        .or_else(|| limited_by_idle_sender(evidence, &shares))
        .or_else(|| limited_by_pacing(evidence, &last))
        .or_else(|| limited_by_receiver_on_loopback(evidence))
        .unwrap_or_else(|| {
            let network = limited_by_network(evidence, &shares, &first, &last);
            limited_by_starved_receiver(evidence, &network).unwrap_or(network)
        })
}

/// A link whose rate is known and that carried all it can, or did once the connection had started.
fn limited_by_full_link(evidence: &Evidence<'_>, last: &TcpSnapshot) -> Option<LimitedBy> {
    let of_link = |share: f64, when: &str| {
        is_full(share).then(|| {
            let carried = format!(
                "{} of what the link can carry arrived{when}",
                percent(share)
            );
            link_limit(evidence, last, &carried)
        })
    };
    let second_half = || {
        let bps = SecondHalf::of(evidence.trace)?.acknowledged_bps;
        of_link(bps / evidence.ceiling_bps?, " in the second half")
    };
    of_link(evidence.ceiling_share?, "").or_else(second_half)
}

/// A source of the payload, such as a pipe, that had none.
fn limited_by_source(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let share = evidence.measured.source_wait;
    (share >= MIN_SHARE).then(|| {
        LimitedBy::because(
            Cause::Application,
            Bottleneck::Sender,
            format!(
                "it waited for the source of its payload {} of the time",
                percent(share)
            ),
        )
    })
}

/// A send buffer too small to keep the path full: the sender is ahead of the network and waits for room in it, and still the
/// connection runs out of data. The kernel's own account of it often stays at 0: it is kept only
/// where the write queue is empty as the buffer fills (`tcp_write_xmit`, net/ipv4/tcp_output.c).
fn limited_by_send_buffer(
    evidence: &Evidence<'_>,
    shares: &TimeShares,
    last: &TcpSnapshot,
) -> Option<LimitedBy> {
    if let Some(share) = shares.send_buffer.filter(|share| *share >= MIN_SHARE) {
        return Some(LimitedBy::new(
            Bottleneck::SendBuffer,
            format!("the kernel waited for data {} of the time", percent(share)),
        ));
    }
    let measured = evidence.measured;
    let Some(readings) = measured.sender_readings.filter(|all| all.count > 0) else {
        return limited_by_send_buffer_without_readings(evidence, shares);
    };
    let short = readings.share(readings.out_of_data);
    let waited = measured.send_wait().filter(|share| *share >= MIN_SHARE)?;
    let in_flight = readings.mean(readings.in_flight_sum_bytes);
    // A sender waits for room only where something is outstanding.
    (short >= SHORT_OF_DATA && in_flight >= f64::from(last.mss)).then(|| {
        let set_by = if evidence.window_set {
            " (set by hand)"
        } else {
            ""
        };
        LimitedBy::new(
            Bottleneck::SendBuffer,
            format!(
                "the sender waited for room in it{set_by} {} of the time, and in {} of {} readings nothing was left to send: \
                 {:.0} bytes in flight in a congestion window of {:.0}",
                percent(waited),
                percent(short),
                readings.count,
                in_flight,
                readings.mean(readings.cwnd_sum_bytes)
            ),
        )
    })
}

/// The same of a sender that is read at the ends of intervals only: the kernel says that its delivery rate was limited by the application
/// most of the time, which waited for room most of the time while data was outstanding.
fn limited_by_send_buffer_without_readings(
    evidence: &Evidence<'_>,
    shares: &TimeShares,
) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let waited = measured.send_wait()?;
    let is_busy = shares.busy.is_some_and(|busy| busy > 1.0 - MIN_SHARE);
    (measured.app_limited > SHORT_OF_DATA && waited > SHORT_OF_DATA && is_busy).then(|| {
        LimitedBy::new(
            Bottleneck::SendBuffer,
            format!(
                "the sender waited for room in it {} of the time, and the delivery rate was limited by the application in {} of \
                 the samples",
                percent(waited),
                percent(measured.app_limited)
            ),
        )
    })
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
        // Payload that needs no source is there whenever the thread runs.
        LimitedBy::new(
            Bottleneck::Sender,
            format!(
                "the connection had nothing to send {} of the time",
                percent(idle)
            ),
        )
    })
}

/// A limit that was set to the kernel's pacing, where the sender keeps to it with room in both windows.
fn limited_by_pacing(evidence: &Evidence<'_>, last: &TcpSnapshot) -> Option<LimitedBy> {
    let max = last.max_pacing_rate_bps? as f64;
    let share = evidence.measured.goodput_bps() / max.max(1.0);
    let readings = evidence.measured.sender_readings?;
    let paced = readings.share(readings.paced + readings.out_of_data);
    (share >= PACED && paced >= SHORT_OF_DATA).then(|| {
        LimitedBy::new(
            Bottleneck::Pacing,
            format!(
                "the kernel paces at most {:.2} Mbit/s (SO_MAX_PACING_RATE), of which {} arrived, with room in both windows",
                max / 1e6,
                percent(share)
            ),
        )
    })
}
