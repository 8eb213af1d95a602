//! The bottleneck of datagrams.

use super::evidence::{Evidence, MIN_SHARE, REACHED, is_full, percent};
use super::processor::{out_of_cpu, thread_cpu};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::loss::{Loss, LossLocation};

/// Finds the bottleneck of a flow of datagrams that did not reach the rate asked for.
pub(super) fn find_udp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let (_, sender_cpu) = thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    if measured.credit_wait >= MIN_SHARE {
        return LimitedBy::new(
            Bottleneck::Receiver,
            format!(
                "the sender waited for the receiver {} of the time",
                percent(measured.credit_wait)
            ),
        );
    }
    if let Some(share) = evidence.ceiling_share.filter(|share| is_full(*share)) {
        return LimitedBy::because(
            Cause::LinkRate,
            Bottleneck::Network,
            format!("{} of what the link can carry arrived", percent(share)),
        );
    }
    if let Some(by) = out_of_cpu(evidence) {
        return by;
    }
    let has_sent_at_rate = evidence
        .asked_bps
        .is_some_and(|asked| measured.sent_bps() >= REACHED * asked as f64);
    if has_sent_at_rate {
        return LimitedBy::unknown(
            "the sender kept the rate asked for, and what did not arrive in the time is not accounted for",
        );
    }
    if measured.sender_cpu.is_none() {
        return LimitedBy::unknown("the sender did not report");
    }
    if evidence.asked_bps.is_some() {
        return LimitedBy::unknown(
            "the sender did not keep the rate asked for, and nothing was found that held it back",
        );
    }
    // Without a rate to keep, a sender that has a processor and is not sending waits in the call that sends.
    LimitedBy::new(
        Bottleneck::Network,
        format!("the sender waited for its own interface: {sender_cpu}"),
    )
}

/// The rate at which datagrams were handed to the kernel, bit/s: those that it refused as well.
#[must_use]
pub fn offered_bps(sent_bps: f64, loss: &Loss) -> f64 {
    let refused = loss.location.unwrap_or_default().refused().refused;
    match loss.sent {
        Some(sent) if refused > 0 && refused < sent => {
            sent_bps * sent as f64 / (sent - refused) as f64
        }
        _ => sent_bps,
    }
}

/// The sender's own kernel, where what it refused to send is what is missing from the rate asked for.
#[must_use]
pub fn find_by_refusals(loss: &Loss, sent_bps: f64, asked_bps: Option<f64>) -> Option<LimitedBy> {
    let needed_bps = REACHED * asked_bps?;
    let refused = loss.location.as_ref()?.refused();
    if sent_bps >= needed_bps || offered_bps(sent_bps, loss) < needed_bps {
        return None;
    }
    Some(LimitedBy::new(
        Bottleneck::Sender,
        format!(
            "the sender's kernel refused {} of {} datagrams{}",
            refused.refused,
            loss.sent?,
            refused.by("its host")
        ),
    ))
}

/// This bottleneck with the rate of the link as its cause, where the network limits it and nearly all that the link can carry arrived.
#[must_use]
pub fn at_share_of_link(limited_by: LimitedBy, ceiling_share: Option<f64>) -> LimitedBy {
    let is_full = ceiling_share.is_some_and(is_full);
    let cause = match (limited_by.limit, limited_by.cause) {
        (Bottleneck::Network, None) if is_full => Some(Cause::LinkRate),
        (_, cause) => cause,
    };
    LimitedBy {
        cause,
        ..limited_by
    }
}

