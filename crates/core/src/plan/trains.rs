//! Trains of UDP datagrams: sent back to back or at a spacing, each end telling when they left or arrived.

use super::bulk::check_socket_settings;
use super::error::{PlanError, Quantity, check_range};
use super::limits::MIN_DATAGRAM;
use super::record_keys::{PlanKeys, RecordError, nullable};
use super::terms::{Direction, PlannedFlow, Transport};
use super::workload_plan::WorkloadPlan;
use crate::text::ExternalText;
use crate::units::{BitRate, ByteCount};
use caudal_stats::random::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Largest datagram of a train, bytes of payload: that of a jumbo frame.
pub const MAX_TRAIN_DATAGRAM: u32 = 9_188;
/// Maximum number of datagrams of a series, over all its trains.
pub const MAX_SERIES_DATAGRAMS: u64 = 200_000;
/// Maximum number of datagrams of a series whose times are reported.
pub const MAX_TIMED_DATAGRAMS: u64 = 20_000;
/// Maximum time between two datagrams of a train.
const MAX_GAP_NS: u64 = 10_000_000_000;
/// Maximum time between the beginnings of two trains.
const MAX_PERIOD_NS: u64 = 60_000_000_000;
/// Maximum duration of a series.
const MAX_SERIES: Duration = Duration::from_secs(600);

/// The payload that a train may carry faster than a server's rate: 64 KiB, or a tenth of a second's worth of it.
#[must_use]
pub fn train_burst(max: BitRate) -> ByteCount {
    ByteCount::new((max.bps() / 80).max(64 << 10))
}

/// The times at which the datagrams of a train leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainSpacing {
    /// As soon as the one before has left.
    BackToBack,
    /// At a constant rate.
    Constant {
        /// The time from one to the next, ns.
        gap_ns: u64,
    },
    /// At random: exponential gaps, so that they keep no step with other traffic (RFC 2330 section 11.1.1).
    Poisson {
        /// The mean time from one to the next, ns.
        gap_ns: u64,
        /// The seed of the gaps.
        seed: u64,
    },
}

impl TrainSpacing {
    /// The mean time from one datagram to the next, ns; 0 back to back.
    #[must_use]
    pub const fn mean_gap_ns(self) -> u64 {
        match self {
            Self::BackToBack => 0,
            Self::Constant { gap_ns } | Self::Poisson { gap_ns, .. } => gap_ns,
        }
    }
}

/// The trains of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrainSeries {
    /// The number of trains.
    pub trains: u32,
    /// Datagrams in each.
    pub datagrams: u32,
    /// Bytes of payload in each datagram.
    pub length: u32,
    /// The times at which the datagrams of a train leave.
    pub spacing: TrainSpacing,
    /// The time from the beginning of one train to that of the next, ns; a train that is longer is followed at once.
    pub period_ns: u64,
    /// `true` when both ends report the time of each datagram, `false` for counts alone.
    pub timed: bool,
}

