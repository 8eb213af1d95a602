//! A server of iperf 2, as the other end of tests.
//!
//! Such a server reports nothing while a test runs, and only the totals of UDP uploads when it ends. So the receiver of a TCP
//! upload is what its kernel has acknowledged, and that of a UDP upload what its report contains.

use super::client::IDLE_TIMEOUT;
use super::client_flows::ClientFlows;
use super::client_sockets::connect_all;
use super::end_reports::send_reports;
use super::request::Iperf2Request;
use super::server_loss::{ServerLoss, ServerLosses};
use super::tcp::CLOSE_TIMEOUT;
use crate::acknowledged::{acknowledged, receiver_sample};
use crate::watch::{FlowLimits, FlowWatch, SampledFlows, StopReason};
use caudal_core::event::{Agreement, CutShort, Event, FlowTotals};
use caudal_core::host::Usage;
use caudal_core::interval::ServerAccount;
use caudal_core::loss::ImplausibleLoss;
use caudal_core::plan::{
    BulkPlan, Directions, Pacing, Plan, Quantity, TcpPlan, TestEnd, Transport,
};
use caudal_core::sample::{Counters, DelaySummary, FlowEnd, ReceiverCounters, Sample};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::BitRate;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::{BulkOutcome, LocalOptions, Outcome, flow_records};
use caudal_flow::{LocalBinding, RunError, Target, Unsupported, UserInterrupt};
use caudal_host::UsageMeter;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::TestMode;
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The time after the end of a test at which its last payload may arrive.
const LATE: Duration = Duration::from_secs(4);
/// The amount that a header can ask a server for, bytes.
const MAX_DOWNLOAD: u64 = 0x7fff_ffff;

/// A server of iperf 2.
pub struct Iperf2Peer {
    info: PeerInfo,
    binding: LocalBinding,
    interrupt: UserInterrupt,
}

impl Iperf2Peer {
    /// Finds the server's address; nothing is sent before the first test.
    ///
    /// # Errors
    /// When the host has no address.
    pub fn connect(
        target: &Target,
        tool: &str,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let account = ServerAccount::Totals { reordered: true };
        Ok(Self {
            info: PeerInfo::unconnected(Protocol::Iperf2, target, tool, account)?,
            binding: target.binding.clone(),
            interrupt: UserInterrupt(interrupt),
        })
    }

    fn limits<'a>(
        &self,
        bulk: &BulkPlan,
        request: &Iperf2Request,
        options: &'a LocalOptions,
    ) -> FlowLimits<'a> {
        let ticks = bulk.ticks();
        let total = ticks.total();
        let receives = bulk.directions != Directions::Up;
        FlowLimits {
            ticks: Some(ticks),
            sampled: SampledFlows::All,
            send_time: request.send_time(),
            total_time: total.map(|total| {
                // A sender alone ends by itself, with the close of its server.
                total + if receives { LATE } else { 2 * CLOSE_TIMEOUT }
            }),
            idle_timeout: match total {
                Some(_) => None,
                None => Some(IDLE_TIMEOUT),
            },
            stop: self.interrupt.fds(),
            quit: Some(&options.quit),
            stop_grace: LATE,
            activity: None,
        }
    }
}

