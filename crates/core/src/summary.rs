//! What a throughput run adds up to: one direction at a time, with what limited it and what to doubt.

use crate::framing::{Framing, IpVersion};
use crate::host::{Host, Usage};
use crate::interval::{Interval, Measured, Timeline};
use crate::link::{NoLink, link_mtu, link_rate, timestamps};
use crate::plan::{Direction, End, Omit, Rate, TrafficPlan, Transport};
use crate::sample::{DelaySummary, FlowRecord, Spacing};
use crate::sequence::LossRuns;
use crate::units::BitRate;
use crate::verdict::{Evidence, Limit, LimitedBy, REACHED, judge, judge_losses};
use crate::warning::Warning;
use caudal_stats::{Estimate, batch_means, mann_kendall, mser, wilson};
use serde::{Deserialize, Serialize};

/// Datagrams of a flow below which its rate is too coarse to be held against the one asked for.
const FEW_DATAGRAMS: u64 = 10;

/// Everything a summary is made from.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The plan both sides held.
    pub plan: &'a TrafficPlan,
    /// Every flow, as both ends left it.
    pub records: &'a [FlowRecord],
    /// The readings.
    pub timeline: &'a Timeline,
    /// The side that asked.
    pub client: &'a Host,
    /// The side that answered.
    pub server: &'a Host,
    /// What the client used.
    pub client_usage: &'a Usage,
    /// What the server used.
    pub server_usage: Option<&'a Usage>,
    /// The IP version between them.
    pub ip: IpVersion,
    /// Whether the traffic stays on a loopback interface.
    pub loopback: bool,
    /// The rate of the link, where the user knows it.
    pub link_rate: Option<BitRate>,
    /// The confidence of intervals.
    pub confidence: f64,
    /// Why the run ended before its plan did.
    pub cut_short: Option<&'a str>,
    /// What the server changed in the plan.
    pub changed: &'a [String],
}

/// What the wire could carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Payload the link carries at most, bit/s; `None` when it cannot be told.
    pub goodput_bps: Option<f64>,
    /// The part of it that was reached.
    pub share: Option<f64>,
    /// How it was reckoned, or why it cannot be.
    pub why: String,
}

/// Where datagrams were lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossPlaces {
    /// Refused by the sender's own kernel; `None` where the sender does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_refused: Option<u64>,
    /// Dropped by the queueing discipline of the sender's interface, all traffic; `None` when it does
    /// not say.
    pub sender_qdisc: Option<u64>,
    /// Dropped for a full buffer at the receiving socket; `None` where the receiver does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_socket: Option<u64>,
    /// Whether that is a lower bound: the kernel counts datagrams that it had joined as one.
    pub receiver_socket_at_least: bool,
    /// The rest: lost on the way; an upper bound where the number before is a lower one. `None` where it
    /// cannot be told from what was dropped at the receiving socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<u64>,
    /// That rest where the receiver does not tell its own drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_or_socket: Option<u64>,
}

/// The account of datagrams over the whole test, its warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Whether every receiver gave its last account; without it what is missing cannot be told from what
    /// was not yet read.
    pub complete: bool,
    /// Datagrams sent.
    pub sent: u64,
    /// Distinct datagrams that arrived in time.
    pub received: u64,
    /// Datagrams that did not arrive.
    pub lost: u64,
    /// Datagrams that arrived again. This and the next three are `None` where the receiver does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived after a later one (RFC 4737).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Datagrams that arrived after they had been given up: more than 65 473 behind the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Datagrams with damaged content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// The fraction lost, with Wilson's interval.
    pub fraction: Option<Estimate>,
    /// Lengths of runs of consecutive losses; `None` where the receiver did not note which were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<LossRuns>,
    /// Where they were lost.
    pub places: LossPlaces,
}

/// TCP over the measured part of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TcpSummary {
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Bytes retransmitted; `None` when the kernel does not say.
    pub retransmitted_bytes: Option<u64>,
    /// Smallest round-trip time, µs.
    pub rtt_min_us: Option<u32>,
    /// Mean of the smoothed round-trip times at the ends of the intervals, µs.
    pub rtt_mean_us: Option<f64>,
    /// Largest of them, µs.
    pub rtt_max_us: Option<u32>,
    /// Largest congestion window at the end of an interval, bytes.
    pub cwnd_max_bytes: u64,
}

