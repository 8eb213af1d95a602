//! The times in which nothing of a TCP connection was acknowledged: it waited for a retransmission timeout, or for the receiver's window.

use super::gaps::Gap;
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::plan::Direction;
use caudal_core::tcp_trace::TcpReading;

/// Minimum time without an acknowledgement, s: the minimum timeout (`TCP_RTO_MIN`, include/net/tcp.h) and half of it for the timer's
/// granularity and the round trip of a short path.
const MIN_STALL_S: f64 = 0.3;
/// The same in round trips beside the minimum timeout, and in readings.
const MIN_TIMEOUT_S: f64 = 0.2;
const MIN_READINGS: usize = 4;
/// Maximum part of a time that other episodes explain.
const MAX_EXPLAINED: f64 = 0.5;
/// Minimum part of a time that the receiver's window limited for it to be what the connection waited for.
const MIN_LIMITED: f64 = 0.8;

/// What the kernel counted of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StallCounters {
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// The time that the receiver's window limited, s.
    pub(crate) window_limited_s: f64,
}

/// A time without an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Stall {
    gap: Gap,
    /// The segments sent again well after it began.
    again: u32,
}

/// The waits of one connection for its timeouts, the longest of them where the kernel counted fewer, and for the receiver's window, the
/// longest of them within the time that the kernel says it limited; in order of time.
pub(crate) fn stall_episodes(
    readings: &[TcpReading],
    counters: StallCounters,
    direction: Direction,
    known: &[Episode],
) -> Vec<Episode> {
    let mut stalls = stalls(readings);
    stalls.retain(|stall| {
        let (from_s, to_s) = (stall.gap.from_s, stall.gap.to_s);
        let explained_s: f64 = known
            .iter()
            .filter(|one| one.kind.limit(direction).is_some())
            .map(|one| one.overlap_s(from_s, to_s))
            .sum();
        explained_s <= MAX_EXPLAINED * stall.gap.length_s()
    });
    stalls.sort_by(|a, b| b.gap.length_s().total_cmp(&a.gap.length_s()));
    let (mut timeouts, mut limited_s) = (counters.timeouts, counters.window_limited_s);
    let mut episodes = Vec::new();
    for Stall { gap, again } in stalls {
        let length_s = gap.length_s();
        let (kind, evidence) = if again > 0 && timeouts > 0 {
            timeouts -= 1;
            (
                EpisodeKind::RetransmissionTimeout,
                format!(
                    "nothing was acknowledged for {length_s:.2} s, until {again} segments were sent again"
                ),
            )
        } else if again == 0 && limited_s >= MIN_LIMITED * length_s {
            limited_s -= length_s;
            (
                EpisodeKind::WindowClosed,
                format!(
                    "nothing was taken for {length_s:.2} s, nothing was sent again, and the window limited the sender for {:.2} s of the test",
                    counters.window_limited_s
                ),
            )
        } else {
            continue;
        };
        episodes.push(Episode {
            kind,
            from_s: gap.from_s,
            to_s: Some(gap.to_s),
            direction: Some(direction),
            evidence,
        });
    }
    episodes.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    episodes
}

