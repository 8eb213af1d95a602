//! What a throughput run should have given, from its plan and what was learnt of its path, beside what it gave.

use super::ceilings::{Ceiling, Ceilings, Term};
use super::loss::{Acknowledged, Congestion, cubic, loss_ceiling, mathis, pftk};
use super::share::overload_loss;
use super::transfer::{INITIAL_WINDOW, slow_start};
use super::window::window_ceiling;
use caudal_core::bottleneck::{Bottleneck, LimitedBy, REACHED};
use caudal_core::interval::Interval;
use caudal_core::plan::{Direction, Transport};
use caudal_core::prediction::Compared;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::sample::FlowRecord;
use caudal_core::summary::{Context, DirectionSummary};
use caudal_core::timeline::Measured;
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// Segments sent again below which their share says little of the path.
const FEW_LOSSES: u64 = 10;
/// The part of the time from which slow start is worth a ceiling of its own.
const SLOW_START: f64 = 0.05;
/// The share of intervals that must have losses for these to be taken as spread at random.
const SPREAD: f64 = 0.75;
/// The fewest intervals in which that can be told.
const FEW_INTERVALS: usize = 4;

/// The least timeout Linux adds to a round trip: TCP_RTO_MIN in include/net/tcp.h.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// The predictions for one direction of a run, beside what it gave; none where no rate was measured.
#[must_use]
pub fn predictions(context: &Context<'_>, summary: &DirectionSummary) -> Vec<Compared> {
    let (Some(goodput), Some(limited_by), Some(ceiling)) =
        (summary.goodput_bps, &summary.limited_by, &summary.ceiling)
    else {
        return Vec::new();
    };
    let records: Vec<&FlowRecord> = context
        .records
        .iter()
        .filter(|record| record.flow.direction == summary.direction)
        .collect();
    let intervals: Vec<Vec<Interval>> = records
        .iter()
        .map(|record| context.timeline.intervals(record.flow.id))
        .collect();
    let measured: Vec<Measured> = records
        .iter()
        .filter_map(|record| context.timeline.measured(record.flow.id))
        .collect();
    let granted = || {
        records
            .iter()
            .filter_map(|record| Some(&record.sender.as_ref()?.granted))
    };
    let spans = || measured.iter().filter_map(|flow| flow.tcp);
    let windows: Option<u64> = measured
        .iter()
        .map(|flow| flow.tcp?.1.receiver_window_bytes)
        .sum();
    let mss = granted().filter_map(|granted| granted.mss).min();
    let sent: Option<u64> = spans()
        .map(|(first, last)| Some(last.bytes_sent?.saturating_sub(first.bytes_sent?)))
        .sum();
    let controls: Vec<&str> = granted()
        .filter_map(|granted| granted.congestion.as_deref())
        .collect();
    compare(&Facts {
        direction: summary.direction,
        transport: context.transport(),
        goodput_bps: goodput.mean,
        limited_by,
        flows: records.len() as u32,
        asked: context.bulk.rate.limit(),
        wire: ceiling.goodput_bps.map(|bps| (bps, ceiling.why.as_str())),
        loopback: context.loopback,
        window: windows.filter(|bytes| *bytes > 0).map(ByteCount::new),
        min_rtt: summary
            .tcp
            .as_ref()
            .and_then(|tcp| tcp.rtt_min_us)
            .map(|us| Duration::from_micros(u64::from(us))),
        congestion: controls
            .first()
            .copied()
            .filter(|first| controls.iter().all(|control| control == first)),
        mss,
        segments: sent
            .zip(mss)
            .map(|(sent, mss)| sent / u64::from(mss.max(1))),
        retransmits: summary.tcp.and_then(|tcp| tcp.retransmits).unwrap_or(0),
        timeouts: spans()
            .map(|(first, last)| Some(last.timeouts?.saturating_sub(first.timeouts?)))
            .sum(),
        mean_rtt: summary
            .tcp
            .as_ref()
            .and_then(|tcp| tcp.rtt_mean_us)
            .and_then(|us| Duration::try_from_secs_f64(us / 1e6).ok()),
        spread: is_spread(&intervals),
        sent_bps: Some(measured.iter().map(Measured::sent_bps).sum()),
        loss: summary
            .loss
            .as_ref()
            .and_then(|loss| Some(loss.fraction?.mean)),
        measured_s: summary.measured_s,
        amount: context
            .bulk
            .bytes()
            .filter(|bytes| bytes.get() < u64::MAX - 1),
        both_ways: context.bulk.directions.each().len() > 1,
        block: context.bulk.length,
    })
}

