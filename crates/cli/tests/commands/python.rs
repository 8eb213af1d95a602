//! The module for Python, held by its own tests and by mypy, with the program that was built here.

use crate::support::{run, trial};
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "the_module_for_python_passes_its_tests",
            without("pytest"),
            || {
                python(&["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
            },
        ),
        trial("the_module_for_python_is_typed", without("mypy"), || {
            python(&["-m", "mypy", "--cache-dir=/dev/null"]);
        }),
    ]
}

/// The interpreter of the system, whose packages are those of the system.
const PYTHON: &str = "/usr/bin/python3";

/// The reason why a module cannot be run; `None` when it can.
fn without(module: &str) -> Option<String> {
    let asked = Command::new(PYTHON)
        .args(["-m", module, "--version"])
        .output();
    let is_there = asked.is_ok_and(|output| output.status.success());
    (!is_there).then(|| format!("{module} is not installed for {PYTHON}"))
}

#[track_caller]
fn python(words: &[&str]) {
    let mut command = Command::new(PYTHON);
    command
        .args(words)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python"))
        .env("CAUDAL_EXECUTABLE", env!("CARGO_BIN_EXE_caudal"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ended = run(&mut command, Duration::from_secs(120));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}