/// The request for a plan.
///
/// # Errors
/// When iperf 2 does not support the workload, or a setting of it.
fn request_from_plan(
    plan: &Plan,
    peer: SocketAddr,
    binding: &LocalBinding,
    options: &LocalOptions,
) -> Result<Iperf2Request, RunError> {
    let Some(bulk) = plan.bulk() else {
        return Err(unsupported(Unsupported::Workload(plan.workload_name())));
    };
    let tcp = plan.tcp();
    let is_set = |setting: fn(&TcpPlan) -> bool| tcp.is_some_and(setting);
    for (is_set, quantity) in [
        (
            plan.udp().is_some_and(|plan| plan.verify),
            Quantity::Verification,
        ),
        (is_set(|tcp| tcp.mptcp), Quantity::Multipath),
        (is_set(|tcp| tcp.zero_copy), Quantity::ZeroCopy),
    ] {
        if is_set {
            return Err(unsupported_setting(quantity, None));
        }
    }
    Ok(Iperf2Request {
        binding: binding.clone(),
        transport: plan.transport(),
        mode: match bulk.directions {
            Directions::Up => TestMode::Up,
            Directions::Down => TestMode::Reverse,
            Directions::Both => TestMode::FullDuplex,
        },
        parallel: bulk.parallel,
        length: Some(bulk.length),
        time: bulk.ticks().total(),
        bytes: flow_bytes(bulk)?,
        rate: bulk.rate.limit().map(BitRate::bps),
        pacing: plan.udp().map_or(Pacing::Balanced, |plan| plan.pacing),
        window: bulk.window.map(|window| window.get() as usize),
        mss: tcp.and_then(|tcp| tcp.mss),
        no_delay: is_set(|tcp| tcp.no_delay),
        tos: bulk.dscp.map(|dscp| dscp << 2),
        congestion: tcp.and_then(|tcp| tcp.congestion.clone()),
        discard: is_set(|tcp| tcp.discard),
        payload: options.tcp.file.clone(),
        ..Iperf2Request::new(peer)
    })
}

/// The bytes of each flow.
fn flow_bytes(bulk: &BulkPlan) -> Result<Option<u64>, RunError> {
    let bytes = match bulk.end {
        TestEnd::Time(_) => return Ok(None),
        TestEnd::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => u64::MAX - 1,
        TestEnd::Bytes(bytes) => bytes.get(),
    };
    let parallel = u64::from(bulk.parallel);
    if bytes < u64::MAX - 1 && !bytes.is_multiple_of(parallel) {
        let detail = "they must be a multiple of the number of parallel flows";
        return Err(unsupported_setting(Quantity::Bytes, Some(detail)));
    }
    let bytes = match bytes {
        endless if endless >= u64::MAX - 1 => endless,
        bytes => bytes / parallel,
    };
    if bulk.directions != Directions::Up && bytes > MAX_DOWNLOAD {
        let detail = "the maximum from a server is 2 GiB";
        return Err(unsupported_setting(Quantity::Bytes, Some(detail)));
    }
    Ok(Some(bytes))
}

fn unsupported(what: Unsupported) -> RunError {
    RunError::Unsupported {
        protocol: Protocol::Iperf2,
        what,
    }
}

fn unsupported_setting(quantity: Quantity, detail: Option<&str>) -> RunError {
    unsupported(Unsupported::Setting {
        quantity,
        detail: detail.map(str::to_owned),
    })
}

impl Peer for Iperf2Peer {
    fn info(&self) -> &PeerInfo {
        &self.info
    }

