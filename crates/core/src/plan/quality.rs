//! One phase of a test of latency under load: TCP flows in some directions, with probes beside them.

use super::bulk::{BulkPlan, check_congestion, check_interval, check_socket_settings};
use super::echo::{EchoPlan, EchoSchedule};
use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DURATION, MAX_FLOWS};
use super::record_keys::{
    PlanKeys, RecordError, congestion_name, known, nullable, whole_nanoseconds,
};
use super::tcp::TcpPlan;
use super::terms::{Direction, Directions, Omit, PlannedFlow, Rate, TestEnd, Transport};
use super::workload_plan::WorkloadPlan;
use crate::text::ExternalText;
use crate::units::{ByteCount, format_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The block that the flows of the load hand to the kernel at once, bytes.
const LOAD_BLOCK: u32 = 128 << 10;
/// Bytes in a probe, which have room for the time stamps of both ends.
pub const PROBE_BYTES: u32 = 64;
/// A UDP probe in a frame of Ethernet over IPv6, bits.
const UDP_PROBE_BITS: f64 = 8.0 * (PROBE_BYTES as f64 + 8.0 + 40.0 + 14.0);
/// A TCP probe with the acknowledgement of the one in the other direction, bits.
const TCP_PROBE_BITS: f64 = 8.0 * (PROBE_BYTES as f64 + 2.0 * (32.0 + 40.0 + 14.0));
/// A request on a new connection: its handshake, some bytes with their acknowledgement, and its end, bits.
const CONNECT_PROBE_BITS: f64 = 8.0 * (5.0 * (32.0 + 40.0 + 14.0) + 40.0);
/// The time for the reply to a probe that no queue of a usual link makes longer.
const USUAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Minimum duration of a phase.
pub const MIN_PHASE: Duration = Duration::from_millis(200);

/// The load of a phase.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PhaseLoad {
    /// None: probes only.
    Idle,
    /// Flows from the server to the client.
    Download,
    /// Flows from the client to the server.
    Upload,
    /// Flows in both directions at once.
    Both,
}

impl PhaseLoad {
    /// All loads, in the order in which a test has them.
    pub const ALL: [Self; 4] = [Self::Idle, Self::Download, Self::Upload, Self::Both];

    /// `idle`, `download`, `upload` or `both`, as JSON and tables write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Both => "both",
        }
    }

    /// The directions of its flows; `None` without load.
    #[must_use]
    pub const fn directions(self) -> Option<Directions> {
        match self {
            Self::Idle => None,
            Self::Download => Some(Directions::Down),
            Self::Upload => Some(Directions::Up),
            Self::Both => Some(Directions::Both),
        }
    }

    /// The single directions of its flows, up first.
    #[must_use]
    pub fn each_direction(self) -> &'static [Direction] {
        self.directions().map_or(&[], Directions::each)
    }
}

/// A phase as a document's plan lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPhase {
    /// Its load.
    pub load: PhaseLoad,
    /// Its duration, ns.
    pub time_ns: u64,
    /// The part at its beginning that does not count, in which the flows start and fill the queues, ns.
    pub ramp_ns: u64,
}

/// The periods of the probes beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbePeriods {
    /// The time between two UDP echo messages, ns.
    pub udp_ns: u64,
    /// The time between two TCP echo messages on a connection of their own, ns.
    pub tcp_ns: u64,
    /// The time between two new TCP connections, each with one request, ns.
    pub connect_ns: u64,
}

impl ProbePeriods {
    /// Bits that the probes take of a second on the wire, each way.
    #[must_use]
    pub fn bps(&self) -> f64 {
        let of = |bits: f64, period_ns: u64| bits * 1e9 / period_ns.max(1) as f64;
        of(UDP_PROBE_BITS, self.udp_ns)
            + of(TCP_PROBE_BITS, self.tcp_ns)
            + of(CONNECT_PROBE_BITS, self.connect_ns)
    }

    /// The same probes with all periods longer by this factor.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        let longer = |period_ns: u64| (period_ns as f64 * factor) as u64;
        Self {
            udp_ns: longer(self.udp_ns),
            tcp_ns: longer(self.tcp_ns),
            connect_ns: longer(self.connect_ns),
        }
    }
}

