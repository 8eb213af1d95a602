//! A server of iperf3, as the other end of tests.
//!
//! Such a server reports totals, at the end. The bytes its kernel has acknowledged while a TCP upload runs are known to this
//! end; of a UDP upload nothing is, so that it makes one interval.

use super::client::{Iperf3Client, Iperf3Outcome};
use super::plan::parameters_from_plan;
use super::request::Iperf3Request;
use crate::peer_record::{PeerRecord, acknowledged, has_bytes};
use caudal_core::event::{Agreement, CutShort, Event};
use caudal_core::host::{Host, Usage};
use caudal_core::interval::ServerAccount;
use caudal_core::plan::{
    BulkPlan, Direction, Directions, Pacing, Plan, PlannedFlow, TestEnd, Transport,
};
use caudal_core::sample::{
    Counters, DelaySummary, FlowEnd, ReceiverCounters, Sample, SenderCounters,
};
use caudal_core::sequence::SequenceCounts;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_engine::{BulkOutcome, LocalOptions, Outcome};
use caudal_flow::{RunError, Target};
use caudal_host::describe_host;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::cookie::COOKIE_BYTES;
use caudal_wire::iperf3::{StreamResult, stream_id};
use caudal_wire::protocol::Protocol;
use std::time::Duration;

/// The bytes TCP counts as acknowledged before the first byte of payload: the cookie and the SYN.
const BYTES_BEFORE_PAYLOAD: u64 = COOKIE_BYTES as u64 + 1;

/// A server of iperf3.
pub struct Iperf3Peer {
    info: PeerInfo,
    target: Target,
    interrupt: Option<&'static Interrupt>,
    /// The connection by which it was recognised, for the first test.
    first: Option<Iperf3Client>,
}

impl Iperf3Peer {
    /// Connects and waits, for at most `patience`, until the server has shown that it is iperf3's.
    ///
    /// # Errors
    /// When no server answers, or one of another protocol.
    pub fn connect(
        target: &Target,
        tool: &str,
        patience: Duration,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let mut client = Iperf3Client::connect(Iperf3Request::new(target.clone()), interrupt)?;
        client.await_question(patience)?;
        let address = client.peer();
        let info = PeerInfo {
            address,
            protocol: Protocol::Iperf3,
            client: describe_host(tool, Some(address)),
            server: Host {
                tool: "iperf3".into(),
                name: "iperf3".into(),
                ..Host::default()
            },
            connect_time: client.connect_time(),
            idle_rtt_us: client.rtt_us().map(f64::from),
            path_mtu: client.path_mtu(),
            is_same_machine: false,
            server_account: ServerAccount::Totals { reordered: false },
            tcp_proxy: None,
            opening: None,
            limits: None,
            mtu_evidence: None,
        };
        Ok(Self {
            info,
            target: target.clone(),
            interrupt,
            first: Some(client),
        })
    }

    /// The connection for the next test.
    fn client(&mut self) -> Result<Iperf3Client, RunError> {
        match self.first.take() {
            Some(client) => Ok(client),
            None => Ok(Iperf3Client::connect(
                Iperf3Request::new(self.target.clone()),
                self.interrupt,
            )?),
        }
    }
}

/// The plan as it is carried out: nothing is known of a UDP upload before its end.
fn agreed_plan(plan: &Plan) -> Plan {
    let mut agreed = plan.clone();
    let is_udp = plan.transport() == Transport::Udp;
    if let Some(bulk) = agreed.bulk_mut()
        && let TestEnd::Time(time) = bulk.end
        && is_udp
        && bulk.directions != Directions::Down
    {
        bulk.interval = time;
    }
    agreed
}

impl Peer for Iperf3Peer {
    fn info(&self) -> &PeerInfo {
        &self.info
    }

