//! The number of runs of each cell: given, or decided by a pilot.

use super::args::FileArgs;
use caudal_core::transfer::TransferGoal;

/// Maximum of `--repeat` and `--max-runs`.
pub(super) const MAX_REPEAT: u32 = 10_000;
/// Minimum number of runs of a pilot.
pub(super) const MIN_PILOT: u32 = 5;
/// The runs of a pilot unless a flag says otherwise.
const PILOT: u32 = 30;
/// The error that cells are held against unless a flag says otherwise: that of the study this command grew from.
const ERROR: f64 = 0.10;

/// The precision that each cell is held against.
pub(super) fn goal(args: &FileArgs) -> TransferGoal {
    let is_pilot = args.until.is_some();
    TransferGoal {
        error: args.until.unwrap_or(ERROR),
        confidence: args.output.confidence,
        pilot_runs: is_pilot.then_some(first_stage(args)),
        max_runs: is_pilot.then_some(args.max_runs),
    }
}

/// The runs of every cell: all that there are, or those of the pilot.
pub(super) const fn first_stage(args: &FileArgs) -> u32 {
    match (args.until, args.repeat) {
        (Some(_), 1) if args.max_runs < PILOT => args.max_runs,
        (Some(_), 1) => PILOT,
        (_, repeat) => repeat,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed::parsed;
    use super::*;

    #[test]
    fn a_pilot_has_thirty_runs_unless_told_otherwise() {
        let stage = |line: &str| first_stage(&parsed(line));
        assert_eq!(stage(""), 1);
        assert_eq!(stage("--repeat 30"), 30);
        assert_eq!(stage("--until 5%"), 30);
        assert_eq!(stage("--until 5% --repeat 5"), 5);
        assert_eq!(stage("--until 5% --max-runs 10"), 10);
        assert_eq!(goal(&parsed("--repeat 30")).pilot_runs, None);
        assert_eq!(goal(&parsed("--until 5%")).error, 0.05);
    }
}
