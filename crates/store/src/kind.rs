//! The kinds of runs.

use std::fmt;
use std::str::FromStr;

use caudal_core::plan::PlanKind;
use caudal_core::run::Run;

/// The kind of a run; that of an imported run is what its tool measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunKind {
    /// A bulk transfer over TCP.
    Tcp,
    /// A bulk transfer over UDP.
    Udp,
    /// Round trips.
    Rtt,
    /// Latency under load.
    Quality,
    /// File transfers.
    File,
    /// The probing of a path.
    Path,
    /// A search for the highest rate.
    FindRate,
    /// A trial of a study.
    Trial,
}

impl RunKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Tcp,
        Self::Udp,
        Self::Rtt,
        Self::Quality,
        Self::File,
        Self::Path,
        Self::FindRate,
        Self::Trial,
    ];

    /// The kind as the store, JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Rtt => "rtt",
            Self::Quality => "quality",
            Self::File => "file",
            Self::Path => "path",
            Self::FindRate => "find-rate",
            Self::Trial => "trial",
        }
    }
}

impl From<&Run> for RunKind {
    /// The kind of a run by itself; TCP where its document names none.
    fn from(run: &Run) -> Self {
        match run.kind() {
            _ if run.search.is_some() => Self::FindRate,
            Some(PlanKind::Tcp) | None => Self::Tcp,
            Some(PlanKind::Udp) => Self::Udp,
            Some(PlanKind::Rtt) => Self::Rtt,
            Some(PlanKind::Quality) => Self::Quality,
            Some(PlanKind::File) => Self::File,
            Some(PlanKind::Path) => Self::Path,
        }
    }
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such kind of run")]
pub struct UnknownRunKind;

impl FromStr for RunKind {
    type Err = UnknownRunKind;

    fn from_str(name: &str) -> Result<Self, UnknownRunKind> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.name() == name).ok_or(UnknownRunKind)
    }
}