/// One direction of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// The direction.
    pub direction: Direction,
    /// Flows in it.
    pub flows: usize,
    /// Payload that arrived per second over the measured part, bit/s.
    pub goodput_bps: Option<Estimate>,
    /// Whether the interval can be trusted: the batches it rests on are enough, and not correlated.
    pub goodput_trusted: bool,
    /// Payload that arrived in the measured part, bytes.
    pub bytes: u64,
    /// How long that is, s.
    pub measured_s: f64,
    /// Warm-up left out before it, s.
    pub omitted_s: f64,
    /// Payload that arrived in all, bytes.
    pub received_bytes: u64,
    /// Payload the sender handed to its kernel in all, bytes.
    pub sent_bytes: Option<u64>,
    /// What the wire could carry.
    pub ceiling: Ceiling,
    /// What limited it.
    pub limited_by: LimitedBy,
    /// Share of the time the sending threads were on a processor, summed over flows.
    pub sender_cpu: Option<f64>,
    /// Share of the time the receiving threads were on a processor, summed over flows; absent when the
    /// other end cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// TCP's own account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
    /// The account of datagrams (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Delay variation, of the flow where it was largest (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelaySummary>,
    /// How evenly datagrams left, of the flow where it was least even (UDP with a rate).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
}

/// What a run adds up to.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficSummary {
    /// One for each direction, up first.
    pub directions: Vec<DirectionSummary>,
    /// What to doubt.
    pub warnings: Vec<Warning>,
}

/// Sums a run up.
#[must_use]
pub fn summarise(context: &Context<'_>) -> TrafficSummary {
    let mut warnings = Vec::new();
    let directions: Vec<DirectionSummary> = context
        .plan
        .directions
        .each()
        .iter()
        .map(|direction| of_direction(context, *direction, &mut warnings))
        .collect();
    general_warnings(context, &mut warnings);
    TrafficSummary {
        directions,
        warnings,
    }
}

fn of_direction(
    context: &Context<'_>,
    direction: Direction,
    warnings: &mut Vec<Warning>,
) -> DirectionSummary {
    let records: Vec<&FlowRecord> = context
        .records
        .iter()
        .filter(|record| record.flow.direction == direction)
        .collect();
    let intervals: Vec<Vec<Interval>> = records
        .iter()
        .map(|record| context.timeline.intervals(record.flow.id))
        .collect();
    let measured: Vec<Measured> = records
        .iter()
        .filter_map(|record| context.timeline.measured(record.flow.id))
        .collect();
    let series = sums(&intervals);
    let skip = match context.plan.omit {
        Omit::Auto => auto_omit(&series, warnings),
        Omit::Nothing | Omit::Time(_) => 0,
    };
    // The time a direction took is that of its longest flow: with --bytes, flows end apart.
    let start_ns = measured.iter().map(|flow| flow.start_ns).min().unwrap_or(0);
    let end_ns = measured
        .iter()
        .map(|flow| flow.start_ns + flow.elapsed_ns)
        .max()
        .unwrap_or(0);
    let mut elapsed_s = end_ns.saturating_sub(start_ns) as f64 / 1e9;
    let mut bytes: u64 = records
        .iter()
        .map(|record| match context.timeline.measured(record.flow.id) {
            Some(flow) => flow.bytes,
            // All of it came at the very start: it took no time, and still came.
            None => record.received().map_or(0, |received| received.bytes),
        })
        .sum();
    let mut omitted_s = start_ns as f64 / 1e9;
    if let Some(last) = skip.checked_sub(1).and_then(|last| series.get(last)) {
        omitted_s = last.end_s;
        elapsed_s -= omitted_s;
        bytes -= series[..skip]
            .iter()
            .map(|sum| sum.bytes)
            .sum::<u64>()
            .min(bytes);
    }
    let (goodput, trusted) = goodput(
        context,
        &series[skip.min(series.len())..],
        bytes,
        elapsed_s,
        direction,
        warnings,
    );
    let goodput_mean = goodput.map_or(0.0, |goodput| goodput.mean);
    let loss =
        (context.plan.transport == Transport::Udp).then(|| loss(context, direction, &records));
    let limited_by = limited_by(context, &records, loss.as_ref());
    let delay = records
        .iter()
        .filter_map(|record| record.receiver.as_ref()?.delay)
        .max_by(|a, b| a.jitter_rfc3550_us.total_cmp(&b.jitter_rfc3550_us));
    let spacing = records
        .iter()
        .filter_map(|record| record.sender.as_ref()?.spacing)
        .max_by(|a, b| a.error_p99_us.total_cmp(&b.error_p99_us));
    let sent: Option<u64> = records
        .iter()
        .map(|record| Some(record.sent()?.bytes))
        .sum();
    flow_warnings(
        context,
        direction,
        &records,
        &limited_by,
        loss.as_ref(),
        &measured,
        warnings,
    );
    let ceiling = ceiling(context, &records, goodput_mean);
    let measured_s = elapsed_s.max(0.0);
    let tcp = tcp(&intervals, &measured);
    DirectionSummary {
        direction,
        flows: records.len(),
        goodput_bps: goodput,
        goodput_trusted: trusted,
        bytes,
        measured_s,
        omitted_s,
        received_bytes: records
            .iter()
            .filter_map(|record| record.received())
            .map(|received| received.bytes)
            .sum(),
        sent_bytes: sent,
        ceiling,
        limited_by,
        sender_cpu: measured.iter().map(|flow| flow.sender_cpu).sum(),
        receiver_cpu: measured.iter().map(|flow| flow.receiver_cpu).sum(),
        tcp,
        loss,
        delay,
        spacing,
    }
}

