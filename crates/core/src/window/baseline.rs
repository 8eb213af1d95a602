//! The baseline round-trip time of a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a baseline round-trip time was measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineSource {
    /// Exchanges over the idle control connection before the test.
    Idle,
    /// The minimum that the sender's TCP has seen (`tcpi_min_rtt`).
    Tcp,
    /// The messages of a round-trip test.
    Messages,
    /// The handshake of the control connection.
    Handshake,
}

impl fmt::Display for BaselineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "the idle control connection",
            Self::Tcp => "TCP's minimum",
            Self::Messages => "the fastest message",
            Self::Handshake => "the handshake",
        })
    }
}

/// The baseline round-trip time of a path: the lowest one seen, which is that without queues (RFC 6349 section 3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaselineRtt {
    /// The time, above zero.
    pub rtt: Duration,
    /// What it was measured with.
    pub source: BaselineSource,
}

impl BaselineRtt {
    /// The lowest of several round-trip times in µs; of a handshake, which contains the lookup of routes and neighbours, only where
    /// there is no other. `None` without one above zero.
    #[must_use]
    pub fn lowest(times_us: &[(BaselineSource, Option<f64>)]) -> Option<Self> {
        let known = times_us.iter().filter_map(|(source, us)| {
            let rtt = Duration::try_from_secs_f64((*us)? / 1e6).ok()?;
            (!rtt.is_zero()).then_some(Self {
                rtt,
                source: *source,
            })
        });
        known.min_by_key(|one| (one.source == BaselineSource::Handshake, one.rtt))
    }

    /// The time, µs.
    #[must_use]
    pub fn as_us(&self) -> f64 {
        self.rtt.as_secs_f64() * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_time_is_the_baseline_and_a_handshake_only_where_there_is_no_other() {
        use BaselineSource::{Handshake, Idle, Tcp};
        let lowest = |idle, tcp, handshake| {
            let times = [(Idle, idle), (Tcp, tcp), (Handshake, handshake)];
            BaselineRtt::lowest(&times).map(|one| (one.source, one.rtt.as_micros()))
        };
        assert_eq!(
            lowest(Some(50_100.0), Some(50_050.0), Some(50_000.0)),
            Some((Tcp, 50_050))
        );
        assert_eq!(lowest(Some(10.0), None, None), Some((Idle, 10)));
        assert_eq!(lowest(None, None, Some(7.0)), Some((Handshake, 7)));
        for useless in [
            None,
            Some(0.0),
            Some(-1.0),
            Some(f64::NAN),
            Some(f64::INFINITY),
        ] {
            assert_eq!(lowest(useless, useless, useless), None);
        }
    }
}
