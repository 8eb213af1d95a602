//! A round-trip test: messages that the server sends back whole.

use super::bulk::{check_congestion, check_socket_settings};
use super::error::{PlanError, Quantity, check_range};
use super::limits::{
    MAX_DATAGRAM, MAX_ECHO_BYTES, MAX_ECHO_VALUES, MAX_FLOWS, MAX_MESSAGE, MAX_MESSAGES, MAX_SIZES,
};
use super::nanoseconds;
use super::record_keys::{
    PlanKeys, RecordError, congestion_name, known, nullable, whole_nanoseconds,
};
use super::terms::{Direction, PlannedFlow, Transport};
use super::workload_plan::WorkloadPlan;
use crate::text::ExternalText;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The times at which the messages of an echo test are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EchoSchedule {
    /// Each message is sent when the reply to the previous one has arrived.
    StopAndWait,
    /// Messages are sent at intervals, regardless of replies.
    Every {
        /// The mean time between messages.
        #[serde(with = "nanoseconds", rename = "period_ns")]
        #[schemars(with = "u64")]
        period: Duration,
        /// `true` for exponential gaps (RFC 2330), `false` for fixed ones (RFC 3432).
        poisson: bool,
    },
}

/// A round-trip test with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EchoPlan {
    /// The protocol under test.
    pub transport: Transport,
    /// Connections at once.
    pub clients: u32,
    /// Message sizes in bytes, in the order they are measured.
    pub sizes: Vec<u32>,
    /// Messages counted for each size and client.
    pub count: u64,
    /// The times at which messages are sent.
    pub schedule: EchoSchedule,
    /// The time allowed for a reply before it counts as lost (UDP) or as a failure (TCP).
    pub timeout: Duration,
    /// `true` when Nagle's algorithm is off.
    pub no_delay: bool,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
    /// Socket buffers asked for.
    pub window: Option<ByteCount>,
}

impl EchoPlan {
    /// `true` when messages are sent on a schedule, regardless of replies.
    #[must_use]
    pub const fn is_scheduled(&self) -> bool {
        matches!(self.schedule, EchoSchedule::Every { .. })
    }

    /// The number of values kept of each message: its round trip; on a schedule also its due time, its
    /// lateness, and one delay for each direction.
    #[must_use]
    pub const fn values_per_message(&self) -> u64 {
        match self.schedule {
            EchoSchedule::StopAndWait => 1,
            EchoSchedule::Every { .. } => 6,
        }
    }

    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        check_range(Quantity::Clients, &self.clients, &1, &MAX_FLOWS)?;
        check_range(Quantity::Messages, &self.count, &1, &MAX_MESSAGES)?;
        check_range(Quantity::SizeCount, &self.sizes.len(), &1, &MAX_SIZES)?;
        let max = match self.transport {
            Transport::Tcp => MAX_MESSAGE,
            Transport::Udp => MAX_DATAGRAM,
        };
        for size in &self.sizes {
            check_range(Quantity::MessageSizes, size, &1, &max)?;
        }
        let timeout_s = self.timeout.as_secs_f64();
        check_range(Quantity::ReplyTimeout, &timeout_s, &0.001, &600.0)?;
        if let EchoSchedule::Every { period, .. } = self.schedule {
            check_range(Quantity::Period, &period.as_secs_f64(), &0.000_01, &3600.0)?;
            if self.transport == Transport::Udp {
                self.check_numbering(period)?;
            }
        }
        self.check_memory()?;
        check_socket_settings(self.dscp, self.window)?;
        check_congestion(self.congestion.as_deref())
    }

    /// Checks the memory both ends need against what they may use.
    fn check_memory(&self) -> Result<(), PlanError> {
        let values = u64::from(self.clients) * self.sizes.len() as u64 * self.values_per_message();
        let max = (MAX_ECHO_VALUES / values).saturating_sub(1);
        if self.count > max {
            return Err(PlanError {
                quantity: Quantity::Messages,
                value: self.count.to_string(),
                allowed: format!(
                    "with {} sizes and {} clients at most {max} of each fit in memory: \
                     use fewer messages, clients or sizes",
                    self.sizes.len(),
                    self.clients
                ),
            });
        }
        let largest = self.sizes.iter().max().copied().unwrap_or(0);
        let max = MAX_ECHO_BYTES / u64::from(self.clients);
        if u64::from(largest) > max {
            return Err(PlanError {
                quantity: Quantity::MessageSizes,
                value: largest.to_string(),
                allowed: format!(
                    "messages of {} clients may have at most {max} bytes each",
                    self.clients
                ),
            });
        }
        Ok(())
    }

    /// Checks that the sequence numbers a small datagram has room for last as long as a reply may take.
    fn check_numbering(&self, period: Duration) -> Result<(), PlanError> {
        let smallest = self.sizes.iter().min().copied().unwrap_or(1);
        let numbers = 1_u128.checked_shl(8 * smallest).unwrap_or(u128::MAX);
        let outstanding = self.timeout.as_nanos() / period.as_nanos().max(1);
        if outstanding >= numbers {
            return Err(PlanError {
                quantity: Quantity::MessageSizes,
                value: smallest.to_string(),
                allowed: format!(
                    "messages of that size carry {numbers} sequence numbers, and {outstanding} replies may be \
                     outstanding at once: leave out small sizes, or use a shorter timeout"
                ),
            });
        }
        Ok(())
    }
}

