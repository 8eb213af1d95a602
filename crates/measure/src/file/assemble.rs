//! The documents of the transfers of a command: of all together, and of each.

use super::campaign::{CampaignRun, CampaignRuns};
use super::warnings::{RunDoubts, warnings};
use crate::bulk_recorder::seconds_to_the_microsecond;
use crate::error::MeasureError;
use crate::path_mtu::black_hole;
use caudal_analysis::transfer::file_report;
use caudal_core::host::Usage;
use caudal_core::plan::{FilePlanRecord, PlanRecord, TransferContent, Transport};
use caudal_core::run::{CpuReport, Run, RunHeader, RunResult};
use caudal_core::transfer::{FileReport, FileResult, TransferCell, TransferGoal, TransferRun};
use caudal_engine::peer::PeerInfo;

/// What the documents of a command have in common.
pub(super) struct CommandFacts<'a> {
    pub(super) peer: &'a PeerInfo,
    pub(super) cells: &'a [TransferCell],
    pub(super) goal: TransferGoal,
    pub(super) seed: u64,
    /// `true` when a precision was asked for.
    pub(super) is_goal_asked: bool,
}

/// The document of all transfers, whose own documents have these ids.
pub(super) fn assemble(
    facts: &CommandFacts<'_>,
    done: &CampaignRuns,
    ids: &[Option<String>],
    header: RunHeader,
) -> Run {
    let ids = ids.iter().cloned().chain(std::iter::repeat(None));
    let runs: Vec<TransferRun> = done
        .runs
        .iter()
        .zip(ids)
        .map(|(run, id)| TransferRun {
            id,
            ..transfer_run(run)
        })
        .collect();
    let cells = with_sizes(facts.cells, done);
    let report = FileReport {
        discarded: done.discarded,
        cut_short: cut_short(done).map(Into::into),
        elapsed_s: elapsed_s(&done.runs),
        cpu: Some(cpu(&done.runs)),
        ..file_report(facts.seed, facts.goal, cells, runs)
    };
    document(facts, &done.runs, report, done.lost.as_ref(), header)
}

/// The document of one of several transfers.
pub(super) fn assemble_one(facts: &CommandFacts<'_>, run: &CampaignRun, header: RunHeader) -> Run {
    let cell = with_size(facts.cells[run.cell].clone(), run);
    let own = TransferRun {
        cell: 0,
        ..transfer_run(run)
    };
    let runs = std::slice::from_ref(run);
    let report = FileReport {
        cut_short: run
            .measured
            .cut_short
            .as_ref()
            .map(|why| why.to_string().into()),
        cpu: Some(cpu(runs)),
        ..file_report(facts.seed, facts.goal, vec![cell], vec![own])
    };
    document(facts, runs, report, None, header)
}

fn document(
    facts: &CommandFacts<'_>,
    runs: &[CampaignRun],
    report: FileReport,
    lost: Option<&MeasureError>,
    header: RunHeader,
) -> Run {
    let peer = facts.peer;
    let plan = runs.first().map(|run| run.measured.record.plan.clone());
    let plan = plan
        .unwrap_or_else(|| PlanRecord::File(FilePlanRecord::default()))
        .with_peer(peer.address.to_string());
    let records: Vec<_> = runs.iter().map(|run| run.measured.record.clone()).collect();
    let doubts = RunDoubts {
        report: &report,
        records: &records,
        lost,
        is_goal_asked: facts.is_goal_asked,
        is_loopback: peer.is_loopback(),
    };
    let mut warnings = warnings(&doubts);
    warnings.extend(peer.path_warnings(Transport::Tcp));
    warnings.extend(black_hole(peer));
    Run {
        began_s: runs
            .first()
            .map(|run| seconds_to_the_microsecond(run.measured.began_ns)),
        environment: Some(peer.environment()),
        warnings,
        result: Some(RunResult::File(Box::new(FileResult {
            report,
            transfers: records,
        }))),
        ..Run::new(header, plan)
    }
}

fn transfer_run(run: &CampaignRun) -> TransferRun {
    let measured = &run.measured;
    let mut result = measured.summary.clone();
    result.failure = measured.failure();
    TransferRun {
        cell: u32::try_from(run.cell).unwrap_or(u32::MAX),
        block: run.block,
        id: None,
        began_s: Some(seconds_to_the_microsecond(measured.began_ns)),
        result,
        limited_by: measured.limited_by.clone(),
    }
}

/// The cells with the sizes that the transfers found.
fn with_sizes(cells: &[TransferCell], done: &CampaignRuns) -> Vec<TransferCell> {
    (0..)
        .zip(cells)
        .map(|(at, cell)| {
            let run = done.runs.iter().find(|run| run.cell == at);
            run.map_or_else(|| cell.clone(), |run| with_size(cell.clone(), run))
        })
        .collect()
}

/// The cell with the size of its content: of a file that is fetched the server knows it, of standard input its end.
fn with_size(cell: TransferCell, run: &CampaignRun) -> TransferCell {
    let measured = &run.measured;
    let planned = measured
        .record
        .plan
        .file()
        .and_then(|plan| plan.content.as_ref());
    let size = planned.and_then(TransferContent::bytes);
    let moved = measured.is_result().then(|| {
        let summary = &measured.summary;
        caudal_core::units::ByteCount::new(summary.bytes + summary.resumed_bytes)
    });
    TransferCell {
        // What was found counts, and not what was expected.
        size_bytes: size.or(cell.size_bytes).or(moved),
        ..cell
    }
}

/// The reason why not all transfers were made.
fn cut_short(done: &CampaignRuns) -> Option<String> {
    if done.is_interrupted {
        return Some("interrupted".to_owned());
    }
    if let Some(error) = &done.lost {
        return Some(error.to_string());
    }
    let last = done.runs.last()?;
    if last.measured.is_result() {
        return None;
    }
    last.measured.cut_short.as_ref().map(ToString::to_string)
}

/// The time from the beginning of the first of these transfers to the end of the last, s.
fn elapsed_s(runs: &[CampaignRun]) -> Option<f64> {
    let (from_ns, _) = runs.first()?.measured.span_ns;
    let (_, until_ns) = runs.last()?.measured.span_ns;
    Some(until_ns.saturating_sub(from_ns) as f64 / 1e9)
}

/// The processor time of both programs over these transfers.
fn cpu(runs: &[CampaignRun]) -> CpuReport {
    CpuReport {
        client: Usage::total(runs.iter().map(|run| Some(&run.measured.client_usage))),
        server: Usage::total(runs.iter().map(|run| run.measured.server_usage.as_ref())),
    }
}