    fn run(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError> {
        plan.check()?;
        let address = self.info.address;
        let request = request_from_plan(plan, address, &self.binding, options)?;
        options.wait_for_start();
        events(Event::Agreed(Agreement::new(plan, address, &[])));
        let connections = connect_all(&request, events)?;
        let connect_times = connections.iter().map(|one| one.connect_time);
        if plan.transport() == Transport::Tcp {
            self.info.connect_time = connect_times.max().unwrap_or_default();
        }
        let meter = UsageMeter::start(address);
        let (sender, answers) = channel();
        let flows = ClientFlows {
            request: &request,
            options,
            answers: sender,
        };
        let mut set = flows.start(&connections)?;
        drop(flows);
        let start_ns = set.start_ns();
        let mut record = Iperf2TestRecord::new(plan);
        events(Event::Started { repeat: None });
        for sample in set.sample(0) {
            record.take(Event::Sampled(sample), events);
        }
        let limits = match plan.bulk() {
            Some(bulk) => self.limits(bulk, &request, options),
            None => FlowLimits::none(),
        };
        let watch = FlowWatch::new(limits, &set);
        let (ends, reason) = watch.run(&mut set, &mut |event| record.take(event, events));
        events(Event::Ending);
        let unreported = send_reports(&answers, &mut |event| record.take(event, events));
        let lost = set.lost_peers();
        drop(set);
        let ended = record.ended.clone();
        let losses = ServerLosses {
            request: &request,
            reason,
            lost: &lost,
            unreported: &unreported,
            ended: &ended,
        };
        let loss = losses.of_a_direction(&ends);
        if !has_bytes(&ends)
            && let Some(loss) = &loss
        {
            return Err(lost_at_once(loss, monotonic_ns() - start_ns));
        }
        // A loss of them all ends the test, that of some is reported with each.
        let told = |end: FlowEnd| FlowEnd {
            failure: match &loss {
                Some(_) => end.failure.clone().filter(|_| !lost.contains(&end.flow)),
                None => losses
                    .loss(&end)
                    .map(|loss| loss.to_string().into())
                    .or(end.failure.clone()),
            },
            ..end
        };
        let ends: Vec<FlowEnd> = ends.into_iter().map(told).collect();
        let cut_short = match reason {
            Some(StopReason::Stopped) => Some(CutShort::Interrupted),
            Some(idle @ StopReason::Idle(_)) => Some(CutShort::Lost(idle.to_string().into())),
            Some(StopReason::TimeOver | StopReason::Limit(_)) | None => {
                loss.map(|loss| CutShort::Lost(loss.to_string().into()))
            }
        };
        record.into_outcome(&ends, cut_short, meter.read())
    }
}

/// `true` when anything was sent or received.
fn has_bytes(ends: &[FlowEnd]) -> bool {
    ends.iter().any(|end| match end.counters {
        Counters::Sender(sent) => sent.bytes > 0,
        Counters::Receiver(received) => received.bytes > 0,
    })
}

/// The error of a test in which nothing was sent or received, `elapsed_ns` after its start.
fn lost_at_once(loss: &ServerLoss, elapsed_ns: u64) -> RunError {
    match loss {
        ServerLoss::NothingSent | ServerLoss::NothingAnswered => RunError::Silent {
            waiting_for: "payload of the server (versions of iperf before 2.1 can only receive)",
            seconds: elapsed_ns / 1_000_000_000,
        },
        ServerLoss::Connection { cause, .. } => RunError::Lost {
            doing: "beginning the test",
            cause: io::Error::other(cause.to_string()),
        },
        loss => RunError::Lost {
            doing: "beginning the test",
            cause: io::Error::other(loss.to_string()),
        },
    }
}

/// The record of a running test.
struct Iperf2TestRecord<'a> {
    plan: &'a Plan,
    samples: Vec<Sample>,
    /// The times at which flows ended, ns after the start.
    ended: Vec<(u32, u64)>,
    /// The reports of the server.
    reports: Vec<FlowTotals>,
    /// The flows of which its report was discarded.
    discarded: Vec<(u32, ImplausibleLoss)>,
}

