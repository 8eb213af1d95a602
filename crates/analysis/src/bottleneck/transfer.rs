//! The bottleneck of a file transfer.

use super::evidence::{MIN_SHARE, REACHED, percent};
use super::processor::CPU_BOUND;
use crate::transfer::TransferEnds;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::plan::Rate;
use caudal_core::transfer::{TransferEnd, TransferSummary};

/// Minimum fraction of datagrams lost for loss to be the limit.
const MIN_LOSS: f64 = 0.001;
/// Minimum share of a transfer's time for what fills it to be the limit.
const MOST: f64 = 0.5;

/// Finds the bottleneck of a transfer that completed; `None` of one that did not.
#[must_use]
pub fn find_of_transfer(
    rate: Rate,
    ends: TransferEnds<'_>,
    summary: &TransferSummary,
) -> Option<LimitedBy> {
    let time_ns = summary.time_ns.filter(|ns| *ns > 0)? as f64;
    let found = limited_by_rate(rate, summary)
        .or_else(|| limited_by_socket_buffer(summary))
        .or_else(|| limited_by_writing(summary, time_ns))
        .or_else(|| limited_by_window(ends.sender, time_ns))
        .or_else(|| limited_by_loss(summary))
        .or_else(|| out_of_cpu(ends.receiver, time_ns, Bottleneck::Receiver))
        .or_else(|| out_of_cpu(ends.sender, time_ns, Bottleneck::Sender));
    Some(
        found.unwrap_or_else(|| {
            LimitedBy::unknown("neither end was out of CPU, and nothing was lost")
        }),
    )
}

fn limited_by_rate(rate: Rate, summary: &TransferSummary) -> Option<LimitedBy> {
    let Rate::Limit(asked) = rate else {
        return None;
    };
    let share = summary.goodput_bps? / asked.as_f64();
    // A short transfer ends before the handshake has become a small part of its time.
    (share >= REACHED - 0.08).then(|| {
        let evidence = format!("{} of the rate asked for arrived", percent(share));
        LimitedBy::new(Bottleneck::Pacing, evidence)
    })
}

fn limited_by_socket_buffer(summary: &TransferSummary) -> Option<LimitedBy> {
    let drops = summary.socket_drops.filter(|drops| *drops > 0)?;
    let evidence = format!("its socket's buffer was full when {drops} datagrams arrived");
    Some(LimitedBy::new(Bottleneck::Receiver, evidence))
}

fn limited_by_writing(summary: &TransferSummary, time_ns: f64) -> Option<LimitedBy> {
    let share = summary.times.write_ns? as f64 / time_ns;
    (share >= MIN_SHARE).then(|| {
        let evidence = format!(
            "it wrote for {} of the time after the last byte",
            percent(share)
        );
        LimitedBy::because(Cause::Application, Bottleneck::Receiver, evidence)
    })
}

/// The kernel's account of the window that the receiver advertises (TCP).
fn limited_by_window(sender: Option<&TransferEnd>, time_ns: f64) -> Option<LimitedBy> {
    let limited_us = sender?.tcp?.receiver_window_limited_us?;
    let share = (limited_us as f64 * 1e3 / time_ns).min(1.0);
    (share >= MOST).then(|| {
        let evidence = format!("it limited the connection {} of the time", percent(share));
        LimitedBy::new(Bottleneck::ReceiverWindow, evidence)
    })
}

fn limited_by_loss(summary: &TransferSummary) -> Option<LimitedBy> {
    let loss = summary.loss.filter(|loss| *loss >= MIN_LOSS)?;
    let evidence = format!("{:.2} % of the datagrams were lost", loss * 100.0);
    Some(LimitedBy::new(Bottleneck::Network, evidence))
}

fn out_of_cpu(end: Option<&TransferEnd>, time_ns: f64, limit: Bottleneck) -> Option<LimitedBy> {
    let share = (end?.cpu_ns as f64 / time_ns).min(1.0);
    (share >= CPU_BOUND).then(|| {
        let evidence = format!(
            "its thread was on a processor {} of the time",
            percent(share)
        );
        LimitedBy::because(Cause::Cpu, limit, evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::units::BitRate;

    fn end(cpu_ns: u64) -> TransferEnd {
        TransferEnd {
            bytes: 1_000_000,
            cpu_ns,
            datagrams: Some(1000),
            lost: Some(0),
            written_ns: Some(10_000_000),
            verified_ns: Some(10_000_001),
            acknowledged_ns: Some(10_000_000),
            last_byte_ns: 10_000_000,
            socket_drops: Some(0),
            ..TransferEnd::default()
        }
    }

    fn found(rate: Rate, sender: &TransferEnd, receiver: &TransferEnd) -> LimitedBy {
        let ends = TransferEnds {
            sender: Some(sender),
            receiver: Some(receiver),
        };
        let summary = ends.summary(0, None);
        find_of_transfer(rate, ends, &summary).unwrap()
    }

    #[test]
    fn what_filled_the_time_is_the_limit() {
        let idle = end(1_000_000);
        let cases: [(Rate, TransferEnd, TransferEnd, Bottleneck); 6] = [
            (Rate::Max, idle.clone(), idle.clone(), Bottleneck::Unknown),
            (Rate::Max, end(9_500_000), idle.clone(), Bottleneck::Sender),
            (
                Rate::Max,
                end(9_500_000),
                end(9_500_000),
                Bottleneck::Receiver,
            ),
            (
                Rate::Limit(BitRate::from_bps(800_000_000)),
                end(9_500_000),
                idle.clone(),
                Bottleneck::Pacing,
            ),
            (
                Rate::Max,
                TransferEnd {
                    lost: Some(10),
                    ..idle.clone()
                },
                idle.clone(),
                Bottleneck::Network,
            ),
            (
                Rate::Max,
                idle.clone(),
                TransferEnd {
                    socket_drops: Some(7),
                    ..idle
                },
                Bottleneck::Receiver,
            ),
        ];
        for (rate, sender, receiver, limit) in cases {
            assert_eq!(found(rate, &sender, &receiver).limit, limit);
        }
    }

    #[test]
    fn a_transfer_that_failed_has_no_bottleneck() {
        let ends = TransferEnds {
            sender: None,
            receiver: None,
        };
        let summary = TransferSummary::default();
        assert_eq!(find_of_transfer(Rate::Max, ends, &summary), None);
    }
}
