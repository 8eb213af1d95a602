//! The run of a test as one of its ends counted it, made from its events.

use super::flow::tcp_report;
use caudal_core::event::{CutShort, EndReport, EndedFlow, Event, FlowTotals, ReportingEnd, View};
use caudal_core::host::Host;
use caudal_core::interval::{Interval, TcpInterval, UdpInterval};
use caudal_core::loss::{ImplausibleLoss, Loss};
use caudal_core::plan::{Direction, Plan, PlanRecord, PlannedFlow, Transport};
use caudal_core::run::{
    Environment, FlowReport, ReceiverReport, Run, RunHeader, RunResult, SenderReport, TcpReport,
    ThroughputSummary,
};
use caudal_core::sample::{
    Counters, DelaySummary, ReceiverCounters, Role, Sample, SenderCounters, TcpSnapshot,
};
use caudal_core::summary::{DirectionSummary, TcpSummary};
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, wilson};
use std::collections::BTreeMap;

/// The confidence of the interval of a loss.
const LOSS_CONFIDENCE: f64 = 0.95;

/// Makes the run of a bulk transfer from the events at its client, for protocols whose server reports only totals.
///
/// Intervals are counted by the client's end of each flow: of an upload they have what was handed to the kernel, of a
/// download what arrived. Totals are those that the ends report, and else those of the client's own counters.
#[derive(Debug)]
pub struct RunRecorder {
    plan: PlanRecord,
    flows: BTreeMap<u32, FlowAccount>,
    cut_short: Option<CutShort>,
    error: Option<String>,
}

/// One flow as the client counted it and the server reported it.
#[derive(Debug, Default)]
struct FlowAccount {
    samples: Vec<Sample>,
    end: Option<EndedFlow>,
    local: Option<FlowTotals>,
    peer: Option<FlowTotals>,
    /// The report of the other end, where it was discarded.
    discarded: Option<ImplausibleLoss>,
}

impl RunRecorder {
    /// A recorder of a test with this plan, which the plan of an event replaces.
    #[must_use]
    pub const fn new(plan: PlanRecord) -> Self {
        Self {
            plan,
            flows: BTreeMap::new(),
            cut_short: None,
            error: None,
        }
    }

    /// Takes note that the test ended in an error.
    pub fn failed(&mut self, error: impl Into<String>) {
        self.error = Some(error.into());
    }

    /// `true` when the test ended before its plan did.
    #[must_use]
    pub const fn is_cut_short(&self) -> bool {
        self.cut_short.is_some()
    }

    /// The run, measured on this machine; `None` when nothing was counted.
    #[must_use]
    pub fn into_run(self, header: RunHeader, client: Host) -> Option<Run> {
        let warm_up = Plan::try_from(&self.plan)
            .ok()
            .and_then(|plan| Some(plan.bulk()?.ticks().first_measured()))
            .unwrap_or(0);
        let reports: Vec<FlowReport> = self
            .flows
            .iter()
            .filter_map(|(id, flow)| flow.report(*id, warm_up))
            .collect();
        if reports.is_empty() {
            return None;
        }
        let directions: Vec<DirectionSummary> = [Direction::Up, Direction::Down]
            .into_iter()
            .filter_map(|direction| summarise_reports(&reports, direction))
            .collect();
        let goodput_bps = match directions.as_slice() {
            [only] => only.goodput_bps,
            _ => None,
        };
        Some(Run {
            warnings: self.warnings(warm_up),
            environment: Some(Environment {
                client: Some(client),
                ..Environment::default()
            }),
            result: Some(RunResult::Throughput(Box::new(ThroughputSummary {
                goodput_bps,
                directions,
                ..ThroughputSummary::default()
            }))),
            flows: Some(reports),
            ..Run::new(header, self.plan)
        })
    }

