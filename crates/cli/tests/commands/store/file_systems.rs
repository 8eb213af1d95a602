//! Stores on a read-only and on a full file system.

use super::{QUICK, shown_but_not_recorded};
use crate::support::place::Place;
use crate::support::{SOON, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A shell in a mount namespace of its own, with a file system of `options` on `at`.
fn with_file_system(at: &Path, options: &str, script: &str) -> Command {
    let script = format!(
        "mount -t tmpfs -o {options} none {at} && {script}",
        at = at.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    command.env("CAUDAL_STORE", at.join("store.db"));
    command
}

pub(crate) fn read_only() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_caudal");
    let at = place.path().display();
    let script = format!(
        "{program} {QUICK} -q >/dev/null && mount -o remount,ro {at} && {{ {program} {QUICK}; {program} report list; \
         {program} report tag last x; true; }}"
    );
    let ended = run(
        &mut with_file_system(place.path(), "size=8m,mode=700", &script),
        SOON,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    crate::support::assert_reported(&ended);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{ended:#?}");
    assert!(
        lines[0].contains("the run is not recorded: the store")
            && lines[0].contains("cannot be written to"),
        "{lines:#?}"
    );
    assert!(lines[1].contains("cannot be written to"), "{lines:#?}");
    // What is there can be read all the same.
    assert!(
        ended.stdout.contains("id        started (UTC)"),
        "{ended:#?}"
    );
    // With nothing there, nothing can be made.
    let script = format!("mount -o remount,ro {at} && exec {program} {QUICK}");
    let ended = run(
        &mut with_file_system(place.path(), "size=8m,mode=700", &script),
        SOON,
    );
    shown_but_not_recorded(&ended, &["cannot be opened: Read-only file system"]);
}

pub(crate) fn full_disk() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_caudal");
    let disk = place.at("disk");
    fs::create_dir(&disk).unwrap();
    let at = disk.display();
    let said = place.at("said");
    let said = said.display();
    // A file system that fills up after a few runs, each of which is shown to its end.
    let script = format!(
        "dd if=/dev/zero of={at}/ballast bs=1k count=120 2>/dev/null; until [ -s {said} ]; do {program} rtt --count 20000 --sizes 1 -q 2>{said} || exit 9; done; \
         {program} report list --csv; cat {said} >&2; dd if=/dev/zero of={at}/fill bs=1k 2>/dev/null; \
         {program} {QUICK}; rm -f {at}/fill {at}/ballast; {program} {QUICK} -q; {program} report path --json >&2"
    );
    let ended = run(
        &mut with_file_system(&disk, "size=400k,mode=700", &script),
        SOON * 2,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    for line in &lines[..2] {
        assert!(line.contains("the disk of the store"), "{line}");
        assert!(line.contains("what is in it is safe"), "{line}");
    }
    let listed = ended
        .stdout
        .lines()
        .filter(|line| line.contains(",rtt,"))
        .count() as u64;
    assert!(listed > 0, "{ended:#?}");
    let path: Value = serde_json::from_str(&lines[2..].join("\n")).unwrap();
    assert_eq!(
        path["amounts"]["runs"].as_u64(),
        Some(listed + 1),
        "{ended:#?}"
    );
}
