//! The doubts about the transfers of a command.

use crate::error::MeasureError;
use caudal_core::plan::FileProtocol;
use caudal_core::quantity::Unit;
use caudal_core::transfer::{
    FileReport, TransferCellReport, TransferEnd, TransferRecord, TransferRun,
};
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{holm, normal_quantile};
use std::collections::BTreeSet;

/// Maximum coefficient of variation without a warning: beyond it a mean says little.
const MAX_VARIATION: f64 = 0.5;
/// Minimum size of a transfer that pacing slows down noticeably, bytes.
const MIN_PACED: u64 = 64 << 10;
/// The probability of a false alarm over all cells.
const FALSE_ALARM: f64 = 0.05;
/// Minimum change from the first half of the runs to the second that is a drift, as a part of the first.
const MIN_DRIFT: f64 = 0.05;
/// Minimum number of runs whose correlation is looked at.
const MIN_CORRELATED: u64 = 10;

/// What the doubts about transfers follow from.
pub(super) struct RunDoubts<'a> {
    pub(super) report: &'a FileReport,
    pub(super) records: &'a [TransferRecord],
    /// The error that ended the transfers.
    pub(super) lost: Option<&'a MeasureError>,
    /// `true` when a precision was asked for.
    pub(super) is_goal_asked: bool,
    pub(super) is_loopback: bool,
}

/// The doubts about the transfers of a command.
pub(super) fn warnings(doubts: &RunDoubts<'_>) -> Vec<Warning> {
    let mut warnings = failures(doubts);
    warnings.extend(grown(doubts.records));
    warnings.extend(otherwise(doubts.records));
    warnings.extend(fixed_rate(doubts.records));
    warnings.extend(encryption(doubts.report));
    warnings.extend(congestion(doubts));
    warnings.extend(paced_loopback(doubts));
    warnings.extend(socket_drops(doubts.report));
    warnings.extend(goal_not_met(doubts));
    warnings.extend(wide_spread(doubts.report));
    warnings.extend(correlated(doubts.report));
    warnings.extend(drift(doubts.report));
    warnings
}

fn failures(doubts: &RunDoubts<'_>) -> Vec<Warning> {
    let report = doubts.report;
    let is_verified = |run: &TransferRun| run.result.verified;
    // Of the one that was under way when they ended, the end is the reason.
    let was_under_way = doubts.lost.is_none()
        && report.cut_short.is_some()
        && !report.runs.last().is_none_or(is_verified);
    let over = report.runs.len() - usize::from(was_under_way);
    let failed = report.runs.iter().take(over).filter_map(|run| {
        let cell = &report.cells.get(run.cell as usize)?.cell;
        let why = run.result.failure.as_ref()?;
        let message = format!("{} over {}: {why}", cell.content(), cell.name());
        Some(Warning::new(WarningCode::TransferFailed, message))
    });
    let mut warnings: Vec<Warning> = failed.collect();
    if let Some(error) = doubts.lost {
        warnings.push(Warning::new(WarningCode::CutShort, error.to_string()));
    } else if let Some(why) = &report.cut_short {
        let message = match report.runs.iter().filter(|run| is_verified(run)).count() {
            0 => format!("{why} before a transfer was complete"),
            1 => format!("{why} after 1 transfer"),
            count => format!("{why} after {count} transfers"),
        };
        warnings.push(Warning::new(WarningCode::CutShort, message));
    }
    warnings
}

/// The files that became larger while they were sent.
fn grown(records: &[TransferRecord]) -> Option<Warning> {
    let has_grown = |record: &&TransferRecord| {
        record.client.has_grown || record.server.as_ref().is_some_and(|end| end.has_grown)
    };
    let count = records.iter().filter(has_grown).count();
    let message = match count {
        0 => return None,
        1 => "the file became larger while it was sent".to_owned(),
        count => format!("{count} files became larger while they were sent"),
    };
    Some(Warning::new(WarningCode::FileHasGrown, message))
}

