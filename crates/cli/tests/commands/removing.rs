//! Tags given while measuring, and runs removed from the store.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

trials! {
    a_removed_run_is_gone_and_the_others_stay,
    a_study_is_removed_with_its_trials_and_a_trial_not_alone,
    pruning_lists_first_removes_with_yes_and_keeps_what_is_tagged,
    a_tag_or_a_kind_that_does_not_exist_is_answered_with_those_that_do,
    runs_are_recorded_with_the_tags_of_the_flag_and_of_the_environment,
}

/// A store, removed with the value.
struct TestStore(PathBuf);

impl TestStore {
    /// The path of a store that does not exist yet.
    fn new(name: &str) -> Self {
        let file = format!("removing-{name}-{}.db", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file))
    }

    /// A copy of a store with runs and a study.
    fn filled(name: &str) -> Self {
        let store = Self::new(name);
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/stores/version-2.db");
        std::fs::copy(from, &store.0).unwrap();
        store
    }

    fn caudal(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
        command.args(arguments).env("CAUDAL_STORE", &self.0);
        command.output().unwrap()
    }

    /// The output of `caudal report` with these arguments, which must succeed.
    #[track_caller]
    fn report(&self, arguments: &[&str]) -> String {
        let output = self.caudal(&[&["report"], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout)
            .unwrap()
            .replace("\n    ", " ")
    }

    /// The error of `caudal report` with these arguments, which must be refused as bad usage.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.caudal(&[&["report"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// The ids of a kind, the newest first.
    fn ids(&self, kind: &str) -> Vec<String> {
        let list = self.report(&["list", "--trials", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let entries = list["entries"].as_array().unwrap().iter();
        entries
            .filter(|entry| entry["kind"] == kind)
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

fn a_removed_run_is_gone_and_the_others_stay() {
    let store = TestStore::filled("run");
    let (tcp, udp) = (store.ids("tcp"), store.ids("udp"));
    let said = store.report(&["rm", &tcp[0][..8], &udp[0]]);
    assert!(said.starts_with("removed 2 runs, "), "{said}");
    assert!(
        said.contains(" freed: ") && said.contains(&tcp[0][..8]),
        "{said}"
    );
    assert_eq!(store.ids("tcp"), tcp[1..]);
    assert_eq!(store.ids("udp"), udp[1..]);
    assert!(
        store
            .refused(&["rm", &tcp[0]])
            .contains("there is no run or study")
    );
}

fn a_study_is_removed_with_its_trials_and_a_trial_not_alone() {
    let store = TestStore::filled("study");
    let (study, trials) = (store.ids("study"), store.ids("trial"));
    let refused = store.refused(&["rm", &trials[0]]);
    assert!(
        refused.contains("is a trial of the study") && refused.contains("remove the study"),
        "{refused}"
    );
    let said = store.report(&["rm", &study[0]]);
    assert!(
        said.starts_with("removed 1 study with 5 trials, "),
        "{said}"
    );
    assert!(store.ids("trial").is_empty() && store.ids("study").is_empty());
    assert!(!store.ids("tcp").is_empty());
}

fn pruning_lists_first_removes_with_yes_and_keeps_what_is_tagged() {
    let store = TestStore::filled("prune");
    let tcp = store.ids("tcp");
    store.report(&["tag", &tcp[2], "golden"]);
    let prune = ["prune", "--older-than", "2100-01-01", "--keep-tagged"];
    let listed = store.report(&prune);
    assert!(
        listed.contains("would be removed; --yes removes them"),
        "{listed}"
    );
    assert!(
        !listed.contains(&tcp[2][..8]) && listed.contains(&tcp[1][..8]),
        "{listed}"
    );
    assert_eq!(store.ids("tcp"), tcp);
    let said = store.report(&[&prune[..], &["--yes"]].concat());
    assert!(said.starts_with("removed "), "{said}");
    // What was tagged before is kept as well.
    assert!(store.ids("tcp").contains(&tcp[2]) && !store.ids("tcp").contains(&tcp[1]));
    assert_eq!(store.report(&prune), "nothing to remove\n");
    let old = ["prune", "--older-than", "90d", "--yes"];
    store.report(&old);
    assert!(!store.ids("tcp").is_empty());
}

fn a_tag_or_a_kind_that_does_not_exist_is_answered_with_those_that_do() {
    let store = TestStore::filled("unknown");
    let tcp = store.ids("tcp");
    store.report(&["tag", &tcp[0], "golden"]);
    let refused = store.refused(&["tag", &tcp[0], "-d", "goldn"]);
    assert!(
        refused.contains("has no tag \"goldn\"; ") && refused.contains("golden"),
        "{refused}"
    );
    let refused = store.refused(&["compare", "tag:golden", "tag:goldn"]);
    assert!(refused.contains("golden"), "{refused}");
}

fn runs_are_recorded_with_the_tags_of_the_flag_and_of_the_environment() {
    let store = TestStore::new("tags");
    let output = Command::new(env!("CARGO_BIN_EXE_caudal"))
        .args(["tcp", "-n", "100K", "--tag", "before", "--tag", "lab 1"])
        .env("CAUDAL_STORE", &store.0)
        .env("CAUDAL_TAG", "nightly, before")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = store.report(&["tag", "last"]);
    assert!(shown.ends_with(": before, lab 1, nightly\n"), "{shown}");
    let invalid = store.caudal(&["tcp", "--tag", "a,b"]);
    assert_eq!(invalid.status.code(), Some(2), "{invalid:?}");
    let errors = String::from_utf8_lossy(&invalid.stderr).into_owned();
    assert!(errors.contains("a comma"), "{errors}");
}
