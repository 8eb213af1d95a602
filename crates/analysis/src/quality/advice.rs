//! What a test of latency under load found, and what to do about it.

use super::added::added_delay;
use super::verdicts::{alone, not_filled, served_first, short_queues};
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{
    AddedDelay, Advice, AdviceCode, DelayIncrease, PathFill, PhaseReport, ProbeKind,
};
use caudal_core::units::{BitRate, ByteCount};

/// Maximum increase of the mean delay in a direction for its queue to be short, µs: the limit of grade A.
const SHORT_US: f64 = 30_000.0;

/// Minimum share of the sender's own backlog in the increase for the queue to be the sender's.
const OWN_PART: f64 = 0.5;

/// The part of the goodput that a shaper is to leave to the link, so that the queue is where it can be managed.
const SHAPED: f64 = 0.9;

/// Maximum goodput of a slow link, bit/s: a packet takes longer than the limit of grade A.
const SLOW_BPS: f64 = 400e3;

/// A full frame of Ethernet, bits.
const FRAME_BITS: f64 = 1514.0 * 8.0;

/// Minimum share of probes lost in the idle phase to be reported.
const IDLE_LOSS: f64 = 0.01;

/// The advice that follows from these phases.
pub(super) fn advice(phases: &[PhaseReport]) -> Vec<Advice> {
    let compared = phases.iter().any(|phase| phase.added_rtt.is_some());
    let mut all: Vec<Advice> = idle_loss(phases).into_iter().collect();
    let slow = slow_link(phases, compared);
    if !compared {
        all.extend(slow.or_else(|| no_baseline(phases)));
        return all;
    }
    all.extend(slow);
    if phases.iter().any(|phase| phase.busy.is_some()) {
        return all;
    }
    let directions = [Direction::Down, Direction::Up];
    let each = directions.into_iter();
    all.extend(each.clone().filter_map(|one| served_first(phases, one)));
    let long: Vec<Advice> = each
        .clone()
        .filter_map(|direction| long_queue(phases, direction))
        .collect();
    let unfilled: Vec<Advice> = each
        .filter_map(|direction| not_filled(phases, direction))
        .collect();
    if long.is_empty() {
        all.extend(short_queues(&directions.map(|direction| {
            (
                direction,
                unfilled.iter().any(|one| one.direction == Some(direction)),
            )
        })));
    }
    all.extend(long);
    all.extend(unfilled);
    all
}

/// The rates of a slow link, and what they mean; `None` where UDP probes do not get through at all.
fn slow_link(phases: &[PhaseReport], compared: bool) -> Option<Advice> {
    let idle = phases.iter().find(|phase| phase.load == PhaseLoad::Idle)?;
    let probe = idle.probe(ProbeKind::Udp)?;
    if probe.lost >= probe.sent {
        return None;
    }
    let goodput = |direction| {
        let each = phases.iter().filter_map(|phase| {
            let load = phase.direction(direction)?;
            load.summary.goodput_mean()
        });
        each.reduce(f64::max)
    };
    let rates = Direction::BOTH.map(|direction| (direction, goodput(direction)));
    let known = rates
        .iter()
        .filter_map(|(direction, bps)| Some((direction, (*bps)?)));
    let (slower, bps) = known.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    if bps >= SLOW_BPS {
        return None;
    }
    let each = rates.iter().filter_map(|(direction, bps)| {
        let rate = BitRate::from_bps((*bps)? as u64);
        Some(format!("{} {rate}", direction.in_text()))
    });
    let each: Vec<String> = each.collect();
    let frame_ms = FRAME_BITS / bps.max(1.0) * 1e3;
    // Load that did not fill the link, as where the round trip is long, says nothing about its rate: probes behind a packet of that
    // rate would have waited for it.
    let has_waited = |added: DelayIncrease| added.high_us() / 1e3 >= frame_ms / 2.0;
    let loaded = phases
        .iter()
        .filter(|phase| phase.direction(*slower).is_some());
    let mut increases = loaded.filter_map(|phase| phase.added_rtt).peekable();
    if increases.peek().is_some() && !increases.any(has_waited) {
        return None;
    }
    let known = format!(
        "slow link ({}): a packet of 1500 B takes {frame_ms:.0} ms of it",
        each.join(", ")
    );
    let (finding, remedy) = if compared {
        (
            known,
            "expect delays of many packets; interactive traffic needs a queue of its own (SQM)"
                .to_owned(),
        )
    } else {
        (
            format!(
                "{known}; no UDP probe came back under load, so the delay that it adds is not known"
            ),
            "measure for longer with one flow (-P 1 -t 60s)".to_owned(),
        )
    };
    Some(Advice {
        code: AdviceCode::SlowLink,
        direction: Some(*slower),
        finding,
        remedy,
    })
}

fn no_baseline(phases: &[PhaseReport]) -> Option<Advice> {
    phases
        .iter()
        .any(|phase| phase.load != PhaseLoad::Idle)
        .then(|| Advice {
            code: AdviceCode::NoBaseline,
            direction: None,
            finding:
                "cannot tell what load adds: no UDP probe came back both without and with load"
                    .to_owned(),
            remedy: "see whether a firewall lets UDP through on the server's port".to_owned(),
        })
}

