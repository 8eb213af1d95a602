//! Commands as people and programs use them that take hardly any time: command lines, documents, the store, reports.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod command_line;
mod comparing;
mod completions;
mod export;
mod external_text;
mod import;
mod json_reference;
mod pcap;
mod predict;
mod predict_topology;
mod python;
mod removing;
mod rtt_rows;
mod serving_guide;
mod short_flags;
mod store;
mod stored_runs;
mod terminals;

use std::process::ExitCode;

/// Tests at once. They wait for clocks and for one another more than they compute.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let trials = trials_of![
        command_line,
        comparing,
        completions,
        export,
        external_text,
        json_reference,
        pcap,
        predict,
        predict_topology,
        python,
        removing,
        rtt_rows,
        serving_guide,
        short_flags,
        store,
        stored_runs,
        terminals,
    ];
    // Both ends of real programs are compared, whose rates differ where one is served late.
    support::program::run_groups([(AT_ONCE, trials), (1, trials_of![import])])
}
