//! The probes beside a load, and the summary of each.

use caudal_stats::{Estimate, nearest_rank, supported_quantile, wilson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request on a new connection beside a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectProbe {
    /// The time at which the connection was begun, ns after the start of the phase.
    pub at_ns: u64,
    /// The time the TCP handshake took, ns; `None` when it was not completed in time.
    pub connect_ns: Option<u64>,
    /// The time from the request to the whole answer, ns; `None` when it did not come in time.
    pub answer_ns: Option<u64>,
}

/// What a probe sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// UDP echo on a schedule.
    Udp,
    /// TCP echo on a schedule, on a connection of its own.
    Tcp,
    /// The handshake of a new TCP connection.
    Handshake,
    /// A request on a new TCP connection, and its answer.
    Request,
    /// ICMP echo, in logs of other tools.
    Icmp,
    /// Pings on a WebSocket of their own, which a browser answers.
    WebSocket,
    /// None of its own: the round-trip times that the senders' kernels measured on the loaded connections.
    Loaded,
}

impl ProbeKind {
    /// The name people are shown.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Udp => "UDP echo",
            Self::Tcp => "TCP echo",
            Self::Handshake => "TCP handshake",
            Self::Request => "new request",
            Self::Icmp => "ICMP echo",
            Self::WebSocket => "WebSocket ping",
            Self::Loaded => "loaded flows",
        }
    }
}

/// The round trips of one probe over the measured part of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeSummary {
    /// The probe.
    pub probe: ProbeKind,
    /// Round trips begun; of the loaded flows, readings of their kernels.
    pub sent: u64,
    /// Of these, round trips that were not completed in time.
    pub lost: u64,
    /// Of these, those that this host's own kernel refused to send; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// The fraction lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// The minimum round-trip time, µs.
    pub min_us: f64,
    /// The mean, µs.
    pub mean_us: f64,
    /// The median, µs.
    pub p50_us: f64,
    /// The 95th percentile, µs; absent below 59 round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The 99th percentile, µs; absent below 299 round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The maximum, µs.
    pub max_us: f64,
}

impl ProbeSummary {
    /// The summary of these round trips in µs, where one that was lost is `None`; `None` when none was completed.
    #[must_use]
    pub fn of_trips(probe: ProbeKind, trips: &[Option<f64>], confidence: f64) -> Option<Self> {
        let mut sorted: Vec<f64> = trips.iter().copied().flatten().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (sent, n) = (trips.len() as u64, sorted.len() as u64);
        Some(Self {
            probe,
            sent,
            lost: sent - n,
            refused: None,
            loss: wilson(sent - n, sent, confidence),
            min_us: *sorted.first()?,
            mean_us: sorted.iter().sum::<f64>() / n as f64,
            p50_us: nearest_rank(&sorted, 0.5)?,
            p95_us: supported_quantile(&sorted, 0.95),
            p99_us: supported_quantile(&sorted, 0.99),
            max_us: *sorted.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_round_trips_and_losses_are_counted_apart() {
        let trips: Vec<Option<f64>> = (1..=100)
            .map(|nth| (nth % 10 != 0).then_some(f64::from(nth)))
            .collect();
        let summary = ProbeSummary::of_trips(ProbeKind::Udp, &trips, 0.95).unwrap();
        assert_eq!((summary.sent, summary.lost), (100, 10));
        assert_eq!((summary.min_us, summary.max_us), (1.0, 99.0));
        assert_eq!(
            (summary.p50_us, summary.p95_us, summary.p99_us),
            (49.0, Some(95.0), None)
        );
        assert_eq!(ProbeSummary::of_trips(ProbeKind::Udp, &[None], 0.95), None);
    }
}
