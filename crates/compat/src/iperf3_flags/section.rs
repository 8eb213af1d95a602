//! The table of docs/from-iperf3.md.

use super::equivalent::{EQUIVALENTS, Equivalent, Iperf3Equivalent};
use crate::iperf3::option_names;
use std::fmt::Write;

/// The table of every option of iperf3 with the flag of caudal.
#[must_use]
pub fn flag_table() -> String {
    let mut table = "| iperf3 | caudal | what differs |\n|---|---|---|\n".to_owned();
    for row in &EQUIVALENTS {
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            iperf3_names(row),
            here(row).replace('|', "\\|"),
            row.note
        );
    }
    table
}

/// The option with its letter and all of its names.
fn iperf3_names(row: &Iperf3Equivalent) -> String {
    let names = option_names().find(|names| names.long.contains(&row.option));
    let short = names.and_then(|names| names.short);
    let short = short.map(|letter| format!("`-{letter}`"));
    let long = names.map_or(&[][..], |names| names.long);
    let long = long.iter().map(|name| format!("`--{name}`"));
    short.into_iter().chain(long).collect::<Vec<_>>().join(", ")
}

fn here(row: &Iperf3Equivalent) -> String {
    match row.here {
        Equivalent::Same => "the same".to_owned(),
        Equivalent::Flag(flag) => format!("`{flag}`"),
        Equivalent::Nothing => "–".to_owned(),
    }
}
