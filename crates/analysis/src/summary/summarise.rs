//! The summary of a whole bulk transfer, made from its readings.

use super::ceiling::ceiling;
use super::context::{Context, DirectionFlows};
use super::datagrams::{loss, loss_episode, marks};
use super::goodput::{at_most, goodput, warm_up_intervals};
use super::host_drops::host_drop_warnings;
use super::levels::{Level, Levels};
use super::limits::{limited_by, trace_of};
use super::other_traffic::{other_traffic, other_traffic_warning};
use super::rate_sample::{finer_samples, rate_samples};
use super::recovery::recovery_samples;
use super::warnings::{direction_warnings, general_warnings};
use super::window::DirectionEvidence;
use crate::bottleneck::CPU_BOUND;
use crate::episode::{StallCounters, interruption, stall_episodes};
use crate::timeline::MeasuredFlow;
use caudal_core::episode::{Episode, episode_warnings};
use caudal_core::plan::{Direction, Omit, Transport};
use caudal_core::sample::{EcnArrived, TcpSnapshot};
use caudal_core::summary::{DirectionSummary, RateLevel, TcpEcn, TcpSummary};
use caudal_core::tcp_trace::TcpTrace;
use caudal_core::warning::{Warning, WarningCode};

/// The summary of a bulk transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkSummary {
    /// One for each direction, up first.
    pub directions: Vec<DirectionSummary>,
    /// The doubts about it.
    pub warnings: Vec<Warning>,
    /// The levels of rates beside those that stand for a direction.
    pub episodes: Vec<Episode>,
}

/// Summarises a bulk transfer.
#[must_use]
pub fn summarise(context: &Context<'_>) -> BulkSummary {
    let mut warnings = Vec::new();
    let mut episodes = Vec::new();
    let directions: Vec<DirectionSummary> = context
        .bulk
        .directions
        .each()
        .iter()
        .map(|direction| summarise_direction(context, *direction, &mut warnings, &mut episodes))
        .collect();
    general_warnings(context, &mut warnings);
    warnings.extend(episode_warnings(&episodes));
    BulkSummary {
        directions,
        warnings,
        episodes,
    }
}

/// The waits of a direction's only connection for its timeouts and for the receiver's window: of several, the others go on meanwhile.
fn stalls(context: &Context<'_>, flows: &DirectionFlows<'_>, direction: Direction) -> Vec<Episode> {
    let [record] = flows.records[..] else {
        return Vec::new();
    };
    let measured = context.timeline.measured(record.flow.id);
    let states = measured.and_then(|measured| measured.tcp);
    let since = |of: fn(&TcpSnapshot) -> Option<u64>| {
        let (first, last) = states.as_ref()?;
        Some(of(last)?.saturating_sub(of(first)?))
    };
    let limited_us = since(|state| state.receiver_window_limited_us);
    let counters = StallCounters {
        timeouts: since(|state| state.timeouts).unwrap_or(0),
        window_limited_s: limited_us.unwrap_or(0) as f64 / 1e6,
    };
    let readings = trace_of(record).map_or(&[][..], TcpTrace::readings);
    stall_episodes(readings, counters, direction, context.episodes)
}

/// The measured part of a direction: its span and its payload.
struct MeasuredPart {
    elapsed_s: f64,
    omitted_s: f64,
    /// `None` where nothing is known of what a flow's receiver received.
    bytes: Option<u64>,
}

