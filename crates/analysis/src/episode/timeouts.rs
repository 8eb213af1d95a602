//! The times in which a TCP connection waited for a retransmission timeout.

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

/// The waits of one connection for its timeouts, the longest of them where the kernel counted fewer, in order of time.
pub(crate) fn timeout_episodes(
    readings: &[TcpReading],
    timeouts: u64,
    direction: Direction,
    known: &[Episode],
) -> Vec<Episode> {
    let mut stalls = stalls(readings);
    stalls.retain(|(gap, _)| {
        let explained_s: f64 = known
            .iter()
            .filter(|one| one.kind.limit(direction).is_some())
            .map(|one| one.overlap_s(gap.from_s, gap.to_s))
            .sum();
        explained_s <= MAX_EXPLAINED * gap.length_s()
    });
    stalls.sort_by(|a, b| b.0.length_s().total_cmp(&a.0.length_s()));
    stalls.truncate(usize::try_from(timeouts).unwrap_or(usize::MAX));
    stalls.sort_by(|a, b| a.0.from_s.total_cmp(&b.0.from_s));
    let episode = |(gap, again): (Gap, u32)| Episode {
        kind: EpisodeKind::RetransmissionTimeout,
        from_s: gap.from_s,
        to_s: Some(gap.to_s),
        direction: Some(direction),
        evidence: format!(
            "nothing was acknowledged for {:.2} s, until {again} segments were sent again",
            gap.length_s()
        ),
    };
    stalls.into_iter().map(episode).collect()
}

/// The times without an acknowledgement in which segments were sent again well after it began, each with their number.
fn stalls(readings: &[TcpReading]) -> Vec<(Gap, u32)> {
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
        if is_long && nth - from >= MIN_READINGS && again > 0 {
            stalls.push((gap, again));
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
        let all = timeout_episodes(&readings(without), timeouts, Direction::Up, known);
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
        assert_eq!(timeout_episodes(&[], 4, Direction::Up, &[]), []);
    }
}
