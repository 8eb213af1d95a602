//! The result of the transfers of one command, from its runs.

use super::cell_report::cell_report;
use caudal_core::transfer::{
    FileReport, TransferCell, TransferGoal, TransferRatio, TransferRun, TransferSummary,
};
use caudal_stats::{MIN_TRIALS_OF_INTERVAL, paired_ratio};

/// The result of these runs of these cells.
#[must_use]
pub fn file_report(
    seed: u64,
    goal: TransferGoal,
    cells: Vec<TransferCell>,
    runs: Vec<TransferRun>,
) -> FileReport {
    let ratios = ratios(&cells, &runs, goal.confidence);
    let cells = (0..).zip(cells).map(|(at, cell)| {
        let own: Vec<&TransferSummary> = runs
            .iter()
            .filter(|run| run.cell == at)
            .map(|run| &run.result)
            .collect();
        cell_report(cell, &own, &goal)
    });
    FileReport {
        seed,
        discarded: 0,
        goal,
        cells: cells.collect(),
        ratios,
        runs,
        elapsed_s: None,
        cpu: None,
        cut_short: None,
    }
}

/// The ratios of each cell to those of the first cell's protocol that it is to be compared with.
fn ratios(cells: &[TransferCell], runs: &[TransferRun], confidence: f64) -> Vec<TransferRatio> {
    let Some(first) = cells.first().map(TransferCell::protocol) else {
        return Vec::new();
    };
    let others = (0..)
        .zip(cells)
        .filter(|(_, cell)| cell.protocol() != first);
    others
        .filter_map(|(at, cell)| {
            let reference = reference(cells, cell)?;
            let pairs = pairs(runs, at, reference);
            let time = paired_ratio(&pairs, confidence)
                .filter(|_| pairs.len() >= MIN_TRIALS_OF_INTERVAL)?;
            Some(TransferRatio {
                cell: at,
                reference,
                time,
            })
        })
        .collect()
}

/// The cell of the first protocol with the same content and packet size, else the first with the same content.
fn reference(cells: &[TransferCell], cell: &TransferCell) -> Option<u32> {
    let protocol = cells.first()?.protocol();
    let same_content = |other: &TransferCell| {
        other.protocol() == protocol
            && other.size_bytes == cell.size_bytes
            && other.file == cell.file
    };
    let mut candidates = (0..).zip(cells).filter(|(_, other)| same_content(other));
    let any = candidates.clone().next();
    candidates
        .find(|(_, other)| other.packet_bytes() == cell.packet_bytes())
        .or(any)
        .map(|(at, _)| at)
}

/// The times of two cells in the blocks that have both.
fn pairs(runs: &[TransferRun], cell: u32, reference: u32) -> Vec<(f64, f64)> {
    let time = |cell: u32, block: u32| {
        let run = runs
            .iter()
            .find(|run| run.cell == cell && run.block == block)?;
        run.result.time_s()
    };
    let own = runs.iter().filter(|run| run.cell == cell);
    own.filter_map(|run| Some((run.result.time_s()?, time(reference, run.block)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{
        ArqMode, BULK_WRITE_BYTES, RbtTransfer, SendTier, TcpTransferSettings, TransferVia,
    };
    use caudal_core::units::ByteCount;

    const GOAL: TransferGoal = TransferGoal {
        error: 0.1,
        confidence: 0.95,
        pilot_runs: None,
        max_runs: None,
    };

    fn cell(via: TransferVia) -> TransferCell {
        TransferCell {
            via,
            size_bytes: Some(ByteCount::new(1_000_000)),
            file: None,
        }
    }

    fn tcp(write_bytes: u32) -> TransferCell {
        cell(TransferVia::Tcp(TcpTransferSettings {
            write_bytes,
            mss: None,
            no_delay: true,
            sendfile: false,
        }))
    }

    fn rbt(packet_bytes: u32) -> TransferCell {
        cell(TransferVia::Rbt(RbtTransfer {
            packet_bytes,
            arq: ArqMode::Sack,
            tier: SendTier::Auto,
            granularity_us: 1000,
        }))
    }

    fn run(cell: u32, block: u32, ms: u64) -> TransferRun {
        TransferRun {
            cell,
            block,
            id: None,
            began_s: None,
            result: TransferSummary {
                bytes: 1_000_000,
                time_ns: Some(ms * 1_000_000),
                verified: true,
                ..TransferSummary::default()
            },
            limited_by: None,
        }
    }

    #[test]
    fn cells_are_compared_with_the_same_packet_size_of_the_first_protocol() {
        let cells = [tcp(BULK_WRITE_BYTES), tcp(100), rbt(100), rbt(1400)];
        assert_eq!(reference(&cells, &cells[2]), Some(1));
        assert_eq!(reference(&cells, &cells[3]), Some(0));
        let other = TransferCell {
            size_bytes: None,
            ..rbt(100)
        };
        assert_eq!(reference(&cells, &other), None);
    }

    #[test]
    fn ratios_pair_the_runs_of_a_block() {
        let cells = vec![tcp(BULK_WRITE_BYTES), rbt(1400)];
        // The machine slows down, and rbt takes half of tcp's time throughout; the last block has no run of tcp.
        let mut runs: Vec<TransferRun> = (1..=6)
            .flat_map(|block| {
                let ms = 10 * u64::from(block);
                [run(0, block, 2 * ms), run(1, block, ms)]
            })
            .collect();
        runs.push(run(1, 7, 500));
        let report = file_report(1, GOAL, cells, runs);
        let [ratio] = report.ratios.as_slice() else {
            panic!("{report:?}");
        };
        assert_eq!((ratio.cell, ratio.reference, ratio.time.n), (1, 0, 6));
        assert!((ratio.time.high - 0.5).abs() < 1e-9, "{ratio:?}");
        assert_eq!((report.cells[0].n, report.cells[1].n), (6, 7));
        assert!(report.is_campaign());
    }

    #[test]
    fn a_document_reads_back() {
        let runs = (1..=5).map(|block| run(0, block, 10 + u64::from(block)));
        let report = file_report(7, GOAL, vec![rbt(1400)], runs.collect());
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<FileReport>(&text).unwrap(), report);
    }
}
