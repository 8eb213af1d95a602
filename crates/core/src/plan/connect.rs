//! A test of the rate at which connections open.

use super::bulk::{check_interval, check_socket_settings};
use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DURATION, MAX_FLOWS, MAX_INTERVALS};
use super::record_keys::{PlanKeys, RecordError, known, nullable, whole_nanoseconds};
use super::terms::{PlannedFlow, Transport};
use super::workload_plan::WorkloadPlan;
use crate::text::ExternalText;
use crate::units::format_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Maximum number of connections that a plan may ask for.
const MAX_CONNECTIONS: u64 = 1_000_000_000;
/// Maximum time between the starts of two connections on a schedule.
const MAX_PERIOD: Duration = Duration::from_secs(3600);

/// A test of the rate at which connections open, with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectPlan {
    /// Connections that are being opened at once.
    pub parallel: u32,
    /// The duration of the test.
    pub time: Duration,
    /// The number of connections after which it ends earlier; `None` for as many as the time allows.
    pub count: Option<u64>,
    /// The interval of the rows.
    pub interval: Duration,
    /// The time between the starts of two connections, on a schedule that does not wait for earlier ones; `None` to open each when the
    /// one before it has ended.
    pub period: Option<Duration>,
    /// The time allowed for each step: the TCP handshake, that of TLS, the answer.
    pub timeout: Duration,
    /// `true` when each connection makes a handshake of TLS 1.3.
    pub tls: bool,
    /// The BLAKE3 fingerprint of the server's certificate, hexadecimal; `None` before the server has made one.
    pub certificate: Option<String>,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
}

impl ConnectPlan {
    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        check_range(Quantity::ParallelFlows, &self.parallel, &1, &MAX_FLOWS)?;
        let (time_s, max_s) = (self.time.as_secs_f64(), MAX_DURATION.as_secs_f64());
        check_range(Quantity::Duration, &time_s, &0.001, &max_s)?;
        check_interval(self.interval)?;
        let intervals = self.time.as_nanos() / self.interval.as_nanos().max(1);
        let intervals = u64::try_from(intervals).unwrap_or(u64::MAX);
        check_range(Quantity::Intervals, &intervals, &0, &MAX_INTERVALS)?;
        check_range(
            Quantity::Connections,
            &self.count.unwrap_or(1),
            &1,
            &MAX_CONNECTIONS,
        )?;
        if let Some(period) = self.period {
            let max_s = MAX_PERIOD.as_secs_f64();
            check_range(Quantity::Period, &period.as_secs_f64(), &0.000_001, &max_s)?;
        }
        let timeout_s = self.timeout.as_secs_f64();
        check_range(Quantity::ReplyTimeout, &timeout_s, &0.001, &600.0)?;
        check_socket_settings(self.dscp, None)
    }

    /// Connections started each second on the schedule; `None` without one.
    #[must_use]
    pub fn scheduled_per_s(&self) -> Option<f64> {
        self.period.map(|period| 1.0 / period.as_secs_f64())
    }

    /// The round trips that each connection waits for: the TCP handshake, that of TLS 1.3, the answer to its request.
    #[must_use]
    pub const fn round_trips(&self) -> u32 {
        if self.tls { 3 } else { 2 }
    }
}

impl WorkloadPlan for ConnectPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn workload_name(&self) -> &'static str {
        "a test of the connection rate"
    }

    fn at_server(&self) -> String {
        let tls = if self.tls { " with TLS" } else { "" };
        let (time, parallel) = (format_duration(self.time), self.parallel);
        format!("connection rate{tls}: {time}, {parallel} at a time")
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        // Its connections are no flows: they are opened while it runs.
        Vec::new()
    }
}

/// The plan of a test of the connection rate, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectPlanRecord {
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Connections that are being opened at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The duration of the test, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// The number of connections after which it ends earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// The reporting interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The time between the starts of two connections, where they have a schedule, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// The time allowed for each step of a connection, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// `true` when each connection makes a handshake of TLS 1.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// The BLAKE3 fingerprint of the server's certificate, hexadecimal (TLS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The DSCP asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub dscp: Option<Option<u8>>,
}

impl PlanKeys for ConnectPlanRecord {
    fn peer(&self) -> Option<&ExternalText> {
        self.peer.as_ref()
    }

    fn set_peer(&mut self, address: ExternalText) {
        self.peer = Some(address);
    }

    fn transport(&self) -> Option<Transport> {
        self.transport
    }
}

impl From<&ConnectPlan> for ConnectPlanRecord {
    fn from(plan: &ConnectPlan) -> Self {
        Self {
            peer: None,
            transport: Some(Transport::Tcp),
            parallel: Some(plan.parallel),
            time_ns: Some(whole_nanoseconds(plan.time)),
            connections: plan.count,
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            period_ns: plan.period.map(whole_nanoseconds),
            timeout_ns: Some(whole_nanoseconds(plan.timeout)),
            tls: Some(plan.tls),
            certificate: plan.certificate.clone(),
            dscp: Some(plan.dscp),
        }
    }
}

impl TryFrom<&ConnectPlanRecord> for ConnectPlan {
    type Error = RecordError;

    fn try_from(record: &ConnectPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            parallel: known(record.parallel, "parallel")?,
            time: Duration::from_nanos(known(record.time_ns, "time_ns")?),
            count: record.connections,
            interval: Duration::from_nanos(known(record.interval_ns, "interval_ns")?),
            period: record.period_ns.map(Duration::from_nanos),
            timeout: Duration::from_nanos(known(record.timeout_ns, "timeout_ns")?),
            tls: known(record.tls, "tls")?,
            certificate: record.certificate.clone(),
            dscp: record.dscp.flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> ConnectPlan {
        ConnectPlan {
            parallel: 1,
            time: Duration::from_secs(10),
            count: None,
            interval: Duration::from_secs(1),
            period: None,
            timeout: Duration::from_secs(5),
            tls: false,
            certificate: None,
            dscp: None,
        }
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        type Change = fn(&mut ConnectPlan);
        let changes: [(Change, Quantity); 8] = [
            (|plan| plan.parallel = 0, Quantity::ParallelFlows),
            (|plan| plan.parallel = 1025, Quantity::ParallelFlows),
            (|plan| plan.time = Duration::ZERO, Quantity::Duration),
            (|plan| plan.interval = Duration::ZERO, Quantity::Interval),
            (|plan| plan.count = Some(0), Quantity::Connections),
            (|plan| plan.period = Some(Duration::ZERO), Quantity::Period),
            (|plan| plan.timeout = Duration::ZERO, Quantity::ReplyTimeout),
            (|plan| plan.dscp = Some(64), Quantity::Dscp),
        ];
        for (change, quantity) in changes {
            let mut plan = plan();
            change(&mut plan);
            assert_eq!(plan.check().unwrap_err().quantity, quantity);
        }
        assert_eq!(plan().check(), Ok(()));
    }

    #[test]
    fn a_plan_survives_the_trip_through_its_record() {
        let plan = ConnectPlan {
            count: Some(7),
            period: Some(Duration::from_millis(20)),
            tls: true,
            certificate: Some("ab".repeat(32)),
            dscp: Some(46),
            ..plan()
        };
        let text = serde_json::to_string(&ConnectPlanRecord::from(&plan)).unwrap();
        let record: ConnectPlanRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(ConnectPlan::try_from(&record), Ok(plan));
    }

    #[test]
    fn a_period_is_a_rate() {
        let plan = ConnectPlan {
            period: Some(Duration::from_millis(20)),
            ..plan()
        };
        assert_eq!(plan.scheduled_per_s(), Some(50.0));
    }
}
