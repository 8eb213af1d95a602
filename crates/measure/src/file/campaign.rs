//! The transfers of a command: one of each cell to be discarded, then blocks of one of each in random order, until there are enough.

use super::block_order::BlockOrder;
use super::transfer_measured::TransferMeasured;
use crate::error::MeasureError;
use caudal_core::transfer::TransferGoal;
use caudal_engine::RunError;
use caudal_stats::two_stage_runs;

/// The place of a transfer in a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferPlace {
    /// Before the first block: it does not count.
    WarmUp,
    /// In the block with this number, from 1.
    Block(u32),
}

/// What carries the transfers of a campaign out.
pub(super) trait TransferCarrier {
    /// Carries out one transfer of this cell. `left`: transfers remaining, per cell, this one included.
    ///
    /// # Errors
    /// When it did not begin.
    fn carry(
        &mut self,
        cell: usize,
        place: TransferPlace,
        left: &[u32],
    ) -> Result<TransferMeasured, NotBegun>;

    /// `true` when the user asked for the end.
    fn is_interrupted(&self) -> bool;
}

/// The reason why a transfer did not begin.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// The user ended the command.
    Interrupted,
    /// It failed.
    Failed(MeasureError),
}

impl From<RunError> for NotBegun {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Interrupted => Self::Interrupted,
            error => Self::Failed(error.into()),
        }
    }
}

impl From<MeasureError> for NotBegun {
    fn from(error: MeasureError) -> Self {
        Self::Failed(error)
    }
}

/// The size and order of a campaign.
#[derive(Debug, Clone)]
pub(super) struct CampaignSize {
    /// The number of cells.
    pub(super) cells: usize,
    /// The runs of each cell, or those of the pilot.
    pub(super) first_stage: u32,
    /// The precision that the pilot's runs lead to.
    pub(super) goal: TransferGoal,
    /// The order within blocks; `None` for files that are transferred once each, in their own order and without a warm-up.
    pub(super) order: Option<BlockOrder>,
}

/// A transfer that counts.
#[derive(Debug, Clone)]
pub(super) struct CampaignRun {
    pub(super) cell: usize,
    pub(super) block: u32,
    pub(super) measured: TransferMeasured,
}

/// The transfers that were carried out.
#[derive(Debug, Default)]
pub(super) struct CampaignRuns {
    /// Those that count, in their order, and those that failed.
    pub(super) runs: Vec<CampaignRun>,
    /// The number of those before them that do not count.
    pub(super) discarded: u32,
    /// The error that ended it.
    pub(super) lost: Option<MeasureError>,
    /// `true` when the user ended it.
    pub(super) is_interrupted: bool,
}

/// Carries a campaign out. What was completed is not lost with what was not.
pub(super) fn carry_out(carrier: &mut dyn TransferCarrier, size: CampaignSize) -> CampaignRuns {
    let mut campaign = OngoingCampaign {
        wanted: vec![size.first_stage; size.cells],
        has_failed: vec![false; size.cells],
        done: CampaignRuns::default(),
        size,
    };
    if campaign.warm_up(carrier) {
        let mut block = 1;
        while campaign.block(carrier, block) {
            block += 1;
        }
    }
    campaign.done
}

/// A campaign under way.
struct OngoingCampaign {
    size: CampaignSize,
    /// The runs wanted of each cell.
    wanted: Vec<u32>,
    /// The cells of which a transfer has failed: the others go on without them.
    has_failed: Vec<bool>,
    done: CampaignRuns,
}

impl OngoingCampaign {
    /// One transfer of each cell that does not count; `false` when the campaign is over.
    fn warm_up(&mut self, carrier: &mut dyn TransferCarrier) -> bool {
        if self.size.order.is_none() {
            return true;
        }
        for cell in 0..self.size.cells {
            let warm_ups = |at: usize| u32::from(at >= cell);
            let left: Vec<u32> = (0..self.size.cells)
                .map(|at| self.wanted[at] + warm_ups(at))
                .collect();
            match self.transfer(carrier, cell, TransferPlace::WarmUp, &left) {
                Some(measured) if measured.is_result() => self.done.discarded += 1,
                Some(measured) => {
                    // A failure is shown, whenever it happens.
                    let is_cut_short = measured.cut_short.is_some();
                    self.done.runs.push(CampaignRun {
                        cell,
                        block: 0,
                        measured,
                    });
                    self.leave_out(cell);
                    if is_cut_short {
                        return false;
                    }
                }
                None => return false,
            }
        }
        true
    }

