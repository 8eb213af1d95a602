//! Tests between caudal and the installed iperf3 and iperf 2, judged by what both ends counted.
//!
//! `bench/interop.py` runs more of them, against any version.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod account;
mod case;
mod iperf2_text;
mod iperf3_json;
mod judgement;
mod run_document;
#[path = "../support/mod.rs"]
mod support;
mod test_run;

use libtest_mimic::Arguments;
use std::process::ExitCode;
use support::{trial, uninstalled};

fn main() -> ExitCode {
    let trials = case::all()
        .into_iter()
        .map(|case| {
            let missing = case
                .takes_the_real_tool()
                .then(|| uninstalled(case.tool.program()))
                .flatten();
            trial(&case.name(), missing, move || test_run::check(&case))
        })
        .collect();
    let mut arguments = Arguments::from_args();
    // They wait for clocks more than they compute.
    arguments.test_threads.get_or_insert(8);
    libtest_mimic::run(&arguments, trials).exit_code()
}