impl WorkloadPlan for EchoPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        self.transport
    }

    fn workload_name(&self) -> &'static str {
        "a round-trip test"
    }

    fn at_server(&self) -> String {
        format!(
            "echo over {}, {} connection(s), {} size(s)",
            self.transport,
            self.clients,
            self.sizes.len()
        )
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        let flow = |id| PlannedFlow {
            id,
            direction: Direction::Up,
        };
        (0..self.clients).map(flow).collect()
    }
}

/// The plan of a round-trip test as documents and messages carry it, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RttPlanRecord {
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
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
    /// Connections of a round-trip test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Message sizes in bytes, in the order they are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<u32>>,
    /// Messages counted for each size and client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The times at which messages are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<EchoSchedule>,
    /// The time allowed for a reply, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// The seed of a random schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl PlanKeys for RttPlanRecord {
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

impl From<&EchoPlan> for RttPlanRecord {
    fn from(plan: &EchoPlan) -> Self {
        Self {
            transport: Some(plan.transport),
            clients: Some(plan.clients),
            sizes: Some(plan.sizes.clone()),
            count: Some(plan.count),
            schedule: Some(plan.schedule),
            timeout_ns: Some(whole_nanoseconds(plan.timeout)),
            no_delay: Some(plan.no_delay),
            congestion: Some(plan.congestion.as_deref().map(Into::into)),
            dscp: Some(plan.dscp),
            window: Some(plan.window),
            ..Self::default()
        }
    }
}

impl TryFrom<&RttPlanRecord> for EchoPlan {
    type Error = RecordError;

    fn try_from(record: &RttPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            transport: known(record.transport, "transport")?,
            clients: known(record.clients, "clients")?,
            sizes: known(record.sizes.clone(), "sizes")?,
            count: known(record.count, "count")?,
            schedule: known(record.schedule, "schedule")?,
            timeout: Duration::from_nanos(known(record.timeout_ns, "timeout_ns")?),
            no_delay: known(record.no_delay, "no_delay")?,
            congestion: congestion_name(&record.congestion),
            dscp: record.dscp.flatten(),
            window: record.window.flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> EchoPlan {
        EchoPlan {
            transport: Transport::Udp,
            clients: 2,
            sizes: (0..=15).map(|power| 1 << power).collect(),
            count: 1000,
            schedule: EchoSchedule::StopAndWait,
            timeout: Duration::from_secs(1),
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        }
    }

    #[test]
    fn an_echo_test_that_would_not_fit_in_memory_is_refused_with_what_would() {
        assert!(plan().check().is_ok());
        let with_count = |count| EchoPlan {
            count,
            clients: 4,
            ..plan()
        };
        let error = with_count(1_000_000).check().unwrap_err();
        assert_eq!(error.quantity, Quantity::Messages);
        assert!(error.allowed.contains("at most 124999"), "{error}");
        assert!(with_count(124_999).check().is_ok());
        let big = |clients| EchoPlan {
            transport: Transport::Tcp,
            sizes: vec![16 << 20],
            clients,
            ..plan()
        };
        let error = big(65).check().unwrap_err();
        assert_eq!(error.quantity, Quantity::MessageSizes);
        assert!(big(64).check().is_ok());
    }

    #[test]
    fn a_schedule_too_dense_to_tell_small_datagrams_apart_is_refused() {
        let with_period = |ms| EchoPlan {
            schedule: EchoSchedule::Every {
                period: Duration::from_millis(ms),
                poisson: false,
            },
            ..plan()
        };
        let error = with_period(1).check().unwrap_err();
        assert_eq!(error.quantity, Quantity::MessageSizes);
        assert!(with_period(10).check().is_ok());
        let larger = EchoPlan {
            sizes: vec![2, 64],
            ..with_period(1)
        };
        assert!(larger.check().is_ok());
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        type Change = fn(&mut EchoPlan);
        let changes: [(Change, Quantity); 6] = [
            (|plan| plan.clients = 0, Quantity::Clients),
            (|plan| plan.count = 0, Quantity::Messages),
            (|plan| plan.sizes.clear(), Quantity::SizeCount),
            (|plan| plan.sizes = vec![0], Quantity::MessageSizes),
            (|plan| plan.sizes = vec![65_508], Quantity::MessageSizes),
            (|plan| plan.timeout = Duration::ZERO, Quantity::ReplyTimeout),
        ];
        for (change, quantity) in changes {
            let mut plan = plan();
            change(&mut plan);
            assert_eq!(plan.check().unwrap_err().quantity, quantity);
        }
    }
}
