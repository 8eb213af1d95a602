//! The error of this host's clock, as timestamps tell it.

use caudal_sys::clock::{clock_discipline, monotonic_ns};
use caudal_wire::stamp::{ErrorEstimate, TimeSource, TimestampFormat};

/// The time for which a reading of the error counts, ns: the kernel lets it grow by 0.5 ms a second.
const READING_NS: u64 = 1_000_000_000;
/// The error of a clock of which the kernel tells nothing, ns: that of one that nothing synchronizes.
const UNKNOWN_ERROR_NS: u64 = 16_000_000_000;

/// This host's clock.
#[derive(Debug, Clone, Copy)]
pub struct OwnClock {
    estimate: ErrorEstimate,
    read_ns: u64,
}

impl OwnClock {
    /// The clock as it is now.
    #[must_use]
    pub fn read() -> Self {
        let discipline = clock_discipline();
        Self {
            estimate: ErrorEstimate {
                is_synchronized: discipline.is_some_and(|clock| clock.is_synchronized),
                format: TimestampFormat::Ntp,
                error_ns: discipline.map_or(UNKNOWN_ERROR_NS, |clock| clock.max_error_ns),
            },
            read_ns: monotonic_ns(),
        }
    }

    /// The error estimate, at most a second old.
    pub fn estimate(&mut self) -> ErrorEstimate {
        if monotonic_ns().saturating_sub(self.read_ns) > READING_NS {
            *self = Self::read();
        }
        self.estimate
    }

    /// What synchronizes it, as far as that is known: the kernel does not tell NTP from PTP.
    #[must_use]
    pub const fn source(&self) -> TimeSource {
        match self.estimate.is_synchronized {
            true => TimeSource::Ntp,
            false => TimeSource::FreeRunning,
        }
    }
}
