//! The runs and studies of a store of an earlier version, through every command that reads them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

trials! {
    a_replayed_run_of_each_kind_ends_with_the_recorded_document,
    every_run_trial_and_study_is_shown_and_exported_in_every_format,
    runs_of_one_kind_and_studies_are_compared,
}

/// A copy of the store, removed with the value.
struct StoreCopy(PathBuf);

impl StoreCopy {
    fn new(name: &str) -> Self {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}.db", std::process::id()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/stores/version-2.db");
        std::fs::copy(from, &to).unwrap();
        Self(to)
    }

    /// The output of `caudal report` with these arguments, which must succeed.
    #[track_caller]
    fn report(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_caudal"))
            .args(["report", "--store"])
            .arg(&self.0)
            .args(arguments)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.report(arguments)).unwrap()
    }

    /// The ids and kinds of all runs, trials and studies.
    fn entries(&self) -> Vec<(String, String)> {
        let list = self.json(&["list", "--trials", "--json"]);
        let entries = list["entries"].as_array().unwrap();
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
        let entries = entries.iter();
        entries
            .map(|entry| (text(entry, "id"), text(entry, "kind")))
            .collect()
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

fn a_replayed_run_of_each_kind_ends_with_the_recorded_document() {
    let store = StoreCopy::new("replay");
    let mut kinds = std::collections::BTreeSet::new();
    let runs = store.entries().into_iter();
    for (id, kind) in runs.filter(|(_, kind)| !["trial", "study"].contains(&kind.as_str())) {
        let recorded = store.json(&["show", &id, "--json"]);
        let replay = |format: &[&str]| {
            let arguments = [&["replay", &id, "--speed", "0"], format].concat();
            store.report(&arguments)
        };
        let replayed: Value = serde_json::from_str(&replay(&["--json"])).unwrap();
        assert_eq!(replayed, recorded, "{kind} {id}");
        let stream = replay(&["--json-stream"]);
        let last: Value = serde_json::from_str(stream.lines().last().unwrap()).unwrap();
        assert_eq!(last["run"], recorded, "{kind} {id}");
        assert!(!replay(&[]).trim().is_empty(), "{kind} {id}");
        assert!(replay(&["--csv"]).contains(','), "{kind} {id}");
        let imported = !recorded["imported"].is_null();
        kinds.insert(if imported {
            "imported".to_owned()
        } else {
            kind
        });
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["find-rate", "imported", "rtt", "tcp", "udp"]);
}

fn every_run_trial_and_study_is_shown_and_exported_in_every_format() {
    let store = StoreCopy::new("export-all");
    for (id, kind) in store.entries() {
        assert!(store.report(&["show", &id]).contains(&id), "{kind} {id}");
        for format in ["--html", "--md", "--csv", "--json", "--svg"] {
            let export = store.report(&["export", &id, format]);
            assert!(!export.is_empty(), "{kind} {id} {format}");
        }
        let schema = &store.json(&["export", &id, "--json"])["schema"];
        let expected = match kind.as_str() {
            "trial" => "caudal.trial/1",
            "study" => "caudal.study/1",
            _ => "caudal.run/1",
        };
        assert_eq!(schema, expected, "{kind} {id}");
    }
}

fn runs_of_one_kind_and_studies_are_compared() {
    let store = StoreCopy::new("compare-all");
    let entries = store.entries();
    for kind in ["tcp", "udp", "rtt", "find-rate", "study"] {
        let of_kind = entries.iter().filter(|(_, known)| known == kind);
        for (id, _) in of_kind {
            let done = Command::new(env!("CARGO_BIN_EXE_caudal"))
                .args(["report", "--store"])
                .arg(&store.0)
                .args(["compare", id, id, "--json"])
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&done.stderr);
            // A run that was cut short has nothing to compare.
            if done.status.success() {
                let comparison: Value = serde_json::from_slice(&done.stdout).unwrap();
                assert_eq!(comparison["schema"], "caudal.comparison/1");
                assert!(!comparison["cells"].as_array().unwrap().is_empty(), "{id}");
            } else {
                assert!(
                    errors.contains("nothing in common"),
                    "{kind} {id}: {errors}"
                );
            }
        }
    }
}