/// What is known of one direction of a run.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The direction.
    pub direction: Direction,
    /// The protocol.
    pub transport: Transport,
    /// Payload that arrived, bit/s.
    pub goodput_bps: f64,
    /// What limited it.
    pub limited_by: &'a LimitedBy,
    /// Flows in it.
    pub flows: u32,
    /// The rate asked of each flow.
    pub asked: Option<BitRate>,
    /// What the wire carries as payload, bit/s, and how that was reckoned.
    pub wire: Option<(f64, &'a str)>,
    /// Whether the traffic stays on a loopback.
    pub loopback: bool,
    /// The windows of the receiving ends, all flows together, at the end, bytes.
    pub window: Option<ByteCount>,
    /// The least round-trip time of any flow.
    pub min_rtt: Option<Duration>,
    /// The congestion control of the senders.
    pub congestion: Option<&'a str>,
    /// The segment's payload, bytes.
    pub mss: Option<u32>,
    /// Segments sent, with those sent again (TCP).
    pub segments: Option<u64>,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Times the sender's kernel waited for a retransmission timeout; `None` where it does not say.
    pub timeouts: Option<u64>,
    /// The mean round-trip time under the test's own load.
    pub mean_rtt: Option<Duration>,
    /// Whether they were spread over the test.
    pub spread: bool,
    /// Payload handed to the sender's kernel, bit/s.
    pub sent_bps: Option<f64>,
    /// The share of datagrams lost (UDP).
    pub loss: Option<f64>,
    /// How long the measured part is, s.
    pub measured_s: f64,
    /// The payload a direction moves, where that ends the test.
    pub amount: Option<ByteCount>,
    /// Whether the other direction carries data too, whose acknowledgements then share the wire.
    pub both_ways: bool,
    /// Bytes handed over at once: a rate cannot be kept closer than that.
    pub block: u32,
}

/// Whether losses were spread over the intervals of a direction, as chance would, and not in a few bursts.
#[must_use]
pub fn is_spread(intervals: &[Vec<Interval>]) -> bool {
    let counted: Vec<u64> = intervals
        .iter()
        .flatten()
        .filter(|interval| !interval.omitted)
        .filter_map(|interval| interval.tcp?.retransmits)
        .collect();
    let with = counted.iter().filter(|count| **count > 0).count();
    let all: u64 = counted.iter().sum();
    let most = counted.iter().max().copied().unwrap_or(0);
    counted.len() >= FEW_INTERVALS
        && with as f64 >= SPREAD * counted.len() as f64
        && most * 2 <= all
}

/// The predictions that apply, each ceiling by itself and last the lowest of them, beside what was observed.
#[must_use]
pub fn compare(facts: &Facts<'_>) -> Vec<Compared> {
    let ceilings = ceilings(facts);
    let way = facts.direction.name();
    let mut all: Vec<Compared> = ceilings
        .all()
        .iter()
        .map(|ceiling| {
            let title = format!("{} allows, {way}", ceiling.term.words());
            let prediction = Prediction::new(
                format!("{}_ceiling_{way}", ceiling.term.name()),
                title,
                ceiling.rate.as_f64(),
                Unit::BitPerSecond,
            )
            .bound_by(ceiling.term.name())
            .assumes(ceiling.assumes.clone())
            .source(ceiling.source.clone())
            .within(ceiling.tolerance)
            .step(ceiling.why.clone());
            Compared::with_ceiling(prediction, facts.goodput_bps).because(|_| above(ceiling.term))
        })
        .collect();
    // Without the wire the lowest may not be the lowest.
    let whole = facts.wire.is_some()
        || facts.asked.is_some()
        || facts.limited_by.limit == Bottleneck::ReceiverWindow;
    if let (true, Some(binding), Some(prediction)) = (
        whole,
        ceilings.binding(),
        ceilings.prediction(&format!("goodput_{way}"), &format!("goodput, {way}")),
    ) {
        let compared = Compared::new(prediction, facts.goodput_bps)
            .because(|compared| reason(facts, binding, compared.difference.unwrap_or(0.0)));
        all.push(compared);
    }
    all.extend(loss(facts));
    all
}

