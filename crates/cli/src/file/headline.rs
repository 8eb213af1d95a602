//! The transfers in a line before they begin.

use super::args::FileArgs;
use super::plan::direction;
use super::run_count::first_stage;
use super::usage_checks::is_comparison;
use crate::output::fold;
use crate::peer::describe;
use caudal_core::transfer::TransferCell;
use caudal_measure::TestPeer;
use caudal_views::headline::{TransferRuns, file_headline};

/// The transfers in a line: what is transferred, with whom, how, and how often.
pub(super) fn headline(peer: &TestPeer, args: &FileArgs, cells: &[TransferCell]) -> String {
    fold(&line(&describe(peer), args, cells), 4)
}

fn line(peer: &str, args: &FileArgs, cells: &[TransferCell]) -> String {
    let runs = match (args.until, first_stage(args)) {
        (Some(error), pilot) => TransferRuns::Pilot(pilot, error),
        (None, 1) if !is_comparison(args) => TransferRuns::One,
        (None, runs) => TransferRuns::Several(runs),
    };
    file_headline(peer, direction(args), cells, runs)
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::parsed::parsed;
    use super::*;
    use caudal_core::units::ByteCount;

    fn shown(words: &str, sizes: &[u64]) -> String {
        let args = parsed(words);
        let cells: Vec<TransferCell> = cells(&args, sizes.len())
            .into_iter()
            .map(|cell| TransferCell {
                via: cell.via,
                size_bytes: Some(ByteCount::new(sizes[cell.content])),
                file: None,
            })
            .collect();
        line("far", &args, &cells)
    }

    #[test]
    fn the_line_says_what_is_transferred_how_and_how_often() {
        assert_eq!(
            shown("", &[100_000_000]),
            "file transfer with far, upload: 100 MB by tcp and rbt 1400; one run of each after one that is discarded"
        );
        assert_eq!(
            shown("--via tcp -R", &[1000]),
            "file transfer with far, download: 1 kB by tcp"
        );
        assert_eq!(
            shown(
                "--repeat 30 --packet 100,500,1000,1400,1,2,3 --via rbt,quic",
                &[1000, 2000]
            ),
            "file transfer with far, upload: 1 kB and 2 kB by rbt 100, rbt 500, rbt 1000, rbt 1400, rbt 1, rbt 2 and 2 more; \
             30 runs of each in random order"
        );
        assert!(
            shown("--until 5%", &[1])
                .ends_with("a pilot of 30 runs of each, then as many as an error of 5 % takes")
        );
    }
}
