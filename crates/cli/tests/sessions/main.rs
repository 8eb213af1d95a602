//! Sessions of `caudal serve` and its clients over loopback: what is refused, cut off, killed or lied about.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod admission;
mod closing;
mod faults;
mod file;
mod file_killed;
mod limits;
mod lost_servers;
mod many;
mod pacing;
mod serve_log;
mod serve_metrics;
mod top;
mod trust;
mod ui;
mod watch;
mod web;

use std::process::ExitCode;

/// Tests at once. They wait for clocks and for one another more than they compute.
const AT_ONCE: usize = 6;

fn main() -> ExitCode {
    let trials = trials_of![
        admission,
        closing,
        faults::connecting,
        faults::cut_off,
        faults::interrupted,
        faults::misbehaving_client,
        faults::misbehaving_server,
        faults::output,
        faults::usage,
        file::campaigns,
        file::documents,
        file::fetching,
        file::quota,
        file::refused,
        file::sending,
        limits::download,
        limits::memory,
        limits::upload,
        lost_servers,
        many,
        serve_log,
        serve_metrics,
        top,
        trust::acceptance,
        trust::older_peer,
        trust::protocols,
        trust::tokens,
        ui,
        watch,
        web,
    ];
    // What measures what a rate is limited by, and what keeps the processors busy by itself.
    let alone = trials_of![pacing, file::generated, file_killed];
    support::program::run_groups([(AT_ONCE, trials), (1, alone)])
}