fn ceilings(facts: &Facts<'_>) -> Ceilings {
    let mut ceilings = Ceilings::new();
    let acknowledged = facts.both_ways && facts.transport == Transport::Tcp;
    if let Some((bps, why)) = facts.wire
        && let Some(rate) = BitRate::from_f64(bps)
    {
        ceilings.push(Ceiling {
            term: Term::Wire,
            rate,
            why: why.to_owned(),
            assumes: if acknowledged {
                format!("{why}; every frame full, and beside them only acknowledgements, which take up to 6 %")
            } else {
                format!("{why}; nothing else on the link, every frame full")
            },
            source: "IEEE 802.3 framing; RFC 6349 section 3.3.1".to_owned(),
            tolerance: Tolerance {
                below: Tolerance::EXACT.below + if acknowledged { 0.06 } else { 0.0 },
                ..Tolerance::EXACT
            },
        });
    }
    if let Some(asked) = facts.asked {
        let all = BitRate::from_bps(asked.bps().saturating_mul(u64::from(facts.flows.max(1))));
        ceilings.push(Ceiling {
            term: Term::Asked,
            rate: all,
            why: format!("{} × {} a flow", facts.flows, rate(asked)),
            assumes: "the path carries the rate asked for, and the sender keeps to it".to_owned(),
            source: "--rate".to_owned(),
            tolerance: Tolerance::both(Tolerance::EXACT.above + grain(facts, all)),
        });
    }
    // On a loopback a round trip is the processor's time, not a path's.
    if facts.loopback || facts.transport == Transport::Udp {
        return ceilings;
    }
    let Some(min_rtt) = facts.min_rtt.filter(|rtt| !rtt.is_zero()) else {
        return ceilings;
    };
    if let Some(window) = facts.window {
        ceilings.extend(window_ceiling(window, min_rtt, 1));
    }
    let control = facts.congestion.and_then(Congestion::named);
    if let (Some(control), Some(mss), Some(segments)) = (control, facts.mss, facts.segments)
        && facts.spread
        && facts.retransmits >= FEW_LOSSES
    {
        let loss = facts.retransmits as f64 / segments.max(1) as f64;
        ceilings.extend(loss_ceiling(control, mss, min_rtt, loss, facts.flows));
    }
    let start = starting(facts, &ceilings, min_rtt);
    ceilings.extend(start);
    ceilings
}

/// What slow start leaves of the lowest ceiling for an amount, where it takes a good part of the time.
///
/// Without the handshake, as connections are open before a test begins.
fn starting(facts: &Facts<'_>, ceilings: &Ceilings, min_rtt: Duration) -> Option<Ceiling> {
    let (amount, mss) = (facts.amount?, facts.mss?);
    facts.wire?;
    let flows = u64::from(facts.flows.max(1));
    let lowest = ceilings.binding()?;
    let each = BitRate::from_bps(lowest.rate.bps() / flows);
    let part = ByteCount::new(amount.get() / flows);
    let took = slow_start(part, mss, min_rtt, each, INITIAL_WINDOW)?;
    let seconds = took.total_s - took.handshake_s;
    let starting = f64::from(took.rounds) * min_rtt.as_secs_f64();
    let rate_of = BitRate::from_f64(amount.as_f64() * 8.0 / seconds)?;
    (starting > SLOW_START * seconds).then(|| Ceiling {
        term: Term::SlowStart,
        rate: rate_of,
        why: format!(
            "{} rounds of {} carry {} of {} bytes a flow, the rest goes at {}: {} in all, {}",
            took.rounds,
            time(min_rtt),
            took.bytes_in_rounds,
            part.get(),
            rate(each),
            Unit::Seconds.show(seconds),
            rate(rate_of)
        ),
        assumes: "slow start from 10 segments that doubles each round trip, without loss, until a window fills the path".to_owned(),
        source: "Cardwell, Savage and Anderson 2000; RFC 5681 section 3.1; RFC 6928".to_owned(),
        tolerance: Tolerance::TIME,
    })
}

