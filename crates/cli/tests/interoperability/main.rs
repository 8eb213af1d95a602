//! caudal and other programs: iperf3, iperf 2 and nttcp at either end, real, replayed and by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod both_ends;
mod dialogues;
mod iperf2;
mod iperf2_opening;
mod iperf2_options;
mod iperf2_versions;
mod iperf3;
mod iperf3_by_hand;
mod iperf3_options;
mod nttcp;
mod stamp;
mod strangers;

use std::process::ExitCode;

/// Recorded dialogues and tests between real programs at once: what both ends counted does not depend on when they were served.
const COUNTED_AT_ONCE: usize = 12;
/// Other tests at once. They wait for clocks more than they compute.
const AT_ONCE: usize = 6;

fn main() -> ExitCode {
    let counted = trials_of![dialogues, both_ends];
    let others = trials_of![
        iperf2,
        iperf2_opening,
        iperf2_options,
        iperf2_versions,
        iperf3,
        iperf3_by_hand::amounts,
        iperf3_by_hand::blocks,
        iperf3_by_hand::clients,
        iperf3_by_hand::rule_breakers,
        iperf3_by_hand::servers,
        iperf3_options,
        nttcp,
        stamp,
        strangers,
    ];
    support::program::run_groups([(COUNTED_AT_ONCE, counted), (AT_ONCE, others)])
}
