//! A test with STAMP: packets that a reflector sends back with its own times.

use super::bulk::{check_interval, check_socket_settings};
use super::error::{PlanError, Quantity, check_range};
use super::limits::MAX_DATAGRAM;
use super::record_keys::{PlanKeys, whole_nanoseconds};
use super::terms::Transport;
use crate::stamp::StampExtension;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Minimum payload of a packet, bytes: that of TWAMP-Light.
const MIN_LENGTH: u32 = 14;
/// Maximum number of packets: what is kept of each takes about 200 bytes.
pub const MAX_STAMP_PACKETS: u64 = 1_000_000;

/// A test with STAMP, with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampPlan {
    /// Packets.
    pub count: u64,
    /// The mean time between packets.
    pub period: Duration,
    /// `true` for exponential gaps (RFC 2330), `false` for fixed ones (RFC 3432).
    pub poisson: bool,
    /// Payload bytes of a packet.
    pub length: u32,
    /// The time allowed for a reply before it counts as lost.
    pub timeout: Duration,
    /// The interval of the rows.
    pub interval: Duration,
    /// The DSCP to send with, and to ask replies to have.
    pub dscp: Option<u8>,
    /// The extensions to ask for, in the order of their kinds.
    pub extensions: Vec<StampExtension>,
    /// `true` where both ends authenticate packets with a key.
    pub is_authenticated: bool,
}

impl StampPlan {
    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        check_range(Quantity::Messages, &self.count, &1, &MAX_STAMP_PACKETS)?;
        check_range(Quantity::Length, &self.length, &MIN_LENGTH, &MAX_DATAGRAM)?;
        let timeout_s = self.timeout.as_secs_f64();
        check_range(Quantity::ReplyTimeout, &timeout_s, &0.001, &600.0)?;
        check_range(
            Quantity::Period,
            &self.period.as_secs_f64(),
            &0.000_01,
            &3600.0,
        )?;
        check_interval(self.interval)?;
        check_socket_settings(self.dscp, None)
    }
}

/// The plan of a test with STAMP, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampPlanRecord {
    /// The reflector's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// Packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The mean time between packets, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// `true` for exponential gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poisson: Option<bool>,
    /// The seed of exponential gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Payload bytes of a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// The time allowed for a reply, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// The interval of the rows, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The DSCP asked for; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// The extensions asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<StampExtension>>,
    /// `true` where packets are authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_authenticated: Option<bool>,
}

impl PlanKeys for StampPlanRecord {
    fn peer(&self) -> Option<&ExternalText> {
        self.peer.as_ref()
    }

    fn set_peer(&mut self, address: ExternalText) {
        self.peer = Some(address);
    }

    fn transport(&self) -> Option<Transport> {
        Some(Transport::Udp)
    }
}

impl From<&StampPlan> for StampPlanRecord {
    fn from(plan: &StampPlan) -> Self {
        Self {
            peer: None,
            count: Some(plan.count),
            period_ns: Some(whole_nanoseconds(plan.period)),
            poisson: Some(plan.poisson),
            seed: None,
            length: Some(plan.length),
            timeout_ns: Some(whole_nanoseconds(plan.timeout)),
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            dscp: plan.dscp,
            extensions: Some(plan.extensions.clone()),
            is_authenticated: Some(plan.is_authenticated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_named() {
        let plan = StampPlan {
            count: 1000,
            period: Duration::from_millis(10),
            poisson: false,
            length: 44,
            timeout: Duration::from_secs(1),
            interval: Duration::from_secs(1),
            dscp: None,
            extensions: vec![StampExtension::DirectMeasurement],
            is_authenticated: false,
        };
        assert!(plan.check().is_ok());
        type Change = fn(&mut StampPlan);
        let changes: [(Change, Quantity); 6] = [
            (|plan| plan.count = 0, Quantity::Messages),
            (|plan| plan.length = 13, Quantity::Length),
            (|plan| plan.length = 65_508, Quantity::Length),
            (|plan| plan.timeout = Duration::ZERO, Quantity::ReplyTimeout),
            (|plan| plan.period = Duration::ZERO, Quantity::Period),
            (|plan| plan.dscp = Some(64), Quantity::Dscp),
        ];
        for (change, quantity) in changes {
            let mut plan = plan.clone();
            change(&mut plan);
            assert_eq!(plan.check().unwrap_err().quantity, quantity);
        }
    }
}
