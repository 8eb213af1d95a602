//! `caudal report export`: what it reads from a store, and where it writes.

#[path = "../../../report/tests/export/example.rs"]
#[allow(dead_code, reason = "the tests of caudal-report need more of it")]
mod example;

use caudal_core::run::{Environment, RunOutcome};
use caudal_store::{Headline, RunKind, Store, StoredDocument, StoredRun, StoredStudy, StudyTrial};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

trials! {
    a_study_goes_into_a_directory_with_all_that_belongs_to_it,
    a_run_or_a_trial_alone_has_a_report_without_a_link_to_a_file_that_is_not_there,
    what_cannot_be_exported_or_written_is_one_line,
    a_full_disk_costs_no_export,
}

/// A directory of its own, gone in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let at =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&at).unwrap();
        Self(at)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store.db")
    }

    fn export(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_caudal"))
            .args(["report", "--store"])
            .arg(self.store())
            .arg("export")
            .args(words.split_whitespace())
            .current_dir(&self.0)
            .output()
            .unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stored_trial(trial: &caudal_experiment::Trial) -> StoredRun {
    StoredRun {
        id: trial.id.clone(),
        kind: RunKind::Trial,
        started_ns: 1_795_316_400_000_000_000,
        tool: "caudal 0.1.0".into(),
        peer: None,
        title: None,
        command: "caudal study run".into(),
        outcome: RunOutcome::Done,
        trial: Some(StudyTrial {
            study: trial.study.clone(),
            case: trial.case.clone(),
            repeat: trial.repeat as u32,
            position: trial.position as u32,
            baseline: false,
        }),
        part_of: None,
        headline: Headline::default(),
        environment: Environment::default(),
        document: StoredDocument::Trial(json!(trial).to_string()),
        series: example::series(&trial.id),
    }
}

/// A store with a run of round trips and the example study; without its findings if it was killed.
fn filled(place: &Place, is_killed: bool) {
    let mut store = Store::open(&place.store()).unwrap();
    let (echo, series) = example::echo();
    let run = StoredRun {
        series,
        ..StoredRun::new(echo, 1_795_316_400_000_000_000, RunOutcome::Done)
    };
    store.record(&run).unwrap();
    let trials = example::trials();
    let findings = example::findings(&trials);
    let study = StoredStudy {
        id: findings.id.clone(),
        name: findings.name.clone(),
        title: findings.title.clone(),
        started_ns: 1_795_316_400_000_000_000,
        seed: 7,
        command: findings.command.clone(),
        experiment: Value::Null,
        campaign: Value::Null,
        environment: Environment::default(),
        events: Vec::new(),
    };
    store.record_study(&study).unwrap();
    for trial in &trials {
        store.record(&stored_trial(trial)).unwrap();
    }
    if !is_killed {
        store
            .record_event(&findings.id, "findings", &json!(findings))
            .unwrap();
    }
}

fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn a_study_goes_into_a_directory_with_all_that_belongs_to_it() {
    let place = Place::new("export-study");
    filled(&place, false);
    let id = example::findings(&example::trials()).id;
    for format in ["--html", "--md", "--csv", "--json", "--svg"] {
        let done = place.export(&format!("{id} {format} -o out{format}/"));
        assert!(
            done.status.success(),
            "{format}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(done.stdout.is_empty());
    }
    assert_eq!(
        names(&place.0.join("out--html")),
        ["findings.json", "report.html"]
    );
    assert_eq!(
        names(&place.0.join("out--md")),
        ["figures", "findings.json", "report.md"]
    );
    assert_eq!(names(&place.0.join("out--csv")), ["values.csv"]);
    assert_eq!(names(&place.0.join("out--json/trials")).len(), 36);
    assert_eq!(
        names(&place.0.join("out--svg")).len(),
        names(&place.0.join("out--md/figures")).len()
    );
    let page = std::fs::read_to_string(place.0.join("out--html/report.html")).unwrap();
    assert!(page.contains("href=\"findings.json\""));
    let text = std::fs::read_to_string(place.0.join("out--md/report.md")).unwrap();
    for figure in names(&place.0.join("out--md/figures")) {
        assert!(text.contains(&format!("(<figures/{figure}>)")), "{figure}");
    }
}

fn a_run_or_a_trial_alone_has_a_report_without_a_link_to_a_file_that_is_not_there() {
    let place = Place::new("export-run");
    filled(&place, false);
    let (echo, _) = example::echo();
    let trial = &example::trials()[3].id;
    for (id, title) in [
        (&echo.header.id, "Round trips to 10.0.0.2:5201"),
        (trial, "udp_load=80%, trial 1"),
    ] {
        let done = place.export(&format!("{id} --html -o one.html"));
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let page = std::fs::read_to_string(place.0.join("one.html")).unwrap();
        assert!(
            page.contains(title) && page.contains("<figure>") && !page.contains("href="),
            "{id}"
        );
        let text = String::from_utf8(place.export(&format!("{id} --json")).stdout).unwrap();
        assert!(
            serde_json::from_str::<Value>(&text)
                .unwrap()
                .get("schema")
                .is_some()
        );
    }
}

fn what_cannot_be_exported_or_written_is_one_line() {
    let place = Place::new("export-fails");
    filled(&place, true);
    std::fs::write(place.0.join("file"), "").unwrap();
    let study = example::findings(&example::trials()).id;
    let run = example::echo().0.header.id;
    for (words, code, says) in [
        (format!("{study} --html"), 1, "has no findings yet"),
        ("ffffffffffff --html".to_owned(), 2, "ffffffffffff"),
        (format!("{run} --html -o file/"), 1, "file/"),
        (
            format!("{run} --svg -o missing/report.svg"),
            1,
            "missing/report.svg",
        ),
        (format!("{run} --html --md"), 2, "cannot be used with"),
        (run.clone(), 2, "required"),
    ] {
        let done = place.export(&words);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{words}: {said}");
        assert!(
            said.contains(says) && said.trim_end().lines().count() == 1,
            "{words}: {said}"
        );
        assert!(done.stdout.is_empty(), "{words}");
    }
}

fn a_full_disk_costs_no_export() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let place = Place::new("export-full");
    filled(&place, false);
    let run = example::echo().0.header.id;
    let done = place.export(&format!("{run} --csv -o /dev/full"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the export is on standard output") && said.trim_end().lines().count() == 1,
        "{said}"
    );
    assert!(done.stdout.starts_with(b"kind,id,case,"));
    assert!(Path::new("/dev/full").exists());
}
