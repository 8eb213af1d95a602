//! A client's test of iperf3 as it is kept: what this end and the other have counted, each for itself.

use super::json::Preface;
use super::report::{Figures, Report};
use caudal_core::plan::Transport;
use caudal_core::run::ImportSide as Side;
use caudal_core::sample::Role as End;
use caudal_report::import::{Log, LogCounts as Count, LogFlow as Flow, LogFormat as Format};
use caudal_wire::iperf3::Protocol as Carrier;

/// The test that `report` tells of; `error` says why it did not go its whole way.
#[must_use]
pub fn log(report: &Report, preface: &Preface, error: Option<&str>) -> Log {
    let parameters = &report.parameters;
    let positive = |value: u64| (value > 0).then_some(value as f64);
    let mut log = Log::new(Format::Iperf3Json);
    log.side = Some(Side::Client);
    log.protocol = Some(match parameters.protocol {
        Carrier::Udp => Transport::Udp,
        _ => Transport::Tcp,
    });
    log.peer = report.peer.map(|peer| peer.to_string());
    log.title.clone_from(&parameters.title);
    log.started_ns = i64::try_from(preface.began_ns).ok();
    log.length = positive(parameters.length.into());
    log.rate = positive(parameters.rate_bps);
    log.time_s = positive(parameters.time_s.into());
    log.omit_s = positive(parameters.omit_s.into());
    let blocks = parameters.blocks.saturating_mul(parameters.length.into());
    log.bytes = positive(parameters.bytes).or_else(|| positive(blocks));
    log.error = error.map(str::to_owned);
    log.flows = (0..report.streams.len())
        .map(|nth| flow(report, nth))
        .collect();
    if let Some(ending) = &report.ending {
        let up = report.streams.iter().any(|stream| stream.sends);
        let theirs = ending.theirs.as_ref();
        log.congestion = if up {
            ending.ours.congestion.clone()
        } else {
            theirs.and_then(|theirs| theirs.congestion.clone())
        };
    }
    log
}

fn flow(report: &Report, nth: usize) -> Flow {
    let stream = &report.streams[nth];
    let is_udp = report.parameters.protocol == Carrier::Udp;
    let own = if stream.sends {
        End::Sender
    } else {
        End::Receiver
    };
    let mut flow = Flow::new(stream.direction, own);
    flow.intervals = report
        .rows
        .iter()
        .filter_map(|row| {
            let figures = row.streams.get(nth)?;
            Some(Count {
                omitted: row.omitted,
                reordered: own_reordering(figures, own, is_udp),
                ..count(figures, own, is_udp)
            })
        })
        .collect();
    let account = report.account(nth);
    let end = |figures: Option<Figures>, end: End| {
        let figures = figures?;
        // The other end does not tell what came out of order.
        let reordered = (end == own)
            .then(|| own_reordering(&figures, end, is_udp))
            .flatten();
        Some(Count {
            reordered,
            ..count(&figures, end, is_udp)
        })
    };
    flow.sender = end(account.sent, End::Sender);
    flow.receiver = end(account.received, End::Receiver);
    if let (Some(sender), Some(extremes)) = (&mut flow.sender, report.extremes.get(nth)) {
        let (_, _, _, seen) = extremes.rtt;
        sender.rtt_us = (seen > 0).then(|| extremes.mean_rtt() as f64);
    }
    flow
}

fn own_reordering(figures: &Figures, end: End, is_udp: bool) -> Option<f64> {
    (is_udp && end == End::Receiver).then_some(figures.out_of_order as f64)
}

/// What an end has counted; without what came out of order, which only the receiver's own count knows.
fn count(figures: &Figures, end: End, is_udp: bool) -> Count {
    let arrived = is_udp && end == End::Receiver;
    Count {
        start_s: figures.start_s,
        end_s: figures.end_s,
        bytes: Some(figures.bytes as f64),
        bps: (figures.seconds() > 0.0).then(|| figures.bytes_per_s() * 8.0),
        retransmits: figures
            .retransmits
            .filter(|_| !is_udp && end == End::Sender)
            .map(|count| count as f64),
        cwnd_bytes: figures.tcp.map(|tcp| tcp.cwnd_bytes as f64),
        rtt_us: figures.tcp.map(|tcp| f64::from(tcp.rtt_us)),
        datagrams: is_udp.then_some(figures.packets as f64),
        lost: arrived.then_some(figures.lost as f64),
        jitter_ms: arrived.then_some(figures.jitter_s * 1e3),
        ..Count::default()
    }
}
