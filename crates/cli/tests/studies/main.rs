//! `caudal study`: the command, and the studies that are shipped.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod command;
mod shipped;

use std::process::ExitCode;
use support::program::run_groups;

/// Studies over links at once: they leave the processors idle.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    run_groups([
        (AT_ONCE, shipped::over_links()),
        // Two emulators at once on two processors keep each other from delivering in time.
        (1, trials_of![command]),
        (1, shipped::busy()),
    ])
}