/// What the server changed, and what either end did otherwise than asked: each once.
fn otherwise(records: &[TransferRecord]) -> Vec<Warning> {
    let mut seen = BTreeSet::new();
    let mut warnings = Vec::new();
    for record in records {
        let changed = record.changed.iter().map(|change| {
            let message = format!("the server changed the plan: {change}");
            Warning::new(WarningCode::ServerChangedPlan, message)
        });
        let of_end = |end: &TransferEnd, name: &str| -> Vec<Warning> {
            let notes = end.notes.iter();
            notes
                .map(|note| {
                    let message = format!("{name}: {note}");
                    Warning::new(WarningCode::OptionNotHonoured, message)
                })
                .collect()
        };
        let server = record.server.as_ref();
        let all = changed
            .chain(of_end(&record.client, "the client"))
            .chain(server.map_or_else(Vec::new, |end| of_end(end, "the server")));
        warnings.extend(all.filter(|one| seen.insert(one.message.clone())));
    }
    warnings
}

/// The sender's account of a transfer.
fn sender(record: &TransferRecord) -> Option<&TransferEnd> {
    use caudal_core::plan::Directions;
    match record.plan.directions()? {
        Directions::Up => Some(&record.client),
        Directions::Down => record.server.as_ref(),
        Directions::Both => None,
    }
}

/// The protocol of a transfer, and the congestion control in use.
fn congestion_in_use(record: &TransferRecord) -> Option<(FileProtocol, &str)> {
    let name = sender(record)?.congestion.as_ref()?.as_received();
    Some((record.plan.file()?.via.as_ref()?.protocol(), name))
}

fn fixed_rate(records: &[TransferRecord]) -> Option<Warning> {
    let mut names = records.iter().filter_map(congestion_in_use);
    names.any(|(_, name)| name == "fixed").then(|| {
        Warning::new(
            WarningCode::NoCongestionControl,
            "rbt sent at a fixed rate without congestion control",
        )
    })
}

/// Encrypted transfers beside others.
fn encryption(report: &FileReport) -> Option<Warning> {
    if !report.is_campaign() {
        return None;
    }
    let is_encrypted =
        |protocol: FileProtocol| matches!(protocol, FileProtocol::Tls | FileProtocol::Quic);
    let names = |encrypted: bool| -> Vec<&str> {
        let protocols: BTreeSet<FileProtocol> = report
            .cells
            .iter()
            .map(|cell| cell.cell.protocol())
            .filter(|protocol| is_encrypted(*protocol) == encrypted)
            .collect();
        protocols.into_iter().map(FileProtocol::name).collect()
    };
    let (plain, encrypted) = (names(false), names(true));
    (!plain.is_empty() && !encrypted.is_empty()).then(|| {
        Warning::new(
            WarningCode::UnfairComparison,
            format!(
                "encrypted ({}) and not ({}): their times are no fair pair",
                encrypted.join(", "),
                plain.join(", ")
            ),
        )
    })
}

/// Protocols whose senders used congestion controls of different families.
fn congestion(doubts: &RunDoubts<'_>) -> Option<Warning> {
    if !doubts.report.is_campaign() {
        return None;
    }
    let used: BTreeSet<(FileProtocol, &str)> = doubts
        .records
        .iter()
        .filter_map(congestion_in_use)
        .collect();
    let family = |name: &str| match name {
        "reno" => "newreno".to_owned(),
        name => name.to_owned(),
    };
    let families: BTreeSet<String> = used.iter().map(|(_, name)| family(name)).collect();
    (families.len() > 1).then(|| {
        let each: Vec<String> = used
            .iter()
            .map(|(protocol, name)| format!("{} {name}", protocol.name()))
            .collect();
        let message = format!(
            "congestion controls of different families: {}",
            each.join(", ")
        );
        Warning::new(WarningCode::UnfairComparison, message)
            .with_remedy("give -C cubic, newreno or bbr")
    })
}

fn paced_loopback(doubts: &RunDoubts<'_>) -> Option<Warning> {
    let mut used = doubts.records.iter().filter_map(congestion_in_use);
    let is_paced = |(protocol, name): (FileProtocol, &str)| {
        matches!(protocol, FileProtocol::Tcp | FileProtocol::Tls) && name == "bbr"
    };
    // What is over within the first round trips is not paced.
    let mut sizes = doubts.report.runs.iter().map(|run| run.result.bytes);
    let is_long = sizes.any(|bytes| bytes >= MIN_PACED);
    (doubts.is_loopback && is_long && used.any(is_paced)).then(|| {
        Warning::new(
            WarningCode::PacedLoopback,
            "bbr paces what is sent over loopback, where there is no bottleneck to find",
        )
        .with_remedy("give -C cubic to see what this machine's TCP can do")
    })
}