/// The times without an acknowledgement.
fn stalls(readings: &[TcpReading]) -> Vec<Stall> {
    let at_s = |nth: usize| readings[nth].at_us as f64 / 1e6;
    let mut stalls = Vec::new();
    let mut from = 0;
    for nth in 1..readings.len() {
        let is_last = nth + 1 == readings.len();
        if readings[nth].acknowledged_bytes == readings[from].acknowledged_bytes && !is_last {
            continue;
        }
        let gap = Gap {
            from_s: at_s(from),
            to_s: at_s(nth),
            is_last: readings[nth].acknowledged_bytes == readings[from].acknowledged_bytes,
        };
        let rtt_s = f64::from(readings[from].rtt_us) / 1e6;
        // What is sent again at once answers duplicate acknowledgements.
        let began = (from..nth)
            .find(|one| at_s(*one) - gap.from_s >= MIN_TIMEOUT_S / 2.0)
            .unwrap_or(nth);
        let again = readings[nth].retransmits - readings[began].retransmits;
        let is_long = gap.length_s() >= MIN_STALL_S.max(MIN_TIMEOUT_S + rtt_s);
        if is_long && nth - from >= MIN_READINGS {
            stalls.push(Stall { gap, again });
        }
        from = nth;
    }
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection of 8 s at 10 Mbit/s over 20 ms, without acknowledgements in these times in s, which end with this many
    /// retransmissions.
    fn readings(without: &[(f64, f64, u32)]) -> Vec<TcpReading> {
        let mut last = TcpReading::default();
        (0..400)
            .map(|nth| {
                let at_s = f64::from(nth) * 0.02;
                let stall = without
                    .iter()
                    .find(|(from_s, to_s, _)| (*from_s..*to_s).contains(&at_s));
                let again = stall.filter(|(_, to_s, _)| at_s + 0.021 > *to_s);
                last = TcpReading {
                    at_us: (at_s * 1e6) as u64,
                    rtt_us: 20_000,
                    min_rtt_us: 20_000,
                    delivery_bps: 10_000_000,
                    retransmits: last.retransmits + again.map_or(0, |one| one.2),
                    acknowledged_bytes: last.acknowledged_bytes
                        + if stall.is_some() { 0 } else { 25_000 },
                };
                last
            })
            .collect()
    }

    fn found(without: &[(f64, f64, u32)], timeouts: u64, known: &[Episode]) -> Vec<(f64, f64)> {
        let counters = StallCounters {
            timeouts,
            ..StallCounters::default()
        };
        let all = stall_episodes(&readings(without), counters, Direction::Up, known);
        let tenth = |s: f64| (s * 10.0).round() / 10.0;
        all.iter()
            .map(|one| (tenth(one.from_s), one.to_s.map_or(0.0, tenth)))
            .collect()
    }

    #[test]
    fn a_wait_for_a_timeout_is_told_with_its_time() {
        assert_eq!(found(&[], 3, &[]), []);
        let waits = [(2.0, 2.5, 3), (5.0, 5.9, 1)];
        assert_eq!(found(&waits, 3, &[]), [(2.0, 2.5), (5.0, 5.9)]);
        // The kernel counted one.
        assert_eq!(found(&waits, 1, &[]), [(5.0, 5.9)]);
        assert_eq!(found(&waits, 0, &[]), []);
    }

    #[test]
    fn a_closed_window_is_told_within_the_time_that_the_kernel_says() {
        let windows = [(2.0, 2.6, 0), (5.0, 5.9, 0)];
        let closed = |window_limited_s: f64| {
            let counters = StallCounters {
                timeouts: 3,
                window_limited_s,
            };
            let all = stall_episodes(&readings(&windows), counters, Direction::Up, &[]);
            let are_closed = all.iter().all(|one| one.kind == EpisodeKind::WindowClosed);
            assert!(are_closed, "{all:?}");
            all.len()
        };
        assert_eq!(closed(1.5), 2);
        assert_eq!(closed(1.0), 1);
        assert_eq!(closed(0.3), 0);
    }

    #[test]
    fn short_stalls_idle_times_and_outages_are_none() {
        assert_eq!(found(&[(2.0, 2.2, 3)], 1, &[]), []);
        assert_eq!(found(&[(2.0, 3.0, 0)], 1, &[]), []);
        let outage = Episode {
            kind: EpisodeKind::PathSilent,
            from_s: 2.0,
            to_s: Some(4.0),
            direction: None,
            evidence: String::new(),
        };
        assert_eq!(found(&[(2.0, 4.3, 3)], 4, &[outage]), []);
        let counters = StallCounters {
            timeouts: 4,
            window_limited_s: 9.0,
        };
        assert_eq!(stall_episodes(&[], counters, Direction::Up, &[]), []);
    }
}
