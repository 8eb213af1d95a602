//! The counts of numbered datagrams while they still arrive.

use serde::{Deserialize, Serialize};

/// The classification of one datagram when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Its number is at least the next expected one (RFC 4737 section 3.3).
    InOrder,
    /// A datagram with a larger number came before it.
    Reordered {
        /// Received datagrams since the first that overtook it, itself included (RFC 4737 section 4.2.2).
        extent: u64,
    },
    /// A datagram with this number was received already.
    Duplicate,
    /// It is more than the window behind the highest number, where its own already counts as missing.
    Late,
    /// Its number is implausible; it was ignored.
    Absurd,
}

/// The counters of a tracker while datagrams still arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunningCounts {
    /// Distinct datagrams that arrived within the window.
    pub received: u64,
    /// Datagrams whose number had been received already.
    pub duplicate: u64,
    /// Received datagrams that were overtaken by one with a larger number.
    pub reordered: u64,
    /// Datagrams that arrived more than the window behind the highest number; neither received nor lost.
    pub late: u64,
    /// Datagrams whose number is implausible.
    pub absurd: u64,
    /// The largest number received; `None` before the first.
    pub highest: Option<u64>,
}

impl RunningCounts {
    /// Numbers up to the highest that have not arrived: `highest + 1 - received - late`.
    ///
    /// It decreases when a reordered datagram fills its gap.
    #[must_use]
    pub fn lost_so_far(&self) -> u64 {
        let passed = self.highest.map_or(0, |highest| highest + 1);
        passed.saturating_sub(self.received + self.late)
    }
}