fn idle_loss(phases: &[PhaseReport]) -> Option<Advice> {
    let idle = phases.iter().find(|phase| phase.load == PhaseLoad::Idle)?;
    let probe = idle.probes.first()?;
    // What this host's own kernel refused was not lost by the line.
    let refused = probe.refused.unwrap_or(0);
    let (lost, sent) = (
        probe.lost - refused.min(probe.lost),
        probe.sent.saturating_sub(refused),
    );
    let share = lost as f64 / sent.max(1) as f64;
    (share >= IDLE_LOSS).then(|| Advice {
        code: AdviceCode::IdleLoss,
        direction: None,
        finding: format!(
            "{:.1} % of the probes were lost without any load",
            share * 100.0
        ),
        remedy: "look for interference, a bad cable or other traffic before the queues".to_owned(),
    })
}

/// The advice on the queue of load in a direction, where that is long.
fn long_queue(phases: &[PhaseReport], direction: Direction) -> Option<Advice> {
    let find = |load| {
        let phase = phases.iter().find(|phase| phase.load == load)?;
        let added = *phase.added(direction)?;
        // Where the load did not fill the path, something else than its queue delayed the probes.
        let fill = phase.direction(direction)?.fill.as_ref();
        fill.is_none_or(PathFill::is_filled).then_some(())?;
        let added = waiting_tcp(phase, direction).unwrap_or(added);
        (added.increase.mean_us >= SHORT_US).then_some((phase, added))
    };
    let (is_alone, (phase, added)) = match (find(alone(direction)), find(PhaseLoad::Both)) {
        (Some(found), _) => (true, found),
        (None, Some(found)) => (false, found),
        (None, None) => return None,
    };
    let load = phase.direction(direction)?;
    let goodput = load.summary.goodput_mean()?;
    let own_us = load
        .sender_queue
        .map_or(0.0, |queue| queue.mean_bytes * 8.0 / goodput.max(1.0) * 1e6);
    let delay = format!(
        "{:.1} ms, max {:.1}",
        added.increase.mean_us / 1e3,
        added.increase.max_us / 1e3
    );
    let bytes = added.queue_max_bytes.unwrap_or(0.0);
    let (name, sender, receiver) = match direction {
        Direction::Up => ("upload", "this host", "the server"),
        Direction::Down => ("download", "the server", "this host"),
    };
    let bytes = ByteCount::new(bytes as u64);
    let queue = format!("{name} adds {delay}: a queue of {bytes}");
    if own_us >= OWN_PART * added.increase.mean_us {
        return Some(Advice {
            code: AdviceCode::OwnQueue,
            direction: Some(direction),
            finding: format!("{queue}, that of {sender}'s own interface"),
            remedy: format!(
                "use fq_codel or cake there (tc qdisc replace dev … root fq_codel) on {sender}"
            ),
        });
    }
    let rate = BitRate::from_bps((goodput * SHAPED) as u64);
    Some(Advice {
        code: if is_alone {
            AdviceCode::PathQueue
        } else {
            AdviceCode::PathQueueBoth
        },
        direction: Some(direction),
        finding: format!(
            "{queue} on the path to {receiver}{}",
            if is_alone {
                ""
            } else {
                ", with load in both directions"
            }
        ),
        remedy: format!("use SQM on the slow link's router: cake or fq_codel shaped to {rate}"),
    })
}

