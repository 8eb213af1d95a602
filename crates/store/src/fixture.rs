//! Runs, trials and studies for tests, and directories for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::{Path, PathBuf};

use caudal_core::host::Host;
use caudal_core::plan::{BulkPlanRecord, PlanRecord, Rate};
use caudal_core::run::{
    Environment, Machine, MachineLoad, Run, RunHeader, RunOutcome, SCHEMA, Tool,
};
use caudal_core::units::BitRate;
use rusqlite::Connection;
use serde_json::json;

use crate::document::StoredDocument;
use crate::headline::Headline;
use crate::kind::RunKind;
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
    let environment = Environment {
        client: Some(host("here", Some(nth as f64 / 10.0))),
        server: Some(host("there", None)),
        ..Environment::default()
    };
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id: id(nth),
        started: "2023-11-14T22:13:20.000Z".to_owned(),
        tool: Tool {
            name: "caudal".into(),
            version: Some("0.1.0".into()),
            compatible_with: None,
        },
        command: Some(format!("caudal tcp far -t {nth}").into()),
    };
    let plan = PlanRecord::Unknown(BulkPlanRecord {
        peer: Some("192.0.2.1:5201".into()),
        rate: Some(Rate::Limit(BitRate::from_bps(u64::MAX))),
        window: Some(None),
        ..BulkPlanRecord::default()
    });
    let document = Run {
        began_s: Some(0.1 + 0.2),
        environment: Some(environment),
        ..Run::new(header, plan)
    };
    let started_ns = 1_700_000_000_000_000_000 + nth as i64;
    let run = StoredRun::new(document, started_ns, RunOutcome::Done);
    let machine = Machine {
        kernel: Some("6.1.0".to_owned()),
        meanwhile: Some(MachineLoad {
            elapsed_s: nth as f64,
            ..MachineLoad::default()
        }),
        ..Machine::default()
    };
    StoredRun {
        headline: Headline {
            goodput_bps: Some(1e9 / 3.0 + nth as f64),
            ..Headline::default()
        },
        environment: Environment {
            machine: Some(machine),
            ..run.environment
        },
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
        ..run
    }
}

fn host(name: &str, load_average: Option<f64>) -> Host {
    Host {
        name: name.into(),
        kernel: "6.1.0".into(),
        load_average,
        ..Host::default()
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
        kind: RunKind::Trial,
        trial: Some(StudyTrial {
            study: id(study),
            case: "udp = 100 %".into(),
            repeat: 2,
            position,
            baseline: position == 0,
        }),
        document: StoredDocument::Trial(r#"{"schema":"caudal.trial/1"}"#.to_owned()),
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