    fn warnings(&self, warm_up: u64) -> Vec<Warning> {
        let cut_short = self.cut_short.as_ref().map(|_| {
            Warning::new(WarningCode::CutShort, "the test ended before its time").with_remedy("")
        });
        let failed = self.error.as_ref().map(|error| {
            let message = format!("the tool ended with: {error}");
            Warning::new(WarningCode::ToolFailed, message).with_remedy("")
        });
        let checked = self.flows.iter().map(|(id, flow)| {
            let result = flow.check_peer(warm_up);
            (*id, flow.discarded.map_or(result, Err))
        });
        let implausible = checked.filter_map(|(id, result)| {
            let message = format!("flow {id}: {}", result.err()?);
            Some(Warning::new(WarningCode::ImplausibleCount, message))
        });
        failed
            .or(cut_short)
            .into_iter()
            .chain(implausible)
            .collect()
    }

    fn take_report(&mut self, report: &EndReport) {
        let is_tcp = self.plan.transport() == Some(Transport::Tcp);
        for totals in &report.flows {
            let flow = self.flows.entry(totals.flow).or_default();
            let totals = if is_tcp {
                without_datagrams(*totals)
            } else {
                *totals
            };
            match report.end {
                ReportingEnd::Local => flow.local = Some(totals),
                ReportingEnd::Peer => flow.peer = Some(totals),
            }
        }
    }
}

impl View for RunRecorder {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Agreed(agreement) => self.plan = agreement.plan.clone(),
            Event::Sampled(sample) => {
                let flow = self.flows.entry(sample.flow).or_default();
                flow.samples.push(*sample);
            }
            Event::FlowEnded(ended) => {
                self.flows.entry(ended.end.flow).or_default().end = Some(ended.clone());
            }
            Event::Reported(report) => self.take_report(report),
            Event::ReportDiscarded { flow, report } => {
                self.flows.entry(*flow).or_default().discarded = Some(*report);
            }
            Event::Ended(ended) => self.cut_short.clone_from(&ended.cut_short),
            _ => {}
        }
    }
}

/// The totals of a TCP flow: protocols with one form of report for both transports have zeros for its datagrams.
const fn without_datagrams(totals: FlowTotals) -> FlowTotals {
    FlowTotals {
        datagrams: None,
        lost: None,
        reordered: None,
        jitter_s: None,
        ..totals
    }
}

const fn role_of(counters: &Counters) -> Role {
    match counters {
        Counters::Sender(_) => Role::Sender,
        Counters::Receiver(_) => Role::Receiver,
    }
}

const fn other_end(role: Role) -> Role {
    match role {
        Role::Sender => Role::Receiver,
        Role::Receiver => Role::Sender,
    }
}

impl FlowAccount {
    /// The role of the client's end; `None` when nothing is known of the flow.
    fn role(&self) -> Option<Role> {
        let counters = self.end.iter().map(|ended| &ended.end.counters);
        counters
            .chain(self.samples.iter().map(|sample| &sample.counters))
            .map(role_of)
            .chain(self.local.map(|totals| totals.role))
            .chain(self.peer.map(|totals| other_end(totals.role)))
            .next()
    }

    /// The report of the flow; `None` when nothing is known of it.
    fn report(&self, id: u32, warm_up: u64) -> Option<FlowReport> {
        let role = self.role()?;
        let own = self.local.or_else(|| self.own_totals(role, warm_up));
        let peer = self.peer.filter(|_| self.check_peer(warm_up).is_ok());
        let (sent, received) = match role {
            Role::Sender => (own, peer),
            Role::Receiver => (peer, own),
        };
        let start_s = self.measured_from_ns(warm_up) as f64 / 1e9;
        let own_tcp = self.last_tcp().filter(|_| role == Role::Sender);
        let direction = match role {
            Role::Sender => Direction::Up,
            Role::Receiver => Direction::Down,
        };
        Some(FlowReport {
            counted_by: Some(role),
            sender: sent.map(|totals| sender_report(start_s, &totals, own_tcp.as_ref())),
            receiver: received.map(|totals| receiver_report(start_s, &totals)),
            intervals: Some(self.intervals(role, warm_up)),
            ..FlowReport::new(PlannedFlow { id, direction })
        })
    }

