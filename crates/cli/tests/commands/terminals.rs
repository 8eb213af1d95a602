//! The terminals in docs/terminals are what the recorded runs look like, at 40, 60, 80 and 132 columns.
//!
//! `docs/terminals/record` measures the runs anew; `CAUDAL_WRITE_TERMINALS=1 cargo test -p caudal --test commands terminals` writes the
//! terminals of what is recorded.

use crate::support::caudal;
use caudal_plot::{TerminalLine, terminal_svg};
use serde_json::Value;
use std::path::{Path, PathBuf};

trials! {
    the_terminals_of_the_documents_are_what_is_printed,
}

/// The widths of the terminals, in columns.
const WIDTHS: [usize; 4] = [40, 60, 80, 132];
/// The width of those of which there are pictures.
const PICTURE: usize = 80;
/// The environment variable that has the terminals written instead of compared.
const WRITE: &str = "CAUDAL_WRITE_TERMINALS";

/// The directory of the terminals.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminals")
}

/// A copy of the store, so that reading it changes nothing in the repository.
struct StoreCopy(PathBuf);

impl StoreCopy {
    fn new() -> Self {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("terminals-{}.db", std::process::id()));
        std::fs::copy(directory().join("runs.db"), &to).unwrap();
        Self(to)
    }

    /// The output of `caudal report` in a terminal of so many columns.
    fn report(&self, words: &[&str], columns: usize) -> String {
        let mut command = caudal(["report", "--store"]);
        command.arg(&self.0).args(words);
        command.env("COLUMNS", columns.to_string());
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The figures of the report of a run, on one sheet.
    fn figures(&self, id: &str) -> String {
        let sheet = self.0.with_extension("svg");
        let to = sheet.display().to_string();
        self.report(&["export", id, "--svg", "-o", &to], 80);
        let figures = std::fs::read_to_string(&sheet).unwrap();
        std::fs::remove_file(&sheet).unwrap();
        figures
    }

    /// The name, identifier and command line of each recorded run; a run's name is its tag.
    fn scenes(&self) -> Vec<[String; 3]> {
        let list: Value = serde_json::from_str(&self.report(&["list", "--json"], 80)).unwrap();
        let entries = list["entries"].as_array().unwrap();
        let scene = |entry: &Value| {
            let id = entry["id"].as_str().unwrap().to_owned();
            let name = entry["tags"][0].as_str()?.to_owned();
            let command = entry["command"].as_str()?.to_owned();
            Some([name, id, command])
        };
        entries.iter().filter_map(scene).collect()
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

/// Compares a file with what it should contain, or writes it.
fn hold(name: &str, expected: &str) {
    let path = directory().join(name);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, expected).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} differs from what is printed now; {WRITE}=1 cargo test -p caudal --test commands terminals writes it:\n{expected}"
    );
}

/// The terminal as a picture: the number of the closing block is bold in it, as in a terminal.
fn picture(command: &str, text: &str, columns: usize) -> String {
    let mut lines = vec![TerminalLine::Command(format!("$ {command}"))];
    lines.extend(text.lines().map(|line| {
        let number = line
            .strip_prefix("upload: ")
            .or_else(|| line.strip_prefix("download: "))
            .and_then(|rest| rest.split([';', '(']).next());
        match number {
            Some(number) => TerminalLine::Emphasised(line.to_owned(), number.trim_end().to_owned()),
            None => TerminalLine::Output(line.to_owned()),
        }
    }));
    terminal_svg(command, columns, &lines)
}

fn the_terminals_of_the_documents_are_what_is_printed() {
    let store = StoreCopy::new();
    let scenes = store.scenes();
    assert!(scenes.len() >= 5, "{scenes:?}");
    for [name, id, command] in &scenes {
        if name == "quality" {
            hold("quality-panels.svg", &store.figures(id));
        }
        for columns in WIDTHS {
            let mut words = vec!["replay", "--speed", "0", id];
            words.extend(command.contains(" -v").then_some("-v"));
            let text = store.report(&words, columns);
            for line in text.lines().filter(|_| !command.contains(" -v")) {
                assert!(line.chars().count() <= columns, "{name}: {line}");
            }
            hold(
                &format!("{name}-{columns}.txt"),
                &format!("$ {command}\n{text}"),
            );
            if columns == PICTURE {
                hold(&format!("{name}.svg"), &picture(command, &text, columns));
            }
        }
    }
}
