//! The kinds of runs.

use std::fmt;
use std::str::FromStr;

use caudal_core::plan::PlanKind;
use caudal_core::run::Run;

/// The kind of a run; that of an imported run is what its tool measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// A test of this workload.
    Plan(PlanKind),
    /// A search for the highest rate.
    FindRate,
    /// A trial of a study.
    Trial,
}

impl RunKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let plans = PlanKind::ALL.into_iter().map(Self::Plan);
        plans.chain([Self::FindRate, Self::Trial])
    }

    /// The kind as the store, JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan(kind) => kind.name(),
            Self::FindRate => "find-rate",
            Self::Trial => "trial",
        }
    }
}

impl From<&Run> for RunKind {
    /// The kind of a run by itself; TCP where its document names none.
    fn from(run: &Run) -> Self {
        if run.search().is_some() {
            return Self::FindRate;
        }
        Self::Plan(run.kind().unwrap_or(PlanKind::Tcp))
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
        Self::all()
            .find(|kind| kind.name() == name)
            .ok_or(UnknownRunKind)
    }
}
