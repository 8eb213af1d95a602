//! The states of BBR and their gains.

/// A state of BBR (section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BbrPhase {
    /// Doubles the rate every round trip until the path is full.
    Startup,
    /// Empties the queue that Startup left.
    Drain,
    /// `ProbeBW_DOWN`: slower than the bandwidth, to leave room.
    Down,
    /// `ProbeBW_CRUISE`: at the bandwidth.
    Cruise,
    /// `ProbeBW_REFILL`: a round trip that fills the path before it is probed.
    Refill,
    /// `ProbeBW_UP`: faster than the bandwidth, to find more.
    Up,
    /// Little in flight, to see the path's own round-trip time.
    ProbeRtt,
}

impl BbrPhase {
    /// The pacing rate, in percent of the bandwidth (section 5.6.1).
    pub fn pacing_percent(self) -> u64 {
        match self {
            Self::Startup => 277,
            Self::Drain => 50,
            Self::Down => 90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 100,
            Self::Up => 125,
        }
    }

    /// The window, in percent of the bandwidth-delay product (section 5.6.1).
    pub fn window_percent(self) -> u64 {
        match self {
            Self::Up => 225,
            Self::ProbeRtt => PROBE_RTT_WINDOW_PERCENT,
            _ => 200,
        }
    }

    /// Whether it is a part of the cycle of ProbeBW.
    pub fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it tries to use more than is known to be there.
    pub fn is_probing_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// The window in ProbeRTT, in percent of the bandwidth-delay product.
pub(super) const PROBE_RTT_WINDOW_PERCENT: u64 = 50;