fn summarise_direction(
    context: &Context<'_>,
    direction: Direction,
    warnings: &mut Vec<Warning>,
    episodes: &mut Vec<Episode>,
) -> DirectionSummary {
    let flows = context.flows_of(direction);
    let mut part = measured_part(context, &flows);
    let measured_s = (part.omitted_s, part.omitted_s + part.elapsed_s);
    let intervals = rate_samples(&flows.intervals);
    let arrivals = context.arrivals_of(direction, part.bytes);
    let samples = finer_samples(arrivals, &intervals, measured_s).unwrap_or(intervals);
    let skip = match context.bulk.omit {
        Omit::Auto => warm_up_intervals(&samples, warnings),
        Omit::Nothing | Omit::Time(_) => 0,
    };
    if let Some(last) = skip.checked_sub(1).and_then(|last| samples.get(last)) {
        part.omitted_s = last.end_s;
        part.elapsed_s -= last.end_s;
        let warm_up: u64 = samples[..skip].iter().map(|sample| sample.bytes).sum();
        part.bytes = part.bytes.map(|bytes| bytes.saturating_sub(warm_up));
    }
    let end_s = part.omitted_s + part.elapsed_s;
    let interruption = interruption(context.episodes, direction, part.omitted_s, end_s);
    let doubts_before = warnings.len();
    let tcp = tcp(context, &flows);
    let rtt_us = tcp.and_then(|tcp| tcp.rtt_mean_us);
    let measured = &samples[skip.min(samples.len())..];
    // The rate of a loopback, or of a test that takes a whole processor, is that of the processors; an interruption is told as such.
    let cpu_of = |flow: &MeasuredFlow| {
        let sender = flow.sender_cpu.unwrap_or(0.0);
        sender.max(flow.receiver_cpu.unwrap_or(0.0))
    };
    let is_cpu_bound = flows.measured.iter().map(cpu_of).sum::<f64>() >= CPU_BOUND;
    let has_levels = !context.loopback && !is_cpu_bound && interruption.is_none();
    let rtt_s = rtt_us.or(context.idle_rtt_us).unwrap_or(0.0) / 1e6;
    let levels = Levels::find(if has_levels { measured } else { &[] }, rtt_s);
    let level = levels.longest();
    let (goodput, trusted) = goodput(
        context,
        level.map_or(measured, |level| &level.samples),
        recovery_samples(&samples, rtt_us),
        level.map_or(part.bytes.unwrap_or(0), Level::bytes),
        level.map_or(part.elapsed_s, Level::length_s),
        direction,
        warnings,
    );
    episodes.extend(levels.others(direction));
    episodes.extend(stalls(context, &flows, direction));
    let goodput_mean = goodput.map_or(0.0, |goodput| goodput.mean);
    let loss = (context.transport() == Transport::Udp).then(|| loss(context, &flows));
    if loss.is_some() {
        episodes.extend(loss_episode(context, &flows));
    }
    let records = &flows.records;
    let ceiling = ceiling(context, direction, records, goodput_mean);
    let goodput = goodput.map(|goodput| at_most(goodput, ceiling.goodput_bps));
    // What the rest of the time was limited by is not told from figures that cover both.
    let trusted = trusted && interruption.is_none();
    let is_interrupted = interruption.is_some();
    let limited_by =
        interruption.unwrap_or_else(|| limited_by(context, &flows, loss.as_ref(), &ceiling));
    let diagnosis = DirectionEvidence {
        context,
        flows: &flows,
        tcp: tcp.as_ref(),
        goodput_bps: goodput_mean,
        limited_by: &limited_by,
        ceiling_bps: ceiling.goodput_bps.filter(|bps| *bps > 0.0),
    }
    .diagnose();
    direction_warnings(context, &flows, &limited_by, loss.as_ref(), warnings);
    let marks = marks(context, &flows);
    warnings.extend(
        marks
            .iter()
            .flat_map(|marks| marks.warnings(direction.in_text())),
    );
    let lost_elsewhere = match &loss {
        Some(loss) => loss.location.and_then(|location| location.path),
        None => tcp.and_then(|tcp| tcp.retransmits),
    };
    if !context.loopback {
        let lost = lost_elsewhere.unwrap_or(0);
        warnings.extend(host_drop_warnings(context, direction, lost));
    }
    let other_traffic = other_traffic(context, direction);
    warnings.extend(other_traffic_warning(
        direction,
        &other_traffic,
        goodput_mean,
    ));
    if is_interrupted {
        let new = warnings.split_off(doubts_before);
        warnings.extend(new.into_iter().filter(is_no_effect_of_interruption));
    }
    let received = records.iter().map(|record| {
        let last = || context.timeline.last_received(record.flow.id);
        Some(record.received().or_else(last)?.bytes)
    });
    DirectionSummary {
        direction,
        flows: Some(records.len()),
        goodput_bps: goodput,
        level: level.map(|level| RateLevel {
            from_s: level.start_s(),
            to_s: level.end_s(),
            overall_bps: part.bytes.unwrap_or(0) as f64 * 8.0 / part.elapsed_s,
        }),
        goodput_trusted: Some(trusted),
        sent_bps: None,
        bytes: part.bytes,
        measured_s: part.elapsed_s.max(0.0),
        omitted_s: Some(part.omitted_s),
        received_bytes: received.sum(),
        sent_bytes: records
            .iter()
            .map(|record| Some(record.sent()?.bytes))
            .sum(),
        ceiling: Some(ceiling),
        limited_by: Some(limited_by),
        other_traffic,
        window: diagnosis.window.map(Box::new),
        next_step: diagnosis.next_step,
        sender_cpu: sum_of_measured(&flows, |flow| flow.sender_cpu),
        receiver_cpu: sum_of_measured(&flows, |flow| flow.receiver_cpu),
        tcp,
        loss,
        marks,
        delay: records
            .iter()
            .filter_map(|record| record.receiver.as_ref()?.delay)
            .max_by(|a, b| a.jitter_rfc3550_us.total_cmp(&b.jitter_rfc3550_us)),
        spacing: records
            .iter()
            .filter_map(|record| record.sender.as_ref()?.spacing)
            .max_by(|a, b| a.error_p99_us.total_cmp(&b.error_p99_us)),
    }
}