/// All flows of a direction between the same two ticks.
struct Sum {
    start_s: f64,
    end_s: f64,
    bytes: u64,
    bps: f64,
}

fn sums(intervals: &[Vec<Interval>]) -> Vec<Sum> {
    let longest = intervals.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|nth| {
            let row: Vec<&Interval> = intervals.iter().filter_map(|flow| flow.get(nth)).collect();
            if row.first()?.omitted {
                return None;
            }
            Some(Sum {
                start_s: row.iter().map(|i| i.start_s).fold(f64::INFINITY, f64::min),
                end_s: row.iter().map(|i| i.end_s).fold(0.0, f64::max),
                bytes: row.iter().map(|i| i.bytes).sum(),
                bps: row.iter().map(|i| i.goodput_bps).sum(),
            })
        })
        .collect()
}

fn auto_omit(series: &[Sum], warnings: &mut Vec<Warning>) -> usize {
    let rates: Vec<f64> = series.iter().map(|sum| sum.bps).collect();
    match mser(&rates) {
        Some(found) if !found.rejected => found.drop,
        Some(_) => {
            warnings.push(Warning::new(
                "not_steady",
                "MSER finds no steady part in this test: more than half of it would be warm-up",
                "measure longer",
            ));
            0
        }
        None => {
            warnings.push(Warning::new(
                "too_short",
                format!(
                    "{} intervals are too few to find the warm-up in",
                    series.len()
                ),
                "measure longer, or with a shorter --interval: at least 10 intervals",
            ));
            0
        }
    }
}

