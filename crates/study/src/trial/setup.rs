//! A trial that is about to be carried out.

use std::path::PathBuf;

use caudal_experiment::Case;

use super::program::ProgramCommands;
use crate::testbed::Testbed;

/// A trial that is about to be carried out.
pub struct TrialSetup<'a> {
    /// The case.
    pub case: &'a Case,
    /// The network that its flows cross.
    pub testbed: &'a Testbed,
    /// The random seed of the lab.
    pub seed: u64,
    /// The name of the lab, which no other has.
    pub lab_name: String,
    /// The directory for captures; `None` for none.
    pub captures: Option<PathBuf>,
    /// The commands of the processes that it starts.
    pub program: &'a dyn ProgramCommands,
}