impl<'a> Iperf2TestRecord<'a> {
    const fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            samples: Vec::new(),
            ended: Vec::new(),
            reports: Vec::new(),
            discarded: Vec::new(),
        }
    }

    fn take(&mut self, event: Event, events: &mut dyn FnMut(Event)) {
        match event {
            Event::Sampled(sample) => {
                self.push(sample, events);
                if let Some(received) = receiver_sample(self.plan.transport(), &sample) {
                    self.push(received, events);
                }
            }
            Event::FlowEnded(ended) => self.ended.push((ended.end.flow, ended.at_ns)),
            Event::Reported(report) => {
                for totals in report.flows {
                    // All that is known of a UDP upload is its end: one interval.
                    let received = receiver_counters(&totals);
                    self.push(
                        Sample {
                            flow: totals.flow,
                            tick: 1,
                            at_ns: received.last_ns,
                            counters: Counters::Receiver(received),
                        },
                        events,
                    );
                    self.reports.push(totals);
                }
            }
            Event::ReportDiscarded { flow, report } => self.discarded.push((flow, report)),
            _ => {}
        }
    }

    fn push(&mut self, sample: Sample, events: &mut dyn FnMut(Event)) {
        self.samples.push(sample);
        events(Event::Sampled(sample));
    }

    fn into_outcome(
        self,
        ends: &[FlowEnd],
        cut_short: Option<CutShort>,
        client_usage: Usage,
    ) -> Result<Outcome, RunError> {
        let failures = || ends.iter().filter_map(|end| end.failure.as_ref());
        if let (Some(failure), true) = (failures().next(), failures().count() == ends.len()) {
            return Err(RunError::Flows(failure.clone()));
        }
        let mut all = ends.to_vec();
        all.extend(ends.iter().filter_map(|end| self.receiver_end(end)));
        let mut flows = flow_records(&self.plan.flows(), &all);
        for record in &mut flows {
            let discarded = self
                .discarded
                .iter()
                .find(|(flow, _)| *flow == record.flow.id);
            record.implausible = discarded.map(|(_, report)| *report).or(record.implausible);
        }
        Ok(Outcome::Bulk(Box::new(BulkOutcome {
            plan: self.plan.clone(),
            changed: Vec::new(),
            flows,
            samples: self.samples,
            arrivals: Vec::new(),
            episodes: Vec::new(),
            client_usage,
            server_usage: None,
            cut_short,
        })))
    }

    /// The receiver's end of an upload of which `sender` is this end.
    fn receiver_end(&self, sender: &FlowEnd) -> Option<FlowEnd> {
        let Counters::Sender(sent) = sender.counters else {
            return None;
        };
        let report = self
            .reports
            .iter()
            .find(|report| report.flow == sender.flow);
        if let Some(report) = report {
            return Some(reported_end(report));
        }
        if self.plan.transport() == Transport::Udp {
            return None;
        }
        let ended = self.ended.iter().find(|(flow, _)| *flow == sender.flow);
        let received = acknowledged(&sent, ended.map_or(0, |(_, at_ns)| *at_ns))?;
        Some(FlowEnd::from_counters(
            sender.flow,
            Counters::Receiver(received),
        ))
    }
}

fn receiver_counters(report: &FlowTotals) -> ReceiverCounters {
    let lost = report.lost.unwrap_or(0);
    ReceiverCounters {
        bytes: report.bytes,
        datagrams: report.datagrams.unwrap_or(0).saturating_sub(lost),
        lost,
        reordered: report.reordered.unwrap_or(0),
        jitter_rfc3550_ns: (report.jitter_s.unwrap_or(0.0) * 1e9) as u64,
        last_ns: (report.elapsed_s * 1e9) as u64,
        ..ReceiverCounters::default()
    }
}

/// The server's report as its final report on a flow.
fn reported_end(report: &FlowTotals) -> FlowEnd {
    let counters = receiver_counters(report);
    FlowEnd {
        sequence: Some(SequenceCounts {
            reordered: counters.reordered,
            ..SequenceCounts::from_totals(counters.datagrams + counters.lost, counters.lost)
        }),
        delay: Some(DelaySummary {
            n: Some(counters.datagrams),
            jitter_rfc3550_us: report.jitter_s.unwrap_or(0.0) * 1e6,
            ..DelaySummary::default()
        }),
        ..FlowEnd::from_counters(report.flow, Counters::Receiver(counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Omit, Rate};
    use caudal_core::units::ByteCount;

    fn bulk(directions: Directions, bytes: u64) -> BulkPlan {
        BulkPlan {
            directions,
            parallel: 3,
            end: TestEnd::Bytes(ByteCount::new(bytes)),
            interval: Duration::from_secs(1),
            omit: Omit::Nothing,
            rate: Rate::Max,
            length: 1 << 17,
            window: None,
            dscp: None,
            same_machine: false,
        }
    }

    #[test]
    fn the_bytes_of_a_plan_are_divided_among_its_flows() {
        let bytes = |directions, bytes| flow_bytes(&bulk(directions, bytes));
        assert_eq!(bytes(Directions::Up, 3000).unwrap(), Some(1000));
        assert_eq!(
            bytes(Directions::Up, u64::MAX).unwrap(),
            Some(u64::MAX - 1),
            "the end of a file"
        );
        for refused in [
            bytes(Directions::Up, 1000),
            bytes(Directions::Down, 3 * (MAX_DOWNLOAD + 1)),
        ] {
            assert!(matches!(
                refused,
                Err(RunError::Unsupported {
                    what: Unsupported::Setting {
                        quantity: Quantity::Bytes,
                        ..
                    },
                    ..
                })
            ));
        }
    }
}
