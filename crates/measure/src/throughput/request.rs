//! What is sent in a bulk transfer, and how often.

use crate::error::MeasureError;
use crate::path_mtu::{SMALL_DATAGRAM, fitting_payload};
use crate::test_peer::TestPeer;
use caudal_core::plan::{BulkPlan, MAX_DATAGRAM, MIN_DATAGRAM, Plan, TcpPlan, UdpPlan};
use caudal_engine::Protocol;
use caudal_engine::peer::PeerInfo;
use caudal_stats::StopRule;

/// Maximum number of runs until a precision, unless a request raises it.
pub const MAX_RUNS: u32 = 100;
/// Minimum number of runs until a precision: with fewer a run of luck ends the test too early, and the interval holds the
/// truth less often than it says (docs/statistics.md).
const MIN_RUNS: u64 = 10;
/// The path MTU where the kernel knows none, bytes.
const MTU: u32 = 1500;
/// Largest datagram size a server of iperf 2 reads by default, bytes: the rest of longer ones would be lost.
const IPERF2_DATAGRAM: u32 = 1470;

/// A bulk transfer that is asked for.
#[derive(Debug, Clone)]
pub enum BulkRequest {
    /// Over TCP.
    Tcp(TcpPlan),
    /// Over UDP.
    Udp(UdpRequest),
}

/// A bulk transfer over UDP that is asked for.
#[derive(Debug, Clone)]
pub struct UdpRequest {
    /// The plan, whose length is replaced where it is to fit the path.
    pub plan: UdpPlan,
    /// The length of its datagrams.
    pub length: DatagramLength,
}

/// The length of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramLength {
    /// That of the plan.
    OfPlan,
    /// As long as the path carries them whole; over loopback one that fits a network too.
    FitsPath,
}

impl BulkRequest {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> Plan {
        match self {
            Self::Tcp(plan) => Plan::Tcp(plan.clone()),
            Self::Udp(request) => Plan::Udp(request.plan.clone()),
        }
    }

    pub(super) const fn bulk_mut(&mut self) -> &mut BulkPlan {
        match self {
            Self::Tcp(plan) => &mut plan.bulk,
            Self::Udp(request) => &mut request.plan.bulk,
        }
    }
}

impl UdpRequest {
    /// Measures the path MTU where the datagrams may not fit, and makes them fit where that is asked for.
    ///
    /// # Errors
    /// When the peer is lost, or the user interrupts.
    pub(super) fn fit(&mut self, peer: &mut TestPeer) -> Result<(), MeasureError> {
        let fits_path = self.length == DatagramLength::FitsPath;
        if fits_path || self.plan.bulk.length > SMALL_DATAGRAM {
            peer.probe_path_mtu()?;
        }
        if fits_path {
            self.plan.bulk.length = fitting_length(peer.info());
        }
        Ok(())
    }
}

/// The datagram that fills the path, bytes; over loopback one that fits a network too.
fn fitting_length(peer: &PeerInfo) -> u32 {
    let headers = 8 + peer.ip_version().header_bytes() as u32;
    let usual = MTU.saturating_sub(headers);
    let fits = fitting_payload(peer).unwrap_or(usual);
    let length = if peer.is_loopback() {
        fits.min(usual)
    } else {
        fits
    };
    let max = match peer.protocol {
        Protocol::Iperf2 => IPERF2_DATAGRAM,
        _ => MAX_DATAGRAM,
    };
    length.clamp(MIN_DATAGRAM, max)
}

/// How often a test is carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repetitions {
    /// So many times.
    Count(u32),
    /// Until half the width of the mean's interval is at most this part of it.
    UntilPrecise {
        /// That part.
        relative_error: f64,
        /// Maximum number of runs.
        max: u32,
    },
}

impl Repetitions {
    /// Maximum number of runs.
    #[must_use]
    pub const fn max(self) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::UntilPrecise { max, .. } => max,
        }
    }

    /// The rule that ends runs before their maximum, with intervals at `confidence`.
    pub(super) fn rule(self, confidence: f64) -> Option<StopRule> {
        match self {
            Self::Count(_) => None,
            Self::UntilPrecise {
                relative_error,
                max,
            } => Some(StopRule {
                relative_error,
                confidence,
                min: MIN_RUNS.min(u64::from(max)),
                max: u64::from(max),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_until_a_precision_are_ten_at_least_unless_fewer_are_allowed() {
        let until = |max| Repetitions::UntilPrecise {
            relative_error: 0.05,
            max,
        };
        let rule = |repetitions: Repetitions| {
            let rule = repetitions.rule(0.95)?;
            Some((rule.min, rule.max))
        };
        assert_eq!(rule(until(MAX_RUNS)), Some((10, 100)));
        assert_eq!(rule(until(4)), Some((4, 4)));
        assert_eq!(rule(Repetitions::Count(4)), None);
        assert_eq!((until(7).max(), Repetitions::Count(3).max()), (7, 3));
    }
}
