//! A test program of many files: which tests they have, and how many of them run at once.

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// The trials of a file: functions that need nothing but the binary.
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        pub fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(crate::support::trial(stringify!($test), None, $test)),*]
        }
    };
}

/// The trials of several files of a program, each with its file in front of its name.
macro_rules! trials_of {
    ($($file:ident $(:: $part:ident)*),* $(,)?) => {
        [$((concat!(stringify!($file) $(, "::", stringify!($part))*), $file $(:: $part)* ::trials())),*]
            .into_iter()
            .flat_map(|(file, trials)| trials.into_iter().map(move |trial| trial.with_kind(file)))
            .collect::<Vec<libtest_mimic::Trial>>()
    };
}

/// Runs trials, as many at once as is said or as the command line has it, group by group.
pub fn run_groups(groups: impl IntoIterator<Item = (usize, Vec<Trial>)>) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut failed = None;
    for (at_once, trials) in groups {
        let mut arguments = arguments.clone();
        arguments.test_threads.get_or_insert(at_once);
        let conclusion = libtest_mimic::run(&arguments, trials);
        if conclusion.has_failed() {
            failed = Some(conclusion);
        }
    }
    failed.map_or(ExitCode::SUCCESS, |conclusion| conclusion.exit_code())
}