/// `false` for a doubt that an interruption explains.
fn is_no_effect_of_interruption(warning: &Warning) -> bool {
    !matches!(
        warning.code,
        WarningCode::NotSteady | WarningCode::RateNotReached
    )
}

/// The measured part as the plan excludes its warm-up. The time a direction took is that of its longest flow: when a
/// test ends by bytes, its flows end at different times.
fn measured_part(context: &Context<'_>, flows: &DirectionFlows<'_>) -> MeasuredPart {
    let measured = &flows.measured;
    let start_ns = measured.iter().map(|flow| flow.start_ns).min().unwrap_or(0);
    let end_ns = measured
        .iter()
        .map(|flow| flow.start_ns + flow.elapsed_ns)
        .max()
        .unwrap_or(0);
    let bytes = flows
        .records
        .iter()
        .map(|record| match context.timeline.measured(record.flow.id) {
            Some(flow) => Some(flow.bytes),
            // All of it arrived at the very start: it took no time, and still arrived.
            None => record.received().map(|received| received.bytes),
        })
        .sum();
    MeasuredPart {
        elapsed_s: end_ns.saturating_sub(start_ns) as f64 / 1e9,
        omitted_s: start_ns as f64 / 1e9,
        bytes,
    }
}

/// The sum over the flows that were measured; `None` without any.
fn sum_of_measured(
    flows: &DirectionFlows<'_>,
    value: impl Fn(&MeasuredFlow) -> Option<f64>,
) -> Option<f64> {
    let values = flows.measured.iter().map(value);
    values
        .sum::<Option<f64>>()
        .filter(|_| !flows.measured.is_empty())
}

/// ECN of the connections of a direction; `None` where no sender told.
fn ecn(flows: &DirectionFlows<'_>, spans: &[(TcpSnapshot, TcpSnapshot)]) -> Option<TcpEcn> {
    let negotiated = spans.iter().map(|(_, last)| last.ecn.map(u64::from));
    let negotiated = negotiated.sum::<Option<u64>>()?;
    let increase = |of: fn(&TcpSnapshot) -> Option<u64>| {
        let each = spans
            .iter()
            .map(|(first, last)| Some(of(last)?.saturating_sub(of(first)?)));
        each.sum::<Option<u64>>().filter(|_| negotiated > 0)
    };
    let seen = flows.records.iter();
    let seen = seen.filter_map(|record| record.receiver.as_ref()?.ecn_seen);
    let arrived = flows.records.iter();
    let arrived: Option<Vec<EcnArrived>> = arrived
        .map(|record| record.receiver.as_ref()?.ecn_arrived)
        .collect();
    let arrived = arrived.filter(|all| !all.is_empty() && negotiated > 0);
    let sum = |of: fn(&EcnArrived) -> u64| {
        let each = arrived.as_ref()?.iter().map(of);
        Some(each.fold(0, u64::saturating_add))
    };
    Some(TcpEcn {
        negotiated,
        connections: spans.len() as u64,
        arrived_capable: seen.reduce(|a, b| a || b),
        arrived: sum(|one| one.segments),
        arrived_ce: sum(|one| one.ce),
        delivered: increase(|one| one.delivered),
        delivered_ce: increase(|one| one.delivered_ce),
    })
}

/// TCP over the measured part, without the warm-up before it and the connection's close after it.
fn tcp(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Option<TcpSummary> {
    let spans: Vec<_> = flows.measured.iter().filter_map(|flow| flow.tcp).collect();
    if spans.is_empty() {
        return None;
    }
    let intervals: Vec<_> = flows
        .intervals
        .iter()
        .flatten()
        .filter(|interval| !interval.omitted)
        .filter_map(|interval| interval.tcp)
        .collect();
    let has_rtts = !flows.has_delayed_acknowledgements(context);
    let rtts: Vec<f64> = intervals
        .iter()
        .filter_map(|tcp| tcp.rtt_us.map(f64::from))
        .filter(|_| has_rtts)
        .collect();
    Some(TcpSummary {
        retransmits: spans
            .iter()
            .map(|(first, last)| Some(last.retransmits.saturating_sub(first.retransmits)))
            .sum(),
        retransmitted_bytes: spans
            .iter()
            .map(|(first, last)| {
                let bytes = last.retransmitted_bytes?;
                Some(bytes.saturating_sub(first.retransmitted_bytes?))
            })
            .sum(),
        rtt_min_us: spans.iter().filter_map(|(_, last)| last.min_rtt_us).min(),
        rtt_mean_us: (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64),
        rtt_max_us: intervals
            .iter()
            .filter_map(|tcp| tcp.rtt_us)
            .filter(|_| has_rtts)
            .max(),
        ecn: ecn(flows, &spans),
        cwnd_max_bytes: intervals
            .iter()
            .filter_map(|tcp| tcp.cwnd_bytes)
            .chain(spans.iter().map(|(_, last)| last.cwnd_bytes))
            .max(),
    })
}
