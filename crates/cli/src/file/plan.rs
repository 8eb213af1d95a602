//! The plan of a transfer from the flags.

use super::args::FileArgs;
use super::cells::ChosenCell;
use super::congestion::congestion;
use super::usage_checks::is_comparison;
use super::values::SourceArg;
use crate::args::RateArg;
use crate::exit::Failure;
use crate::measure_failure::plan_failure;
use caudal_core::marks::Dscp;
use caudal_core::plan::{
    Direction, FileIdentity, PlanError, Quantity, Rate, TransferContent, TransferPlan, TransferSink,
};
use caudal_core::units::ByteCount;
use caudal_measure::{FileCell, FileContent};
use std::time::Duration;

/// The interval at which the progress is shown.
const INTERVAL: Duration = Duration::from_millis(200);

/// The plan of a cell that transfers `content`.
fn transfer_plan(args: &FileArgs, cell: &ChosenCell, content: TransferContent) -> TransferPlan {
    TransferPlan {
        congestion: congestion(args, cell.via.protocol()),
        via: cell.via.clone(),
        direction: direction(args),
        content,
        sink: sink(args),
        resume_from: ByteCount::ZERO,
        resume: args.resume,
        overwrite: args.force,
        preserve: args.preserve,
        sparse: args.sparse,
        rate: match args.rate {
            RateArg::Max => Rate::Max,
            RateArg::Limit(rate) => Rate::Limit(rate),
        },
        dscp: args.dscp.map(Dscp::get),
        interval: INTERVAL,
        same_machine: false,
        certificate: None,
    }
}

/// Up when this end sends.
pub(super) const fn direction(args: &FileArgs) -> Direction {
    if args.reverse || args.get.is_some() {
        Direction::Down
    } else {
        Direction::Up
    }
}

/// Where the receiver puts the bytes: unless a flag says so, a file is kept and everything else is discarded.
pub(super) fn sink(args: &FileArgs) -> TransferSink {
    let is_file = args.send.is_some() || args.get.is_some();
    let has_place = args.target.host.is_some();
    args.sink
        .unwrap_or(if is_file && has_place && !is_comparison(args) {
            TransferSink::File
        } else {
            TransferSink::Discard
        })
}

/// The content as it is known before anything was read.
fn planned_content(args: &FileArgs, content: &FileContent, seed: u64) -> TransferContent {
    let file = |name: &str, bytes: Option<ByteCount>| {
        TransferContent::File(FileIdentity {
            name: name.to_owned(),
            bytes,
            modified_ns: None,
            permissions: None,
        })
    };
    match content {
        FileContent::Generated(bytes) => TransferContent::Generated {
            bytes: *bytes,
            seed,
            from_file: args.source == SourceArg::File,
        },
        FileContent::Local { name, bytes, .. } => file(name, *bytes),
        FileContent::Archive { archive, .. } => TransferContent::Archive(archive.clone()),
        FileContent::StandardInput { name } | FileContent::Remote { name } => file(name, None),
    }
}

/// The cells with the plan of each.
///
/// # Errors
/// Names the flag that is out of range.
pub(super) fn planned_cells(
    args: &FileArgs,
    cells: Vec<ChosenCell>,
    contents: &[FileContent],
    seed: u64,
) -> Result<Vec<FileCell>, Failure> {
    let mut planned = Vec::new();
    for cell in cells {
        let Some(content) = contents.get(cell.content) else {
            continue;
        };
        let content = planned_content(args, content, seed);
        let plan = transfer_plan(args, &cell, content);
        plan.check().map_err(|error| out_of_range(&error))?;
        planned.push(FileCell {
            content: cell.content,
            plan,
        });
    }
    Ok(planned)
}

/// The failure of a plan's check: what is a length elsewhere is the write size here.
fn out_of_range(error: &PlanError) -> Failure {
    if error.quantity == Quantity::Length {
        return Failure::usage(
            format!("--write-size is {}; {}", error.value, error.allowed),
            "see --help",
        );
    }
    plan_failure(error)
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::parsed::parsed;
    use super::*;

    fn checked(line: &str) -> Result<(), Failure> {
        let args = parsed(line);
        let content = FileContent::Generated(ByteCount::new(1_000_000));
        planned_cells(&args, cells(&args, 1), &[content], 0).map(drop)
    }

    #[test]
    fn what_is_out_of_range_is_named_by_its_flag() {
        for (line, words) in [
            ("--packet 0", "--packet is 0;"),
            ("--packet 65488", "--packet is 65488;"),
            ("--write-size 0", "--write-size is 0;"),
            ("--granularity 1ns", "--granularity is 0;"),
        ] {
            let failure = checked(line).unwrap_err();
            assert!(failure.message.starts_with(words), "{line}: {failure}");
            assert_eq!(failure.exit, crate::exit::Exit::Usage);
        }
        assert!(checked("--packet 1,65487 --write-size packet").is_ok());
    }

    #[test]
    fn a_file_is_kept_unless_it_is_compared() {
        let of = |line: &str| sink(&parsed(line));
        assert_eq!(of(""), TransferSink::Discard);
        assert_eq!(of("host --send a"), TransferSink::File);
        assert_eq!(of("host --get a"), TransferSink::File);
        assert_eq!(of("host --send a --repeat 5"), TransferSink::Discard);
        assert_eq!(of("host --send a --via tcp,rbt"), TransferSink::Discard);
        assert_eq!(of("--send a"), TransferSink::Discard);
        assert_eq!(of("-R --sink file+fsync"), TransferSink::SyncedFile);
    }
}
