//! A server of nttcp, as the other end of tests.
//!
//! Such a server carries one transfer in one direction, and prints a row of totals when it has ended. So the receiver of a TCP
//! upload is what its kernel has acknowledged, and that of a UDP upload what its row reports.

use super::client::{ClientSettings, NttcpClient, NttcpOutcome};
use super::peer_report::received_datagrams;
use super::transfer::TransferSettings;
use crate::peer_record::{PeerRecord, receiver_counters};
use crate::plain_bulk::{plain_bulk, unsupported, unsupported_setting};
use caudal_core::event::{Agreement, CutShort, Event, FlowTotals, ReportingEnd};
use caudal_core::interval::ServerAccount;
use caudal_core::plan::{BulkPlan, Directions, Plan, Quantity, TcpPlan, TestEnd, Transport};
use caudal_core::sample::{Counters, FlowEnd, Role, SenderCounters};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::BitRate;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::{LocalOptions, Outcome};
use caudal_flow::socket::SocketSettings;
use caudal_flow::{LocalBinding, RunError, Target, Unsupported};
use caudal_host::UsageMeter;
use caudal_sys::signal::Interrupt;
use caudal_wire::nttcp::TransferRequest;
use caudal_wire::protocol::Protocol;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The time after the end of a test at which its last payload may arrive.
const LATE: Duration = Duration::from_secs(4);

/// A server of nttcp.
pub struct NttcpPeer {
    info: PeerInfo,
    binding: LocalBinding,
    interrupt: Option<&'static Interrupt>,
}

impl NttcpPeer {
    /// Finds the server's address; nothing is sent before the first test.
    ///
    /// # Errors
    /// When the host has no address.
    pub fn connect(
        target: &Target,
        tool: &str,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let account = ServerAccount::Totals { reordered: false };
        Ok(Self {
            info: PeerInfo::unconnected(Protocol::Nttcp, target, tool, account)?,
            binding: target.binding.clone(),
            interrupt,
        })
    }
}

/// The request for a plan.
///
/// # Errors
/// When nttcp does not support the workload, or a setting of it.
fn request_from_plan(plan: &Plan, options: &LocalOptions) -> Result<TransferRequest, RunError> {
    let bulk = plain_bulk(plan, Protocol::Nttcp)?;
    let is_set = |setting: fn(&TcpPlan) -> bool| plan.tcp().is_some_and(setting);
    if bulk.directions == Directions::Both {
        let workload = Unsupported::Workload("both directions at once");
        return Err(unsupported(Protocol::Nttcp, workload));
    }
    if options.tcp.file.is_some() {
        let workload = Unsupported::Workload("sending a file");
        return Err(unsupported(Protocol::Nttcp, workload));
    }
    if options.local_port.is_some() {
        let workload = Unsupported::Workload("a local port of your choice");
        return Err(unsupported(Protocol::Nttcp, workload));
    }
    if bulk.parallel != 1 {
        let detail = "it must be 1";
        return Err(unsupported_setting(
            Protocol::Nttcp,
            Quantity::ParallelFlows,
            Some(detail),
        ));
    }
    let bytes = match bulk.end {
        TestEnd::Time(_) => None,
        TestEnd::Bytes(bytes) => Some(bytes.get()),
    };
    let mut request = TransferRequest::with_bytes(bulk.length, bytes).ok_or_else(|| {
        let detail = "they must be a multiple of the length, or below 10^9";
        unsupported_setting(Protocol::Nttcp, Quantity::Bytes, Some(detail))
    })?;
    request.transmit = bulk.directions == Directions::Up;
    request.udp = plan.transport() == Transport::Udp;
    request.window_kb = bulk
        .window
        .map(|window| u32::try_from(window.get().div_ceil(1024)).unwrap_or(u32::MAX));
    request.no_delay = is_set(|tcp| tcp.no_delay);
    Ok(request)
}

/// The settings of a plan beyond its request.
fn settings<'a>(plan: &Plan, bulk: &BulkPlan, options: &'a LocalOptions) -> ClientSettings<'a> {
    let total = bulk.ticks().total();
    let tcp = plan.tcp();
    let mut sockets = SocketSettings::new(plan.transport());
    sockets.window = bulk.window.map(|window| window.get() as usize);
    sockets.mss = tcp.and_then(|tcp| tcp.mss);
    sockets.congestion = tcp.and_then(|tcp| tcp.congestion.clone());
    sockets.no_delay = tcp.is_some_and(|tcp| tcp.no_delay);
    sockets.dscp = bulk.dscp;
    sockets.ecn = plan.udp().map(|udp| udp.ecn).unwrap_or_default();
    ClientSettings {
        transfer: TransferSettings {
            ticks: Some(bulk.ticks()),
            send_time: total,
            discard: tcp.is_some_and(|tcp| tcp.discard),
            cpu: options.cpu(0),
            quit: Some(&options.quit),
        },
        sockets,
        rate: bulk.rate.limit().map(BitRate::bps),
        max_time: match bulk.directions {
            // A server that sends does not know when to stop.
            Directions::Down => total,
            Directions::Up | Directions::Both => total.map(|total| total + LATE),
        },
    }
}

