//! Packets that the host at either end dropped, where they may be what a direction lost.

use super::context::Context;
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, Transport};
use caudal_core::warning::{Warning, WarningCode};

/// Minimum number of packets dropped to be told, and the same for each second: every host drops some that it has no use for.
const MIN_DROPPED: u64 = 10;
const MIN_DROPPED_PER_S: f64 = 2.0;
/// Minimum part of what was lost. A packet may hold as many segments as fit into 64 kB.
const MIN_PART: f64 = 0.02;

/// The packets that a host dropped, by their places.
type Places = Vec<(u64, &'static str)>;

/// The packets that the receiving host dropped before its sockets, where they may be the `lost` ones of a direction.
pub(super) fn receiver_drops(context: &Context<'_>, direction: Direction, lost: u64) -> Places {
    let usage = match direction {
        Direction::Up => context.server_usage,
        Direction::Down => Some(context.client_usage),
    };
    dropped(usage, lost, |usage| {
        usage.drops.map(|drops| drops.on_receive())
    })
}

/// The same of the sending host.
fn sender_drops(context: &Context<'_>, direction: Direction, lost: u64) -> Places {
    let usage = match direction {
        Direction::Up => Some(context.client_usage),
        Direction::Down => context.server_usage,
    };
    dropped(usage, lost, |usage| {
        usage.drops.map(|drops| drops.on_send())
    })
}

fn dropped(usage: Option<&Usage>, lost: u64, places: impl Fn(&Usage) -> Option<Places>) -> Places {
    let Some((usage, places)) = usage.and_then(|usage| Some((usage, places(usage)?))) else {
        return Vec::new();
    };
    let wall_s = usage.wall_ns as f64 / 1e9;
    let usual = MIN_DROPPED as f64 + MIN_DROPPED_PER_S * wall_s;
    let is_enough = total(&places) as f64 >= usual.max(MIN_PART * lost as f64);
    if lost > 0 && is_enough {
        places
    } else {
        Vec::new()
    }
}

/// All packets of these places.
pub(super) fn total(places: &Places) -> u64 {
    let counts = places.iter().map(|(count, _)| *count);
    counts.fold(0, u64::saturating_add)
}

/// The warnings about packets that either host dropped, where they may be the `lost` ones of a direction.
pub(super) fn host_drop_warnings(
    context: &Context<'_>,
    direction: Direction,
    lost: u64,
) -> Vec<Warning> {
    let what = match context.transport() {
        Transport::Tcp => "segments were retransmitted",
        Transport::Udp => "datagrams were lost",
    };
    let reasons = |usage: Option<&Usage>| {
        let reasons = usage.and_then(|usage| usage.drop_reasons?.text());
        reasons.map_or_else(String::new, |reasons| {
            format!("; the kernel's reasons, for its whole machine: {reasons}")
        })
    };
    let warning = |places: Places, host: &str, usage: Option<&Usage>| {
        let each: Vec<String> = places
            .iter()
            .map(|(count, place)| format!("{count} {place}"))
            .collect();
        (!places.is_empty()).then(|| {
            Warning::new(
                WarningCode::HostDrops,
                format!(
                    "{}: {lost} {what}, and the {host} host dropped {} packets of all its traffic: {}{}",
                    direction.in_text(),
                    total(&places),
                    each.join(", "),
                    reasons(usage)
                ),
            )
        })
    };
    let (client, server) = (Some(context.client_usage), context.server_usage);
    let (sender, receiver) = match direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let both = [
        warning(sender_drops(context, direction, lost), "sending", sender),
        warning(
            receiver_drops(context, direction, lost),
            "receiving",
            receiver,
        ),
    ];
    both.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::host_drops::HostDrops;

    #[test]
    fn few_drops_of_a_busy_host_are_not_what_was_lost() {
        let told = |firewall: u64, lost: u64| {
            let usage = Usage {
                wall_ns: 10_000_000_000,
                drops: Some(HostDrops {
                    firewall,
                    ..HostDrops::default()
                }),
                ..Usage::default()
            };
            let places = dropped(Some(&usage), lost, |usage| {
                usage.drops.map(|drops| drops.on_receive())
            });
            total(&places)
        };
        assert_eq!(told(97, 97), 97);
        assert_eq!(told(97, 0), 0);
        assert_eq!(told(12, 12), 0);
        assert_eq!(told(97, 100_000), 0);
    }
}
