//! A store that was written before documents had types in this program opens, and all of it reads.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_store::{Filter, RunKind, Store, StoredDocument, StoredItem};
use std::path::{Path, PathBuf};

/// A copy of the store, removed with the value.
struct StoreCopy(PathBuf);

impl StoreCopy {
    fn new() -> Self {
        let to =
            std::env::temp_dir().join(format!("caudal-store-version-2-{}.db", std::process::id()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/version-2.db");
        std::fs::copy(from, &to).unwrap();
        Self(to)
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

#[test]
fn every_run_and_study_of_a_store_of_version_2_reads() {
    let copy = StoreCopy::new();
    let store = Store::open_to_read(&copy.0).unwrap();
    let all = Filter {
        trials: true,
        ..Filter::default()
    };
    let entries = store.list(&all).unwrap();
    let (mut runs, mut trials, mut studies) = (0, 0, 0);
    for entry in &entries {
        match store.find(&entry.id).unwrap() {
            StoredItem::Run(run) => match &run.document {
                StoredDocument::Run(document) => {
                    assert_eq!(document.header.id, entry.id);
                    assert_eq!(document.plan.peer(), entry.peer.as_ref(), "{}", entry.id);
                    assert_eq!(RunKind::from(document.as_ref()).name(), entry.kind);
                    // Its machines are those of the environment, but for what only the store has.
                    let machines = document.environment.clone().unwrap_or_default();
                    assert_eq!(machines.client, run.environment.client, "{}", entry.id);
                    assert_eq!(machines.server, run.environment.server, "{}", entry.id);
                    runs += 1;
                }
                StoredDocument::Trial(text) => {
                    assert!(text.contains("\"caudal.trial/1\""), "{text}");
                    trials += 1;
                }
            },
            StoredItem::Study(study) => {
                assert_eq!(study.state(), "done");
                assert!(study.environment.machine.is_some());
                studies += 1;
            }
        }
    }
    assert_eq!((runs, trials, studies), (19, 5, 1));
    let study = entries.iter().find(|entry| entry.kind == "study").unwrap();
    assert_eq!(store.trials(&study.id).unwrap().len(), 5);
    let tagged: Vec<_> = entries
        .iter()
        .filter(|entry| !entry.tags.is_empty())
        .collect();
    assert_eq!(tagged[0].tags, ["before upgrade"]);
    let samples = store.series(&store.resolve("f76662af").unwrap()).unwrap();
    let counts: Vec<usize> = samples.iter().map(|series| series.values.len()).collect();
    assert_eq!(counts, [60, 60, 60, 3]);
}
