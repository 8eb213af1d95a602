//! The matrix of conditions: commands over networks and on hosts that are not as one would wish, each cell with what must come out.
//!
//! `data/commands.toml` has the commands, `data/conditions` the conditions with their cells. docs/conditions.md is written from them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod carrying_out;
mod clock_step;
mod condition;
mod document;
mod judgement;
mod network;
#[path = "../support/mod.rs"]
mod support;

use condition::{Case, Matrix, Quantities};
use libtest_mimic::{Arguments, Trial};
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use support::network::missing;
use support::trial;

/// The times that a cell is carried out before it counts as failed: a machine that stalls is no condition of these.
const TIMES: u32 = 3;
/// Cells at once. They wait for clocks more than they compute.
const AT_ONCE: usize = 10;
const NEEDED: [&str; 5] = ["sh", "tc", "nft", "sysctl", "ip"];

fn main() -> ExitCode {
    let matrix = Matrix::read();
    if std::env::var_os("CAUDAL_WRITE_CONDITIONS").is_some() {
        fs::write(document::file(), document::page(&matrix)).unwrap();
        println!("written: {}", document::file().display());
        return ExitCode::SUCCESS;
    }
    let quantities = Arc::new(matrix.quantities.clone());
    let mut trials: Vec<Trial> = matrix
        .cases()
        .into_iter()
        .map(|case| of_case(case, Arc::clone(&quantities)))
        .collect();
    trials.push(trial("the_page_is_that_of_the_matrix", None, move || {
        let written = fs::read_to_string(document::file()).unwrap_or_default();
        assert!(
            written == document::page(&matrix),
            "docs/conditions.md is stale: CAUDAL_WRITE_CONDITIONS=1 cargo test -p caudal --test conditions"
        );
    }));
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn of_case(case: Case, quantities: Arc<Quantities>) -> Trial {
    let name = format!("{}/{}", case.condition.name, case.command.replace(' ', "_"));
    let mut programs: Vec<&str> = NEEDED.to_vec();
    programs.extend(case.condition.needs.iter().map(String::as_str));
    let first = case.servers.iter().filter_map(|line| {
        line.split_once(": ")
            .map_or(&**line, |(_, line)| line)
            .split(' ')
            .next()
    });
    programs.extend(
        first
            .chain(case.program.as_deref())
            .filter(|program| *program != "caudal"),
    );
    let missing = missing(&programs);
    trial(&name, missing, move || {
        for time in 1..=TIMES {
            let observed = carrying_out::carry_out(&case);
            let faults = judgement::faults(&case, &observed, &quantities);
            if faults.is_empty() {
                return;
            }
            let report = format!(
                "{}: {}\n{:#?}",
                case.line,
                faults.join("; "),
                observed.ended
            );
            assert!(time < TIMES, "{report}");
            println!("once more, as {report}");
        }
    })
}
