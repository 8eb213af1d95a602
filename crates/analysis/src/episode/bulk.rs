//! The episodes of a bulk transfer: those seen while it ran, held against what arrived, and the times without payload.

use super::gaps::{Gap, gaps, longest_gap};
use super::mtu_black_hole;
use crate::timeline::Timeline;
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::plan::{Direction, Transport};

/// Minimum silence that counts, s; that of a TCP connection without the timeouts that a few losses in a row cost.
const MIN_SILENCE_S: f64 = 1.0;
const MIN_TCP_SILENCE_S: f64 = 1.5;
/// The same in round trips.
const MIN_SILENCE_ROUND_TRIPS: f64 = 3.0;
/// Minimum length of a silence at the end of a test that ended it, s.
const MIN_LAST_S: f64 = 3.0;
/// Minimum number of datagrams that should have arrived in a gap.
const MIN_MISSING_DATAGRAMS: f64 = 10.0;
/// The part of a gap in which a TCP sender must have had data outstanding.
const MIN_BUSY: f64 = 0.8;

/// The episodes of a bulk transfer: `seen` while it ran, and those that its readings show, over a path with this round-trip time.
#[must_use]
pub fn bulk_episodes(
    seen: &[Episode],
    arrivals: &[ArrivalSeries],
    timeline: &Timeline,
    rtt_s: f64,
) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = seen
        .iter()
        .filter_map(|episode| confirmed(episode, arrivals))
        .collect();
    for series in arrivals {
        let stalls = stalls(series, timeline, rtt_s, &episodes);
        episodes.extend(stalls);
    }
    for direction in [Direction::Up, Direction::Down] {
        let black_hole = black_hole(timeline, direction, &mut episodes);
        episodes.extend(black_hole);
    }
    episodes.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    episodes
}

/// An episode without the time in which payload arrived all the same: `None` where too little is left. The control connection may be
/// late where a queue is long, and after an outage its timer may have backed off.
fn confirmed(episode: &Episode, arrivals: &[ArrivalSeries]) -> Option<Episode> {
    let is_silence = matches!(
        episode.kind,
        EpisodeKind::PathSilent | EpisodeKind::PeerStopped
    );
    let Some(to_s) = episode.to_s.filter(|_| is_silence) else {
        return Some(episode.clone());
    };
    let whole = Gap {
        from_s: episode.from_s,
        to_s,
        is_last: false,
    };
    if whole.length_s() < MIN_SILENCE_S {
        // Not by a silence: the peer itself told of it.
        return Some(episode.clone());
    }
    let silent = arrivals
        .iter()
        .map(|series| longest_gap(series, episode.from_s, to_s))
        .fold(whole, |shorter, gap| {
            if gap.length_s() < shorter.length_s() {
                gap
            } else {
                shorter
            }
        });
    (silent.length_s() >= MIN_SILENCE_S).then(|| Episode {
        from_s: silent.from_s,
        to_s: Some(silent.to_s),
        ..episode.clone()
    })
}

/// The times in which a direction had something to send and nothing arrived, of those that no known episode explains.
fn stalls(
    series: &ArrivalSeries,
    timeline: &Timeline,
    rtt_s: f64,
    known: &[Episode],
) -> Vec<Episode> {
    let min_s = match timeline.transport() {
        Transport::Tcp => MIN_TCP_SILENCE_S.max(MIN_SILENCE_S + MIN_SILENCE_ROUND_TRIPS * rtt_s),
        Transport::Udp => MIN_SILENCE_S.max(MIN_SILENCE_ROUND_TRIPS * rtt_s),
    };
    let direction = series.direction();
    // What arrives after the end of the test is waited for, and not expected.
    let end_s = timeline.end_s();
    let within_test = |gap: Gap| Gap {
        to_s: gap.to_s.min(end_s),
        is_last: gap.is_last || gap.to_s >= end_s,
        ..gap
    };
    let is_explained = |gap: &Gap| {
        let explained_s: f64 = known
            .iter()
            .filter(|one| one.kind.limit(direction).is_some())
            .map(|one| one.overlap_s(gap.from_s, gap.to_s))
            .sum();
        explained_s >= gap.length_s() / 2.0
    };
    gaps(series)
        .into_iter()
        .map(within_test)
        .filter(|gap| gap.length_s() >= min_s && !is_explained(gap))
        .filter(|gap| had_to_send(timeline, direction, gap))
        .map(|gap| Episode {
            kind: EpisodeKind::DataSilent,
            from_s: gap.from_s,
            to_s: (!gap.is_last || gap.length_s() < MIN_LAST_S).then_some(gap.to_s),
            direction: Some(direction),
            evidence: "there was payload to send, and the peer was heard meanwhile".to_owned(),
        })
        .collect()
}

/// `true` where the senders of a direction say that they had something to send in a gap.
fn had_to_send(timeline: &Timeline, direction: Direction, gap: &Gap) -> bool {
    let flows = timeline.flows_of(direction);
    flows.iter().any(
        |flow| match timeline.sent_around(*flow, gap.from_s, gap.to_s) {
            Some(sent) => match timeline.transport() {
                Transport::Tcp => sent
                    .busy_s
                    .is_some_and(|busy_s| busy_s >= MIN_BUSY * gap.length_s()),
                Transport::Udp => {
                    let outside_s = sent.span_s - gap.length_s() / 2.0;
                    sent.usual_rate * gap.length_s() >= MIN_MISSING_DATAGRAMS
                        && sent.datagrams as f64 >= sent.usual_rate * outside_s
                }
            },
            None => false,
        },
    )
}