    /// Compares the other end's report with the counts of this end.
    fn check_peer(&self, warm_up: u64) -> Result<(), ImplausibleLoss> {
        let (Some(peer), Some(role)) = (&self.peer, self.role()) else {
            return Ok(());
        };
        let own = self.local.or_else(|| self.own_totals(role, warm_up));
        peer.check_against(own.as_ref())
    }

    /// The counts of the client's end, from its final report or else its last reading.
    fn own_totals(&self, role: Role, warm_up: u64) -> Option<FlowTotals> {
        let flow = self.samples.first().map(|sample| sample.flow);
        let flow = flow.or(self.end.as_ref().map(|ended| ended.end.flow))?;
        let base = self.at_tick(warm_up).filter(|_| warm_up > 0);
        let base_ns = self.measured_from_ns(warm_up);
        let (at_ns, counters) = match (&self.end, self.samples.last()) {
            (Some(ended), _) => {
                let start_ns = self.at_tick(0).map_or(0, |sample| sample.at_ns);
                (start_ns + ended.at_ns, ended.end.counters)
            }
            (None, Some(last)) => (last.at_ns, last.counters),
            (None, None) => return None,
        };
        let earlier = base.map_or(zero_counters(role), |sample| sample.counters);
        let elapsed_s = at_ns.saturating_sub(base_ns) as f64 / 1e9;
        Some(totals_between(flow, elapsed_s, &earlier, &counters))
    }

    fn at_tick(&self, tick: u64) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.tick == tick)
    }

    /// The beginning of the measured part, ns after the start of the test.
    fn measured_from_ns(&self, warm_up: u64) -> u64 {
        let first = self.at_tick(warm_up).or_else(|| self.at_tick(0));
        first.map_or(0, |sample| sample.at_ns)
    }

    /// The kernel's last account of the flow at its sender.
    fn last_tcp(&self) -> Option<TcpSnapshot> {
        let end = self.end.as_ref().map(|ended| ended.end.counters);
        let samples = self.samples.iter().rev().map(|sample| sample.counters);
        end.into_iter().chain(samples).find_map(tcp_of)
    }

    fn intervals(&self, role: Role, warm_up: u64) -> Vec<Interval> {
        let readings: Vec<&Sample> = self
            .samples
            .iter()
            .filter(|sample| role_of(&sample.counters) == role)
            .collect();
        readings
            .windows(2)
            .filter_map(|pair| {
                let mut interval = interval_between(pair[0], pair[1])?;
                interval.omitted = pair[1].tick <= warm_up;
                Some(interval)
            })
            .collect()
    }
}

fn zero_counters(role: Role) -> Counters {
    match role {
        Role::Sender => Counters::Sender(SenderCounters::default()),
        Role::Receiver => Counters::Receiver(ReceiverCounters::default()),
    }
}

const fn tcp_of(counters: Counters) -> Option<TcpSnapshot> {
    match counters {
        Counters::Sender(sender) => sender.tcp,
        Counters::Receiver(_) => None,
    }
}