/// One phase of a test of latency under load, with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QualityPlan {
    /// The load.
    pub load: PhaseLoad,
    /// Flows in each direction of the load.
    pub parallel: u32,
    /// The duration of the phase.
    pub time: Duration,
    /// The part at its beginning that does not count.
    pub ramp: Duration,
    /// The time between the starts of two flows of a direction.
    pub stagger: Duration,
    /// The interval at which the flows' counters are read.
    pub interval: Duration,
    /// The periods of the probes.
    pub probes: ProbePeriods,
    /// The time allowed for the reply to a probe.
    pub timeout: Duration,
    /// The rate asked of each flow: a limit only where the server sets one.
    pub rate: Rate,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// The DSCP of flows and probes.
    pub dscp: Option<u8>,
    /// `true` when both ends are one machine.
    pub same_machine: bool,
}

impl QualityPlan {
    /// The phase as a document lists it.
    #[must_use]
    pub fn phase(&self) -> PlannedPhase {
        PlannedPhase {
            load: self.load,
            time_ns: self.time.as_nanos() as u64,
            ramp_ns: self.ramp.as_nanos() as u64,
        }
    }

    /// The time that answers may take beyond the usual: what the reply to a probe may.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.timeout.saturating_sub(USUAL_TIMEOUT)
    }

    /// The plan of the load; `None` for the idle phase.
    #[must_use]
    pub fn load_plan(&self) -> Option<TcpPlan> {
        Some(TcpPlan {
            bulk: BulkPlan {
                directions: self.load.directions()?,
                parallel: self.parallel,
                end: TestEnd::Time(self.time.saturating_sub(self.ramp)),
                interval: self.interval,
                omit: if self.ramp.is_zero() {
                    Omit::Nothing
                } else {
                    Omit::Time(self.ramp)
                },
                rate: self.rate,
                length: LOAD_BLOCK,
                window: None,
                dscp: self.dscp,
                same_machine: self.same_machine,
            },
            mss: None,
            congestion: self.congestion.clone(),
            no_delay: false,
            mptcp: false,
            discard: false,
            zero_copy: false,
            ask_ecn: None,
        })
    }

    /// The plan of the echo probe over this transport.
    #[must_use]
    pub fn echo_plan(&self, transport: Transport) -> EchoPlan {
        let period = Duration::from_nanos(match transport {
            Transport::Udp => self.probes.udp_ns,
            Transport::Tcp => self.probes.tcp_ns,
        });
        let fit = self.time.as_nanos() / period.as_nanos().max(1);
        EchoPlan {
            transport,
            clients: 1,
            sizes: vec![PROBE_BYTES],
            count: u64::try_from(fit).unwrap_or(u64::MAX).max(1),
            schedule: EchoSchedule::Every {
                period,
                poisson: false,
            },
            timeout: self.timeout,
            no_delay: true,
            congestion: None,
            dscp: self.dscp,
            window: None,
        }
    }

    /// The flows of the load, then the UDP probe's, then the TCP probe's.
    #[must_use]
    pub fn flows(&self) -> Vec<PlannedFlow> {
        let load = self.load_plan();
        let load = load.iter().flat_map(|plan| plan.bulk.flows());
        let probes = [
            self.probe_flow(Transport::Udp),
            self.probe_flow(Transport::Tcp),
        ];
        load.chain(probes).collect()
    }

    /// The number of flows in the load.
    #[must_use]
    pub fn load_flows(&self) -> u32 {
        self.parallel * self.load.each_direction().len() as u32
    }

    /// The flow of the echo probe over this transport.
    #[must_use]
    pub fn probe_flow(&self, transport: Transport) -> PlannedFlow {
        PlannedFlow {
            id: self.load_flows() + u32::from(transport == Transport::Tcp),
            direction: Direction::Up,
        }
    }

    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        check_range(
            Quantity::ParallelFlows,
            &self.parallel,
            &1,
            &((MAX_FLOWS - 2) / 2),
        )?;
        let quantity = match self.load {
            PhaseLoad::Idle => Quantity::IdleTime,
            _ => Quantity::Duration,
        };
        if self.time < MIN_PHASE || self.time > MAX_DURATION {
            return Err(PlanError {
                quantity,
                value: format_duration(self.time),
                allowed: format!(
                    "it must lie between {} and {} days",
                    format_duration(MIN_PHASE),
                    MAX_DURATION.as_secs() / 86_400
                ),
            });
        }
        let max_ramp = self.time.as_secs_f64() * 0.9;
        check_range(Quantity::WarmUp, &self.ramp.as_secs_f64(), &0.0, &max_ramp)?;
        let ProbePeriods {
            udp_ns,
            tcp_ns,
            connect_ns,
        } = self.probes;
        for period_ns in [udp_ns, tcp_ns, connect_ns] {
            let period_s = period_ns as f64 / 1e9;
            check_range(Quantity::Period, &period_s, &0.001, &3600.0)?;
        }
        check_interval(self.interval)?;
        if let Some(plan) = self.load_plan() {
            plan.check()?;
        }
        self.echo_plan(Transport::Udp).check()?;
        self.echo_plan(Transport::Tcp).check()?;
        check_socket_settings(self.dscp, None)?;
        check_congestion(self.congestion.as_deref())
    }
}

