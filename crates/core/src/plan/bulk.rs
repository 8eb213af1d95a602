//! The settings bulk transfers have in common, whatever the transport.

use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DURATION, MAX_FLOWS, MAX_INTERVALS, MIN_INTERVAL};
use super::record_keys::{PlanKeys, RecordError, known, nullable, whole_nanoseconds};
use super::terms::{Directions, Omit, Pacing, PlannedFlow, Rate, TestEnd, Transport};
use super::ticks::Ticks;
use crate::marks::Ecn;
use crate::text::ExternalText;
use crate::units::{ByteCount, format_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The part of a bulk transfer's plan that TCP and UDP share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkPlan {
    /// The directions measured.
    pub directions: Directions,
    /// Flows in each direction.
    pub parallel: u32,
    /// The condition that ends the test.
    pub end: TestEnd,
    /// The reporting interval.
    pub interval: Duration,
    /// The warm-up excluded from the summary.
    pub omit: Omit,
    /// The rate asked of each flow.
    pub rate: Rate,
    /// Payload bytes of one send (TCP) or of a datagram (UDP).
    pub length: u32,
    /// Socket buffers asked for; `None` leaves them to the kernel (TCP) or to caudal (UDP).
    pub window: Option<ByteCount>,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
    /// `true` when both ends are one machine, so that the receiver may hold the sender back.
    pub same_machine: bool,
}

impl BulkPlan {
    /// The transfer in a few words, as its server tells it.
    pub(super) fn at_server(&self) -> String {
        let directions = match self.directions {
            Directions::Up => "upload",
            Directions::Down => "download",
            Directions::Both => "both directions",
        };
        let end = match self.end {
            TestEnd::Time(time) => format_duration(time),
            TestEnd::Bytes(bytes) => bytes.to_string(),
        };
        format!("{directions}, {} flow(s), {end}", self.parallel)
    }

    /// The flows of this plan: all of the first direction, then all of the second.
    pub fn flows(&self) -> impl Iterator<Item = PlannedFlow> + '_ {
        self.directions
            .each()
            .iter()
            .flat_map(move |direction| (0..self.parallel).map(move |_| *direction))
            .zip(0..)
            .map(|(direction, id)| PlannedFlow { id, direction })
    }

    /// The duration of the measured part, without the warm-up; `None` when the test ends by bytes.
    #[must_use]
    pub const fn duration(&self) -> Option<Duration> {
        match self.end {
            TestEnd::Time(time) => Some(time),
            TestEnd::Bytes(_) => None,
        }
    }

    /// The payload of each direction; `None` when the test ends by time.
    #[must_use]
    pub const fn bytes(&self) -> Option<ByteCount> {
        match self.end {
            TestEnd::Time(_) => None,
            TestEnd::Bytes(bytes) => Some(bytes),
        }
    }

    /// The warm-up known beforehand: zero where it is found afterwards.
    #[must_use]
    pub const fn omitted(&self) -> Duration {
        match self.omit {
            Omit::Time(omitted) => omitted,
            Omit::Nothing | Omit::Auto => Duration::ZERO,
        }
    }

    /// The times at which the flows' counters are read.
    #[must_use]
    pub fn ticks(&self) -> Ticks {
        let omit = self.omitted();
        Ticks::new(self.interval, omit, self.duration().map(|time| omit + time))
    }

    /// Checks every number against its range, the length apart.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let directions = self.directions.each().len() as u32;
        check_range(
            Quantity::ParallelFlows,
            &self.parallel,
            &1,
            &(MAX_FLOWS / directions),
        )?;
        check_interval(self.interval)?;
        if let TestEnd::Time(time) = self.end {
            self.check_time(time)?;
        }
        if self.end == TestEnd::Bytes(ByteCount::new(0)) {
            return Err(PlanError {
                quantity: Quantity::Bytes,
                value: "0".to_owned(),
                allowed: "it must be at least 1".to_owned(),
            });
        }
        if let Rate::Limit(rate) = self.rate {
            check_range(Quantity::Rate, &rate.bps(), &1_000, &10_000_000_000_000)?;
        }
        check_socket_settings(self.dscp, self.window)
    }

    fn check_time(&self, time: Duration) -> Result<(), PlanError> {
        let max_s = MAX_DURATION.as_secs_f64();
        check_range(Quantity::Duration, &time.as_secs_f64(), &0.01, &max_s)?;
        let omitted = self.omitted();
        check_range(Quantity::WarmUp, &omitted.as_secs_f64(), &0.0, &max_s)?;
        let intervals = (time + omitted).as_nanos() / self.interval.as_nanos().max(1);
        if intervals > u128::from(MAX_INTERVALS) {
            return Err(PlanError {
                quantity: Quantity::Interval,
                value: format_duration(self.interval),
                allowed: format!("a test reports at most {MAX_INTERVALS} intervals"),
            });
        }
        Ok(())
    }
}

