//! A server of iperf 2, as the other end of tests.
//!
//! Such a server reports nothing while a test runs, and only the totals of UDP uploads when it ends. So the receiver of a TCP
//! upload is what its kernel has acknowledged, and that of a UDP upload what its report contains.

use super::client::{IDLE_TIMEOUT, carry_out};
use super::client_sockets::connect_all;
use super::request::Iperf2Request;
use super::server_loss::ServerLoss;
use super::tcp::CLOSE_TIMEOUT;
use crate::peer_record::{PeerRecord, has_bytes, receiver_counters};
use crate::plain_bulk::{plain_bulk, unsupported_setting};
use caudal_core::event::{Agreement, CutShort, Event, FlowTotals};
use caudal_core::host::Usage;
use caudal_core::interval::ServerAccount;
use caudal_core::loss::ImplausibleLoss;
use caudal_core::plan::{
    BulkPlan, Directions, Pacing, Plan, Quantity, TcpPlan, TestEnd, Transport,
};
use caudal_core::sample::{Counters, DelaySummary, FlowEnd};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::BitRate;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::server::{FlowLimits, SampledFlows, StopReason};
use caudal_engine::{LocalOptions, Outcome};
use caudal_flow::{LocalBinding, RunError, Target, UserInterrupt};
use caudal_host::UsageMeter;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::TestMode;
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::SocketAddr;
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
            first_timeout: None,
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
    let bulk = plain_bulk(plan, Protocol::Iperf2)?;
    let tcp = plan.tcp();
    let is_set = |setting: fn(&TcpPlan) -> bool| tcp.is_some_and(setting);
    Ok(Iperf2Request {
        binding: LocalBinding {
            port: options.local_port,
            ..binding.clone()
        },
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
        tos: plan.tos(),
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
        return Err(unsupported_setting(
            Protocol::Iperf2,
            Quantity::Bytes,
            Some(detail),
        ));
    }
    let bytes = match bytes {
        endless if endless >= u64::MAX - 1 => endless,
        bytes => bytes / parallel,
    };
    if bulk.directions != Directions::Up && bytes > MAX_DOWNLOAD {
        let detail = "the maximum from a server is 2 GiB";
        return Err(unsupported_setting(
            Protocol::Iperf2,
            Quantity::Bytes,
            Some(detail),
        ));
    }
    Ok(Some(bytes))
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
        let mut record = Iperf2TestRecord::new(plan);
        let limits = match plan.bulk() {
            Some(bulk) => self.limits(bulk, &request, options),
            None => FlowLimits::none(),
        };
        let mut take = |event| record.take(event, events);
        let (set, ended) = carry_out(&request, options, &connections, limits, &mut take)?;
        let start_ns = set.start_ns();
        drop(set);
        let losses = ended.losses(&request);
        let loss = losses.of_a_direction(&ended.ends);
        if !has_bytes(ended.ends.iter())
            && let Some(loss) = &loss
        {
            return Err(lost_at_once(loss, monotonic_ns() - start_ns));
        }
        // A loss of them all ends the test, that of some is reported with each.
        let told = |end: &FlowEnd| FlowEnd {
            failure: match &loss {
                Some(_) => end
                    .failure
                    .clone()
                    .filter(|_| !ended.lost.contains(&end.flow)),
                None => losses
                    .loss(end)
                    .map(|loss| loss.to_string().into())
                    .or(end.failure.clone()),
            },
            ..end.clone()
        };
        let ends: Vec<FlowEnd> = ended.ends.iter().map(told).collect();
        let cut_short = match ended.reason {
            Some(StopReason::Stopped) => Some(CutShort::Interrupted),
            Some(idle @ StopReason::Idle(_)) => Some(CutShort::Lost(idle.to_string().into())),
            Some(StopReason::TimeOver | StopReason::Limit(_)) | None => {
                loss.map(|loss| CutShort::Lost(loss.to_string().into()))
            }
        };
        record.into_outcome(&ends, cut_short, meter.read())
    }
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

/// The record of a running test, with the reports of the server.
struct Iperf2TestRecord {
    record: PeerRecord,
    reports: Vec<FlowTotals>,
    /// The flows of which its report was discarded.
    discarded: Vec<(u32, ImplausibleLoss)>,
}

impl Iperf2TestRecord {
    fn new(plan: &Plan) -> Self {
        Self {
            record: PeerRecord::new(plan.clone(), 0),
            reports: Vec::new(),
            discarded: Vec::new(),
        }
    }

    fn take(&mut self, event: Event, events: &mut dyn FnMut(Event)) {
        match event {
            Event::Reported(report) => {
                for totals in report.flows {
                    self.record.push_report(&totals, events);
                    self.reports.push(totals);
                }
            }
            Event::ReportDiscarded { flow, report } => self.discarded.push((flow, report)),
            event => self.record.take(event, events),
        }
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
        let mut outcome = self.record.into_outcome(&all, client_usage, cut_short);
        for record in &mut outcome.flows {
            let mut discarded = self.discarded.iter();
            let discarded = discarded.find(|(flow, _)| *flow == record.flow.id);
            record.implausible = discarded.map(|(_, report)| *report).or(record.implausible);
        }
        Ok(Outcome::Bulk(Box::new(outcome)))
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
        match self.record.plan().transport() {
            Transport::Tcp => self.record.acknowledged_end(sender.flow, &sent),
            Transport::Udp => None,
        }
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
    use caudal_flow::Unsupported;

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