impl Peer for NttcpPeer {
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
        let request = request_from_plan(plan, options)?;
        options.wait_for_start();
        let address = self.info.address;
        events(Event::Agreed(Agreement::new(plan, address, &[])));
        let meter = UsageMeter::start(address);
        let settings = settings(plan, plain_bulk(plan, Protocol::Nttcp)?, options);
        let mut record = PeerRecord::new(plan.clone(), 0);
        let outcome = NttcpClient::new(address, self.binding.clone(), self.interrupt).run_with(
            &request,
            &[],
            &settings,
            &mut |event| match &event {
                Event::Reported(report) if report.end == ReportingEnd::Peer && request.udp => {
                    for totals in report.flows.iter().filter(is_received) {
                        record.push_report(totals, events);
                    }
                }
                _ => record.take(event, events),
            },
        )?;
        self.info.connect_time = outcome.connect_time;
        let is_stopped = outcome.is_stopped || options.quit.load(Relaxed);
        let ends = ends(&request, &outcome, &record);
        let cut_short = is_stopped.then_some(CutShort::Interrupted);
        let outcome = record.into_outcome(&ends, meter.read(), cut_short);
        Ok(Outcome::Bulk(Box::new(outcome)))
    }
}

/// The final reports of both ends.
fn ends(request: &TransferRequest, outcome: &NttcpOutcome, record: &PeerRecord) -> Vec<FlowEnd> {
    let mut own = outcome.end.clone();
    let peer = peer_end(request, &own, outcome.peer.as_ref(), record);
    if let (Counters::Receiver(received), Some(sent)) = (&mut own.counters, sent_by(&peer))
        && request.udp
        && let Some(arrived) = received_datagrams(received.bytes, request.length)
    {
        // Its datagrams carry no numbers: those that were lost are known at the end.
        received.lost = sent.saturating_sub(arrived);
        own.sequence = Some(SequenceCounts::from_totals(
            arrived + received.lost,
            received.lost,
        ));
    }
    [Some(own), peer].into_iter().flatten().collect()
}

/// The other end's final report: its row, or what its kernel has acknowledged.
fn peer_end(
    request: &TransferRequest,
    own: &FlowEnd,
    totals: Option<&FlowTotals>,
    record: &PeerRecord,
) -> Option<FlowEnd> {
    let counters = match (totals, own.counters) {
        (Some(totals), Counters::Receiver(_)) => Counters::Sender(sender_counters(totals)),
        (None, Counters::Receiver(_)) => return None,
        (Some(totals), Counters::Sender(_)) if is_received(&totals) => {
            Counters::Receiver(receiver_counters(totals))
        }
        (None, Counters::Sender(sent)) if !request.udp => return record.acknowledged_end(0, &sent),
        (_, Counters::Sender(_)) => return None,
    };
    Some(FlowEnd::from_counters(0, counters))
}

/// `true` for the totals of a receiver.
fn is_received(totals: &&FlowTotals) -> bool {
    totals.role == Role::Receiver
}

/// The datagrams that a sender's report counts.
fn sent_by(end: &Option<FlowEnd>) -> Option<u64> {
    match end.as_ref()?.counters {
        Counters::Sender(sent) => Some(sent.datagrams).filter(|datagrams| *datagrams > 0),
        Counters::Receiver(_) => None,
    }
}

fn sender_counters(totals: &FlowTotals) -> SenderCounters {
    SenderCounters {
        bytes: totals.bytes,
        datagrams: totals.datagrams.unwrap_or(0),
        ..SenderCounters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Omit, Rate};
    use caudal_core::units::ByteCount;

    fn plan(directions: Directions, parallel: u32, end: TestEnd) -> Plan {
        Plan::Tcp(TcpPlan {
            bulk: BulkPlan {
                directions,
                parallel,
                end,
                interval: Duration::from_secs(1),
                omit: Omit::Nothing,
                rate: Rate::Max,
                length: 4096,
                window: None,
                dscp: None,
                same_machine: false,
            },
            mss: None,
            congestion: None,
            no_delay: false,
            mptcp: false,
            discard: false,
            zero_copy: false,
            ask_ecn: None,
        })
    }

    fn request(
        directions: Directions,
        parallel: u32,
        bytes: u64,
    ) -> Result<TransferRequest, String> {
        let end = TestEnd::Bytes(ByteCount::new(bytes));
        let plan = plan(directions, parallel, end);
        request_from_plan(&plan, &LocalOptions::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_plan_becomes_a_transfer_of_as_many_bytes() {
        let up = request(Directions::Up, 1, 8192).unwrap();
        assert!(up.transmit && up.bytes() == 8192);
        assert!(!request(Directions::Down, 1, 8192).unwrap().transmit);
    }

    #[test]
    fn what_nttcp_cannot_carry_is_named() {
        for (directions, parallel, bytes, expected) in [
            (Directions::Both, 1, 4096, "both directions at once"),
            (
                Directions::Up,
                2,
                4096,
                "the number of parallel flows: it must be 1",
            ),
            (
                Directions::Up,
                1,
                (1 << 40) + 1,
                "the number of bytes: they",
            ),
        ] {
            let error = request(directions, parallel, bytes).unwrap_err();
            assert!(error.starts_with("nttcp does not support"), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
}
