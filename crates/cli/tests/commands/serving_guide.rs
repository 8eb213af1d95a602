//! The guide for running a server: the bounds that it promises have the flags and the tests that it names.

use caudal_cli::args::Cli;
use clap::CommandFactory;
use std::fs;
use std::path::Path;

trials! {
    every_bound_on_what_a_client_costs_has_its_flag_and_its_test,
}

/// Appends the text of all Rust files below a directory.
fn read_sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// What is between backquotes in a cell.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn every_bound_on_what_a_client_costs_has_its_flag_and_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/serving.md")).unwrap();
    let (_, section) = page.split_once("## What one client can cost you").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cli = Cli::command();
    let serve = cli.find_subcommand("serve").unwrap();
    let flags: Vec<&str> = serve
        .get_arguments()
        .filter_map(|argument| argument.get_long())
        .collect();
    let mut text = String::new();
    read_sources(&root.join("crates"), &mut text);
    let rows: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    // The heading is one of them.
    assert!(rows.len() > 8, "{rows:?}");
    for row in &rows[1..] {
        let cells: Vec<&str> = row.split('|').collect();
        for flag in quoted(cells[3]) {
            let name = flag.trim_start_matches("--");
            assert!(flags.contains(&name), "there is no {flag}: {row}");
        }
        assert!(quoted(cells[4]).count() > 0, "no test is named: {row}");
        for test in quoted(cells[4]) {
            // A test by its function or the name that it is listed with, or a module of tests.
            let name = test.rsplit("::").next().unwrap();
            let places = [
                format!("fn {name}("),
                format!("\"{name}"),
                format!("mod {name};"),
            ];
            let is_there = places.iter().any(|place| text.contains(place));
            assert!(is_there, "there is no test {test}: {row}");
        }
    }
}