/// The part of all that was asked for that one block of every flow is.
fn grain(facts: &Facts<'_>, asked: BitRate) -> f64 {
    let blocks = f64::from(facts.block) * f64::from(facts.flows) * 8.0;
    let part = blocks / (asked.as_f64() * facts.measured_s);
    if part.is_finite() { part.min(1.0) } else { 1.0 }
}

/// What UDP loses for want of room, when more is offered than the wire carries.
fn loss(facts: &Facts<'_>) -> Option<Compared> {
    let (wire, _) = facts.wire?;
    let (wire, sent) = (
        BitRate::from_f64(wire)?,
        BitRate::from_f64(facts.sent_bps?)?,
    );
    let asked = facts.asked?.bps().saturating_mul(u64::from(facts.flows));
    if facts.transport != Transport::Udp || asked <= wire.bps() {
        return None;
    }
    let value = overload_loss(sent, wire);
    let prediction = Prediction::new(
        format!("loss_{}", facts.direction.name()),
        format!("datagrams lost, {}", facts.direction.name()),
        value,
        Unit::Share,
    )
    .bound_by(Term::Wire.name())
    .detail(format!("{} sent into {}", rate(sent), rate(wire)))
    .assumes("what does not fit the wire is dropped, and nothing else is")
    .source("conservation at a drop-tail output")
    .within(Tolerance::both(loss_tolerance(value)))
    .step(format!(
        "1 − {} / {} = {}",
        rate(wire),
        rate(sent),
        Unit::Share.show(value)
    ));
    let compared = Compared::new(prediction, facts.loss?);
    Some(compared.because(|compared| {
        if compared.observed > compared.prediction.value {
            lost_elsewhere(facts)
        } else {
            "cannot tell why fewer were lost: the link may carry more than was assumed, or count fewer bytes a frame"
                .to_owned()
        }
    }))
}

/// What the tolerance of the wire makes of a loss for want of room: of little loss, a large part.
fn loss_tolerance(loss: f64) -> f64 {
    let wire = Tolerance::EXACT.above;
    if loss > 0.0 {
        (wire * (1.0 - loss) / loss + 0.01).min(1.0)
    } else {
        wire
    }
}

fn lost_elsewhere(facts: &Facts<'_>) -> String {
    match facts.limited_by.limit {
        Bottleneck::Receiver => format!(
            "the assumption that only the wire loses failed: {}",
            facts.limited_by.evidence
        ),
        _ => format!(
            "cannot tell why more were lost than had to be: the wire is slower than assumed or was not always full, \
             or something else dropped them ({})",
            facts.limited_by.evidence
        ),
    }
}

/// Why more came through than should.
fn above(term: Term) -> String {
    match term {
        Term::Wire => "cannot tell which figure of the link is wrong: its rate or MTU may be another, or its shaper \
             counts fewer bytes a frame than a wire takes"
            .to_owned(),
        Term::Window => "the assumption of a constant window failed: it was another during the test than at its end"
            .to_owned(),
        Term::Loss => "the assumption of losses at random failed, or segments were sent again that were not lost: \
             the congestion control kept more than the model gives it"
            .to_owned(),
        Term::SlowStart => "the assumption of a start from 10 segments failed, or the round trip was not always that \
             long: the connection was faster at once"
            .to_owned(),
        Term::Asked | Term::Policer | Term::Sharing | Term::HalfDuplex | Term::Shaper => format!(
            "cannot tell, because nothing seen explains more than {}",
            term.words()
        ),
    }
}

