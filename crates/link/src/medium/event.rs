//! Events on a medium.

/// An event at a station.
///
/// Simultaneous events are processed in the order of the variants: ends before starts, and carriers last, because stations
/// that start to send at the same time do not sense each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MediumEvent {
    /// The station's transmission or jam ends; `serial` is that of the transmission.
    SendEnd { station: usize, serial: u64 },
    /// A signal of another station ends here.
    CarrierOff { station: usize, signal: usize },
    /// The interframe gap ends; `serial` is that of the gap.
    GapEnd { station: usize, serial: u64 },
    /// The backoff after a collision ends.
    BackoffEnd { station: usize },
    /// The station is ready for its next frame.
    Ready { station: usize },
    /// A signal of another station begins here.
    CarrierOn { station: usize, signal: usize },
}
