//! File transfers: from their request to their run.

use super::assemble::{CommandFacts, assemble, assemble_one};
use super::block_order::BlockOrder;
use super::campaign::{CampaignRun, CampaignRuns, CampaignSize, carry_out};
use super::prepared_contents::PreparedContents;
use super::request::FileRequest;
use super::runner::FileRunner;
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::test_peer::TestPeer;
use caudal_core::event::CutShort;
use caudal_core::run::{Run, RunHeader, RunOutcome};
use caudal_core::transfer::TransferCell;
use caudal_engine::{LocalOptions, RunError, StartedRun, UnreadMember, new_run_id};
use std::sync::atomic::Ordering::Relaxed;

/// File transfers that were carried out.
#[derive(Debug)]
pub struct MeasuredTransfers {
    /// The document of all, and how they ended.
    pub measured: MeasuredRun,
    /// Each of several transfers, where that was asked for.
    pub parts: Vec<RunPart>,
    /// What could not be read of small files that are sent together.
    pub unread: Vec<UnreadMember>,
}

/// A part of a run, with an identity of its own.
#[derive(Debug)]
pub struct RunPart {
    /// Its identity.
    pub started: StartedRun,
    /// Its document.
    pub run: Run,
    /// Its outcome.
    pub outcome: RunOutcome,
}

impl FileRequest {
    /// Carries the transfers out.
    ///
    /// # Errors
    /// When none began.
    pub fn measure(
        &self,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredTransfers, MeasureError> {
        let named_cells = self.named_cells();
        peer.begin_observation(control.started, &named_cells)?;
        let (mut done, unread) = self.carry_out(peer, &named_cells, control)?;
        if done.runs.is_empty() {
            control.observer.abandoned();
            let error = done.lost.take();
            return Err(error.unwrap_or_else(|| RunError::Interrupted.into()));
        }
        let info = peer.info();
        let facts = CommandFacts {
            peer: info,
            cells: &named_cells,
            goal: self.goal,
            seed: self.seed,
            is_goal_asked: self.is_goal_asked,
        };
        let parts = self.parts(&facts, &done, control.started);
        let ids: Vec<Option<String>> = parts
            .iter()
            .map(|part| Some(part.started.header.id.clone()))
            .collect();
        let mut run = assemble(&facts, &done, &ids, control.started.header.clone());
        let address = info.address.ip();
        let ending = peer.end_observation(&mut run, ending(done));
        Ok(MeasuredTransfers {
            measured: MeasuredRun {
                run,
                ending,
                peer: address,
                arrivals: Vec::new(),
            },
            parts,
            unread,
        })
    }

    fn carry_out(
        &self,
        peer: &mut TestPeer,
        named_cells: &[TransferCell],
        control: &mut MeasureControl<'_>,
    ) -> Result<(CampaignRuns, Vec<UnreadMember>), MeasureError> {
        let mut runner = FileRunner {
            request: self,
            named_cells,
            prepared: PreparedContents::new(&self.contents, self.seed, self.is_comparison),
            local: LocalOptions {
                start_at_ns: self.start_at_ns,
                ..LocalOptions::default()
            },
            observer: &mut *control.observer,
            interrupt: control.interrupt,
            is_disconnected: false,
            peer,
        };
        let size = CampaignSize {
            cells: self.cells.len(),
            first_stage: self.first_stage,
            goal: self.goal,
            order: self.is_comparison.then(|| BlockOrder::new(self.seed)),
        };
        let done = carry_out(&mut runner, size);
        if runner.local.quit.load(Relaxed) {
            return Err(MeasureError::Unread);
        }
        Ok((done, runner.prepared.unread))
    }

    /// The documents of several transfers.
    fn parts(
        &self,
        facts: &CommandFacts<'_>,
        done: &CampaignRuns,
        started: &StartedRun,
    ) -> Vec<RunPart> {
        if !self.keeps_parts || done.runs.len() < 2 {
            return Vec::new();
        }
        let parts = done.runs.iter().map(|run| {
            let started = part_of(started);
            RunPart {
                run: assemble_one(facts, run, started.header.clone()),
                started,
                outcome: outcome_of(run),
            }
        });
        parts.collect()
    }
}

/// The outcome of one of several transfers.
fn outcome_of(run: &CampaignRun) -> RunOutcome {
    if run.measured.cut_short.is_some() {
        RunOutcome::CutShort
    } else if run.measured.is_result() {
        RunOutcome::Done
    } else {
        RunOutcome::Failed
    }
}

/// A part of a run, with an identity of its own. It was started with the whole, which is thus the last that is recorded of both;
/// the time it began is in its document.
fn part_of(started: &StartedRun) -> StartedRun {
    StartedRun {
        header: RunHeader {
            id: new_run_id(),
            ..started.header.clone()
        },
        started_ns: started.started_ns,
    }
}

fn is_cut_short(done: &CampaignRuns) -> bool {
    let is_last_cut = done
        .runs
        .last()
        .is_some_and(|run| run.measured.cut_short.is_some() && !run.measured.is_result());
    done.is_interrupted || done.lost.is_some() || is_last_cut
}

/// How the transfers ended.
fn ending(mut done: CampaignRuns) -> RunEnding {
    if let Some(error) = done.lost.take() {
        return RunEnding::Error(error);
    }
    let mut reasons = done
        .runs
        .iter()
        .filter(|run| !run.measured.is_result())
        .filter_map(|run| run.measured.cut_short.as_ref());
    if reasons.any(|reason| matches!(reason, CutShort::Lost(_))) {
        return RunEnding::PeerLost;
    }
    let has_failed = done.runs.iter().any(|run| !run.measured.is_result());
    match (is_cut_short(&done), has_failed) {
        (true, _) => RunEnding::CutShort,
        (false, true) => RunEnding::Failed,
        (false, false) => RunEnding::Complete,
    }
}
