//! `caudal path` over networks of the lab, whose links are known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod command;
mod ends;
mod hops;

use std::process::ExitCode;
use support::program::run_groups;

/// Paths at once. They are slow, and leave the processors idle most of the time.
const AT_ONCE: usize = 8;
/// Those at once whose answers are read from trains: they keep a processor busy while they last.
const ANSWERS_AT_ONCE: usize = 3;

fn main() -> ExitCode {
    let _awake = support::awake::Awake::keep();
    run_groups([
        (AT_ONCE, trials_of![ends, hops, command]),
        (1, hops::capacities()),
        (ANSWERS_AT_ONCE, answers::trials()),
    ])
}
