//! The bottleneck of a direction, from those of its flows.

use super::context::{Context, DirectionFlows};
use crate::bottleneck::{Evidence, at_share_of_link, find, find_by_loss, find_by_refusals};
use crate::timeline::MeasuredFlow;
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::loss::Loss;
use caudal_core::plan::{Directions, Transport};
use caudal_core::sample::{FlowEnd, FlowRecord};
use caudal_core::summary::Ceiling;
use caudal_core::tcp_trace::{TcpReading, TcpTrace};
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;

/// The bottleneck of one direction. Flows may differ: what limited the most payload is named.
pub(super) fn limited_by(
    context: &Context<'_>,
    flows: &DirectionFlows<'_>,
    loss: Option<&Loss>,
    ceiling: &Ceiling,
) -> LimitedBy {
    if let Some((loss, location)) = loss.and_then(|loss| Some((loss, loss.location.as_ref()?))) {
        let (goodput, sent) = flows
            .measured
            .iter()
            .fold((0.0, 0.0), |(goodput, sent), flow| {
                (goodput + flow.goodput_bps(), sent + flow.sent_bps())
            });
        let lost = loss.lost.unwrap_or_default();
        if let Some(by) = find_by_loss(location, lost, goodput, sent) {
            return at_share_of_link(by, ceiling.share);
        }
        let asked = context.bulk.rate.limit().map(BitRate::as_f64);
        let asked = asked.map(|bps| bps * flows.measured.len() as f64);
        if let Some(by) = find_by_refusals(loss, sent, asked) {
            return by;
        }
    }
    if let Some(by) = cut_off_by_proxy(context) {
        return by;
    }
    // A few flows are recorded, which share the path with the others.
    let any_trace = flows.records.iter().find_map(|record| trace_of(record));
    let measured = flows.records.iter().filter_map(|record| {
        let measured = context.timeline.measured(record.flow.id)?;
        Some((*record, measured))
    });
    let found: Vec<(u64, LimitedBy)> = measured
        .map(|(record, measured)| {
            let by = find(&Evidence {
                measured: &measured,
                trace: measured_trace(trace_of(record).or(any_trace), &measured),
                congestion: record.sender.as_ref().and_then(congestion),
                asked_bps: context.bulk.rate.limit().map(BitRate::bps),
                window_set: context.bulk.window.is_some(),
                machine_busy: machine_busy(context),
                is_loopback: context.loopback,
                ceiling_share: ceiling.share,
                ceiling_bps: ceiling.goodput_bps,
                both_directions: context.bulk.directions == Directions::Both,
                is_udp: context.transport() == Transport::Udp,
            });
            (
                measured.bytes,
                by.at_rate_of_server(context.server_set_rate),
            )
        })
        .collect();
    let weight = |limit: Bottleneck| -> u64 {
        found
            .iter()
            .filter(|(_, by)| by.limit == limit)
            .map(|(bytes, _)| bytes)
            .sum()
    };
    let main = found
        .iter()
        .map(|(_, by)| by.limit)
        .max_by_key(|limit| weight(*limit));
    let agreeing: Vec<&LimitedBy> = found
        .iter()
        .map(|(_, by)| by)
        .filter(|by| Some(by.limit) == main)
        .collect();
    match agreeing.first() {
        Some(by) if found.len() > 1 => LimitedBy {
            evidence: format!(
                "{} of {} flows; for one: {}",
                agreeing.len(),
                found.len(),
                by.evidence
            ),
            ..(*by).clone()
        },
        Some(by) => (*by).clone(),
        None => LimitedBy::unknown("nothing was measured"),
    }
}

/// The course of a flow's connection.
pub(super) fn trace_of(record: &FlowRecord) -> Option<&TcpTrace> {
    record.sender.as_ref()?.trace.as_ref()
}

/// The readings of a course in the measured part of a flow.
fn measured_trace<'a>(trace: Option<&'a TcpTrace>, measured: &MeasuredFlow) -> &'a [TcpReading] {
    let all = trace.map_or(&[][..], TcpTrace::readings);
    let end_us = (measured.start_ns + measured.elapsed_ns) / 1000;
    let from = all.partition_point(|reading| reading.at_us < measured.start_ns / 1000);
    let to = all.partition_point(|reading| reading.at_us <= end_us);
    &all[from..to.max(from)]
}

/// The congestion control of a sender.
fn congestion(end: &FlowEnd) -> Option<&str> {
    end.granted
        .congestion
        .as_ref()
        .map(ExternalText::as_received)
}

/// The bottleneck where what either kernel knows is of a connection to something on the way.
fn cut_off_by_proxy(context: &Context<'_>) -> Option<LimitedBy> {
    let proxy = context
        .tcp_proxy
        .filter(|_| context.transport() == Transport::Tcp)?;
    Some(LimitedBy::unknown(&format!(
        "{}; each kernel knows the part of the path on its side of that",
        proxy.reason()
    )))
}

/// `true` when both ends are one machine and all its processors were busy.
fn machine_busy(context: &Context<'_>) -> bool {
    let same = context.client.shares_machine_with(context.server);
    let wall = context.client_usage.wall_ns as f64 * f64::from(context.client.cpus.max(1));
    // Where both ends are one program, each counts the whole of it.
    let used = context
        .client_usage
        .cpu_ns
        .max(context.server_usage.map_or(0, |usage| usage.cpu_ns));
    same && used as f64 >= 0.9 * wall
}