    /// One transfer of each cell that lacks some; `false` when the campaign is over.
    fn block(&mut self, carrier: &mut dyn TransferCarrier, block: u32) -> bool {
        let mut cells = self.lacking();
        if cells.is_empty() && self.enter_second_stage() {
            cells = self.lacking();
        }
        if cells.is_empty() {
            return false;
        }
        if let Some(order) = &mut self.size.order {
            cells = order.next_block(cells);
        }
        for cell in cells {
            let left = self.left();
            let place = TransferPlace::Block(block);
            let Some(measured) = self.transfer(carrier, cell, place, &left) else {
                return false;
            };
            let (is_result, is_cut_short) = (measured.is_result(), measured.cut_short.is_some());
            self.done.runs.push(CampaignRun {
                cell,
                block,
                measured,
            });
            // One that fails is no reason to leave the others out. One that was whole when the test was ended counts, and the next one
            // finds out that it ended.
            if !is_result && is_cut_short {
                return false;
            }
            if !is_result && self.size.order.is_some() {
                self.leave_out(cell);
            }
        }
        true
    }

    fn transfer(
        &mut self,
        carrier: &mut dyn TransferCarrier,
        cell: usize,
        place: TransferPlace,
        left: &[u32],
    ) -> Option<TransferMeasured> {
        if carrier.is_interrupted() {
            self.done.is_interrupted = true;
            return None;
        }
        match carrier.carry(cell, place, left) {
            Ok(measured) => Some(measured),
            Err(NotBegun::Interrupted) => {
                self.done.is_interrupted = true;
                None
            }
            Err(NotBegun::Failed(error)) => {
                self.done.lost = Some(error);
                None
            }
        }
    }

    /// Makes no more transfers of a cell.
    fn leave_out(&mut self, cell: usize) {
        self.has_failed[cell] = true;
        self.wanted[cell] = self.made(cell);
    }

    /// The runs made of each cell.
    fn made(&self, cell: usize) -> u32 {
        self.done.runs.iter().filter(|run| run.cell == cell).count() as u32
    }

    /// The runs that are left of each cell.
    fn left(&self) -> Vec<u32> {
        (0..self.size.cells)
            .map(|cell| self.wanted[cell].saturating_sub(self.made(cell)))
            .collect()
    }

    /// The cells that lack runs.
    fn lacking(&self) -> Vec<usize> {
        let left = self.left();
        (0..self.size.cells)
            .filter(|cell| left[*cell] > 0)
            .collect()
    }

    /// Decides on the runs of each cell from those of the pilot, once; `false` when there is no second stage, or it was entered before.
    fn enter_second_stage(&mut self) -> bool {
        if self.size.goal.max_runs.is_none() {
            return false;
        }
        for cell in (0..self.size.cells).filter(|cell| !self.has_failed[*cell]) {
            let times: Vec<f64> = self
                .done
                .runs
                .iter()
                .filter(|run| run.cell == cell)
                .filter_map(|run| run.measured.summary.time_s())
                .collect();
            self.wanted[cell] = both_stages(&times, &self.size.goal);
        }
        self.size.goal.max_runs = None;
        true
    }
}

