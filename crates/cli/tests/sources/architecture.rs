//! The crates hold to their places: who may use whom, and what must not be found where.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For each crate under `crates/`, the crates of ours it may use. A new crate gets its line here.
const ARROWS: [(&str, &[&str]); 31] = [
    ("caudal-stats", &[]),
    ("caudal-core", &["caudal-stats"]),
    ("caudal-analysis", &["caudal-core"]),
    ("caudal-topology", &["caudal-core"]),
    ("caudal-predict", &["caudal-simulate"]),
    ("caudal-probe", &["caudal-sys", "caudal-wire"]),
    ("caudal-link", &["caudal-topology"]),
    ("caudal-simulate", &["caudal-analysis", "caudal-link"]),
    ("caudal-wire", &["caudal-core"]),
    ("caudal-rbt", &["caudal-core"]),
    ("caudal-capture", &["caudal-core"]),
    ("caudal-sys", &[]),
    ("caudal-lab", &["caudal-link", "caudal-sys"]),
    (
        "caudal-flow",
        &["caudal-analysis", "caudal-wire", "caudal-sys"],
    ),
    ("caudal-transfer", &["caudal-flow", "caudal-rbt"]),
    (
        "caudal-host",
        &["caudal-analysis", "caudal-capture", "caudal-sys"],
    ),
    ("caudal-engine", &["caudal-host", "caudal-transfer"]),
    ("caudal-foreign", &["caudal-engine"]),
    ("caudal-web", &["caudal-engine"]),
    (
        "caudal-measure",
        &["caudal-foreign", "caudal-predict", "caudal-probe"],
    ),
    ("caudal-import", &["caudal-core"]),
    ("caudal-plot", &[]),
    (
        "caudal-views",
        &[
            "caudal-capture",
            "caudal-experiment",
            "caudal-plot",
            "caudal-wire",
        ],
    ),
    ("caudal-top", &["caudal-sys", "caudal-views"]),
    ("caudal-store", &["caudal-core"]),
    ("caudal-ui", &["caudal-store", "caudal-sys"]),
    ("caudal-experiment", &["caudal-predict"]),
    ("caudal-compat", &["caudal-foreign", "caudal-store"]),
    (
        "caudal-report",
        &[
            "caudal-experiment",
            "caudal-import",
            "caudal-plot",
            "caudal-store",
            "caudal-views",
        ],
    ),
    (
        "caudal-study",
        &[
            "caudal-engine",
            "caudal-experiment",
            "caudal-lab",
            "caudal-simulate",
            "caudal-store",
        ],
    ),
    (
        "caudal",
        &[
            "caudal-compat",
            "caudal-measure",
            "caudal-report",
            "caudal-study",
            "caudal-top",
            "caudal-ui",
            "caudal-views",
            "caudal-web",
        ],
    ),
];

/// The crates a crate may use: those its line names, and all that these may use.
fn allowed(name: &str) -> BTreeSet<&'static str> {
    let (_, direct) = ARROWS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap_or_else(|| panic!("{name} has no line among the arrows"));
    direct
        .iter()
        .flat_map(|below| allowed(below).into_iter().chain([*below]))
        .collect()
}

/// What a pure crate does not touch.
const IMPURE: [&str; 13] = [
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "std::os",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "Instant::now",
    "SystemTime",
    "println!",
    "eprintln!",
    "socket2",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The crates of the product, by name, with what they use outside of tests.
fn crates() -> BTreeMap<String, Vec<String>> {
    let under = root().join("crates");
    metadata()["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| Path::new(package["manifest_path"].as_str().unwrap()).starts_with(&under))
        .map(|package| {
            let uses = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned());
            (package["name"].as_str().unwrap().to_owned(), uses.collect())
        })
        .collect()
}

/// The crates whose manifests say that they are pure, by folder.
fn pure_crates() -> Vec<String> {
    let packages = metadata();
    let packages = packages["packages"].as_array().unwrap();
    let pure = packages
        .iter()
        .filter(|package| package["metadata"]["caudal"]["pure"] == true)
        .map(|package| package["name"].as_str().unwrap().replacen("caudal-", "", 1));
    pure.collect()
}

/// Every Rust file of a crate's sources, with its text.
fn sources(of: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut left = vec![root().join("crates").join(of).join("src")];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    assert!(!files.is_empty(), "no sources of {of}");
    files
}

/// A file's code without its comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or("");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|found| found == word)
}