/// The delay that the load of a direction alone adds to TCP, where UDP is served first and does not meet its queue.
fn waiting_tcp(phase: &PhaseReport, direction: Direction) -> Option<AddedDelay> {
    let both = phase
        .by_protocol
        .filter(|_| phase.load == alone(direction))?;
    let increase = both
        .tcp
        .filter(|_| both.served_first == Some(ProbeKind::Udp))?;
    let goodput = phase.direction(direction)?.summary.goodput_mean();
    Some(added_delay(direction, increase, goodput))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::quality::{
        DelayIncrease, FillVerdict, PhaseDirection, ProbeSummary, SenderQueue,
    };
    use caudal_core::summary::DirectionSummary;

    fn phase(load: PhaseLoad, added_ms: f64, own_bytes: f64) -> PhaseReport {
        let direction = load.each_direction().first().copied();
        let increase = DelayIncrease::above(&[0.0], &[added_ms * 1e3]).unwrap();
        let text = r#"{"direction":"up","goodput_bps":10e6,"measured_s":8}"#;
        let mut summary: DirectionSummary = serde_json::from_str(text).unwrap();
        summary.direction = direction.unwrap_or(Direction::Up);
        PhaseReport {
            call: None,
            load,
            start_s: 0.0,
            duration_s: 10.0,
            ramp_s: 2.0,
            directions: vec![PhaseDirection {
                summary,
                retransmitted: None,
                sender_queue: Some(SenderQueue {
                    n: 9,
                    mean_bytes: own_bytes,
                    max_bytes: own_bytes as u64,
                }),
                fill: Some(PathFill::new(FillVerdict::Filled, "a queue")),
            }],
            probes: Vec::new(),
            one_way: Vec::new(),
            added_rtt: direction.map(|_| increase),
            by_protocol: None,
            grade: None,
            busy: None,
            added: direction
                .map(|direction| added_delay(direction, increase, Some(10e6)))
                .into_iter()
                .collect(),
            responsiveness: None,
            cut_short: None,
        }
    }

    #[test]
    fn the_queue_is_the_senders_where_its_backlog_makes_up_the_delay() {
        let codes = |phases: &[PhaseReport]| -> Vec<_> {
            let advice = advice(phases).into_iter();
            advice.map(|one| (one.code, one.direction)).collect()
        };
        // 100 ms at 10 Mbit/s are 125 000 bytes.
        let own = phase(PhaseLoad::Upload, 100.0, 120_000.0);
        let path = phase(PhaseLoad::Upload, 100.0, 1_000.0);
        let down = phase(PhaseLoad::Download, 40.0, 0.0);
        let short = phase(PhaseLoad::Download, 4.0, 0.0);
        let (up, to_us) = (Some(Direction::Up), Some(Direction::Down));
        assert_eq!(codes(&[own]), [(AdviceCode::OwnQueue, up)]);
        assert_eq!(
            codes(&[down, path]),
            [(AdviceCode::PathQueue, to_us), (AdviceCode::PathQueue, up)]
        );
        assert_eq!(codes(&[short]), [(AdviceCode::ShortQueues, None)]);
        let idle = phase(PhaseLoad::Idle, 0.0, 0.0);
        assert_eq!(codes(std::slice::from_ref(&idle)), []);
        let mut lone = phase(PhaseLoad::Upload, 9.0, 0.0);
        lone.added_rtt = None;
        assert_eq!(codes(&[idle, lone]), [(AdviceCode::NoBaseline, None)]);
    }

    #[test]
    fn a_slow_link_is_no_firewall() {
        let at = |load, bps: f64, added_ms| {
            let mut phase = phase(load, added_ms, 0.0);
            for direction in &mut phase.directions {
                let goodput = direction.summary.goodput_bps.as_mut().unwrap();
                goodput.mean = bps;
            }
            phase
        };
        let mut idle = phase(PhaseLoad::Idle, 0.0, 0.0);
        idle.directions.clear();
        let trips = [Some(20e3), Some(21e3), None];
        idle.probes = vec![ProbeSummary::of_trips(ProbeKind::Udp, &trips, 0.95).unwrap()];
        let mut unanswered = [
            idle.clone(),
            at(PhaseLoad::Download, 100e3, 0.0),
            at(PhaseLoad::Upload, 30e3, 0.0),
        ];
        for phase in &mut unanswered {
            phase.added_rtt = None;
        }
        let found = advice(&unanswered);
        let last = found.last().unwrap();
        assert_eq!(
            (last.code, last.direction),
            (AdviceCode::SlowLink, Some(Direction::Up))
        );
        assert!(
            last.finding.contains("download 100 kbit/s"),
            "{}",
            last.finding
        );
        // Nothing came back without load either: that is no matter of the link's rate.
        let trips = [None, None];
        unanswered[0].probes = ProbeSummary::of_trips(ProbeKind::Udp, &trips, 0.95)
            .into_iter()
            .collect();
        assert_eq!(
            advice(&unanswered).last().unwrap().code,
            AdviceCode::NoBaseline
        );
        // A round trip so long that the load does not fill the link: no packet waited.
        let unfilled = advice(&[idle.clone(), at(PhaseLoad::Download, 100e3, 2.0)]);
        assert!(unfilled.iter().all(|one| one.code != AdviceCode::SlowLink));
        let graded = advice(&[idle, at(PhaseLoad::Download, 100e3, 3000.0)]);
        let codes: Vec<_> = graded.iter().map(|one| one.code).collect();
        assert!(
            codes.contains(&AdviceCode::SlowLink) && codes.contains(&AdviceCode::PathQueue),
            "{codes:?}"
        );
    }

    #[test]
    fn a_delay_under_a_load_that_did_not_fill_the_path_is_no_queue() {
        let mut busy = phase(PhaseLoad::Upload, 100.0, 1_000.0);
        busy.directions[0].fill = Some(PathFill::new(FillVerdict::NotFilled, "the sender's CPU"));
        let found: Vec<_> = advice(&[busy]).into_iter().map(|one| one.code).collect();
        assert!(!found.contains(&AdviceCode::PathQueue), "{found:?}");
        assert!(found.contains(&AdviceCode::PathNotFilled), "{found:?}");
    }

    #[test]
    fn the_remedy_names_the_rate_of_the_shaper() {
        let advice = advice(&[phase(PhaseLoad::Upload, 100.0, 0.0)]);
        assert!(
            advice[0].remedy.contains("9 Mbit/s"),
            "{}",
            advice[0].remedy
        );
        assert!(
            advice[0].finding.contains("a queue of 125"),
            "{}",
            advice[0].finding
        );
    }
}