fn goodput(
    context: &Context<'_>,
    series: &[Sum],
    bytes: u64,
    elapsed_s: f64,
    direction: Direction,
    warnings: &mut Vec<Warning>,
) -> (Option<Estimate>, bool) {
    if elapsed_s <= 0.0 {
        if bytes > 0 {
            warnings.push(Warning::new(
                "too_short",
                format!(
                    "{}: all came in at once, in less time than can be measured",
                    direction.name()
                ),
                "move more bytes, or measure for a time",
            ));
        }
        return (None, false);
    }
    let mean = bytes as f64 * 8.0 / elapsed_s;
    // A last interval much shorter than the others is left out: its rate weighs as much as theirs.
    let usual = series.first().map_or(0.0, |sum| sum.end_s - sum.start_s);
    let rates: Vec<f64> = series
        .iter()
        .filter(|sum| sum.end_s - sum.start_s >= 0.8 * usual)
        .map(|sum| sum.bps)
        .collect();
    let Some(found) = batch_means(&rates, context.confidence) else {
        return (Some(Estimate::single(mean)), false);
    };
    let half = found.estimate.half_width();
    let estimate = Estimate {
        mean,
        low: (mean - half).max(0.0),
        high: mean + half,
        ..found.estimate
    };
    if rates.len() >= 10
        && let Some(trend) = mann_kendall(&rates)
        && trend.p < 0.001
        && half / mean > 0.02
    {
        warnings.push(Warning::new(
            "not_steady",
            format!(
                "{}: the rate kept {} over the test (Mann-Kendall p = {:.1e})",
                direction.name(),
                if trend.s > 0 { "rising" } else { "falling" },
                trend.p
            ),
            "measure longer, or leave the warm-up out with --omit auto",
        ));
    }
    (Some(estimate), found.trusted)
}

fn loss(context: &Context<'_>, direction: Direction, records: &[&FlowRecord]) -> Loss {
    let hearsay = context.timeline.hearsay(direction);
    let counted = hearsay.is_none().then_some(0);
    let foreign_sender = context.timeline.foreign().is_some() && direction == Direction::Down;
    let mut total = Loss {
        complete: true,
        sent: 0,
        received: 0,
        lost: 0,
        duplicate: counted,
        reordered: hearsay.is_none_or(|told| told.reordered).then_some(0),
        late: counted,
        corrupt: counted,
        fraction: None,
        runs: None,
        places: LossPlaces {
            sender_refused: (!foreign_sender).then_some(0),
            receiver_socket: counted,
            ..LossPlaces::default()
        },
    };
    let add = |total: &mut Option<u64>, more: u64| {
        if let Some(total) = total {
            *total += more;
        }
    };
    let mut runs = LossRuns::default();
    let mut lost_in_runs = 0.0;
    for record in records {
        if let Some(sent) = record.sent() {
            total.sent += sent.datagrams;
            add(&mut total.places.sender_refused, sent.send_errors);
        }
        let Some(received) = record.received() else {
            // What was read of it last is all there is.
            total.complete = false;
            if let Some(last) = context.timeline.last_received(record.flow.id) {
                total.received += last.datagrams;
                total.lost += last.lost;
                add(&mut total.duplicate, last.duplicate);
                add(&mut total.reordered, last.reordered);
                add(&mut total.late, last.late);
                add(&mut total.corrupt, last.corrupt);
            }
            continue;
        };
        add(&mut total.places.receiver_socket, received.socket_drops);
        add(&mut total.corrupt, received.corrupt);
        let Some(sequence) = record
            .receiver
            .as_ref()
            .and_then(|end| end.sequence.as_ref())
        else {
            continue;
        };
        if record.sent().is_none() {
            total.sent += sequence.expected;
        }
        total.received += sequence.received;
        total.lost += sequence.lost;
        add(&mut total.duplicate, sequence.duplicate);
        add(&mut total.reordered, sequence.reordered);
        add(&mut total.late, sequence.late);
        lost_in_runs += sequence.loss_runs.mean.unwrap_or(0.0) * sequence.loss_runs.count as f64;
        runs.count += sequence.loss_runs.count;
        runs.max = runs.max.max(sequence.loss_runs.max);
        for (at, count) in sequence.loss_runs.histogram.iter().enumerate() {
            if runs.histogram.len() <= at {
                runs.histogram.resize(at + 1, 0);
            }
            runs.histogram[at] += count;
        }
    }
    runs.mean = (runs.count > 0).then(|| lost_in_runs / runs.count as f64);
    // Losses that lie in no run are losses of which only the number is known.
    let placed = runs.count > 0 || total.lost == 0 || context.timeline.foreign().is_none();
    total.runs = (hearsay.is_none() && placed).then_some(runs);
    total.fraction = wilson(total.lost.min(total.sent), total.sent, context.confidence)
        .filter(|_| total.complete);
    let usage = match direction {
        Direction::Up => Some(context.client_usage),
        Direction::Down => context.server_usage,
    };
    // A loopback has no queueing discipline that could drop.
    total.places.sender_qdisc = usage
        .and_then(|usage| usage.qdisc_drops)
        .filter(|_| !context.loopback);
    let at_socket = total.places.receiver_socket.unwrap_or(0);
    let elsewhere = total.places.sender_refused.unwrap_or(0)
        + at_socket
        + total.places.sender_qdisc.unwrap_or(0);
    let rest = total.lost.saturating_sub(elsewhere);
    if hearsay.is_some() {
        total.places.path_or_socket = Some(rest);
    } else if context.loopback && at_socket > 0 {
        // A loopback has no way on which to lose them, and the kernel counts what it had joined as one.
        total.places.receiver_socket = Some(at_socket + rest);
        total.places.path = Some(0);
    } else {
        total.places.path = Some(rest);
        total.places.receiver_socket_at_least = at_socket > 0
            && records.iter().any(|record| {
                record
                    .receiver
                    .as_ref()
                    .is_some_and(|end| end.granted.receive_offload == Some(true))
            });
    }
    total
}