impl TrainSeries {
    /// The datagrams of all trains.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.trains as u64 * self.datagrams as u64
    }

    /// The payload of all trains.
    #[must_use]
    pub fn payload(&self) -> ByteCount {
        ByteCount::new(self.total().saturating_mul(u64::from(self.length)))
    }

    /// The time from the first datagram of a train to the last as it is planned, on average, ns.
    #[must_use]
    pub const fn train_ns(&self) -> u64 {
        self.spacing
            .mean_gap_ns()
            .saturating_mul((self.datagrams as u64).saturating_sub(1))
    }

    /// The time from the first datagram to the last as it is planned, on average.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let step_ns = self.period_ns.max(self.train_ns());
        let before_last_ns = step_ns.saturating_mul(u64::from(self.trains.saturating_sub(1)));
        Duration::from_nanos(before_last_ns.saturating_add(self.train_ns()))
    }

    /// The payload rate of a train as it is planned; `None` back to back.
    #[must_use]
    pub fn train_rate(&self) -> Option<BitRate> {
        let gap_ns = self.spacing.mean_gap_ns();
        (gap_ns > 0)
            .then(|| BitRate::from_f64(f64::from(self.length) * 8e9 / gap_ns as f64))
            .flatten()
    }

    /// The payload rate over trains and the time between them; `None` for a single train.
    #[must_use]
    pub fn mean_rate(&self) -> Option<BitRate> {
        let step_ns = self.period_ns.max(self.train_ns());
        let bits = f64::from(self.datagrams) * f64::from(self.length) * 8.0;
        (self.trains > 1 && step_ns > 0)
            .then(|| BitRate::from_f64(bits * 1e9 / step_ns as f64))
            .flatten()
    }

    /// The times at which the datagrams leave, ns after the beginning of the series, in order.
    pub fn departures_ns(&self) -> impl Iterator<Item = u64> + use<> {
        let series = *self;
        let mut gaps = match series.spacing {
            TrainSpacing::Poisson { seed, .. } => SplitMix64::new(seed),
            _ => SplitMix64::new(0),
        };
        let (mut begin_ns, mut at_ns) = (0_u64, 0_u64);
        (0..series.total()).map(move |number| {
            let within = number % u64::from(series.datagrams.max(1));
            if number > 0 && within == 0 {
                begin_ns = begin_ns.saturating_add(series.period_ns).max(at_ns);
                at_ns = begin_ns;
            } else if within > 0 {
                at_ns = at_ns.saturating_add(series.gap_ns(&mut gaps));
            }
            at_ns
        })
    }

    fn gap_ns(&self, gaps: &mut SplitMix64) -> u64 {
        match self.spacing {
            TrainSpacing::BackToBack => 0,
            TrainSpacing::Constant { gap_ns } => gap_ns,
            TrainSpacing::Poisson { gap_ns, .. } => {
                // Uniform in (0, 1]: 53 bits and one step.
                let uniform = ((gaps.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                (-uniform.ln() * gap_ns as f64) as u64
            }
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        check_range(Quantity::Trains, &self.trains, &1, &10_000)?;
        check_range(Quantity::TrainDatagrams, &self.datagrams, &1, &200_000)?;
        let max = if self.timed {
            MAX_TIMED_DATAGRAMS
        } else {
            MAX_SERIES_DATAGRAMS
        };
        check_range(Quantity::SeriesDatagrams, &self.total(), &1, &max)?;
        check_range(
            Quantity::Length,
            &self.length,
            &MIN_DATAGRAM,
            &MAX_TRAIN_DATAGRAM,
        )?;
        let gap_ns = self.spacing.mean_gap_ns();
        check_range(Quantity::DatagramGap, &gap_ns, &0, &MAX_GAP_NS)?;
        check_range(Quantity::Period, &self.period_ns, &0, &MAX_PERIOD_NS)?;
        check_range(
            Quantity::Duration,
            &self.duration().as_secs_f64(),
            &0.0,
            &MAX_SERIES.as_secs_f64(),
        )
    }
}

/// The trains of each direction, as documents and messages write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrains {
    /// Those from the client to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<TrainSeries>,
    /// Those from the server to the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<TrainSeries>,
}

/// Trains of UDP datagrams in one direction, or in both at once, over one pair of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainsPlan {
    /// The trains of each direction.
    pub series: PlannedTrains,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
}

impl TrainsPlan {
    /// The trains of a direction.
    #[must_use]
    pub const fn series(&self, direction: Direction) -> Option<TrainSeries> {
        match direction {
            Direction::Up => self.series.up,
            Direction::Down => self.series.down,
        }
    }

    /// The only flow, which carries both directions.
    #[must_use]
    pub const fn flow(&self) -> PlannedFlow {
        PlannedFlow {
            id: 0,
            direction: Direction::Up,
        }
    }

    /// The time that the longer direction takes as it is planned.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let each = [self.series.up, self.series.down];
        let longest = each.iter().flatten().map(TrainSeries::duration).max();
        longest.unwrap_or_default()
    }

    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        let each = [self.series.up, self.series.down];
        let count = each.iter().flatten().count();
        check_range(Quantity::Trains, &count, &1, &2)?;
        for series in each.iter().flatten() {
            series.check()?;
        }
        check_socket_settings(self.dscp, None)
    }
}

impl WorkloadPlan for TrainsPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        Transport::Udp
    }

    fn workload_name(&self) -> &'static str {
        "trains of datagrams"
    }

    fn at_server(&self) -> String {
        let each = [("received", self.series.up), ("sent", self.series.down)];
        let texts = each.iter().filter_map(|(action, series)| {
            let series = (*series)?;
            let rate = series
                .train_rate()
                .map_or_else(|| "back to back".to_owned(), |rate| format!("at {rate}"));
            Some(format!(
                "{} train(s) of {} datagrams of {} B {rate} {action}",
                series.trains, series.datagrams, series.length
            ))
        });
        texts.collect::<Vec<String>>().join(", ")
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        vec![self.flow()]
    }
}

/// The plan of the probing of a path as documents carry it, or of its trains of datagrams as messages do, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathPlanRecord {
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The DSCP asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub dscp: Option<Option<u8>>,
    /// The largest TTL of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ttl: Option<u8>,
    /// Trains of datagrams, by their direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trains: Option<PlannedTrains>,
}