/// Which assumption of a prediction failed, by what the verdict found.
fn reason(facts: &Facts<'_>, binding: &Ceiling, difference: f64) -> String {
    if difference > 0.0 {
        return above(binding.term);
    }
    let LimitedBy {
        limit, evidence, ..
    } = facts.limited_by;
    match limit {
        Bottleneck::Sender => {
            format!("the assumption of a sender that always has data failed: {evidence}")
        }
        Bottleneck::Receiver => {
            format!("the assumption of a receiver that keeps up failed: {evidence}")
        }
        Bottleneck::SendBuffer => {
            format!("the assumption of a large enough send buffer failed: {evidence}")
        }
        Bottleneck::ReceiverWindow if binding.term == Term::Window => format!(
            "the window bound it as predicted, and the round trip was longer or the window smaller than assumed: {evidence}"
        ),
        Bottleneck::ReceiverWindow => {
            format!("the assumption of a large enough window failed: {evidence}")
        }
        Bottleneck::Pacing => {
            format!("the sender kept to its schedule, not to what the path allows: {evidence}")
        }
        Bottleneck::Unknown => format!("cannot tell, because {evidence}"),
        Bottleneck::Network => network(facts, binding),
    }
}

fn network(facts: &Facts<'_>, binding: &Ceiling) -> String {
    if facts.transport == Transport::Udp {
        return lost_datagrams(facts, binding);
    }
    let rounds = facts.min_rtt.map_or(f64::INFINITY, |rtt| {
        facts.measured_s / rtt.as_secs_f64().max(1e-9)
    });
    let short = if rounds < 50.0 {
        format!(
            "; slow start takes a part of a test of only {} round trips",
            digits(rounds.floor())
        )
    } else {
        String::new()
    };
    match facts.segments {
        Some(segments) if facts.retransmits > 0 && binding.term != Term::Loss => {
            let loss = facts.retransmits as f64 / segments.max(1) as f64;
            format!(
                "the assumption of no loss failed: {} of {segments} segments were sent again ({}), {}{short}",
                facts.retransmits,
                Unit::Share.show(loss),
                what_loss_explains(facts, loss)
            )
        }
        _ if binding.term == Term::Loss => format!(
            "the losses came otherwise than at random, or the round trip was longer than its least; cannot tell \
             which, because the kernel counts retransmissions, not losses{short}"
        ),
        _ => format!(
            "cannot tell, because the congestion window held the sender without a loss: a slower hop, other traffic \
             or a queue may be in the way{short}"
        ),
    }
}

/// Why fewer datagrams arrived than should: more lost than for want of room, or fewer sent.
fn lost_datagrams(facts: &Facts<'_>, binding: &Ceiling) -> String {
    let evidence = &facts.limited_by.evidence;
    let expected = facts
        .wire
        .and_then(|(wire, _)| BitRate::from_f64(wire))
        .zip(facts.sent_bps.and_then(BitRate::from_f64))
        .map_or(0.0, |(wire, sent)| overload_loss(sent, wire));
    let lost = facts.loss.unwrap_or(0.0);
    if let Some(sent) = facts
        .sent_bps
        .filter(|sent| *sent < REACHED * binding.rate.as_f64())
    {
        return format!(
            "the assumption of a sender that always has data failed: only {} left it, of which {} was lost ({evidence})",
            Unit::BitPerSecond.show(sent),
            Unit::Share.show(lost)
        );
    }
    if lost == 0.0 {
        return format!("cannot tell, because nothing was lost: {evidence}");
    }
    if expected == 0.0 {
        return format!(
            "the assumption that nothing is lost failed: {} of the datagrams were ({evidence})",
            Unit::Share.show(lost)
        );
    }
    format!(
        "cannot tell why less came through than the wire takes: {} had to be lost for want of room, {} was ({evidence})",
        Unit::Share.show(expected),
        Unit::Share.show(lost)
    )
}

