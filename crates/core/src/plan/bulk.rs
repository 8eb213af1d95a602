//! The settings bulk transfers have in common, whatever the transport.

use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DURATION, MAX_FLOWS, MAX_INTERVALS, MIN_INTERVAL};
use super::terms::{Directions, Omit, PlannedFlow, Rate, TestEnd};
use super::ticks::Ticks;
use crate::units::{ByteCount, format_duration};
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
    /// The flows of this plan: all of the first direction, then all of the second.
    pub fn flows(&self) -> impl Iterator<Item = PlannedFlow> + '_ {
        self.directions
            .each()
            .iter()
            .flat_map(move |direction| (0..self.parallel).map(move |_| *direction))
            .zip(0..)
            .map(|(direction, id)| PlannedFlow { id, direction })
    }

    /// The number of flows over all directions.
    #[must_use]
    pub const fn flow_count(&self) -> u32 {
        self.parallel * self.directions.each().len() as u32
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
