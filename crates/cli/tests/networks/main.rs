//! Commands over networks of namespaces and of the lab, whose links are known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod bottleneck;
mod captures;
mod ceiling;
mod check;
mod connect;
mod first_screen;
mod forged;
mod host_loss;
mod interfaces;
mod intermediaries;
mod kernel;
mod known_paths;
mod lab;
mod levels;
mod loss_patterns;
mod marks;
mod narrow_path;
mod other_traffic;
mod outages;
mod quality;
mod quality_grade;
mod round_trip_parts;
mod stamp;
mod test_capture;
mod ui_lab;
mod windows;

use std::process::ExitCode;
use support::program::run_groups;

/// Labs at once: more than these keep one another's emulators from delivering in time.
const AT_ONCE: usize = 3;

fn main() -> ExitCode {
    let trials = trials_of![
        bottleneck,
        captures,
        ceiling,
        check,
        connect,
        first_screen,
        forged,
        host_loss,
        interfaces,
        intermediaries,
        kernel,
        known_paths,
        lab,
        levels,
        loss_patterns,
        marks,
        narrow_path,
        other_traffic,
        outages,
        quality,
        quality_grade,
        round_trip_parts,
        stamp,
        test_capture,
        ui_lab,
        windows,
    ];
    run_groups([(AT_ONCE, trials)])
}