fn socket_drops(report: &FileReport) -> Option<Warning> {
    let drops: u64 = report
        .cells
        .iter()
        .filter_map(|cell| cell.socket_drops)
        .sum();
    (drops > 0).then(|| {
        Warning::new(
            WarningCode::ReceiveBufferOverflow,
            format!("the receiving socket's buffer was full when {drops} datagrams arrived"),
        )
    })
}

fn goal_not_met(doubts: &RunDoubts<'_>) -> Option<Warning> {
    let report = doubts.report;
    if !doubts.is_goal_asked {
        return None;
    }
    let lacking: Vec<&TransferCellReport> = report
        .cells
        .iter()
        .filter(|cell| cell.goal_met == Some(false))
        .collect();
    let most = lacking.iter().filter_map(|cell| cell.runs_needed).max();
    (!lacking.is_empty()).then(|| {
        let runs = most.map_or_else(String::new, |runs| format!("; it takes up to {runs} runs"));
        let message = format!(
            "{} of {} cells have an error above the {} asked for{runs}",
            lacking.len(),
            report.cells.len(),
            Unit::Share.show(report.goal.error)
        );
        Warning::new(WarningCode::FewRepeats, message)
            .with_remedy("raise --max-runs, or transfer larger files")
    })
}

fn wide_spread(report: &FileReport) -> Option<Warning> {
    let widest = report
        .cells
        .iter()
        .filter(|cell| cell.error.is_some())
        .max_by(|one, other| {
            one.variation
                .partial_cmp(&other.variation)
                .unwrap_or(std::cmp::Ordering::Equal)
        })?;
    let variation = widest.variation.filter(|one| *one > MAX_VARIATION)?;
    let message = format!(
        "the times vary widely: those of {} over {} have a standard deviation of {} of their mean",
        widest.cell.content(),
        widest.cell.name(),
        Unit::Share.show((variation * 100.0).round() / 100.0)
    );
    Some(Warning::new(WarningCode::WideSpread, message))
}

/// The cell whose runs are most correlated, where that is more than chance: of independent runs the coefficient is about normal with
/// the standard deviation 1/√n.
fn correlated(report: &FileReport) -> Option<Warning> {
    let tested: Vec<(&TransferCellReport, f64)> = report
        .cells
        .iter()
        .filter(|cell| cell.n >= MIN_CORRELATED)
        .filter_map(|cell| Some((cell, cell.lag1? * (cell.n as f64).sqrt())))
        .collect();
    let limit = normal_quantile(1.0 - FALSE_ALARM / tested.len() as f64)?;
    let (cell, _) = tested
        .into_iter()
        .filter(|(_, score)| *score > limit)
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    let message = format!(
        "the times of {} over {} depend on those before them (correlation {:.2})",
        cell.cell.content(),
        cell.cell.name(),
        cell.lag1.unwrap_or(0.0)
    );
    Some(Warning::new(WarningCode::CorrelatedRuns, message))
}

