//! The runs of several tests of one host.

use caudal_core::check::{CheckFamily, CheckPart, PartNotMeasured};
use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_core::text::ExternalText;

/// What was measured, test by test.
#[derive(Debug, Clone, Default)]
pub struct CheckedRuns {
    /// The address families of the host, where it has both.
    pub families: Vec<CheckFamily>,
    /// The tests that have a result.
    pub runs: Vec<(CheckPart, Run)>,
    /// The flows of the tests with several.
    pub several: u32,
    /// The tests that have none.
    pub not_measured: Vec<PartNotMeasured>,
    /// Those among them that were left out because the user asked for it.
    pub left_out: Vec<CheckPart>,
    /// The reason why the check ended early.
    pub cut_short: Option<ExternalText>,
}

impl CheckedRuns {
    /// The run of a test; `None` where that has none.
    #[must_use]
    pub fn run(&self, part: CheckPart) -> Option<&Run> {
        let mut runs = self.runs.iter();
        runs.find(|(of, _)| *of == part).map(|(_, run)| run)
    }

    /// The only direction of a test.
    pub(super) fn direction(&self, part: CheckPart) -> Option<&DirectionSummary> {
        self.run(part)?.directions().first()
    }
}

/// The tests of TCP in a direction: with one flow, and with several.
pub(super) const fn tcp_parts(direction: Direction) -> [CheckPart; 2] {
    match direction {
        Direction::Down => [CheckPart::Download, CheckPart::DownloadSeveral],
        Direction::Up => [CheckPart::Upload, CheckPart::UploadSeveral],
    }
}
