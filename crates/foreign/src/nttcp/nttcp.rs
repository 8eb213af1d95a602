//! A server of nttcp, as the other end of tests.
//!
//! Such a server carries one transfer in one direction, and prints a row of totals when it has ended. So the receiver of a TCP
//! upload is what its kernel has acknowledged, and that of a UDP upload what its row reports.

use super::client::{ClientSettings, NttcpClient, NttcpOutcome};
use super::peer_report::received_datagrams;
use super::transfer::{TransferSettings, client_flow};
use crate::acknowledged::{acknowledged, receiver_sample};
use caudal_core::event::{Agreement, CutShort, Event, FlowTotals, ReportingEnd};
use caudal_core::host::Usage;
use caudal_core::interval::ServerAccount;
use caudal_core::plan::{BulkPlan, Directions, Plan, Quantity, TcpPlan, TestEnd, Transport};
use caudal_core::sample::{Counters, FlowEnd, ReceiverCounters, Role, Sample, SenderCounters};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::BitRate;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::{BulkOutcome, LocalOptions, Outcome, flow_records};
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

fn unsupported(what: Unsupported) -> RunError {
    RunError::Unsupported {
        protocol: Protocol::Nttcp,
        what,
    }
}

fn unsupported_setting(quantity: Quantity, detail: Option<&str>) -> RunError {
    unsupported(Unsupported::Setting {
        quantity,
        detail: detail.map(str::to_owned),
    })
}

/// The request for a plan.
///
/// # Errors
/// When nttcp does not support the workload, or a setting of it.
fn request_from_plan(plan: &Plan, options: &LocalOptions) -> Result<TransferRequest, RunError> {
    let Some(bulk) = plan.bulk() else {
        return Err(unsupported(Unsupported::Workload(plan.workload_name())));
    };
    let is_set = |setting: fn(&TcpPlan) -> bool| plan.tcp().is_some_and(setting);
    let verifies = plan.udp().is_some_and(|plan| plan.verify);
    for (is_set, quantity) in [
        (verifies, Quantity::Verification),
        (is_set(|tcp| tcp.mptcp), Quantity::Multipath),
        (is_set(|tcp| tcp.zero_copy), Quantity::ZeroCopy),
    ] {
        if is_set {
            return Err(unsupported_setting(quantity, None));
        }
    }
    if bulk.directions == Directions::Both {
        return Err(unsupported(Unsupported::Workload(
            "both directions at once",
        )));
    }
    if options.tcp.file.is_some() {
        return Err(unsupported(Unsupported::Workload("sending a file")));
    }
    if bulk.parallel != 1 {
        let detail = "it must be 1";
        return Err(unsupported_setting(Quantity::ParallelFlows, Some(detail)));
    }
    let bytes = match bulk.end {
        TestEnd::Time(_) => None,
        TestEnd::Bytes(bytes) => Some(bytes.get()),
    };
    let mut request = TransferRequest::with_bytes(bulk.length, bytes).ok_or_else(|| {
        let detail = "they must be a multiple of the length, or below 10^9";
        unsupported_setting(Quantity::Bytes, Some(detail))
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
        let settings = match plan.bulk() {
            Some(bulk) => settings(plan, bulk, options),
            None => return Err(unsupported(Unsupported::Workload(plan.workload_name()))),
        };
        let mut record = NttcpTestRecord {
            plan,
            samples: Vec::new(),
            ended_ns: 0,
        };
        let outcome = NttcpClient::new(address, self.binding.clone(), self.interrupt).run_with(
            &request,
            &[],
            &settings,
            &mut |event| record.take(event, events),
        )?;
        self.info.connect_time = outcome.connect_time;
        let is_stopped = outcome.is_stopped || options.quit.load(Relaxed);
        Ok(record.into_outcome(&request, &outcome, is_stopped, meter.read()))
    }
}

/// The record of a running test.
struct NttcpTestRecord<'a> {
    plan: &'a Plan,
    samples: Vec<Sample>,
    /// The end of this end's flow, ns after its start.
    ended_ns: u64,
}

impl NttcpTestRecord<'_> {
    fn take(&mut self, event: Event, events: &mut dyn FnMut(Event)) {
        match &event {
            Event::Sampled(sample) => {
                let received = receiver_sample(self.plan.transport(), sample);
                self.samples.push(*sample);
                events(event);
                if let Some(received) = received {
                    self.push(received, events);
                }
                return;
            }
            Event::FlowEnded(ended) => self.ended_ns = ended.at_ns,
            Event::Reported(report) => {
                if report.end != ReportingEnd::Peer {
                    return;
                }
                // All that is known of a UDP upload is its end: one interval.
                let received = report.flows.iter().filter_map(receiver_counters).next();
                if let (Some(received), Transport::Udp) = (received, self.plan.transport()) {
                    let sample = Sample {
                        flow: 0,
                        tick: 1,
                        at_ns: received.last_ns,
                        counters: Counters::Receiver(received),
                    };
                    self.push(sample, events);
                }
                return;
            }
            // The plan and the payload are announced in the same way for every peer.
            Event::Opened(_) => return,
            _ => {}
        }
        events(event);
    }

    fn push(&mut self, sample: Sample, events: &mut dyn FnMut(Event)) {
        self.samples.push(sample);
        events(Event::Sampled(sample));
    }

    fn into_outcome(
        self,
        request: &TransferRequest,
        outcome: &NttcpOutcome,
        is_stopped: bool,
        client_usage: Usage,
    ) -> Outcome {
        let mut own = outcome.end.clone();
        let peer = self.peer_end(request, &own, outcome.peer.as_ref());
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
        let ends: Vec<FlowEnd> = [Some(own), peer].into_iter().flatten().collect();
        Outcome::Bulk(Box::new(BulkOutcome {
            plan: self.plan.clone(),
            changed: Vec::new(),
            flows: flow_records(&[client_flow(request)], &ends),
            samples: self.samples,
            arrivals: Vec::new(),
            episodes: Vec::new(),
            client_usage,
            server_usage: None,
            cut_short: is_stopped.then_some(CutShort::Interrupted),
        }))
    }

    /// The other end's final report: its row, or what its kernel has acknowledged.
    fn peer_end(
        &self,
        request: &TransferRequest,
        own: &FlowEnd,
        totals: Option<&FlowTotals>,
    ) -> Option<FlowEnd> {
        let counters = match (totals, own.counters) {
            (Some(totals), Counters::Receiver(_)) => Counters::Sender(sender_counters(totals)),
            (None, Counters::Receiver(_)) => return None,
            (Some(totals), Counters::Sender(_)) => Counters::Receiver(receiver_counters(totals)?),
            (None, Counters::Sender(_)) if request.udp => return None,
            (None, Counters::Sender(sent)) => {
                Counters::Receiver(acknowledged(&sent, self.ended_ns)?)
            }
        };
        Some(FlowEnd::from_counters(0, counters))
    }
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

/// The counters of a receiver's report; `None` for a sender's.
fn receiver_counters(totals: &FlowTotals) -> Option<ReceiverCounters> {
    let lost = totals.lost.unwrap_or(0);
    (totals.role == Role::Receiver).then(|| ReceiverCounters {
        bytes: totals.bytes,
        datagrams: totals.datagrams.unwrap_or(0).saturating_sub(lost),
        lost,
        last_ns: (totals.elapsed_s * 1e9) as u64,
        ..ReceiverCounters::default()
    })
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
