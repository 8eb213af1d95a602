//! Tests between caudal and the installed iperf3 and iperf 2, judged by what both ends counted.
//!
//! `bench/interop.py` runs more of them, against any version.

mod account;
mod case;
mod iperf2_text;
mod iperf3_json;
mod judgement;
mod run_document;
mod test_run;

use crate::support::{trial, uninstalled};
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    case::all()
        .into_iter()
        .map(|case| {
            let missing = case
                .takes_the_real_tool()
                .then(|| uninstalled(case.tool.program()))
                .flatten();
            trial(&case.name(), missing, move || test_run::check(&case))
        })
        .collect()
}