/// The runs of a cell in both stages, after these times of the first.
///
/// Where there is no second stage, or the times do not tell, it is those of the first.
fn both_stages(times_s: &[f64], goal: &TransferGoal) -> u32 {
    let done = u32::try_from(times_s.len()).unwrap_or(u32::MAX);
    let Some(max) = goal.max_runs else {
        return done;
    };
    let runs = two_stage_runs(times_s, goal.error, goal.confidence);
    let runs = runs.map_or(done, |runs| u32::try_from(runs).unwrap_or(u32::MAX));
    runs.min(max).max(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::event::CutShort;
    use caudal_core::host::Usage;
    use caudal_core::plan::PlanRecord;
    use caudal_core::transfer::{TransferEnd, TransferRecord, TransferSummary};

    const GOAL: TransferGoal = TransferGoal {
        error: 0.1,
        confidence: 0.95,
        pilot_runs: None,
        max_runs: None,
    };

    /// Transfers that take the times of their cell one after another, and whose calls are kept.
    struct Script {
        times_ms: Vec<Vec<f64>>,
        calls: Vec<(usize, TransferPlace)>,
        /// The number of the call that fails, and the one before which the user interrupts.
        fails_at: Option<usize>,
        interrupted_at: Option<usize>,
        /// `true` when the transfer during which the user interrupts is whole all the same.
        is_last_whole: bool,
        /// `true` when it had not begun.
        is_last_not_begun: bool,
    }

    impl Script {
        fn new(times_ms: Vec<Vec<f64>>) -> Self {
            Self {
                times_ms,
                calls: Vec::new(),
                fails_at: None,
                interrupted_at: None,
                is_last_whole: false,
                is_last_not_begun: false,
            }
        }

        fn places(&self, cell: usize) -> Vec<TransferPlace> {
            let own = self.calls.iter().filter(|(of, _)| *of == cell);
            own.map(|(_, place)| *place).collect()
        }
    }

    fn measured(ms: f64, failure: Option<&str>) -> TransferMeasured {
        TransferMeasured {
            record: TransferRecord {
                plan: PlanRecord::default(),
                changed: Vec::new(),
                client: TransferEnd::default(),
                server: None,
                elapsed_s: ms / 1e3,
                failure: failure.map(Into::into),
                cut_short: None,
            },
            summary: TransferSummary {
                bytes: 1_000_000,
                time_ns: Some((ms * 1e6) as u64),
                verified: failure.is_none(),
                ..TransferSummary::default()
            },
            limited_by: None,
            began_ns: 0,
            span_ns: (0, 0),
            client_usage: Usage::default(),
            server_usage: None,
            cut_short: None,
        }
    }

    impl TransferCarrier for Script {
        fn carry(
            &mut self,
            cell: usize,
            place: TransferPlace,
            left: &[u32],
        ) -> Result<TransferMeasured, NotBegun> {
            assert!(left[cell] > 0);
            let nth = self.places(cell).len();
            self.calls.push((cell, place));
            let failure = (self.fails_at == Some(self.calls.len())).then_some("the digest differs");
            let times = &self.times_ms[cell];
            let mut measured = measured(times[nth % times.len()], failure);
            if self.is_last_not_begun && self.is_interrupted() {
                return Err(RunError::Interrupted.into());
            }
            if self.is_last_whole && self.is_interrupted() {
                measured.cut_short = Some(CutShort::Interrupted);
            }
            Ok(measured)
        }

        fn is_interrupted(&self) -> bool {
            self.interrupted_at
                .is_some_and(|at| self.calls.len() + 1 >= at)
        }
    }

    fn size(cells: usize, first_stage: u32, goal: TransferGoal) -> CampaignSize {
        CampaignSize {
            cells,
            first_stage,
            goal,
            order: Some(BlockOrder::new(1)),
        }
    }

    #[test]
    fn each_cell_is_warmed_up_and_then_once_in_each_block() {
        let mut script = Script::new(vec![vec![10.0]; 3]);
        let done = carry_out(&mut script, size(3, 4, GOAL));
        assert_eq!((done.runs.len(), done.discarded), (12, 3));
        for cell in 0..3 {
            let mut expected = vec![TransferPlace::WarmUp];
            expected.extend((1..=4).map(TransferPlace::Block));
            assert_eq!(script.places(cell), expected);
        }
        let blocks: Vec<u32> = done.runs.iter().map(|run| run.block).collect();
        assert!(blocks.is_sorted());
        let orders: Vec<Vec<usize>> = done
            .runs
            .chunks(3)
            .map(|block| block.iter().map(|run| run.cell).collect())
            .collect();
        assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
    }

    #[test]
    fn files_are_transferred_once_each_in_their_order() {
        let mut script = Script::new(vec![vec![10.0]; 3]);
        script.fails_at = Some(2);
        let single = CampaignSize {
            order: None,
            ..size(3, 1, GOAL)
        };
        let done = carry_out(&mut script, single);
        let cells: Vec<usize> = done.runs.iter().map(|run| run.cell).collect();
        assert_eq!((cells, done.discarded), (vec![0, 1, 2], 0));
        assert!(!done.runs[1].measured.is_result());
    }

    #[test]
    fn the_pilot_decides_how_many_runs_each_cell_has() {
        let goal = TransferGoal {
            error: 0.05,
            pilot_runs: Some(6),
            max_runs: Some(20),
            ..GOAL
        };
        // After the warm-up: a steady cell, one that takes 53 runs of which 20 are allowed.
        let spread = vec![10.0, 10.0, 12.0, 9.0, 11.0, 8.0, 10.0];
        let mut script = Script::new(vec![vec![10.0], spread]);
        let done = carry_out(&mut script, size(2, 6, goal));
        let runs = |cell: usize| done.runs.iter().filter(|run| run.cell == cell).count();
        assert_eq!((runs(0), runs(1)), (6, 20));
    }

    #[test]
    fn a_cell_that_fails_is_left_out_of_what_follows_and_the_others_go_on() {
        let runs = |done: &CampaignRuns, cell: usize| {
            let own = done.runs.iter().filter(|run| run.cell == cell);
            own.map(|run| run.measured.is_result()).collect::<Vec<_>>()
        };
        let mut script = Script::new(vec![vec![10.0]; 2]);
        script.fails_at = Some(5);
        let done = carry_out(&mut script, size(2, 10, GOAL));
        assert_eq!((done.runs.len(), done.discarded), (12, 2));
        let failed = done.runs[2].cell;
        assert_eq!(
            done.runs[2].measured.failure(),
            Some("the digest of what arrived was not compared".into())
        );
        assert_eq!(runs(&done, failed), [true, false]);
        assert_eq!(runs(&done, 1 - failed), [true; 10]);
        // One whose transfer before the first block failed has no others.
        let mut script = Script::new(vec![vec![10.0]; 2]);
        script.fails_at = Some(1);
        let done = carry_out(&mut script, size(2, 10, GOAL));
        assert_eq!((done.runs.len(), done.discarded), (11, 1));
        assert_eq!((runs(&done, 0), done.runs[0].block), (vec![false], 0));
        // The pilot of the others decides without it.
        let goal = TransferGoal {
            error: 0.05,
            pilot_runs: Some(6),
            max_runs: Some(20),
            ..GOAL
        };
        let mut script = Script::new(vec![vec![10.0]; 2]);
        script.fails_at = Some(1);
        let done = carry_out(&mut script, size(2, 6, goal));
        assert_eq!(done.runs.len(), 7);
    }

    #[test]
    fn an_interrupt_ends_it_between_two_transfers() {
        let mut script = Script::new(vec![vec![10.0]; 2]);
        script.interrupted_at = Some(6);
        let done = carry_out(&mut script, size(2, 10, GOAL));
        assert!(done.is_interrupted);
        assert_eq!((done.runs.len(), done.discarded), (3, 2));
    }

    #[test]
    fn an_interrupt_as_a_transfer_ends_keeps_the_transfer_and_ends_the_campaign() {
        let mut script = Script::new(vec![vec![10.0]; 2]);
        (script.interrupted_at, script.is_last_whole) = (Some(6), true);
        let done = carry_out(&mut script, size(2, 10, GOAL));
        assert!(done.is_interrupted);
        assert_eq!((done.runs.len(), done.discarded), (3, 2));
        // Nothing is left to do after the last one.
        let mut script = Script::new(vec![vec![10.0]]);
        (script.interrupted_at, script.is_last_whole) = (Some(4), true);
        let done = carry_out(&mut script, size(1, 2, GOAL));
        assert_eq!((done.runs.len(), done.is_interrupted), (2, false));
    }

    #[test]
    fn an_interrupt_as_a_transfer_begins_is_no_failure() {
        let mut script = Script::new(vec![vec![10.0]; 2]);
        (script.interrupted_at, script.is_last_not_begun) = (Some(6), true);
        let done = carry_out(&mut script, size(2, 10, GOAL));
        assert!(done.is_interrupted && done.lost.is_none());
        assert_eq!((done.runs.len(), done.discarded), (2, 2));
    }

    #[test]
    fn the_second_stage_follows_from_the_spread_of_the_first() {
        let goal = TransferGoal {
            error: 0.05,
            pilot_runs: Some(6),
            max_runs: Some(40),
            ..GOAL
        };
        assert_eq!(both_stages(&[10.0; 6], &goal), 6);
        // 53 without a maximum: the vector of `two_stage_runs`.
        assert_eq!(both_stages(&[10.0, 12.0, 9.0, 11.0, 8.0, 10.0], &goal), 40);
        assert_eq!(both_stages(&[10.0, 10.5, 9.5, 10.5, 9.5, 10.0], &goal), 6);
        assert_eq!(both_stages(&[], &goal), 0);
    }
}