fn machine_busy(context: &Context<'_>) -> bool {
    let same = context.client.boot_id.is_some() && context.client.boot_id == context.server.boot_id;
    let wall = context.client_usage.wall_ns as f64 * f64::from(context.client.cpus.max(1));
    // Where both ends are one program, each counts the whole of it.
    let used = context
        .client_usage
        .cpu_ns
        .max(context.server_usage.map_or(0, |usage| usage.cpu_ns));
    same && used as f64 >= 0.9 * wall
}

fn limited_by(context: &Context<'_>, records: &[&FlowRecord], loss: Option<&Loss>) -> LimitedBy {
    if let Some(loss) = loss {
        let (goodput, sent) = records
            .iter()
            .filter_map(|record| context.timeline.measured(record.flow.id))
            .fold((0.0, 0.0), |(goodput, sent), flow| {
                (goodput + flow.goodput_bps(), sent + flow.sent_bps())
            });
        if let Some(by) = judge_losses(&loss.places, loss.lost, goodput, sent) {
            return by;
        }
    }
    let mut judged: Vec<(u64, LimitedBy)> = Vec::new();
    for record in records {
        let Some(measured) = context.timeline.measured(record.flow.id) else {
            continue;
        };
        let asked = match context.plan.rate {
            Rate::Limit(rate) => Some(rate.bps()),
            Rate::Max => None,
        };
        let verdict = judge(&Evidence {
            measured: &measured,
            asked_bps: asked,
            window_set: context.plan.window.is_some(),
            machine_busy: machine_busy(context),
            is_udp: context.plan.transport == Transport::Udp,
        });
        judged.push((measured.bytes, verdict));
    }
    // The flows may differ: what limited the most payload is named.
    let weight = |limit: Limit| -> u64 {
        judged
            .iter()
            .filter(|(_, by)| by.limit == limit)
            .map(|(bytes, _)| bytes)
            .sum()
    };
    let most = judged
        .iter()
        .map(|(_, by)| by.limit)
        .max_by_key(|limit| weight(*limit));
    let agree = judged
        .iter()
        .filter(|(_, by)| Some(by.limit) == most)
        .count();
    match judged.iter().find(|(_, by)| Some(by.limit) == most) {
        Some((_, by)) if judged.len() > 1 => LimitedBy {
            limit: by.limit,
            evidence: format!(
                "{agree} of {} flows; for one: {}",
                judged.len(),
                by.evidence
            ),
        },
        Some((_, by)) => by.clone(),
        None => LimitedBy {
            limit: Limit::Unknown,
            evidence: "nothing was measured".to_owned(),
        },
    }
}