/// Whether as much loss gives about what was seen, by the models for it.
fn what_loss_explains(facts: &Facts<'_>, loss: f64) -> String {
    let (Some(control), Some(mss), Some(rtt)) = (
        facts.congestion.and_then(Congestion::named),
        facts.mss,
        facts.mean_rtt,
    ) else {
        let name = facts.congestion.unwrap_or("this congestion control");
        return format!(
            "and how far that explains it cannot be told, because no model here says what {name} makes of loss"
        );
    };
    let flows = u64::from(facts.flows.max(1));
    let all = |each: Option<BitRate>| {
        each.map(|each| BitRate::from_bps(each.bps().saturating_mul(flows)))
    };
    // Timeouts count only where the kernel saw some.
    let least = match facts.timeouts {
        Some(0) => mathis(mss, rtt, loss, Acknowledged::EverySecond),
        _ => pftk(
            mss,
            rtt,
            loss,
            Acknowledged::EverySecond,
            rtt.saturating_add(LEAST_TIMEOUT),
            None,
        ),
    };
    let most = match control {
        Congestion::Reno => mathis(mss, rtt, loss, Acknowledged::EverySegment),
        Congestion::Cubic => cubic(mss, rtt, loss),
    };
    let (Some(least), Some(most)) = (all(least), all(most)) else {
        return "and how far that explains it cannot be told, because no model covers so much loss"
            .to_owned();
    };
    let models = format!(
        "for which the loss models give {} to {}",
        rate(least),
        rate(most)
    );
    let band = Tolerance::FACTOR_TWO;
    let low = least.as_f64() * (1.0 - band.below);
    let high = most.as_f64() * (1.0 + band.above);
    if facts.goodput_bps < low {
        format!(
            "{models}: too few to explain it; cannot tell what else, because {}",
            facts.limited_by.evidence
        )
    } else if facts.goodput_bps > high {
        format!("{models}, and more came through than that")
    } else {
        models
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: &str = "100.0 Mbit/s (--link-rate), MTU 1500: 1448 of 1538 bytes on the wire";

    fn network() -> LimitedBy {
        by(Bottleneck::Network, "the congestion window held it")
    }

    fn by(limit: Bottleneck, evidence: &str) -> LimitedBy {
        LimitedBy {
            limit,
            evidence: evidence.to_owned(),
            out_of_cpu: false,
        }
    }

    fn facts(limited_by: &LimitedBy) -> Facts<'_> {
        Facts {
            direction: Direction::Up,
            transport: Transport::Tcp,
            goodput_bps: 94.0e6,
            limited_by,
            flows: 1,
            asked: None,
            wire: Some((94_148_244.0, WIRE)),
            loopback: false,
            window: Some(ByteCount::new(6_000_000)),
            min_rtt: Some(Duration::from_millis(20)),
            congestion: Some("cubic"),
            mss: Some(1448),
            segments: Some(100_000),
            retransmits: 0,
            timeouts: Some(0),
            mean_rtt: Some(Duration::from_millis(20)),
            spread: false,
            sent_bps: Some(94.0e6),
            loss: None,
            measured_s: 10.0,
            amount: None,
            both_ways: false,
            block: 1448,
        }
    }

    fn of<'a>(all: &'a [Compared], name: &str) -> &'a Compared {
        let found = all.iter().find(|one| one.prediction.name == name);
        found.unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn a_full_link_is_as_predicted() {
        let limited = network();
        let all = compare(&facts(&limited));
        let names: Vec<&str> = all.iter().map(|one| one.prediction.name.as_str()).collect();
        assert_eq!(
            names,
            ["wire_ceiling_up", "window_ceiling_up", "goodput_up"]
        );
        let goodput = of(&all, "goodput_up");
        assert!(goodput.holds && goodput.why.is_none());
        assert_eq!(goodput.prediction.binding.as_deref(), Some("wire"));
    }

    #[test]
    fn a_small_window_binds_instead() {
        let limited = by(Bottleneck::ReceiverWindow, "it held the sender back 95 %");
        let all = compare(&Facts {
            goodput_bps: 26.0e6,
            window: Some(ByteCount::new(65_535)),
            ..facts(&limited)
        });
        let goodput = of(&all, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("window"));
        assert!(goodput.holds, "{goodput:?}");
        let slower = compare(&Facts {
            goodput_bps: 20.0e6,
            window: Some(ByteCount::new(65_535)),
            ..facts(&limited)
        });
        let why = of(&slower, "goodput_up").why.clone().unwrap();
        assert!(why.starts_with("the window bound it as predicted"), "{why}");
    }

    #[test]
    fn each_verdict_names_the_assumption_that_failed() {
        for (limit, words) in [
            (
                Bottleneck::Sender,
                "a sender that always has data failed: evidence",
            ),
            (
                Bottleneck::Receiver,
                "a receiver that keeps up failed: evidence",
            ),
            (
                Bottleneck::SendBuffer,
                "a large enough send buffer failed: evidence",
            ),
            (
                Bottleneck::ReceiverWindow,
                "a large enough window failed: evidence",
            ),
            (Bottleneck::Unknown, "cannot tell, because evidence"),
            (
                Bottleneck::Network,
                "cannot tell, because the congestion window held",
            ),
        ] {
            let limited = by(limit, "evidence");
            let all = compare(&Facts {
                goodput_bps: 50e6,
                ..facts(&limited)
            });
            let why = of(&all, "goodput_up").why.clone().unwrap();
            assert!(why.contains(words), "{limit:?}: {why}");
        }
    }

    #[test]
    fn losses_that_are_spread_bind_and_bursts_are_only_told() {
        let limited = network();
        let lossy = Facts {
            goodput_bps: 16e6,
            retransmits: 200,
            ..facts(&limited)
        };
        let burst = compare(&lossy);
        assert!(
            burst
                .iter()
                .all(|one| one.prediction.name != "loss_ceiling_up")
        );
        let why = of(&burst, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("no loss failed: 200 of 100000 segments"),
            "{why}"
        );
        // 0.2 % of loss over 20 ms: about 11 to 16 Mbit/s.
        assert!(
            why.ends_with("for which the loss models give 11.22 Mbit/s to 15.86 Mbit/s"),
            "{why}"
        );
        let other = compare(&Facts {
            congestion: Some("bbr"),
            ..lossy
        });
        let why = of(&other, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("cannot be told, because no model here says what bbr"),
            "{why}"
        );
        let few = compare(&Facts {
            retransmits: 2,
            goodput_bps: 50e6,
            ..lossy
        });
        let why = of(&few, "goodput_up").why.clone().unwrap();
        assert!(why.contains("too few to explain it; cannot tell what else, because the congestion window held it"), "{why}");
        let spread = compare(&Facts {
            spread: true,
            ..lossy
        });
        let goodput = of(&spread, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("loss"));
        assert!(goodput.holds, "{goodput:?}");
        let bbr = compare(&Facts {
            spread: true,
            congestion: Some("bbr"),
            ..lossy
        });
        assert!(
            bbr.iter()
                .all(|one| one.prediction.name != "loss_ceiling_up")
        );
    }

    #[test]
    fn without_a_wire_nothing_is_said_of_the_wire() {
        let limited = by(Bottleneck::Sender, "out of processor");
        let blind = Facts {
            wire: None,
            loopback: true,
            ..facts(&limited)
        };
        assert!(compare(&blind).is_empty());
        let asked = compare(&Facts {
            asked: Some(BitRate::from_bps(94_000_000)),
            ..blind
        });
        assert_eq!(
            of(&asked, "goodput_up").prediction.binding.as_deref(),
            Some("asked")
        );
        let veth = compare(&Facts {
            loopback: false,
            ..blind
        });
        let names: Vec<&str> = veth
            .iter()
            .map(|one| one.prediction.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["window_ceiling_up"],
            "an upper bound is no expectation"
        );
    }

    #[test]
    fn a_rate_of_few_large_blocks_is_kept_only_to_one_of_them() {
        let limited = by(Bottleneck::Pacing, "kept the rate");
        let coarse = Facts {
            wire: None,
            asked: Some(BitRate::from_bps(5_000_000)),
            goodput_bps: 5.24e6,
            measured_s: 2.0,
            block: 65_507,
            ..facts(&limited)
        };
        assert!(of(&compare(&coarse), "goodput_up").holds);
        let fine = Facts {
            block: 1448,
            ..coarse
        };
        assert!(!of(&compare(&fine), "goodput_up").holds);
    }

    #[test]
    fn a_small_amount_is_mostly_slow_start() {
        let limited = network();
        let small = Facts {
            amount: Some(ByteCount::new(1_000_000)),
            min_rtt: Some(Duration::from_millis(40)),
            goodput_bps: 30e6,
            ..facts(&limited)
        };
        let all = compare(&small);
        let goodput = of(&all, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("slow_start"));
        // 0.2875 s less the handshake of 40 ms.
        assert_eq!(format!("{:.2}", goodput.prediction.value / 1e6), "32.33");
        assert!(goodput.holds);
        let large = compare(&Facts {
            amount: Some(ByteCount::new(1_000_000_000)),
            goodput_bps: 94e6,
            ..small
        });
        assert_eq!(
            of(&large, "goodput_up").prediction.binding.as_deref(),
            Some("wire")
        );
    }

    #[test]
    fn acknowledgements_of_the_other_direction_take_their_part() {
        let limited = network();
        let half = Facts {
            goodput_bps: 91.4e6,
            ..facts(&limited)
        };
        assert!(!of(&compare(&half), "goodput_up").holds);
        assert!(
            of(
                &compare(&Facts {
                    both_ways: true,
                    ..half
                }),
                "goodput_up"
            )
            .holds
        );
    }

    #[test]
    fn more_than_the_link_carries_is_the_links_figures() {
        let limited = network();
        let all = compare(&Facts {
            goodput_bps: 99e6,
            ..facts(&limited)
        });
        let why = of(&all, "goodput_up").why.clone().unwrap();
        assert!(
            why.starts_with("cannot tell which figure of the link is wrong"),
            "{why}"
        );
        assert_eq!(
            of(&all, "wire_ceiling_up").why.as_deref(),
            Some(why.as_str())
        );
    }

    #[test]
    fn datagrams_beyond_the_wire_are_lost() {
        let limited = by(Bottleneck::Network, "2000 datagrams were lost on the way");
        let udp = Facts {
            transport: Transport::Udp,
            goodput_bps: 95.7e6,
            wire: Some((95_708_712.0, WIRE)),
            asked: Some(BitRate::from_bps(120_000_000)),
            sent_bps: Some(120e6),
            loss: Some(0.2024),
            ..facts(&limited)
        };
        let all = compare(&udp);
        let loss = of(&all, "loss_up");
        assert_eq!(format!("{:.4}", loss.prediction.value), "0.2024");
        assert!(loss.holds && of(&all, "goodput_up").holds);
        let worse = compare(&Facts {
            loss: Some(0.5),
            goodput_bps: 60e6,
            ..udp
        });
        assert!(
            of(&worse, "loss_up")
                .why
                .clone()
                .unwrap()
                .contains("cannot tell why more were lost")
        );
        let why = of(&worse, "goodput_up").why.clone().unwrap();
        let words = "cannot tell why less came through than the wire takes: 20.24 % had to be lost";
        assert!(why.starts_with(words), "{why}");
        let slow = compare(&Facts {
            sent_bps: Some(84e6),
            loss: Some(0.05),
            goodput_bps: 80e6,
            ..udp
        });
        let why = of(&slow, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("only 84 Mbit/s left it, of which 5 % was lost"),
            "{why}"
        );
        let below = compare(&Facts {
            asked: Some(BitRate::from_bps(50_000_000)),
            sent_bps: Some(50e6),
            loss: Some(0.1),
            goodput_bps: 45e6,
            ..udp
        });
        let why = of(&below, "goodput_up").why.clone().unwrap();
        assert!(why.contains("nothing is lost failed: 10 %"), "{why}");
    }
}
