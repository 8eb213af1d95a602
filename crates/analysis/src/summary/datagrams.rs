//! The account of the datagrams of one direction, and their loss location.

use super::context::{Context, DirectionFlows};
use super::host_drops::{receiver_drops, total};
use super::loss_structure::{loss_fraction_of_flows, loss_periods};
use caudal_core::episode::Episode;
use caudal_core::interval::ServerAccount;
use caudal_core::loss::{Loss, LossLocation, RefusedSends};
use caudal_core::marks::{ArrivedMarks, MarkReport};
use caudal_core::plan::Direction;
use caudal_core::sample::{FlowEnd, FlowRecord, ReceiverCounters};
use caudal_core::sequence::{LossRuns, SequenceCounts};
use caudal_stats::wilson;

/// The counts of all receivers of a direction.
#[derive(Default)]
struct Counts {
    complete: bool,
    /// `true` when nothing is known of what a receiver received.
    unknown: bool,
    sent: u64,
    received: u64,
    lost: u64,
    duplicate: u64,
    reordered: u64,
    late: u64,
    corrupt: u64,
    refused: RefusedSends,
    socket_drops: u64,
    runs: LossRuns,
    lost_in_runs: f64,
}

impl Counts {
    fn add(&mut self, context: &Context<'_>, record: &FlowRecord) {
        if let Some(sent) = record.sent() {
            self.sent += sent.datagrams;
            self.refused += RefusedSends {
                refused: sent.send_errors,
                forbidden: sent.send_forbidden,
            };
        }
        let Some(received) = record.received() else {
            // The last reading is all there is of it.
            self.complete = false;
            match context.timeline.last_received(record.flow.id) {
                Some(last) => self.add_reading(last),
                None => self.unknown = true,
            }
            return;
        };
        self.socket_drops += received.socket_drops;
        self.corrupt += received.corrupt;
        let Some(sequence) = record
            .receiver
            .as_ref()
            .and_then(|end| end.sequence.as_ref())
        else {
            (self.complete, self.unknown) = (false, true);
            return;
        };
        if record.sent().is_none() {
            self.sent += sequence.expected;
        }
        self.received += sequence.received;
        self.lost += sequence.lost;
        self.duplicate += sequence.duplicate;
        self.reordered += sequence.reordered;
        self.late += sequence.late;
        self.add_runs(&sequence.loss_runs);
    }

    /// Adds the last reading of a receiver that gave no final report.
    const fn add_reading(&mut self, last: &ReceiverCounters) {
        self.received += last.datagrams;
        self.lost += last.lost;
        self.duplicate += last.duplicate;
        self.reordered += last.reordered;
        self.late += last.late;
        self.corrupt += last.corrupt;
    }

    fn add_runs(&mut self, runs: &LossRuns) {
        self.lost_in_runs += runs.mean.unwrap_or(0.0) * runs.count as f64;
        self.runs.count += runs.count;
        self.runs.max = self.runs.max.max(runs.max);
        for (at, count) in runs.histogram.iter().enumerate() {
            if self.runs.histogram.len() <= at {
                self.runs.histogram.resize(at + 1, 0);
            }
            self.runs.histogram[at] += count;
        }
        self.runs.mean = (self.runs.count > 0).then(|| self.lost_in_runs / self.runs.count as f64);
    }
}

/// The receivers' final counts of the flows of a direction, where what all of them sent is known as well.
fn counts_of<'a>(flows: &DirectionFlows<'a>) -> Option<Vec<&'a SequenceCounts>> {
    let of_flow = |record: &&'a FlowRecord| record.receiver.as_ref()?.sequence.as_ref();
    flows.records.iter().map(of_flow).collect()
}