/// The totals of a flow between two readings of the same end.
fn totals_between(flow: u32, elapsed_s: f64, earlier: &Counters, later: &Counters) -> FlowTotals {
    let totals = FlowTotals {
        flow,
        role: role_of(later),
        elapsed_s,
        bytes: 0,
        retransmits: None,
        datagrams: None,
        lost: None,
        reordered: None,
        jitter_s: None,
        transit: None,
    };
    match (earlier, later) {
        (Counters::Sender(earlier), Counters::Sender(later)) => FlowTotals {
            bytes: later.bytes.saturating_sub(earlier.bytes),
            retransmits: later.tcp.map(|tcp| {
                let before = earlier.tcp.map_or(0, |tcp| tcp.retransmits);
                tcp.retransmits.saturating_sub(before)
            }),
            datagrams: (later.datagrams > 0)
                .then(|| later.datagrams.saturating_sub(earlier.datagrams)),
            ..totals
        },
        (Counters::Receiver(earlier), Counters::Receiver(later)) => {
            let lost = later.lost.saturating_sub(earlier.lost);
            let arrived = later.datagrams.saturating_sub(earlier.datagrams);
            let if_udp = |value: u64| (later.datagrams + later.lost > 0).then_some(value);
            FlowTotals {
                bytes: later.bytes.saturating_sub(earlier.bytes),
                datagrams: if_udp(arrived + lost),
                lost: if_udp(lost),
                reordered: if_udp(later.reordered.saturating_sub(earlier.reordered)),
                jitter_s: if_udp(later.jitter_rfc3550_ns).map(|ns| ns as f64 / 1e9),
                ..totals
            }
        }
        _ => totals,
    }
}

/// The interval between two readings of the same end; `None` when no time passed.
fn interval_between(earlier: &Sample, later: &Sample) -> Option<Interval> {
    let elapsed_ns = later
        .at_ns
        .checked_sub(earlier.at_ns)
        .filter(|ns| *ns > 0)?;
    let interval = Interval {
        start_s: earlier.at_ns as f64 / 1e9,
        end_s: later.at_ns as f64 / 1e9,
        ..Interval::default()
    };
    let rate = |bytes: u64| bytes as f64 * 8e9 / elapsed_ns as f64;
    match (&earlier.counters, &later.counters) {
        (Counters::Sender(earlier), Counters::Sender(later)) => {
            let bytes = later.bytes.saturating_sub(earlier.bytes);
            Some(Interval {
                sent_bytes: Some(bytes),
                sent_bps: Some(rate(bytes)),
                sent_datagrams: (later.datagrams > 0)
                    .then(|| later.datagrams.saturating_sub(earlier.datagrams)),
                tcp: later.tcp.map(|tcp| TcpInterval {
                    rtt_us: Some(tcp.rtt_us),
                    cwnd_bytes: Some(tcp.cwnd_bytes),
                    retransmits: Some(
                        tcp.retransmits
                            .saturating_sub(earlier.tcp.map_or(0, |tcp| tcp.retransmits)),
                    ),
                    ..TcpInterval::default()
                }),
                ..interval
            })
        }
        (Counters::Receiver(earlier), Counters::Receiver(later)) => {
            let bytes = later.bytes.saturating_sub(earlier.bytes);
            let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            Some(Interval {
                bytes: Some(bytes),
                goodput_bps: Some(rate(bytes)),
                udp: (later.datagrams > 0).then(|| UdpInterval {
                    datagrams: Some(later.datagrams.saturating_sub(earlier.datagrams)),
                    lost: Some(signed(later.lost) - signed(earlier.lost)),
                    reordered: Some(later.reordered.saturating_sub(earlier.reordered)),
                    jitter_rfc3550_us: Some(later.jitter_rfc3550_ns as f64 / 1e3),
                    ..UdpInterval::default()
                }),
                ..interval
            })
        }
        _ => None,
    }
}

fn rate_bps(totals: &FlowTotals) -> Option<f64> {
    (totals.elapsed_s > 0.0).then(|| totals.bytes as f64 * 8.0 / totals.elapsed_s)
}

fn sender_report(start_s: f64, totals: &FlowTotals, own: Option<&TcpSnapshot>) -> SenderReport {
    let kernel = own.map(tcp_report).unwrap_or_default();
    let tcp = TcpReport {
        retransmits: totals.retransmits,
        ..kernel
    };
    SenderReport {
        start_s: Some(start_s),
        end_s: Some(start_s + totals.elapsed_s),
        bytes: Some(totals.bytes),
        sent_bps: rate_bps(totals),
        datagrams: totals.datagrams,
        tcp: (tcp != TcpReport::default()).then_some(tcp),
        ..SenderReport::default()
    }
}

