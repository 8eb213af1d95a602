//! Runs, trials and studies for tests, and directories for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

use crate::headline::Headline;

use crate::store::Store;

use crate::stored::{SampleSeries, StoredItem, StoredRun, StoredStudy, StudyTrial};

/// A directory for one test, removed with the value.
pub(super) struct TestDirectory(pub(super) PathBuf);

impl TestDirectory {
    pub(super) fn new(name: &str) -> Self {
        let unique = format!("caudal-store-{}-{name}", std::process::id());
        let at = std::env::temp_dir().join(unique);
        let _ = fs::remove_dir_all(&at);
        fs::create_dir_all(&at).unwrap();
        Self(at)
    }

    pub(super) fn store_path(&self) -> PathBuf {
        self.0.join("store.db")
    }

    pub(super) fn open(&self) -> Store {
        Store::open(&self.store_path()).unwrap()
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn id(nth: u64) -> String {
    // Ids that differ from their first digit on, as random ones do.
    let spread = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    format!("{spread:016x}{nth:016x}")
}

pub(super) fn run(nth: u64) -> StoredRun {
    let client = json!({"name": "here", "kernel": "6.1.0", "load_average": nth as f64 / 10.0});
    let server = json!({"name": "there", "kernel": "6.2.0", "load_average": null});
    StoredRun {
        id: id(nth),
        kind: "tcp".into(),
        started_ns: 1_700_000_000_000_000_000 + nth as i64,
        tool: "caudal 0.1.0".into(),
        peer: Some("192.0.2.1:5201".into()),
        title: None,
        command: format!("caudal tcp far -t {nth}"),
        outcome: "done".into(),
        trial: None,
        headline: Headline {
            goodput_bps: Some(1e9 / 3.0 + nth as f64),
            ..Headline::default()
        },
        environment: json!({
            "client": client,
            "server": server,
            "machine": {"kernel": "6.1.0", "meanwhile": {"steal": nth}},
        }),
        document: json!({
            "schema": "caudal.run/1",
            "id": id(nth),
            "environment": {"client": client, "server": server},
            "summary": {"mean": 0.1 + 0.2, "most": u64::MAX, "none": null},
        }),
        series: vec![
            SampleSeries {
                flow: 0,
                name: "rtt 64 B".into(),
                unit: "ns".into(),
                values: (0..100).map(|at| f64::from(at * 37 % 11)).collect(),
            },
            SampleSeries {
                flow: 1,
                name: "rtt 64 B".into(),
                unit: "ns".into(),
                values: Vec::new(),
            },
        ],
    }
}

pub(super) fn study(nth: u64, name: &str) -> StoredStudy {
    StoredStudy {
        id: id(nth),
        name: name.into(),
        title: format!("What {name} is about"),
        started_ns: 1_700_000_000_000_000_000 + nth as i64,
        seed: u64::MAX,
        command: format!("caudal study run {name}"),
        experiment: json!({"name": name, "matrix": {"load": [0, 0.2, 1]}}),
        campaign: json!({"order": [2, 0, 1]}),
        environment: run(nth).environment,
        events: vec![(5, "begun".into(), json!({"cases": 3}))],
    }
}

pub(super) fn trial(nth: u64, study: u64, position: u32) -> StoredRun {
    StoredRun {
        kind: "trial".into(),
        trial: Some(StudyTrial {
            study: id(study),
            case: "udp = 100 %".into(),
            repeat: 2,
            position,
            baseline: position == 0,
        }),
        series: Vec::new(),
        ..run(nth)
    }
}

pub(super) fn found(store: &Store, id: &str) -> StoredRun {
    match store.find(id).unwrap() {
        StoredItem::Run(run) => *run,
        StoredItem::Study(study) => panic!("{study:?} is not a run"),
    }
}

pub(super) fn count(store: &Store, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    store
        .connection
        .query_row(&sql, [], |row| row.get(0))
        .unwrap()
}

pub(super) fn assert_integrity(at: &Path) {
    let connection = Connection::open(at).unwrap();
    let result: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(result, "ok");
    let dangling: i64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(dangling, 0);
}