/// Checks a reporting interval.
pub(super) fn check_interval(interval: Duration) -> Result<(), PlanError> {
    if interval >= MIN_INTERVAL && interval <= MAX_DURATION {
        return Ok(());
    }
    Err(PlanError {
        quantity: Quantity::Interval,
        value: format_duration(interval),
        allowed: format!(
            "it must lie between {} and {} days",
            format_duration(MIN_INTERVAL),
            MAX_DURATION.as_secs() / 86_400
        ),
    })
}

/// Checks the settings every socket may have.
pub(super) fn check_socket_settings(
    dscp: Option<u8>,
    window: Option<ByteCount>,
) -> Result<(), PlanError> {
    if let Some(dscp) = dscp {
        check_range(Quantity::Dscp, &dscp, &0, &63)?;
    }
    if let Some(window) = window {
        check_range(Quantity::Window, &window.get(), &1, &(1 << 30))?;
    }
    Ok(())
}

/// Checks that a congestion control has a name the kernel could have.
pub(super) fn check_congestion(name: Option<&str>) -> Result<(), PlanError> {
    let is_name = |name: &str| {
        (1..=15).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    match name {
        Some(name) if !is_name(name) => Err(PlanError {
            quantity: Quantity::Congestion,
            value: format!("{:?}", name.chars().take(32).collect::<String>()),
            allowed: "it must be a name of at most 15 letters, such as cubic".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The plan of a bulk transfer as documents and messages carry it, as far as it is known: one of either transport has the keys
/// of both, those of the other unset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkPlanRecord {
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The directions measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<Directions>,
    /// Flows in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The condition that ends the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TestEnd>,
    /// The reporting interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The warm-up excluded from the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omit: Option<Omit>,
    /// The rate asked of each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Payload bytes of one send (TCP) or of a datagram (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Socket buffers asked for, bytes; null leaves them to the kernel (TCP) or to caudal (UDP).
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub window: Option<Option<ByteCount>>,
    /// The maximum segment size asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub mss: Option<Option<u32>>,
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
    /// `true` when flows are opened as Multipath TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<bool>,
    /// `true` when the receiver drops payload inside the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// `true` when the sender hands over pages instead of copying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<bool>,
    /// Whether connections ask for ECN; absent where that was left to the client's kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_ecn: Option<bool>,
    /// `true` when the receiver compares every payload byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
    /// The way UDP senders with a rate wait for the next departure; absent in a plan of a version that was always precise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The ECN field that datagrams are sent with; absent where it is that of a transport that is not ECN-capable.
    #[serde(default, skip_serializing_if = "Ecn::is_not_ect")]
    pub ecn: Ecn,
    /// `true` when both ends are one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<bool>,
}

impl PlanKeys for BulkPlanRecord {
    fn peer(&self) -> Option<&ExternalText> {
        self.peer.as_ref()
    }

    fn set_peer(&mut self, address: ExternalText) {
        self.peer = Some(address);
    }

    fn transport(&self) -> Option<Transport> {
        self.transport
    }

    fn directions(&self) -> Option<Directions> {
        self.directions
    }

    fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

impl From<&BulkPlan> for BulkPlanRecord {
    /// The keys that both transports have; those of one alone are unset.
    fn from(plan: &BulkPlan) -> Self {
        Self {
            directions: Some(plan.directions),
            parallel: Some(plan.parallel),
            end: Some(plan.end),
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            omit: Some(plan.omit),
            rate: Some(plan.rate),
            length: Some(u64::from(plan.length)),
            window: Some(plan.window),
            mss: Some(None),
            congestion: Some(None),
            no_delay: Some(false),
            dscp: Some(plan.dscp),
            mptcp: Some(false),
            discard: Some(false),
            zero_copy: Some(false),
            verify: Some(false),
            same_machine: Some(plan.same_machine),
            ..Self::default()
        }
    }
}

impl TryFrom<&BulkPlanRecord> for BulkPlan {
    type Error = RecordError;

    fn try_from(record: &BulkPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            directions: known(record.directions, "directions")?,
            parallel: known(record.parallel, "parallel")?,
            end: known(record.end, "end")?,
            interval: Duration::from_nanos(known(record.interval_ns, "interval_ns")?),
            omit: known(record.omit, "omit")?,
            rate: known(record.rate, "rate")?,
            length: u32::try_from(known(record.length, "length")?)
                .map_err(|_| RecordError::OutOfRange("length"))?,
            window: record.window.flatten(),
            dscp: record.dscp.flatten(),
            same_machine: known(record.same_machine, "same_machine")?,
        })
    }
}