fn receiver_report(start_s: f64, totals: &FlowTotals) -> ReceiverReport {
    ReceiverReport {
        start_s: Some(start_s),
        end_s: Some(start_s + totals.elapsed_s),
        bytes: Some(totals.bytes),
        goodput_bps: rate_bps(totals),
        datagrams: totals
            .datagrams
            .zip(totals.lost)
            .and_then(|(all, lost)| all.checked_sub(lost)),
        lost: totals.lost,
        reordered: totals.reordered,
        delay: totals.jitter_s.map(|jitter_s| DelaySummary {
            jitter_rfc3550_us: jitter_s * 1e6,
            ..DelaySummary::default()
        }),
        ..ReceiverReport::default()
    }
}

/// The sum over all of these; `None` when one is missing, as a part of the flows is not their sum, and when there is none.
fn sum_all<T: std::iter::Sum<T>>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut values = values.peekable();
    values.peek()?;
    values.sum()
}

/// The summary of a direction; `None` when it has no flow.
fn summarise_reports(reports: &[FlowReport], direction: Direction) -> Option<DirectionSummary> {
    let flows: Vec<&FlowReport> = reports
        .iter()
        .filter(|report| report.flow.direction == direction)
        .collect();
    if flows.is_empty() {
        return None;
    }
    let senders = || flows.iter().map(|flow| flow.sender.as_ref());
    let receivers = || flows.iter().map(|flow| flow.receiver.as_ref());
    let span = |ends: Vec<Option<f64>>| ends.into_iter().flatten().reduce(f64::max);
    let received_s = span(
        receivers()
            .map(|end| Some(end?.end_s? - end?.start_s?))
            .collect(),
    );
    let sent_s = span(
        senders()
            .map(|end| Some(end?.end_s? - end?.start_s?))
            .collect(),
    );
    let loss = summarise_loss(&flows);
    let tcp = summarise_tcp(&flows);
    Some(DirectionSummary {
        direction,
        flows: Some(flows.len()),
        goodput_bps: sum_all(receivers().map(|end| end?.goodput_bps)).map(Estimate::single),
        level: None,
        goodput_trusted: None,
        sent_bps: sum_all(senders().map(|end| end?.sent_bps)),
        bytes: None,
        measured_s: received_s.or(sent_s).unwrap_or(0.0),
        omitted_s: None,
        received_bytes: sum_all(receivers().map(|end| end?.bytes)),
        sent_bytes: sum_all(senders().map(|end| end?.bytes)),
        ceiling: None,
        limited_by: None,
        other_traffic: Vec::new(),
        window: None,
        next_step: None,
        sender_cpu: None,
        receiver_cpu: None,
        tcp: (tcp != TcpSummary::default()).then_some(tcp),
        loss: (loss != Loss::default()).then_some(loss),
        marks: None,
        delay: receivers()
            .filter_map(|end| end?.delay)
            .max_by(|a, b| a.jitter_rfc3550_us.total_cmp(&b.jitter_rfc3550_us)),
        spacing: None,
    })
}

fn summarise_loss(flows: &[&FlowReport]) -> Loss {
    let receivers = || flows.iter().map(|flow| flow.receiver.as_ref());
    let received = sum_all(receivers().map(|end| end?.datagrams));
    let lost = sum_all(receivers().map(|end| end?.lost));
    Loss {
        sent: sum_all(flows.iter().map(|flow| flow.sender.as_ref()?.datagrams)),
        received,
        lost,
        fraction: received
            .zip(lost)
            .and_then(|(received, lost)| wilson(lost, received + lost, LOSS_CONFIDENCE)),
        reordered: sum_all(receivers().map(|end| end?.reordered)),
        ..Loss::default()
    }
}

