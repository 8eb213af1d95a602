//! One phase of a test of latency under load: TCP flows in some directions, with probes beside them.

use super::bulk::{BulkPlan, check_congestion, check_interval, check_socket_settings};
use super::echo::{EchoPlan, EchoSchedule};
use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DURATION, MAX_FLOWS};
use super::tcp::TcpPlan;
use super::terms::{Direction, Directions, Omit, PlannedFlow, Rate, TestEnd, Transport};
use crate::units::format_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The block that the flows of the load hand to the kernel at once, bytes.
const LOAD_BLOCK: u32 = 128 << 10;
/// Bytes in a probe, which have room for the time stamps of both ends.
pub const PROBE_BYTES: u32 = 64;
/// The minimum duration of a phase.
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
