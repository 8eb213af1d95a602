//! Made-up campaigns for the tests of what is shown.

use caudal_analysis::transfer::file_report;
use caudal_core::plan::{
    ArqMode, BULK_WRITE_BYTES, RbtTransfer, SendTier, TcpTransferSettings, TransferVia,
};
use caudal_core::transfer::{
    FileReport, TransferCell, TransferGoal, TransferRun, TransferSummary, TransferTimes,
};
use caudal_core::units::ByteCount;

pub(super) const GOAL: TransferGoal = TransferGoal {
    error: 0.1,
    confidence: 0.95,
    pilot_runs: None,
    max_runs: None,
};

pub(super) fn tcp(bytes: u64) -> TransferCell {
    cell(
        bytes,
        TransferVia::Tcp(TcpTransferSettings {
            write_bytes: BULK_WRITE_BYTES,
            mss: None,
            no_delay: true,
            sendfile: false,
        }),
    )
}

pub(super) fn rbt(bytes: u64) -> TransferCell {
    cell(
        bytes,
        TransferVia::Rbt(RbtTransfer {
            packet_bytes: 1400,
            arq: ArqMode::Sack,
            tier: SendTier::Auto,
            granularity_us: 1000,
        }),
    )
}

fn cell(bytes: u64, via: TransferVia) -> TransferCell {
    TransferCell {
        via,
        size_bytes: Some(ByteCount::new(bytes)),
        file: None,
    }
}

/// A verified run that took so many µs.
pub(super) fn run(cell: u32, block: u32, bytes: u64, time_us: f64) -> TransferRun {
    let time_ns = (time_us * 1e3) as u64;
    TransferRun {
        cell,
        block,
        id: None,
        began_s: Some(1_700_000_000.25 + f64::from(block)),
        result: TransferSummary {
            bytes,
            time_ns: Some(time_ns),
            goodput_bps: Some(bytes as f64 * 8e9 / time_ns as f64),
            times: TransferTimes {
                handshake_ns: 120_000,
                transfer_ns: Some(time_ns - 220_000),
                write_ns: Some(100_000),
                sync_ns: None,
                verify_ns: Some(1_500_000),
            },
            datagrams: (cell % 2 == 1).then_some(bytes / 1400),
            retransmitted: Some(0),
            lost: (cell % 2 == 1).then_some(0),
            loss: (cell % 2 == 1).then_some(0.0),
            socket_drops: (cell % 2 == 1).then_some(0),
            sender_cpu_ns_per_byte: Some(0.214),
            receiver_cpu_ns_per_byte: Some(0.341),
            verified: true,
            ..TransferSummary::default()
        },
        limited_by: None,
    }
}

/// 1 MB and 10 MB over tcp and, in half the time, over rbt: so many blocks, six of which have a mean of 10 ms and a standard deviation
/// of √2 ms (1 MB), and of 100 ms and 0.5 ms (10 MB).
pub(super) fn campaign(blocks: u32) -> FileReport {
    let small = [8.0, 12.0, 10.0, 9.0, 11.0, 10.0];
    let runs = (1..=blocks).flat_map(|block| {
        let ms = small[(block as usize - 1) % 6];
        let large = 100.0
            + if block % 2 == 0 {
                0.456_435
            } else {
                -0.456_435
            };
        [
            run(0, block, 1_000_000, ms * 1e3),
            run(1, block, 1_000_000, ms * 500.0),
            run(2, block, 10_000_000, large * 1e3),
            run(3, block, 10_000_000, large * 500.0),
        ]
    });
    let cells = vec![
        tcp(1_000_000),
        rbt(1_000_000),
        tcp(10_000_000),
        rbt(10_000_000),
    ];
    file_report(42, GOAL, cells, runs.collect())
}
