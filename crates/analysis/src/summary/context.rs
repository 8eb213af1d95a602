//! The measurements a summary is made from.

use crate::framing::IpVersion;
use crate::timeline::{MeasuredFlow, Timeline};
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::episode::Episode;
use caudal_core::host::{Host, Usage};
use caudal_core::interval::Interval;
use caudal_core::plan::{BulkPlan, Direction, Plan, Transport};
use caudal_core::sample::FlowRecord;
use caudal_core::tcp_proxy::TcpProxy;
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;

/// The measurements of a bulk transfer and the conditions they were made under.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The plan both ends held.
    pub plan: &'a Plan,
    /// Its settings as a bulk transfer.
    pub bulk: &'a BulkPlan,
    /// Every flow with the final reports of both ends.
    pub records: &'a [FlowRecord],
    /// The readings.
    pub timeline: &'a Timeline,
    /// What arrived in each direction over time, where its receiver recorded it.
    pub arrivals: &'a [ArrivalSeries],
    /// The client's machine.
    pub client: &'a Host,
    /// The server's machine.
    pub server: &'a Host,
    /// The resources the client used.
    pub client_usage: &'a Usage,
    /// The resources the server used, where it reported them.
    pub server_usage: Option<&'a Usage>,
    /// The IP version between them.
    pub ip: IpVersion,
    /// `true` when the traffic stays on a loopback interface.
    pub loopback: bool,
    /// The minimum round-trip time over the idle control connection, µs; `None` where there is none.
    pub idle_rtt_us: Option<f64>,
    /// The time it took to connect the control connection, µs; `None` where there is none.
    pub connect_us: Option<f64>,
    /// What ends TCP between both ends, where something does.
    pub tcp_proxy: Option<&'a TcpProxy>,
    /// The rate of the link, where the user gave it.
    pub link_rate: Option<BitRate>,
    /// The confidence of intervals.
    pub confidence: f64,
    /// Outages and programs that stood still.
    pub episodes: &'a [Episode],
    /// The reason why the run ended before its plan did.
    pub cut_short: Option<&'a str>,
    /// The changes the server made to the plan.
    pub changed: &'a [ExternalText],
    /// `true` when the server lowered the rate that was asked for.
    pub server_set_rate: bool,
}

/// The flows of one direction, with what was read of them.
#[derive(Debug)]
pub(super) struct DirectionFlows<'a> {
    pub(super) direction: Direction,
    pub(super) records: Vec<&'a FlowRecord>,
    pub(super) intervals: Vec<Vec<Interval>>,
    pub(super) measured: Vec<MeasuredFlow>,
}

impl DirectionFlows<'_> {
    /// `true` where segments are so far apart that a round trip is measured with the time for which its acknowledgement was
    /// delayed (TCP; RFC 1122, section 4.2.3.2): the receivers do not say that they acknowledge at once.
    pub(super) fn has_delayed_acknowledgements(&self, context: &Context<'_>) -> bool {
        let is_sparse = context.bulk.rate.has_sparse_segments();
        let at_once = |record: &&FlowRecord| {
            let granted = record.receiver.as_ref().map(|end| &end.granted);
            granted.is_none_or(|granted| granted.quick_ack == Some(true))
        };
        is_sparse && !self.records.iter().all(at_once)
    }
}

impl<'a> Context<'a> {
    /// The transport under test.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.plan.transport()
    }

    /// `true` when the plan asks for Multipath TCP.
    pub(super) const fn wants_mptcp(&self) -> bool {
        matches!(self.plan, Plan::Tcp(plan) if plan.mptcp)
    }

    /// What arrived in a direction over time, where that agrees with the `bytes` of its receivers.
    pub(super) fn arrivals_of(
        &self,
        direction: Direction,
        bytes: Option<u64>,
    ) -> Option<&'a ArrivalSeries> {
        let of_direction = |series: &&ArrivalSeries| series.direction() == direction;
        let totals = self.records.iter().filter_map(|record| {
            let received = record.received()?.arrived_bytes();
            (record.flow.direction == direction).then_some(received)
        });
        let received = totals.sum::<u64>().max(bytes.unwrap_or(0));
        self.arrivals
            .iter()
            .find(of_direction)
            .filter(|series| series.is_plausible(received))
    }

    /// The flows of one direction.
    pub(super) fn flows_of(&self, direction: Direction) -> DirectionFlows<'a> {
        let records: Vec<&FlowRecord> = self
            .records
            .iter()
            .filter(|record| record.flow.direction == direction)
            .collect();
        DirectionFlows {
            direction,
            intervals: records
                .iter()
                .map(|record| self.timeline.intervals(record.flow.id))
                .collect(),
            measured: records
                .iter()
                .filter_map(|record| self.timeline.measured(record.flow.id))
                .collect(),
            records,
        }
    }
}