/// The bottleneck of a direction by the loss location of its datagrams.
///
/// `None` when nearly all that was sent arrived.
#[must_use]
pub fn find_by_loss(
    location: &LossLocation,
    lost: u64,
    goodput_bps: f64,
    sent_bps: f64,
) -> Option<LimitedBy> {
    if goodput_bps >= REACHED * sent_bps {
        return None;
    }
    let refused = location.refused();
    let at_sender = (refused.refused.saturating_sub(refused.forbidden))
        .saturating_add(location.sender_qdisc.unwrap_or(0).min(lost));
    let (count, limit, place) = [
        (
            refused.forbidden,
            Bottleneck::Sender,
            "refused by a firewall of the sender's host",
        ),
        (
            at_sender,
            Bottleneck::Network,
            "dropped in the sender's own queue",
        ),
        (
            location.path.unwrap_or(0),
            Bottleneck::Network,
            if location.sender_qdisc_at_least {
                "lost on the path, in the receiving host, or in the sender's own queue, which counts the datagrams of one send as one"
            } else {
                "lost on the path or in the receiving host"
            },
        ),
        (
            location.receiver_socket.unwrap_or(0),
            Bottleneck::Receiver,
            "dropped at the receiving socket",
        ),
        (
            location.checksum.unwrap_or(0),
            Bottleneck::Network,
            "dropped by the receiver's kernel for a wrong checksum: damaged on the path",
        ),
        (
            location.path_or_socket.unwrap_or(0),
            Bottleneck::Unknown,
            "lost on the path or at the receiving socket, which the other end does not tell apart",
        ),
    ]
    .into_iter()
    .max_by_key(|(count, ..)| *count)
    .filter(|(count, ..)| *count > 0)?;
    let dropped = match location.receiver_host {
        Some(dropped) if Some(count) == location.path => {
            format!(": that host dropped {dropped} packets of all its traffic")
        }
        _ => String::new(),
    };
    Some(LimitedBy::new(
        limit,
        format!("{count} datagrams were {place}{dropped}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_location_names_the_bottleneck() {
        let found = |places| find_by_loss(&places, 100, 5e6, 10e6).map(|by| by.limit);
        let none = LossLocation::default();
        assert_eq!(
            found(LossLocation {
                receiver_socket: Some(100),
                ..none
            }),
            Some(Bottleneck::Receiver)
        );
        assert_eq!(
            found(LossLocation {
                path: Some(100),
                ..none
            }),
            Some(Bottleneck::Network)
        );
        assert_eq!(
            found(LossLocation {
                sender_qdisc: Some(100),
                ..none
            }),
            Some(Bottleneck::Network)
        );
        let damaged = found(LossLocation {
            checksum: Some(100),
            ..none
        });
        assert_eq!(damaged, Some(Bottleneck::Network));
        assert_eq!(found(none), None);
        let lost = LossLocation {
            path: Some(100),
            ..none
        };
        for (share, cause) in [
            (Some(0.99), Some(Cause::LinkRate)),
            (Some(0.5), None),
            (Some(5.6), None),
            (None, None),
        ] {
            let by = find_by_loss(&lost, 100, 5e6, 10e6).unwrap();
            assert_eq!(at_share_of_link(by, share).cause, cause);
        }
        let either = LossLocation {
            sender_qdisc: Some(2),
            sender_qdisc_at_least: true,
            path: Some(98),
            ..none
        };
        let evidence = find_by_loss(&either, 100, 5e6, 10e6).unwrap().evidence;
        assert!(
            evidence.contains(
                "98 datagrams were lost on the path, in the receiving host, or in the sender's"
            ),
            "{evidence}"
        );
        assert_eq!(
            find_by_loss(
                &LossLocation {
                    path: Some(1),
                    ..none
                },
                1,
                9.99e6,
                10e6
            ),
            None
        );
    }

    #[test]
    fn what_the_senders_kernel_refused_is_what_is_missing_from_the_rate() {
        let loss = |refused| Loss {
            sent: Some(1000),
            lost: Some(refused),
            location: Some(LossLocation {
                sender_refused: Some(refused),
                sender_forbidden: Some(refused),
                ..LossLocation::default()
            }),
            ..Loss::default()
        };
        let found = |refused, sent_bps| find_by_refusals(&loss(refused), sent_bps, Some(10e6));
        let by = found(50, 9.5e6).unwrap();
        assert_eq!(by.limit, Bottleneck::Sender);
        assert_eq!(
            by.evidence,
            "the sender's kernel refused 50 of 1000 datagrams (a firewall of its host)"
        );
        // The rate was reached all the same, or something else held the sender back.
        assert_eq!(found(5, 9.95e6), None);
        assert_eq!(found(50, 5e6), None);
        assert_eq!(found(0, 9.5e6), None);
        assert_eq!(find_by_refusals(&loss(50), 9.5e6, None), None);
    }
}