impl WorkloadPlan for QualityPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn workload_name(&self) -> &'static str {
        "a test of latency under load"
    }

    fn at_server(&self) -> String {
        format!(
            "latency under load: {}, {}, {} flow(s) a direction",
            self.load.name(),
            format_duration(self.time),
            self.parallel
        )
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        self.flows()
    }

    fn patience(&self) -> Duration {
        self.patience()
    }
}

/// The plan of a test of latency under load as documents and messages carry it, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualityPlanRecord {
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Flows in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The reporting interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The rate asked of each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Socket buffers asked for, bytes; null leaves them to the kernel (TCP) or to caudal (UDP).
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub window: Option<Option<ByteCount>>,
    /// The congestion control asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub congestion: Option<Option<ExternalText>>,
    /// `true` when Nagle's algorithm is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_delay: Option<bool>,
    /// The DSCP asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub dscp: Option<Option<u8>>,
    /// `true` when both ends are one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<bool>,
    /// The time allowed for a reply, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// The phases of a test of latency under load, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<PlannedPhase>>,
    /// The time between the starts of two flows of a direction, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger_ns: Option<u64>,
    /// The periods of the probes beside the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbePeriods>,
}

impl PlanKeys for QualityPlanRecord {
    fn peer(&self) -> Option<&ExternalText> {
        self.peer.as_ref()
    }

    fn set_peer(&mut self, address: ExternalText) {
        self.peer = Some(address);
    }

    fn transport(&self) -> Option<Transport> {
        self.transport
    }

    fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

impl From<&QualityPlan> for QualityPlanRecord {
    fn from(plan: &QualityPlan) -> Self {
        Self {
            transport: Some(Transport::Tcp),
            parallel: Some(plan.parallel),
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            rate: Some(plan.rate),
            congestion: Some(plan.congestion.as_deref().map(Into::into)),
            dscp: Some(plan.dscp),
            same_machine: Some(plan.same_machine),
            timeout_ns: Some(whole_nanoseconds(plan.timeout)),
            phases: Some(vec![plan.phase()]),
            stagger_ns: Some(whole_nanoseconds(plan.stagger)),
            window: Some(None),
            no_delay: Some(false),
            probes: Some(plan.probes),
            ..Self::default()
        }
    }
}

impl TryFrom<&QualityPlanRecord> for QualityPlan {
    type Error = RecordError;