#[test]
fn every_crate_uses_only_those_below_it() {
    let found = crates();
    for (name, uses) in &found {
        let allowed = allowed(name);
        for used in uses.iter().filter(|used| found.contains_key(*used)) {
            assert!(
                allowed.contains(used.as_str()),
                "{name} must not use {used}"
            );
        }
    }
    assert_eq!(found.len(), ARROWS.len(), "{:?}", found.keys());
}

#[test]
fn nothing_outside_the_command_line_is_asynchronous_or_talks_to_people() {
    for (name, uses) in crates().iter().filter(|(name, _)| *name != "caudal") {
        for stranger in [
            "tokio",
            "quinn",
            "async-std",
            "smol",
            "clap",
            "miette",
            "ratatui",
            "indicatif",
            "tracing-subscriber",
        ] {
            let is_for_quic = name == "caudal-transfer" && ["tokio", "quinn"].contains(&stranger);
            let is_pages = name == "caudal-ui" && stranger == "tokio";
            let is_screen = name == "caudal-top" && stranger == "ratatui";
            assert!(
                is_for_quic || is_pages || is_screen || !uses.contains(&stranger.to_owned()),
                "{name} uses {stranger}"
            );
        }
    }
}

#[test]
fn only_the_transfer_over_quic_and_the_pages_are_asynchronous() {
    let place = root().join("crates/transfer/src/quic");
    let pages = root().join("crates/ui/src");
    for name in crates().keys().filter(|name| *name != "caudal") {
        for (path, text) in sources(name.strip_prefix("caudal-").unwrap()) {
            let is_the_place = path.starts_with(&place)
                || path.starts_with(&pages)
                || path == place.with_extension("rs");
            for word in ["async", "await", "tokio", "quinn"] {
                assert!(
                    is_the_place || !has_word(&code(&text), word),
                    "{} uses {word}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn unsafe_code_lives_in_sys_only() {
    for name in crates().keys().filter(|name| *name != "caudal-sys") {
        let folder = name.strip_prefix("caudal-").unwrap_or("cli");
        for (path, text) in sources(folder) {
            assert!(
                !has_word(&code(&text), "unsafe"),
                "{} holds unsafe code",
                path.display()
            );
        }
        let top = fs::read_to_string(root().join(format!("crates/{folder}/src/lib.rs"))).unwrap();
        assert!(
            top.contains("#![forbid(unsafe_code)]"),
            "{folder} does not forbid unsafe code"
        );
    }
}

#[test]
fn what_pure_crates_use_is_pure() {
    let pure = pure_crates();
    assert!(pure.len() >= 9, "{pure:?}");
    for (name, uses) in crates() {
        let is_pure = |name: &str| pure.iter().any(|pure| name == format!("caudal-{pure}"));
        for used in uses.iter().filter(|used| used.starts_with("caudal-")) {
            assert!(
                !is_pure(&name) || is_pure(used),
                "{name} is pure and uses {used}, which is not"
            );
        }
    }
}

#[test]
fn pure_crates_have_no_sockets_files_threads_or_clocks() {
    for krate in pure_crates() {
        for (path, text) in sources(&krate) {
            let code = code(&text);
            for word in IMPURE {
                assert!(!code.contains(word), "{} touches {word}", path.display());
            }
        }
    }
}

#[test]
fn what_carries_traffic_prints_nothing() {
    for krate in [
        "engine", "flow", "foreign", "host", "measure", "sys", "transfer",
    ] {
        for (path, text) in sources(krate) {
            for word in ["println", "print", "eprintln", "eprint", "dbg"] {
                assert!(
                    !code(&text).contains(&format!("{word}!(")),
                    "{} prints",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn engine_names_no_protocol_of_another_tool() {
    for (path, text) in sources("engine") {
        for name in [
            "Iperf3", "Iperf2", "Nttcp", "iperf3::", "iperf2::", "nttcp::",
        ] {
            assert!(
                !code(&text).contains(name),
                "{} names {name}",
                path.display()
            );
        }
    }
}