fn ceiling(context: &Context<'_>, records: &[&FlowRecord], goodput_bps: f64) -> Ceiling {
    let unknown = |why: &str| Ceiling {
        goodput_bps: None,
        share: None,
        why: why.to_owned(),
    };
    let (rate, whence) = match link_rate(
        context.link_rate,
        context.client,
        context.server,
        context.loopback,
    ) {
        Ok(known) => known,
        Err(NoLink::Loopback) => {
            return unknown("a loopback has no wire, so there is no ceiling to compare with");
        }
        Err(why) => return unknown(why.words()),
    };
    let mtu = link_mtu(context.client, context.server);
    let timestamps = timestamps(context.client);
    let framing = Framing {
        mtu,
        ip: context.ip,
        vlan: false,
        timestamps,
        sack_blocks: 0,
    };
    let (bps, how) = match context.plan.transport {
        Transport::Tcp => {
            let options = if timestamps { 12 } else { 0 };
            let mss = records
                .iter()
                .filter_map(|record| record.sender.as_ref()?.granted.mss)
                .min()
                .filter(|mss| *mss > 0 && *mss <= framing.tcp_payload_per_frame())
                .unwrap_or(framing.tcp_payload_per_frame());
            let packet = u64::from(mss) + context.ip.header_bytes() + 20 + options;
            let wire = framing.wire_bytes(packet);
            (
                rate.as_f64() * f64::from(mss) / wire as f64,
                format!("{mss} of {wire} bytes on the wire"),
            )
        }
        Transport::Udp => {
            let length = context.plan.length;
            let bps = framing.udp_ceiling(rate, length).as_f64();
            let wire = framing.udp_wire_bytes(length).unwrap_or(0);
            (bps, format!("{length} of {wire} bytes on the wire"))
        }
    };
    Ceiling {
        goodput_bps: Some(bps),
        share: (bps > 0.0).then(|| goodput_bps / bps),
        why: format!("{rate} ({whence}), MTU {mtu}: {how}"),
    }
}

fn tcp(intervals: &[Vec<Interval>], measured: &[Measured]) -> Option<TcpSummary> {
    // The measured part, without the warm-up before it and the connection's own end behind it.
    let spans: Vec<_> = measured.iter().filter_map(|flow| flow.tcp).collect();
    if spans.is_empty() {
        return None;
    }
    let rows: Vec<_> = intervals
        .iter()
        .flatten()
        .filter(|i| !i.omitted)
        .filter_map(|i| i.tcp)
        .collect();
    let rtts: Vec<f64> = rows.iter().map(|tcp| f64::from(tcp.rtt_us)).collect();
    Some(TcpSummary {
        retransmits: spans
            .iter()
            .map(|(first, last)| last.retransmits.saturating_sub(first.retransmits))
            .sum(),
        retransmitted_bytes: spans
            .iter()
            .map(|(first, last)| {
                Some(
                    last.retransmitted_bytes?
                        .saturating_sub(first.retransmitted_bytes?),
                )
            })
            .sum(),
        rtt_min_us: spans.iter().filter_map(|(_, last)| last.min_rtt_us).min(),
        rtt_mean_us: (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64),
        rtt_max_us: rows.iter().map(|tcp| tcp.rtt_us).max(),
        cwnd_max_bytes: rows
            .iter()
            .map(|tcp| tcp.cwnd_bytes)
            .chain(spans.iter().map(|(_, last)| last.cwnd_bytes))
            .max()
            .unwrap_or(0),
    })
}

