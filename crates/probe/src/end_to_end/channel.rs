//! What sends trains between the two ends of a path.

use caudal_core::interface::{InterfaceLink, LinkErrors};
use caudal_core::plan::{Direction, PlannedTrains};
use caudal_wire::trains::SeriesReadings;

/// Trains as both ends saw them.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainsReadings {
    /// Those from this end to the other; `None` where none were sent.
    pub up: Option<SeriesReadings>,
    /// Those from the other end to this.
    pub down: Option<SeriesReadings>,
    /// The link of this end, as its interface reports it.
    pub near: EndReading,
    /// That of the other end.
    pub far: EndReading,
}

/// The link of an end, and what its counters grew by meanwhile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EndReading {
    /// The link; `None` where it is not known.
    pub link: Option<InterfaceLink>,
    /// What the counters grew by; `None` where they are not known.
    pub growth: Option<LinkErrors>,
}

impl TrainsReadings {
    /// Those of a direction.
    #[must_use]
    pub const fn direction(&self, direction: Direction) -> Option<&SeriesReadings> {
        match direction {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }
}

/// What sends trains between the two ends of a path, always over the same pair of ports.
pub trait TrainChannel {
    /// Why trains could not be sent.
    type Error;

    /// Sends trains in each direction that has some, in both at once where both have.
    ///
    /// # Errors
    /// When the other end is lost, or refuses.
    fn run(&mut self, trains: &PlannedTrains) -> Result<TrainsReadings, Self::Error>;

    /// `true` when no more trains are to be sent.
    fn is_stopped(&self) -> bool {
        false
    }
}