/// The episode of a direction whose segments are lost for their size; it takes the place of the silence that they caused.
fn black_hole(
    timeline: &Timeline,
    direction: Direction,
    episodes: &mut Vec<Episode>,
) -> Option<Episode> {
    if timeline.transport() != Transport::Tcp {
        return None;
    }
    let hole = mtu_black_hole::find(timeline, direction)?;
    let is_its_silence = |one: &Episode| {
        one.kind == EpisodeKind::DataSilent
            && one.direction == Some(direction)
            && one.from_s < MIN_SILENCE_S
    };
    let silence = episodes.iter().position(is_its_silence);
    if hole.passing_mss.is_none() && silence.is_none() {
        return None;
    }
    let silence = silence.map(|at| episodes.remove(at));
    let lost = hole.lost_mss;
    let (to_s, evidence) = match hole.passing_mss {
        Some(passing) => (
            silence
                .and_then(|silence| silence.to_s)
                .or_else(|| timeline.sender_time_s(direction, hole.tick)),
            format!(
                "segments of {lost} B were lost, and net.ipv4.tcp_mtu_probing came down to {passing} B, which pass"
            ),
        ),
        None => (
            silence.and_then(|silence| silence.to_s),
            format!(
                "segments of {lost} B are never acknowledged, while the connection was made and smaller ones are answered"
            ),
        ),
    };
    Some(Episode {
        kind: EpisodeKind::MtuBlackHole,
        from_s: 0.0,
        to_s,
        direction: Some(direction),
        evidence,
    })
}

#[cfg(test)]
mod tests {
    use super::super::gaps::tests::series;
    use super::*;
    use caudal_core::interval::ServerAccount;
    use caudal_core::plan::{PlannedFlow, Ticks};
    use caudal_core::sample::{Counters, Sample, SenderCounters};
    use std::time::Duration;

    /// The timeline of an upload of 10 s in datagrams, of which `sent` had been sent at each second.
    fn timeline(sent: impl Fn(u64) -> u64) -> Timeline {
        let flow = PlannedFlow {
            id: 0,
            direction: Direction::Up,
        };
        let ticks = Ticks::new(
            Duration::from_secs(1),
            Duration::ZERO,
            Some(Duration::from_secs(10)),
        );
        let mut timeline = Timeline::new([flow], &ticks, Transport::Udp, ServerAccount::Full);
        for tick in 0..=10 {
            let counters = SenderCounters {
                datagrams: sent(tick),
                ..SenderCounters::default()
            };
            timeline.push(&Sample {
                flow: 0,
                tick,
                at_ns: tick * 1_000_000_000,
                counters: Counters::Sender(counters),
            });
        }
        timeline
    }

    fn silence(from_s: f64, to_s: f64) -> Episode {
        Episode {
            kind: EpisodeKind::PathSilent,
            from_s,
            to_s: Some(to_s),
            direction: None,
            evidence: String::new(),
        }
    }

    fn found(seen: &[Episode], arrivals: &ArrivalSeries, timeline: &Timeline) -> Vec<Episode> {
        bulk_episodes(seen, std::slice::from_ref(arrivals), timeline, 0.02)
    }

    #[test]
    fn payload_that_was_sent_and_did_not_arrive_is_an_episode() {
        let interrupted = series(10.0, |at_s| !(4.01..6.01).contains(&at_s));
        let steady = timeline(|tick| tick * 100);
        let all = found(&[], &interrupted, &steady);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].kind, EpisodeKind::DataSilent);
        assert!((all[0].from_s - 4.0).abs() < 0.1 && (all[0].to_s.unwrap() - 6.0).abs() < 0.1);
        // A sender that paused had nothing to lose.
        let paused = timeline(|tick| match tick {
            0..=4 => tick * 100,
            5 | 6 => 400,
            _ => (tick - 2) * 100,
        });
        assert_eq!(found(&[], &interrupted, &paused), []);
    }

    #[test]
    fn a_silence_of_the_control_connection_ends_where_payload_arrives() {
        let interrupted = series(10.0, |at_s| !(4.01..6.01).contains(&at_s));
        let steady = timeline(|tick| tick * 100);
        let all = found(&[silence(3.8, 7.0)], &interrupted, &steady);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].kind, EpisodeKind::PathSilent);
        assert!((all[0].to_s.unwrap() - 6.0).abs() < 0.2, "{all:?}");
        // Where payload arrives all the time, the connection waited in a queue.
        let flowing = series(10.0, |_| true);
        assert_eq!(found(&[silence(3.8, 7.0)], &flowing, &steady), []);
    }

    #[test]
    fn what_never_arrives_again_is_open() {
        let ended = series(10.0, |at_s| at_s < 5.01);
        let all = found(&[], &ended, &timeline(|tick| tick * 100));
        assert!(all.len() == 1 && all[0].is_open(), "{all:?}");
    }
}