impl PlanKeys for PathPlanRecord {
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

impl From<&TrainsPlan> for PathPlanRecord {
    fn from(plan: &TrainsPlan) -> Self {
        Self {
            transport: Some(Transport::Udp),
            dscp: Some(plan.dscp),
            trains: Some(plan.series),
            ..Self::default()
        }
    }
}

impl TryFrom<&PathPlanRecord> for TrainsPlan {
    type Error = RecordError;

    fn try_from(record: &PathPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            series: record.trains.ok_or(RecordError::OneEnded)?,
            dscp: record.dscp.flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(spacing: TrainSpacing) -> TrainSeries {
        TrainSeries {
            trains: 3,
            datagrams: 4,
            length: 1472,
            spacing,
            period_ns: 20_000_000,
            timed: true,
        }
    }

    fn plan(series: TrainSeries) -> TrainsPlan {
        TrainsPlan {
            series: PlannedTrains {
                up: Some(series),
                down: None,
            },
            dscp: None,
        }
    }

    #[test]
    fn datagrams_leave_at_their_gaps_and_trains_at_their_period() {
        let constant = series(TrainSpacing::Constant { gap_ns: 1_000_000 });
        let at: Vec<u64> = constant.departures_ns().map(|ns| ns / 1_000_000).collect();
        assert_eq!(at, [0, 1, 2, 3, 20, 21, 22, 23, 40, 41, 42, 43]);
        assert_eq!(constant.duration(), Duration::from_millis(43));
        let at_once = series(TrainSpacing::BackToBack);
        let at: Vec<u64> = at_once.departures_ns().map(|ns| ns / 1_000_000).collect();
        assert_eq!(at, [0, 0, 0, 0, 20, 20, 20, 20, 40, 40, 40, 40]);
    }

    #[test]
    fn a_train_longer_than_the_period_is_followed_at_once() {
        let long = TrainSeries {
            period_ns: 1_000_000,
            ..series(TrainSpacing::Constant { gap_ns: 1_000_000 })
        };
        let at: Vec<u64> = long.departures_ns().map(|ns| ns / 1_000_000).collect();
        assert_eq!(at, [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9]);
    }

    #[test]
    fn random_gaps_have_their_mean_and_are_those_of_their_seed() {
        let poisson = |seed| TrainSeries {
            trains: 1,
            datagrams: 20_000,
            ..series(TrainSpacing::Poisson {
                gap_ns: 1_000_000,
                seed,
            })
        };
        let at: Vec<u64> = poisson(7).departures_ns().collect();
        assert!(at.is_sorted());
        let mean_ns = at[at.len() - 1] as f64 / (at.len() - 1) as f64;
        assert!((0.97e6..1.03e6).contains(&mean_ns), "{mean_ns}");
        assert_eq!(at, poisson(7).departures_ns().collect::<Vec<_>>());
        assert_ne!(at, poisson(8).departures_ns().collect::<Vec<_>>());
    }

    #[test]
    fn rates_are_those_of_payload() {
        let constant = series(TrainSpacing::Constant { gap_ns: 1_177_600 });
        assert_eq!(
            constant.train_rate(),
            Some(BitRate::from_bps(10_000_000)),
            "1472 bytes every 1177.6 µs"
        );
        assert_eq!(
            constant.mean_rate(),
            Some(BitRate::from_bps(2_355_200)),
            "4 · 1472 bytes every 20 ms"
        );
        assert_eq!(series(TrainSpacing::BackToBack).train_rate(), None);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        type Change = fn(&mut TrainSeries);
        let changes: [(Change, Quantity); 7] = [
            (|series| series.trains = 0, Quantity::Trains),
            (|series| series.datagrams = 0, Quantity::TrainDatagrams),
            (
                |series| (series.trains, series.datagrams) = (10_000, 3),
                Quantity::SeriesDatagrams,
            ),
            (|series| series.length = 31, Quantity::Length),
            (|series| series.length = 9_189, Quantity::Length),
            (
                |series| series.spacing = TrainSpacing::Constant { gap_ns: u64::MAX },
                Quantity::DatagramGap,
            ),
            (|series| series.period_ns = u64::MAX, Quantity::Period),
        ];
        for (change, quantity) in changes {
            let mut series = series(TrainSpacing::BackToBack);
            change(&mut series);
            assert_eq!(plan(series).check().unwrap_err().quantity, quantity);
        }
        let nothing = TrainsPlan {
            series: PlannedTrains {
                up: None,
                down: None,
            },
            dscp: None,
        };
        assert_eq!(nothing.check().unwrap_err().quantity, Quantity::Trains);
        assert!(plan(series(TrainSpacing::BackToBack)).check().is_ok());
        let counted = TrainSeries {
            trains: 1,
            datagrams: 200_000,
            timed: false,
            ..series(TrainSpacing::Constant { gap_ns: 100_000 })
        };
        assert!(plan(counted).check().is_ok());
    }
}