fn flow_warnings(
    context: &Context<'_>,
    direction: Direction,
    records: &[&FlowRecord],
    limited_by: &LimitedBy,
    loss: Option<&Loss>,
    measured: &[Measured],
    warnings: &mut Vec<Warning>,
) {
    let way = direction.name();
    for record in records {
        for (end, which) in [(&record.sender, "sender"), (&record.receiver, "receiver")] {
            // Where the whole test was cut short, that its flows ended too says nothing new.
            let failure = end
                .as_ref()
                .and_then(|end| end.failure.as_ref())
                .filter(|_| context.cut_short.is_none());
            if let Some(failure) = failure {
                warnings.push(Warning::new(
                    "flow_failed",
                    format!(
                        "flow {} ({way}) failed at the {which}: {failure}",
                        record.flow.id
                    ),
                    "see whether a firewall or the peer closed the connection, and run again",
                ));
            }
        }
        if context.plan.mptcp
            && record
                .sender
                .as_ref()
                .is_some_and(|end| end.granted.mptcp == Some(false))
        {
            warnings.push(Warning::new(
                "mptcp_not_used",
                format!("flow {} ({way}) fell back to plain TCP", record.flow.id),
                "enable net.mptcp.enabled on both hosts",
            ));
        }
    }
    match limited_by.limit {
        Limit::Sender if limited_by.evidence.contains("processor") => warnings.push(Warning::new(
            "sender_cpu",
            format!("{way}: the sender ran out of CPU ({})", limited_by.evidence),
            match context.plan.transport {
                Transport::Tcp => {
                    "try --zerocopy, --discard, larger --length or more flows (-P); the network may give more"
                }
                Transport::Udp => "try larger --length or more flows (-P); the network may give more",
            },
        )),
        Limit::Receiver if limited_by.evidence.contains("processor") => warnings.push(Warning::new(
            "receiver_cpu",
            format!("{way}: the receiver ran out of CPU ({})", limited_by.evidence),
            match context.plan.transport {
                Transport::Tcp => "try --discard or more flows (-P); the network may give more",
                Transport::Udp => "try larger --length or more flows (-P); the network may give more",
            },
        )),
        _ => {}
    }
    not_all_arrived(context, direction, records, warnings);
    if let (Rate::Limit(_), Some(loss)) = (context.plan.rate, loss)
        && loss.sent > 0
        && loss.sent < FEW_DATAGRAMS * records.len() as u64
    {
        warnings.push(Warning::new(
            "too_short",
            format!(
                "{way}: {} datagrams of {} bytes are too few to hold a rate against",
                loss.sent, context.plan.length
            ),
            "measure longer, or with a shorter --length",
        ));
    }
    if let Rate::Limit(asked) = context.plan.rate {
        let slow = measured.iter().find_map(|flow| {
            let sent = flow.sender_bytes? as f64 * 8e9 / flow.sender_elapsed_ns?.max(1) as f64;
            (sent < REACHED * asked.as_f64()).then_some(sent)
        });
        if let Some(sent) = slow {
            warnings.push(Warning::new(
                "rate_not_reached",
                format!(
                    "{way}: a flow sent {} of the {asked} asked for",
                    BitRate::from_f64(sent).unwrap_or(BitRate::ZERO)
                ),
                "ask for less, or see what limited it",
            ));
        }
    }
    let Some(loss) = loss else { return };
    if let Some(refused) = loss.places.sender_refused.filter(|count| *count > 0) {
        warnings.push(Warning::new(
            "send_refused",
            format!("{way}: the sender's kernel refused {refused} datagrams"),
            "lower --rate, or see whether the receiver still listens",
        ));
    }
    let granted = records
        .iter()
        .filter_map(|record| record.receiver.as_ref()?.granted.receive_buffer_bytes)
        .min();
    if let Some(dropped) = loss.places.receiver_socket.filter(|count| *count > 0) {
        warnings.push(Warning::new(
            "receive_buffer_overflow",
            format!(
                "{way}: {dropped} of {} lost datagrams were dropped at the receiving socket (buffer {} bytes)",
                loss.lost,
                granted.unwrap_or(0)
            ),
            "raise net.core.rmem_max on the receiver, or lower --rate",
        ));
    } else if let Some(granted) = granted.filter(|granted| *granted < 1 << 20) {
        warnings.push(Warning::new(
            "receive_buffer_small",
            format!("{way}: the receiver's kernel granted {granted} bytes of buffer"),
            "raise net.core.rmem_max on the receiver to 8388608, or run its server as root",
        ));
    }
}