/// The cell that changed most from the first half of the runs to the second, where that is more than chance.
fn drift(report: &FileReport) -> Option<Warning> {
    let tested: Vec<&TransferCellReport> = report
        .cells
        .iter()
        .filter(|cell| cell.halves.is_some())
        .collect();
    let p: Vec<f64> = tested
        .iter()
        .filter_map(|cell| Some(cell.halves?.p))
        .collect();
    let change = |cell: &TransferCellReport| {
        cell.halves
            .map_or(0.0, |halves| halves.second_s / halves.first_s - 1.0)
    };
    let cell = tested
        .into_iter()
        .zip(holm(&p))
        .filter(|(cell, p)| *p < FALSE_ALARM && change(cell).abs() >= MIN_DRIFT)
        .map(|(cell, _)| cell)
        .max_by(|one, other| change(one).abs().total_cmp(&change(other).abs()))?;
    let change = change(cell);
    let message = format!(
        "the runs of {} over {} took {:.0} % {} in their second half than in the first",
        cell.cell.content(),
        cell.cell.name(),
        change.abs() * 100.0,
        if change > 0.0 { "longer" } else { "less time" }
    );
    Some(Warning::new(WarningCode::Drift, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::transfer::file_report;
    use caudal_core::plan::{Directions, FilePlanRecord, PlanRecord, TransferVia};
    use caudal_core::transfer::{TransferCell, TransferGoal, TransferRun, TransferSummary};

    const GOAL: TransferGoal = TransferGoal {
        error: 0.1,
        confidence: 0.95,
        pilot_runs: None,
        max_runs: None,
    };

    fn cell(via: TransferVia) -> TransferCell {
        TransferCell {
            via,
            size_bytes: None,
            file: None,
        }
    }

    fn tcp() -> TransferVia {
        TransferVia::Tcp(caudal_core::plan::TcpTransferSettings {
            write_bytes: 262_144,
            mss: None,
            no_delay: true,
            sendfile: false,
        })
    }

    fn run(cell: u32, block: u32, ms: f64) -> TransferRun {
        TransferRun {
            cell,
            block,
            id: None,
            began_s: None,
            result: TransferSummary {
                bytes: 1_000_000,
                time_ns: Some((ms * 1e6) as u64),
                verified: true,
                ..TransferSummary::default()
            },
            limited_by: None,
        }
    }

    fn record(via: TransferVia, congestion: &str) -> TransferRecord {
        TransferRecord {
            plan: PlanRecord::File(FilePlanRecord {
                directions: Some(Directions::Up),
                via: Some(via),
                ..FilePlanRecord::default()
            }),
            changed: Vec::new(),
            client: TransferEnd {
                congestion: Some(congestion.into()),
                ..TransferEnd::default()
            },
            server: None,
            elapsed_s: 0.0,
            failure: None,
            cut_short: None,
        }
    }

    fn codes(report: &FileReport, records: &[TransferRecord], is_goal_asked: bool) -> Vec<String> {
        let doubts = RunDoubts {
            report,
            records,
            lost: None,
            is_goal_asked,
            is_loopback: false,
        };
        let names = warnings(&doubts);
        names.iter().map(|one| one.code.name().to_owned()).collect()
    }

    #[test]
    fn steady_runs_of_one_protocol_leave_no_doubt() {
        let runs = (1..=20).map(|block| run(0, block, 10.0 + f64::from(block * 7 % 5) * 0.1));
        let report = file_report(1, GOAL, vec![cell(tcp())], runs.collect());
        assert_eq!(codes(&report, &[record(tcp(), "bbr")], true), [""; 0]);
    }

    #[test]
    fn pairs_that_are_not_fair_are_named() {
        let cells = vec![cell(tcp()), cell(TransferVia::Quic)];
        let report = file_report(1, GOAL, cells, vec![run(0, 1, 10.0), run(1, 1, 10.0)]);
        let records = [record(tcp(), "reno"), record(TransferVia::Quic, "newreno")];
        assert_eq!(codes(&report, &records, false), ["unfair_comparison"]);
        let records = [record(tcp(), "cubic"), record(TransferVia::Quic, "bbr")];
        assert_eq!(codes(&report, &records, false), ["unfair_comparison"; 2]);
    }

    #[test]
    fn times_that_drift_or_vary_widely_are_doubted() {
        let runs = (1..=20).map(|block| {
            let ms = if block <= 10 { 10.0 } else { 14.0 };
            run(0, block, ms + f64::from(block * 7 % 5) * 0.1)
        });
        let report = file_report(1, GOAL, vec![cell(tcp())], runs.collect());
        assert_eq!(codes(&report, &[], false), ["correlated_runs", "drift"]);
        let runs = (1..=6).map(|block| run(0, block, if block % 2 == 0 { 5.0 } else { 30.0 }));
        let report = file_report(1, GOAL, vec![cell(tcp())], runs.collect());
        assert_eq!(codes(&report, &[], true), ["few_repeats", "wide_spread"]);
        assert_eq!(codes(&report, &[], false), ["wide_spread"]);
    }

    #[test]
    fn a_fixed_rate_and_a_failure_are_warned_of() {
        let mut failed = run(0, 1, 10.0);
        failed.result.verified = false;
        failed.result.failure = Some("the digest differs".into());
        let report = file_report(1, GOAL, vec![cell(tcp())], vec![failed]);
        let records = [record(TransferVia::Quic, "fixed")];
        let found = codes(&report, &records, false);
        assert_eq!(found, ["transfer_failed", "no_congestion_control"]);
        // One that was under way when the user ended it did not fail by itself.
        let interrupted = FileReport {
            cut_short: Some("interrupted".into()),
            ..report
        };
        assert_eq!(codes(&interrupted, &[], false), ["cut_short"]);
    }
}