fn summarise_tcp(flows: &[&FlowReport]) -> TcpSummary {
    let accounts = || flows.iter().map(|flow| flow.sender.as_ref()?.tcp);
    let measured: Vec<TcpInterval> = flows
        .iter()
        .flat_map(|flow| flow.intervals())
        .filter(|interval| !interval.omitted)
        .filter_map(|interval| interval.tcp)
        .collect();
    let rtts: Vec<f64> = measured
        .iter()
        .filter_map(|tcp| tcp.rtt_us.map(f64::from))
        .collect();
    let last_cwnds = accounts().filter_map(|tcp| tcp?.cwnd_bytes);
    TcpSummary {
        retransmits: sum_all(accounts().map(|tcp| tcp?.retransmits)),
        cwnd_max_bytes: measured
            .iter()
            .filter_map(|tcp| tcp.cwnd_bytes)
            .chain(last_cwnds)
            .max(),
        rtt_mean_us: (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64),
        ..TcpSummary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::BulkPlanRecord;
    use caudal_core::run::{SCHEMA, Tool};
    use caudal_core::sample::FlowEnd;

    fn header() -> RunHeader {
        RunHeader {
            schema: SCHEMA.to_owned(),
            id: "0".repeat(32),
            started: String::new(),
            tool: Tool {
                name: "caudal".into(),
                version: None,
                compatible_with: Some("iperf3".into()),
            },
            command: None,
        }
    }

    fn sent(tick: u64, bytes: u64) -> Sample {
        Sample {
            flow: 0,
            tick,
            at_ns: tick * 500_000_000,
            counters: Counters::Sender(SenderCounters {
                bytes,
                ..SenderCounters::default()
            }),
        }
    }

    #[test]
    fn an_upload_has_intervals_of_what_was_sent_and_the_total_that_the_server_reports() {
        let mut recorder = RunRecorder::new(PlanRecord::default());
        for sample in [sent(0, 0), sent(1, 1000), sent(2, 3000)] {
            recorder.event(&Event::Sampled(sample));
        }
        recorder.event(&Event::FlowEnded(EndedFlow {
            end: FlowEnd::from_counters(0, sent(2, 3000).counters),
            at_ns: 1_000_000_000,
        }));
        recorder.event(&Event::Reported(EndReport {
            end: ReportingEnd::Peer,
            flows: vec![FlowTotals {
                role: Role::Receiver,
                ..totals_between(0, 1.0, &sent(0, 0).counters, &sent(1, 2500).counters)
            }],
            cpu: None,
            congestion: None,
            output: None,
        }));
        let run = recorder.into_run(header(), Host::default()).unwrap();
        let rates: Vec<_> = run.flows()[0]
            .intervals()
            .iter()
            .map(|interval| interval.sent_bps)
            .collect();
        assert_eq!(rates, [Some(16_000.0), Some(32_000.0)]);
        let direction = &run.directions()[0];
        assert_eq!(direction.sent_bps, Some(24_000.0));
        assert_eq!(direction.goodput_mean(), Some(20_000.0));
    }

    #[test]
    fn a_tcp_flow_has_no_datagrams_whatever_its_peer_reports() {
        let mut recorder = RunRecorder::new(PlanRecord::bulk_transfer(
            Some(Transport::Tcp),
            BulkPlanRecord::default(),
        ));
        recorder.event(&Event::Reported(EndReport {
            end: ReportingEnd::Peer,
            flows: vec![FlowTotals {
                role: Role::Receiver,
                datagrams: Some(0),
                lost: Some(0),
                jitter_s: Some(0.0),
                ..totals_between(0, 1.0, &sent(0, 0).counters, &sent(1, 2500).counters)
            }],
            cpu: None,
            congestion: None,
            output: None,
        }));
        let run = recorder.into_run(header(), Host::default()).unwrap();
        let direction = &run.directions()[0];
        assert_eq!((&direction.loss, direction.delay.is_some()), (&None, false));
    }

    #[test]
    fn a_test_in_which_nothing_was_counted_is_no_run() {
        let recorder = RunRecorder::new(PlanRecord::default());
        assert_eq!(recorder.into_run(header(), Host::default()), None);
    }
}
