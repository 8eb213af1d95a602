//! What became of the interface that an end of a test used.

use super::episode::Episode;
use super::kind::EpisodeKind;
use serde::{Deserialize, Serialize};

/// What became of the interface that an end used, by the counters of its host; times are in s after the start of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InterfaceEvent {
    /// Its beginning.
    pub from_s: f64,
    /// Its end; absent where it lasted to the end of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// What it was.
    pub fault: InterfaceFault,
}

/// What an interface did not carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceFault {
    /// Anything: it was taken down.
    TakenDown,
    /// Anything: it had no carrier.
    NoCarrier,
    /// Anything: it was removed, as a device that is unplugged.
    Removed,
    /// Frames that were sent or received with errors, such as of their check sequence.
    Errors {
        /// Their number.
        frames: u64,
    },
    /// Frames that arrived when its ring had no buffer for them.
    NoBuffer {
        /// Their number.
        frames: u64,
    },
}

impl InterfaceFault {
    /// The number of frames it counts; 0 where it counts none.
    #[must_use]
    pub const fn frames(self) -> u64 {
        match self {
            Self::TakenDown | Self::NoCarrier | Self::Removed => 0,
            Self::Errors { frames } | Self::NoBuffer { frames } => frames,
        }
    }
}

impl InterfaceEvent {
    /// The episode of an end whose interface is called `interface`, such as "eth0 of this host".
    #[must_use]
    pub fn episode(&self, interface: &str) -> Episode {
        let (kind, evidence) = match self.fault {
            InterfaceFault::TakenDown => (
                EpisodeKind::InterfaceDown,
                format!("{interface} was taken down"),
            ),
            InterfaceFault::NoCarrier => (
                EpisodeKind::InterfaceDown,
                format!("{interface} had no carrier"),
            ),
            InterfaceFault::Removed => (
                EpisodeKind::InterfaceDown,
                format!("{interface} was removed"),
            ),
            InterfaceFault::Errors { frames } => (
                EpisodeKind::InterfaceErrors,
                format!("{interface} counted {frames} frames with errors, of all traffic"),
            ),
            InterfaceFault::NoBuffer { frames } => (
                EpisodeKind::InterfaceDrops,
                format!("{interface} had no buffer for {frames} frames, of all traffic"),
            ),
        };
        Episode {
            kind,
            from_s: self.from_s,
            to_s: self.to_s,
            direction: None,
            evidence,
        }
    }
}