    fn run(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, RunError> {
        let parameters = parameters_from_plan(plan, self.info.client.tool.as_received())?;
        options.wait_for_start();
        let agreed = agreed_plan(plan);
        let bulk = agreed.bulk();
        let mut client = self.client()?;
        client.set_request(Iperf3Request {
            length: Some(parameters.length),
            parameters,
            time: bulk.and_then(BulkPlan::duration),
            interval: bulk.map(|bulk| bulk.interval),
            client_port: options.local_port,
            options: options.clone(),
            pacing: plan.udp().map_or(Pacing::Balanced, |plan| plan.pacing),
            ask_ecn: plan.tcp().and_then(|tcp| tcp.ask_ecn),
            ..Iperf3Request::new(self.target.clone())
        });
        events(Event::Agreed(Agreement::new(
            &agreed,
            self.info.address,
            &[],
        )));
        let mut record = PeerRecord::new(agreed, BYTES_BEFORE_PAYLOAD);
        let (mut last_tick, mut is_ending) = (0, false);
        let outcome = client.run(&mut |event| {
            match &event {
                Event::Sampled(sample) => last_tick = last_tick.max(sample.tick),
                Event::Ending => is_ending = true,
                _ => {}
            }
            record.take(event, events);
        });
        if !is_ending {
            events(Event::Ending);
        }
        let outcome = match outcome {
            Ok(outcome) => complete(record, last_tick, &outcome, events),
            Err(error) => cut_short(record, error.into())?,
        };
        Ok(Outcome::Bulk(Box::new(outcome)))
    }
}

/// The measurements of a test that reached its end.
fn complete(
    mut record: PeerRecord,
    last_tick: u64,
    outcome: &Iperf3Outcome,
    events: &mut dyn FnMut(Event),
) -> BulkOutcome {
    let flows = record.plan().flows();
    if record.plan().transport() == Transport::Udp {
        push_uploads(&mut record, &flows, last_tick, outcome, events);
    }
    let mut ends = outcome.ends.clone();
    ends.extend(flows.iter().filter_map(|flow| {
        let result = outcome.results.stream(stream_id(flow.id))?;
        Some(server_end(flow, result, outcome))
    }));
    record.into_outcome(&ends, outcome.usage, None)
}

/// Adds the receiver's counters of UDP uploads: one interval, from the end of the warm-up to the end.
fn push_uploads(
    record: &mut PeerRecord,
    flows: &[PlannedFlow],
    last_tick: u64,
    outcome: &Iperf3Outcome,
    events: &mut dyn FnMut(Event),
) {
    let bulk = record.plan().bulk();
    let warm_up = bulk.map_or(0, |bulk| bulk.ticks().first_measured());
    for flow in flows.iter().filter(|flow| flow.direction == Direction::Up) {
        let Some(result) = outcome.results.stream(stream_id(flow.id)) else {
            continue;
        };
        for tick in 1..=last_tick {
            let at_ns = record.read_ns(flow.id, tick);
            let counters = if tick > warm_up && tick == last_tick {
                receiver_counters(result, at_ns)
            } else {
                ReceiverCounters::default()
            };
            let sample = Sample {
                flow: flow.id,
                tick,
                at_ns,
                counters: Counters::Receiver(counters),
            };
            record.push(sample, events);
        }
    }
}

/// The measurements of a test that did not reach its end: those of this end.
///
/// # Errors
/// The error that ended it, when nothing was measured.
fn cut_short(record: PeerRecord, error: RunError) -> Result<BulkOutcome, RunError> {
    if !has_bytes(record.ended.iter().map(|ended| &ended.end)) {
        return Err(error);
    }
    let cut_short = match error {
        RunError::Interrupted => CutShort::Interrupted,
        RunError::Refused { message, .. } => CutShort::ByServer(message),
        other => CutShort::Lost(other.to_string().into()),
    };
    let ends: Vec<FlowEnd> = record.ended.iter().map(|ended| ended.end.clone()).collect();
    Ok(record.into_outcome(&ends, Usage::default(), Some(cut_short)))
}

fn receiver_counters(result: &StreamResult, last_ns: u64) -> ReceiverCounters {
    ReceiverCounters {
        bytes: result.bytes,
        datagrams: result.datagrams().saturating_sub(result.lost()),
        lost: result.lost(),
        jitter_rfc3550_ns: (result.jitter_s * 1e9) as u64,
        last_ns,
        ..ReceiverCounters::default()
    }
}

/// The server's final report on a flow.
fn server_end(flow: &PlannedFlow, result: &StreamResult, outcome: &Iperf3Outcome) -> FlowEnd {
    if flow.direction == Direction::Down {
        let counters = SenderCounters {
            bytes: result.bytes,
            datagrams: result.packets,
            ..SenderCounters::default()
        };
        return FlowEnd::from_counters(flow.id, Counters::Sender(counters));
    }
    let base = outcome.base.iter().find(|sample| sample.flow == flow.id);
    let measured_s = result.end_s.unwrap_or(0.0) - outcome.idle.as_secs_f64();
    let measured_ns = (measured_s.max(0.0) * 1e9) as u64;
    let end_ns = base.map_or(0, |base| base.at_ns) + measured_ns;
    let mut counters = receiver_counters(result, end_ns);
    match outcome.plan.transport() {
        Transport::Tcp => {
            // It does not count what arrived in the warm-up; the acknowledgements of its kernel do.
            if let Some(Counters::Sender(sent)) = base.map(|base| base.counters) {
                let warm_up = acknowledged(&sent, BYTES_BEFORE_PAYLOAD, 0);
                counters.bytes += warm_up.map_or(0, |warm_up| warm_up.bytes);
            }
            FlowEnd::from_counters(flow.id, Counters::Receiver(counters))
        }
        Transport::Udp => FlowEnd {
            sequence: Some(SequenceCounts::from_totals(result.packets, result.errors)),
            delay: Some(DelaySummary {
                n: Some(result.packets.saturating_sub(result.errors)),
                jitter_rfc3550_us: result.jitter_s * 1e6,
                ..DelaySummary::default()
            }),
            ..FlowEnd::from_counters(flow.id, Counters::Receiver(counters))
        },
    }
}