    /// The plan of a single phase: the whole of several phases is not carried out as one plan.
    fn try_from(record: &QualityPlanRecord) -> Result<Self, RecordError> {
        let Some([phase]) = record.phases.as_deref() else {
            return Err(RecordError::Missing("phases"));
        };
        Ok(Self {
            load: phase.load,
            parallel: known(record.parallel, "parallel")?,
            time: Duration::from_nanos(phase.time_ns),
            ramp: Duration::from_nanos(phase.ramp_ns),
            stagger: Duration::from_nanos(known(record.stagger_ns, "stagger_ns")?),
            interval: Duration::from_nanos(known(record.interval_ns, "interval_ns")?),
            probes: known(record.probes, "probes")?,
            timeout: Duration::from_nanos(known(record.timeout_ns, "timeout_ns")?),
            rate: known(record.rate, "rate")?,
            congestion: congestion_name(&record.congestion),
            dscp: record.dscp.flatten(),
            same_machine: known(record.same_machine, "same_machine")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(load: PhaseLoad) -> QualityPlan {
        QualityPlan {
            load,
            parallel: 4,
            time: Duration::from_secs(10),
            ramp: Duration::from_secs(2),
            stagger: Duration::from_millis(100),
            interval: Duration::from_millis(200),
            probes: ProbePeriods {
                udp_ns: 20_000_000,
                tcp_ns: 100_000_000,
                connect_ns: 200_000_000,
            },
            timeout: Duration::from_secs(5),
            rate: Rate::Max,
            congestion: None,
            dscp: None,
            same_machine: false,
        }
    }

    #[test]
    fn the_probes_have_flows_of_their_own_behind_those_of_the_load() {
        let ids = |load| {
            let flows = plan(load).flows();
            flows.iter().map(|flow| flow.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(PhaseLoad::Idle), [0, 1]);
        assert_eq!(ids(PhaseLoad::Download), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ids(PhaseLoad::Both).len(), 10);
        let probe = plan(PhaseLoad::Both).probe_flow(Transport::Tcp);
        assert_eq!((probe.id, probe.direction), (9, Direction::Up));
    }

    #[test]
    fn the_measured_part_of_the_load_begins_after_its_ramp() {
        let load = plan(PhaseLoad::Upload).load_plan().unwrap();
        assert_eq!(load.bulk.end, TestEnd::Time(Duration::from_secs(8)));
        assert_eq!(load.bulk.omitted(), Duration::from_secs(2));
        assert_eq!(plan(PhaseLoad::Idle).load_plan(), None);
        assert_eq!(plan(PhaseLoad::Idle).echo_plan(Transport::Udp).count, 500);
    }

    #[test]
    fn the_probes_take_as_much_less_as_their_periods_are_longer() {
        let probes = plan(PhaseLoad::Idle).probes;
        let bps = probes.bps();
        // 50, 10 and 5 a second.
        assert!((85e3..95e3).contains(&bps), "{bps}");
        assert!((probes.stretched(10.0).bps() - bps / 10.0).abs() < 1.0);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        type Change = fn(&mut QualityPlan);
        let changes: [(Change, Quantity); 6] = [
            (|plan| plan.parallel = 0, Quantity::ParallelFlows),
            (|plan| plan.parallel = 512, Quantity::ParallelFlows),
            (|plan| plan.time = Duration::ZERO, Quantity::Duration),
            (|plan| plan.ramp = Duration::from_secs(10), Quantity::WarmUp),
            (|plan| plan.dscp = Some(64), Quantity::Dscp),
            (|plan| plan.probes.udp_ns = 0, Quantity::Period),
        ];
        for (change, quantity) in changes {
            let mut plan = plan(PhaseLoad::Both);
            change(&mut plan);
            assert_eq!(plan.check().unwrap_err().quantity, quantity);
        }
        let idle = QualityPlan {
            time: Duration::ZERO,
            ramp: Duration::ZERO,
            ..plan(PhaseLoad::Idle)
        };
        assert_eq!(idle.check().unwrap_err().quantity, Quantity::IdleTime);
        let busy = QualityPlan {
            interval: Duration::from_nanos(1),
            ..plan(PhaseLoad::Idle)
        };
        assert_eq!(busy.check().unwrap_err().quantity, Quantity::Interval);
        assert!(
            PhaseLoad::ALL
                .iter()
                .all(|load| plan(*load).check().is_ok())
        );
    }
}