/// A test of an amount is over when that amount has arrived: anything less is said.
fn not_all_arrived(
    context: &Context<'_>,
    direction: Direction,
    records: &[&FlowRecord],
    warnings: &mut Vec<Warning>,
) {
    let (End::Bytes(asked), Transport::Tcp, None) =
        (context.plan.end, context.plan.transport, context.cut_short)
    else {
        return;
    };
    let sent: Option<u64> = records
        .iter()
        .map(|record| Some(record.sent()?.bytes))
        .sum();
    let received: Option<u64> = records
        .iter()
        .map(|record| Some(record.received()?.bytes))
        .sum();
    let due = sent.unwrap_or(asked.get());
    if let Some(received) = received.filter(|received| *received < due) {
        warnings.push(Warning::new(
            "not_all_arrived",
            format!("{}: {received} of the {due} bytes sent arrived", direction.name()),
            "the connection was given up before its data was delivered; run again, and see whether the path is cut",
        ));
    }
}

fn general_warnings(context: &Context<'_>, warnings: &mut Vec<Warning>) {
    if let Some(why) = context.cut_short {
        warnings.push(Warning::new(
            "cut_short",
            format!("the test ended early: {why}"),
            "what is shown was measured until then; run again for a whole test",
        ));
    }
    for change in context.changed {
        warnings.push(Warning::new(
            "server_changed_plan",
            change.clone(),
            "ask for less, or the server's owner for more",
        ));
    }
    let stolen = [Some(context.client_usage), context.server_usage]
        .into_iter()
        .flatten()
        .find(|usage| {
            let cpus = u64::from(context.client.cpus.max(1));
            usage
                .steal_ns
                .is_some_and(|steal| steal > usage.wall_ns / 50 * cpus)
        });
    if let Some(usage) = stolen {
        let share = usage.steal_ns.unwrap_or(0) as f64
            / (usage.wall_ns.max(1) as f64 * f64::from(context.client.cpus.max(1)));
        warnings.push(Warning::new(
            "stolen_cpu",
            format!(
                "the hypervisor gave {:.1} % of the processor time to others",
                share * 100.0
            ),
            "repeat (--repeat 10) and compare, or measure on a quieter machine",
        ));
    }
    let paced = context.records.iter().any(|record| {
        record
            .sender
            .as_ref()
            .and_then(|end| end.granted.congestion.as_deref())
            .is_some_and(|name| name.starts_with("bbr"))
    });
    if paced && context.loopback && context.plan.rate == Rate::Max {
        warnings.push(Warning::new(
            "paced_loopback",
            "bbr paces by its estimate of the path's rate, which a loopback does not have",
            "use -C cubic to see what this machine's TCP can do",
        ));
    }
    if let Some(asked) = context.plan.window {
        // The kernel accounts twice what it grants (socket(7), SO_RCVBUF).
        let least = context
            .records
            .iter()
            .flat_map(|record| [&record.sender, &record.receiver])
            .flatten()
            .flat_map(|end| {
                [
                    end.granted.send_buffer_bytes,
                    end.granted.receive_buffer_bytes,
                ]
            })
            .flatten()
            .map(|accounted| accounted / 2)
            .min();
        if let Some(least) = least.filter(|least| *least < asked.get()) {
            warnings.push(Warning::new(
                "window_not_granted",
                format!(
                    "--window asked for {} bytes, the kernel granted {least}",
                    asked.get()
                ),
                "raise net.core.rmem_max and net.core.wmem_max on both hosts",
            ));
        }
    }
    let mtu = context
        .records
        .iter()
        .filter_map(|record| record.sender.as_ref()?.granted.path_mtu)
        .min();
    if let (Transport::Udp, Some(mtu)) = (context.plan.transport, mtu)
        && u64::from(context.plan.length) + 8 + context.ip.header_bytes() > u64::from(mtu)
    {
        warnings.push(Warning::new(
            "fragmented",
            format!(
                "datagrams of {} bytes exceed the path MTU of {mtu}: IP fragments them",
                context.plan.length
            ),
            format!(
                "use --length {} or less",
                u64::from(mtu) - 8 - context.ip.header_bytes()
            ),
        ));
    }
}

/// A goodput estimate over repeated runs, from the mean of each.
#[must_use]
pub fn over_repeats(means: &[f64], confidence: f64) -> Option<Estimate> {
    match means {
        [] => None,
        [one] => Some(Estimate::single(*one)),
        many => caudal_stats::mean_interval(many, confidence),
    }
}