/// The periods in which the datagrams of a direction were lost, where no interruption explains them: those of the flow that lost most in
/// periods, with the number of flows that did.
pub(super) fn loss_episode(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Option<Episode> {
    let periods_of = |record: &&FlowRecord| {
        let received = record.received()?;
        let sequence = record.receiver.as_ref()?.sequence.as_ref()?;
        let at_s = |ns: u64| ns as f64 / 1e9;
        let span_s = (at_s(received.first_ns), at_s(received.last_ns));
        let found = loss_periods(sequence, flows.direction, span_s, context.confidence)?;
        Some((sequence.lost, found))
    };
    let all: Vec<(u64, Episode)> = flows.records.iter().filter_map(periods_of).collect();
    let (count, of) = (all.len(), flows.records.len());
    let (_, mut found) = all.into_iter().max_by_key(|(lost, _)| *lost)?;
    if of > 1 {
        found.evidence = format!(
            "{count} of {of} flows, the one that lost most: {}",
            found.evidence
        );
    }
    let (from_s, to_s) = (found.from_s, found.to_s.unwrap_or(found.from_s));
    let is_known = |one: &Episode| {
        one.kind.limit(flows.direction).is_some()
            && one.overlap_s(from_s, to_s) >= (to_s - from_s) / 2.0
    };
    (!context.episodes.iter().any(is_known)).then_some(found)
}

/// The marks with which the datagrams of one direction were sent and arrived; `None` where no receiver reported them.
pub(super) fn marks(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Option<MarkReport> {
    let udp = context.plan.udp()?;
    let receivers = flows.records.iter();
    let arrived = receivers.filter_map(|record| record.receiver.as_ref()?.marks.as_ref());
    Some(MarkReport {
        sent_dscp: udp.bulk.dscp.unwrap_or(0),
        sent_ecn: udp.ecn,
        arrived: ArrivedMarks::sum(arrived)?,
    })
}

/// The account of the datagrams of one direction.
pub(super) fn loss(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Loss {
    let mut counts = Counts {
        complete: true,
        ..Counts::default()
    };
    for record in &flows.records {
        counts.add(context, record);
    }
    let account = context.timeline.receiver_account(flows.direction);
    let if_known = |count: u64| (!counts.unknown).then_some(count);
    let if_full = |count: u64| if_known(count).filter(|_| account.is_full());
    // Losses outside all runs are losses of which only the number is known.
    let runs_cover_losses =
        counts.runs.count > 0 || counts.lost == 0 || context.timeline.server_account().is_full();
    let fraction = match counts_of(flows) {
        Some(sequences) => loss_fraction_of_flows(&sequences, context.confidence),
        None => wilson(
            counts.lost.min(counts.sent),
            counts.sent,
            context.confidence,
        ),
    };
    Loss {
        complete: Some(counts.complete),
        sent: Some(counts.sent),
        received: if_known(counts.received),
        lost: if_known(counts.lost),
        duplicate: if_full(counts.duplicate),
        reordered: if_known(counts.reordered).filter(|_| account.counts_reordering()),
        late: if_full(counts.late),
        corrupt: if_full(counts.corrupt),
        fraction: fraction.filter(|_| counts.complete),
        location: Some(location(context, flows, &counts, account)),
        runs: (account.is_full() && runs_cover_losses && !counts.unknown).then_some(counts.runs),
    }
}

fn location(
    context: &Context<'_>,
    flows: &DirectionFlows<'_>,
    counts: &Counts,
    account: ServerAccount,
) -> LossLocation {
    let (usage, sender_account) = match flows.direction {
        Direction::Up => (Some(context.client_usage), ServerAccount::Full),
        Direction::Down => (context.server_usage, context.timeline.server_account()),
    };
    let receiver_usage = match flows.direction {
        Direction::Up => context.server_usage,
        Direction::Down => Some(context.client_usage),
    };
    // The kernel counts a wrong checksum among the drops of the socket too.
    let damaged = receiver_usage
        .and_then(|usage| usage.udp_checksum_errors)
        .filter(|_| account.is_full())
        .map(|errors| errors.min(counts.lost));
    let at_socket = if account.is_full() {
        counts
            .socket_drops
            .saturating_sub(damaged.unwrap_or_default())
    } else {
        0
    };
    let mut location = LossLocation {
        sender_refused: sender_account.is_full().then_some(counts.refused.refused),
        sender_forbidden: Some(counts.refused.forbidden).filter(|count| *count > 0),
        // A loopback has no queueing discipline that could drop.
        sender_qdisc: usage
            .and_then(|usage| usage.qdisc_drops)
            .filter(|_| !context.loopback),
        receiver_socket: account.is_full().then_some(at_socket),
        checksum: damaged,
        ..LossLocation::default()
    };
    if counts.unknown {
        location.receiver_socket = None;
        return location;
    }
    let joined = |end: &FlowEnd| end.granted.segments_per_send > Some(1);
    let senders = flows.records.iter().map(|record| record.sender.as_ref());
    location.sender_qdisc_at_least =
        location.sender_qdisc.is_some_and(|dropped| dropped > 0) && senders.flatten().any(joined);
    let elsewhere = location.sender_refused.unwrap_or(0)
        + at_socket
        + damaged.unwrap_or(0)
        + location.sender_qdisc.unwrap_or(0);
    let rest = counts.lost.saturating_sub(elsewhere);
    if !account.is_full() {
        location.path_or_socket = Some(rest);
    } else if context.loopback && at_socket > 0 {
        // A loopback has no path on which to lose them, and the kernel counts what it had joined as one.
        location.receiver_socket = Some(at_socket + rest);
        location.path = Some(0);
    } else {
        let joins = |end: &FlowEnd| end.granted.receive_offload == Some(true);
        let receivers = flows.records.iter().map(|record| record.receiver.as_ref());
        location.path = Some(rest);
        let dropped = total(&receiver_drops(context, flows.direction, rest));
        location.receiver_host = Some(dropped).filter(|count| *count > 0);
        location.receiver_socket_at_least = at_socket > 0 && receivers.flatten().any(joins);
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::IpVersion;
    use crate::timeline::Timeline;
    use caudal_core::host::{Host, Usage};
    use caudal_core::plan::{
        BulkPlan, Directions, Omit, Pacing, Plan, PlannedFlow, Rate, TestEnd, Ticks, Transport,
        UdpPlan,
    };
    use caudal_core::sample::{Counters, SenderCounters};
    use std::time::Duration;

    const FLOW: PlannedFlow = PlannedFlow {
        id: 0,
        direction: Direction::Up,
    };

    fn plan() -> UdpPlan {
        UdpPlan {
            bulk: BulkPlan {
                directions: Directions::Up,
                parallel: 1,
                end: TestEnd::Time(Duration::from_secs(1)),
                interval: Duration::from_secs(1),
                omit: Omit::Time(Duration::ZERO),
                rate: Rate::Max,
                length: 1448,
                window: None,
                dscp: None,
                same_machine: false,
            },
            verify: false,
            pacing: Pacing::Balanced,
            ecn: caudal_core::marks::Ecn::NotEct,
        }
    }

    /// The location of 1000 lost datagrams, of which the sender's queueing discipline dropped `qdisc_drops` packets.
    fn located(segments_per_send: Option<u32>, qdisc_drops: u64) -> LossLocation {
        let mut sender = FlowEnd::from_counters(0, Counters::Sender(SenderCounters::default()));
        sender.granted.segments_per_send = segments_per_send;
        let receiver = FlowEnd {
            sequence: Some(SequenceCounts::from_totals(5000, 1000)),
            ..FlowEnd::from_counters(0, Counters::Receiver(ReceiverCounters::default()))
        };
        let records = [FlowRecord::new(FLOW, Some(sender), Some(receiver))];
        let udp = plan();
        let ticks = Ticks::new(Duration::from_secs(1), Duration::ZERO, None);
        let context = Context {
            plan: &Plan::Udp(udp.clone()),
            bulk: &udp.bulk,
            records: &records,
            timeline: &Timeline::new([FLOW], &ticks, Transport::Udp, ServerAccount::Full),
            arrivals: &[],
            client: &Host::default(),
            server: &Host::default(),
            client_usage: &Usage {
                qdisc_drops: Some(qdisc_drops),
                ..Usage::default()
            },
            server_usage: None,
            ip: IpVersion::V4,
            loopback: false,
            idle_rtt_us: None,
            connect_us: None,
            tcp_proxy: None,
            link_rate: None,
            confidence: 0.95,
            episodes: &[],
            cut_short: None,
            changed: &[],
            server_set_rate: false,
        };
        let loss = loss(&context, &context.flows_of(Direction::Up));
        loss.location.unwrap()
    }

    #[test]
    fn drops_in_the_senders_queue_are_a_lower_bound_where_a_send_had_several_datagrams() {
        let bound = |segments, drops| {
            let location = located(segments, drops);
            assert_eq!(
                (location.sender_qdisc, location.path),
                (Some(drops), Some(1000 - drops))
            );
            location.sender_qdisc_at_least
        };
        assert!(bound(Some(44), 60));
        assert!(!bound(Some(44), 0));
        assert!(!bound(Some(1), 60));
        assert!(!bound(None, 60));
    }
}
