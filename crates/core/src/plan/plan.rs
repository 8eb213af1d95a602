//! A test of any workload.

use super::bulk::BulkPlan;
use super::connect::ConnectPlan;
use super::echo::EchoPlan;
use super::error::PlanError;
use super::quality::QualityPlan;
use super::tcp::TcpPlan;
use super::terms::{Pacing, PlannedFlow, Transport};
use super::trains::TrainsPlan;
use super::transfer::TransferPlan;
use super::udp::UdpPlan;
use super::workloads::Plan;
use crate::marks::Ecn;
use std::time::Duration;

impl Plan {
    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        self.test().check()
    }

    /// The protocol under test.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.test().transport()
    }

    /// The settings of a bulk transfer; `None` for any other workload.
    #[must_use]
    pub const fn bulk(&self) -> Option<&BulkPlan> {
        match self {
            Self::Tcp(plan) => Some(&plan.bulk),
            Self::Udp(plan) => Some(&plan.bulk),
            _ => None,
        }
    }

    /// The settings of a bulk transfer, to be changed; `None` for any other workload.
    #[must_use]
    pub const fn bulk_mut(&mut self) -> Option<&mut BulkPlan> {
        match self {
            Self::Tcp(plan) => Some(&mut plan.bulk),
            Self::Udp(plan) => Some(&mut plan.bulk),
            _ => None,
        }
    }

    /// This plan with another pacing of its UDP senders; any other plan as it is.
    #[must_use]
    pub const fn with_pacing(mut self, pacing: Pacing) -> Self {
        if let Self::Udp(plan) = &mut self {
            plan.pacing = pacing;
        }
        self
    }

    /// The plan of a bulk transfer over TCP; `None` for any other workload.
    #[must_use]
    pub const fn tcp(&self) -> Option<&TcpPlan> {
        match self {
            Self::Tcp(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a bulk transfer over UDP; `None` for any other workload.
    #[must_use]
    pub const fn udp(&self) -> Option<&UdpPlan> {
        match self {
            Self::Udp(plan) => Some(plan),
            _ => None,
        }
    }

    /// The type-of-service byte of a bulk transfer, its DSCP and ECN field; `None` where it asks for neither.
    #[must_use]
    pub fn tos(&self) -> Option<u8> {
        let dscp = self.bulk()?.dscp;
        let ecn = self.udp().map_or(Ecn::NotEct, |udp| udp.ecn);
        let is_asked_for = dscp.is_some() || !ecn.is_not_ect();
        is_asked_for.then(|| dscp.unwrap_or(0) << 2 | ecn.bits())
    }

    /// The plan of a round-trip test; `None` for any other workload.
    #[must_use]
    pub const fn echo(&self) -> Option<&EchoPlan> {
        match self {
            Self::Echo(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a phase of a test of latency under load; `None` for any other workload.
    #[must_use]
    pub const fn quality(&self) -> Option<&QualityPlan> {
        match self {
            Self::Quality(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a file transfer; `None` for any other workload.
    #[must_use]
    pub const fn transfer(&self) -> Option<&TransferPlan> {
        match self {
            Self::Transfer(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of trains of datagrams; `None` for any other workload.
    #[must_use]
    pub const fn trains(&self) -> Option<&TrainsPlan> {
        match self {
            Self::Trains(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a test of the connection rate; `None` for any other workload.
    #[must_use]
    pub const fn connect(&self) -> Option<&ConnectPlan> {
        match self {
            Self::Connect(plan) => Some(plan),
            _ => None,
        }
    }

    /// The time that answers of a peer may take beyond the usual while this test runs.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.test().patience()
    }

    /// The workload as messages name it.
    #[must_use]
    pub fn workload_name(&self) -> &'static str {
        self.test().workload_name()
    }

    /// The test in a line, as its server tells it.
    #[must_use]
    pub fn at_server(&self) -> String {
        self.test().at_server()
    }

    /// The flows of this plan; the connections of a round-trip test are opened by the client.
    #[must_use]
    pub fn flows(&self) -> Vec<PlannedFlow> {
        self.test().flows()
    }

    /// The number of data sockets each end opens for this plan.
    #[must_use]
    pub fn sockets(&self) -> u32 {
        self.test().sockets()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Directions, Omit, Quantity, Rate, TestEnd};
    use super::*;
    use crate::units::ByteCount;
    use std::time::Duration;

    fn tcp() -> TcpPlan {
        TcpPlan {
            bulk: BulkPlan {
                directions: Directions::Both,
                parallel: 2,
                end: TestEnd::Time(Duration::from_secs(10)),
                interval: Duration::from_secs(1),
                omit: Omit::Nothing,
                rate: Rate::Max,
                length: 128 << 10,
                window: None,
                dscp: None,
                same_machine: true,
            },
            mss: None,
            congestion: None,
            no_delay: false,
            mptcp: false,
            discard: false,
            zero_copy: false,
            ask_ecn: None,
        }
    }

    fn udp(length: u32) -> UdpPlan {
        UdpPlan {
            bulk: BulkPlan {
                length,
                ..tcp().bulk
            },
            verify: false,
            pacing: Pacing::Balanced,
            ecn: crate::marks::Ecn::NotEct,
        }
    }

    #[test]
    fn flows_are_numbered_over_both_directions() {
        let plan = Plan::Tcp(tcp());
        let flows: Vec<_> = plan
            .flows()
            .iter()
            .map(|f| (f.id, f.direction.name()))
            .collect();
        assert_eq!(flows, [(0, "up"), (1, "up"), (2, "down"), (3, "down")]);
        assert_eq!(plan.sockets(), 4);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        type Change = fn(&mut TcpPlan);
        let changes: [(Change, Quantity); 7] = [
            (|plan| plan.bulk.parallel = 0, Quantity::ParallelFlows),
            (|plan| plan.bulk.parallel = 1025, Quantity::ParallelFlows),
            (|plan| plan.bulk.length = 0, Quantity::Length),
            (
                |plan| plan.bulk.end = TestEnd::Bytes(ByteCount::new(0)),
                Quantity::Bytes,
            ),
            (
                |plan| plan.bulk.interval = Duration::from_nanos(1),
                Quantity::Interval,
            ),
            (|plan| plan.bulk.dscp = Some(64), Quantity::Dscp),
            (
                |plan| plan.congestion = Some("a b".into()),
                Quantity::Congestion,
            ),
        ];
        for (change, quantity) in changes {
            let mut plan = tcp();
            change(&mut plan);
            assert_eq!(plan.check().unwrap_err().quantity, quantity);
        }
        assert!(tcp().check().is_ok());
        for length in [31, 65_508] {
            let error = udp(length).check().unwrap_err();
            assert_eq!(error.quantity, Quantity::Length);
        }
        assert!(udp(1448).check().is_ok());
    }

    #[test]
    fn an_interval_too_short_is_refused_with_the_shortest() {
        let mut plan = tcp();
        plan.bulk.interval = Duration::ZERO;
        assert_eq!(
            plan.check().unwrap_err().to_string(),
            "the reporting interval is 0s; it must lie between 10ms and 30 days"
        );
    }

    #[test]
    fn the_flows_of_a_direction_share_its_bytes_to_the_last_one() {
        let mut plan = udp(1448);
        plan.bulk.parallel = 3;
        plan.bulk.end = TestEnd::Bytes(ByteCount::new(100_000));
        let payload = |flow| {
            let sizes = plan.datagram_sizes(flow);
            (0..sizes.datagrams().unwrap())
                .map(|sequence| u64::from(sizes.length_of(sequence)))
                .sum::<u64>()
        };
        assert_eq!((0..3).map(payload).sum::<u64>(), 100_000);
    }
}
