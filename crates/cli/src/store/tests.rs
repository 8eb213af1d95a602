#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use super::*;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A directory of a test's own; gone with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let unique = format!("caudal-store-{}-{name}", std::process::id());
        let at = std::env::temp_dir().join(unique);
        let _ = fs::remove_dir_all(&at);
        fs::create_dir_all(&at).unwrap();
        Self(at)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    fn store(&self) -> Store {
        Store::open(&self.file()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn id(nth: u64) -> String {
    // Ids that differ from their first digit on, as random ones do.
    let spread = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    format!("{spread:016x}{nth:016x}")
}

fn run(nth: u64) -> KeptRun {
    let client = json!({"name": "here", "kernel": "6.1.0", "load_average": nth as f64 / 10.0});
    let server = json!({"name": "there", "kernel": "6.2.0", "load_average": null});
    KeptRun {
        id: id(nth),
        kind: "tcp".into(),
        started_ns: 1_700_000_000_000_000_000 + nth as i64,
        tool: "caudal 0.1.0".into(),
        peer: Some("192.0.2.1:5201".into()),
        title: None,
        command: format!("caudal tcp far -t {nth}"),
        outcome: "done".into(),
        of: None,
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
            Series {
                flow: 0,
                name: "rtt 64 B".into(),
                unit: "ns".into(),
                values: (0..100).map(|at| f64::from(at * 37 % 11)).collect(),
            },
            Series {
                flow: 1,
                name: "rtt 64 B".into(),
                unit: "ns".into(),
                values: Vec::new(),
            },
        ],
    }
}

fn study(nth: u64, name: &str) -> KeptStudy {
    KeptStudy {
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

fn trial(nth: u64, study: u64, position: u32) -> KeptRun {
    KeptRun {
        kind: "trial".into(),
        of: Some(TrialOf {
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

fn found(store: &Store, id: &str) -> KeptRun {
    match store.find(id).unwrap() {
        Kept::Run(run) => *run,
        Kept::Study(study) => panic!("{study:?} is no run"),
    }
}

fn count(store: &Store, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    store
        .connection
        .query_row(&sql, [], |row| row.get(0))
        .unwrap()
}

fn is_whole(at: &Path) {
    let connection = Connection::open(at).unwrap();
    let said: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(said, "ok");
    let dangling: i64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(dangling, 0);
}

#[test]
fn what_is_kept_is_found_as_it_was() {
    let place = Place::new("found");
    let mut store = place.store();
    let mut odd = run(2);
    // Machines of its own in the document, no machines at all in the environment.
    odd.environment = Value::Null;
    odd.peer = None;
    odd.title = Some("β ∞ 'quoted' \"twice\"".into());
    let mut bare = run(3);
    bare.document = json!("no object");
    bare.environment = json!({"machine": {"steal": 1, "load": 2, "load_average": 3}});
    for kept in [run(1), odd, bare] {
        store.keep(&kept).unwrap();
        assert_eq!(found(&store, &kept.id), kept);
        assert_eq!(found(&place.store(), &kept.id[..12]), kept);
    }
    is_whole(&place.file());
}

#[test]
fn machines_are_kept_once_whatever_their_load() {
    let place = Place::new("once");
    let mut store = place.store();
    for nth in 0..20 {
        store.keep(&run(nth)).unwrap();
    }
    assert_eq!(count(&store, "environment"), 1);
    let mut other = run(20);
    other.environment["client"]["kernel"] = json!("6.3.0");
    store.keep(&other).unwrap();
    assert_eq!(count(&store, "environment"), 2);
    assert_eq!(found(&store, &id(7)), run(7));
    assert_eq!(found(&store, &id(20)), other);
}

#[test]
fn an_id_is_kept_once() {
    let place = Place::new("exists");
    let mut store = place.store();
    store.keep(&run(1)).unwrap();
    let again = KeptRun {
        outcome: "failed".into(),
        ..run(1)
    };
    assert!(matches!(store.keep(&again), Err(StoreError::Exists { .. })));
    let same = study(1, "echo");
    assert!(matches!(
        store.begin_study(&same),
        Err(StoreError::Exists { .. })
    ));
    assert_eq!(found(&store, &id(1)), run(1));
    for bad in [
        "",
        "12",
        "G0000000000000000000000000000000",
        "A0000000000000000000000000000000",
    ] {
        let kept = KeptRun {
            id: bad.into(),
            ..run(2)
        };
        assert!(
            matches!(store.keep(&kept), Err(StoreError::NoId { .. })),
            "{bad}"
        );
    }
    assert_eq!(count(&store, "entry"), 1);
}

#[test]
fn digits_stand_for_the_only_id_that_begins_with_them() {
    let place = Place::new("prefix");
    let mut store = place.store();
    let ids = [
        "abcd0000000000000000000000000000",
        "abcd0000f00000000000000000000000",
        "abce0000000000000000000000000000",
        "ffff0000000000000000000000000000",
    ];
    for (nth, id) in ids.iter().enumerate() {
        store
            .keep(&KeptRun {
                id: (*id).into(),
                ..run(nth as u64)
            })
            .unwrap();
    }
    assert_eq!(store.resolve("abce").unwrap(), ids[2]);
    assert_eq!(store.resolve("FFFF").unwrap(), ids[3]);
    assert_eq!(store.resolve(ids[0]).unwrap(), ids[0]);
    assert_eq!(store.resolve("last").unwrap(), ids[3]);
    match store.resolve("abcd") {
        Err(StoreError::Ambiguous { of, .. }) => assert_eq!(of, ["abcd00000", "abcd0000f"]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        store.resolve("1234"),
        Err(StoreError::Unknown { .. })
    ));
    for bad in [
        "abc",
        "",
        "abcg",
        "abcd0000000000000000000000000000a",
        "abc%",
        "ábcd",
    ] {
        assert!(
            matches!(store.resolve(bad), Err(StoreError::NoId { .. })),
            "{bad}"
        );
    }
}

#[test]
fn a_study_gathers_its_trials_and_what_happens_to_it() {
    let place = Place::new("study");
    let mut store = place.store();
    let begun = study(100, "starvation");
    store.begin_study(&begun).unwrap();
    assert_eq!(store.find(&id(100)).unwrap(), Kept::Study(Box::new(begun)));
    // Carried out in this order, whatever their clocks said.
    for (nth, position) in [(9, 0), (3, 1), (5, 2)] {
        store.keep(&trial(nth, 100, position)).unwrap();
    }
    store.begin_study(&study(200, "echo")).unwrap();
    store.keep(&trial(50, 200, 0)).unwrap();
    store
        .note(&id(100), "interrupted", &json!({"after": 3}))
        .unwrap();
    store.note(&id(100), "resumed", &Value::Null).unwrap();
    let trials = store.trials(&id(100)).unwrap();
    assert_eq!(
        trials,
        [trial(9, 100, 0), trial(3, 100, 1), trial(5, 100, 2)]
    );
    let Kept::Study(found) = store.find(&id(100)).unwrap() else {
        panic!("no study");
    };
    let events: Vec<&str> = found
        .events
        .iter()
        .map(|(_, event, _)| event.as_str())
        .collect();
    assert_eq!(events, ["begun", "interrupted", "resumed"]);
    assert_eq!(found.events[1].2, json!({"after": 3}));
    assert_eq!(found.state(), "unfinished");
    store.note(&id(100), "done", &Value::Null).unwrap();
    store
        .note(&id(100), "findings", &json!({"schema": "caudal.study/1"}))
        .unwrap();
    let listed = store.list(&Filter::default()).unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|entry| (entry.kind.as_str(), entry.outcome.as_str(), entry.trials))
            .collect::<Vec<_>>(),
        [("study", "unfinished", Some(1)), ("study", "done", Some(3))]
    );
}

#[test]
fn what_belongs_to_a_study_that_is_not_there_is_refused() {
    let place = Place::new("orphan");
    let mut store = place.store();
    assert!(matches!(
        store.keep(&trial(1, 100, 0)),
        Err(StoreError::Unknown { .. })
    ));
    assert!(matches!(
        store.note(&id(100), "done", &Value::Null),
        Err(StoreError::Unknown { .. })
    ));
    assert_eq!((count(&store, "entry"), count(&store, "event")), (0, 0));
}

#[test]
fn a_list_shows_what_is_asked_for_newest_first() {
    let place = Place::new("list");
    let mut store = place.store();
    for nth in 1..=4 {
        store.keep(&run(nth)).unwrap();
    }
    store
        .keep(&KeptRun {
            kind: "rtt".into(),
            peer: Some("[2001:db8::1]:5201".into()),
            title: Some("Prüfung der Leitung".into()),
            ..run(5)
        })
        .unwrap();
    store.begin_study(&study(6, "echo")).unwrap();
    store.keep(&trial(7, 6, 0)).unwrap();
    store.tag(&id(2), "before upgrade").unwrap();
    store.tag(&id(3), "before upgrade").unwrap();
    store.tag(&id(3), "bad").unwrap();
    let shown = |filter: Filter| -> Vec<u64> {
        let entries = store.list(&filter).unwrap();
        let number = |entry: &Entry| u64::from_str_radix(&entry.id[16..], 16).unwrap();
        entries.iter().map(number).collect()
    };
    let text = |text: &str| Some(text.to_owned());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    type Narrow<'a> = &'a dyn Fn(&mut Filter);
    let cases: [(Narrow<'_>, &[u64]); 16] = [
        (&|_| (), &[6, 5, 4, 3, 2, 1]),
        (&|all| all.trials = true, &[7, 6, 5, 4, 3, 2, 1]),
        (&|all| all.limit = Some(2), &[6, 5]),
        (
            &|all| (all.kind, all.limit) = (text("tcp"), Some(3)),
            &[4, 3, 2],
        ),
        (&|all| all.kind = text("study"), &[6]),
        (&|all| all.kind = text("trial"), &[7]),
        (&|all| all.study = text("echo"), &[7]),
        (&|all| all.study = text(&id(6)[..6]), &[7]),
        (&|all| all.tag = text("before upgrade"), &[3, 2]),
        (&|all| all.tag = text("before"), &[]),
        (&|all| all.peer = text("2001:db8"), &[5]),
        (
            &|all| all.since_ns = Some(1_700_000_000_000_000_005),
            &[6, 5],
        ),
        (&|all| all.words = words(&["LEITUNG", "rtt"]), &[5]),
        (&|all| all.words = words(&["prüfung"]), &[5]),
        (&|all| all.words = words(&["upgrade", "-t 3"]), &[3]),
        (&|all| all.words = words(&["%"]), &[]),
    ];
    for (narrow, expected) in cases {
        let mut filter = Filter::default();
        narrow(&mut filter);
        assert_eq!(shown(filter.clone()), expected, "{filter:?}");
    }
    let nowhere = Filter {
        study: text("nowhere"),
        ..Filter::default()
    };
    assert!(matches!(
        store.list(&nowhere),
        Err(StoreError::Unknown { .. })
    ));
}

#[test]
fn a_tag_is_put_on_taken_off_and_put_on_again() {
    let place = Place::new("tag");
    let mut store = place.store();
    store.keep(&run(1)).unwrap();
    let of = id(1);
    store.tag(&of[..8], "b").unwrap();
    store.tag(&of, "a").unwrap();
    store.tag(&of, "a").unwrap();
    assert_eq!(store.tags(&of).unwrap(), ["a", "b"]);
    store.untag(&of, "a").unwrap();
    store.untag(&of, "never there").unwrap();
    assert_eq!(store.tags(&of).unwrap(), ["b"]);
    store.tag(&of, "a").unwrap();
    assert_eq!(store.tags(&of).unwrap(), ["a", "b"]);
    assert_eq!(store.list(&Filter::default()).unwrap()[0].tags, ["a", "b"]);
    assert!(matches!(
        store.tag("ffff", "a"),
        Err(StoreError::Unknown { .. })
    ));
}

#[test]
fn nothing_that_is_kept_can_be_changed() {
    let place = Place::new("stays");
    let mut store = place.store();
    store.begin_study(&study(1, "echo")).unwrap();
    store.keep(&trial(2, 1, 0)).unwrap();
    store.keep(&run(3)).unwrap();
    store.tag(&id(3), "x").unwrap();
    for (table, column) in [
        ("entry", "started_ns"),
        ("environment", "size"),
        ("study", "name"),
        ("event", "event"),
        ("run", "goodput_bps"),
        ("document", "size"),
        ("series", "unit"),
        ("tag", "held"),
    ] {
        assert!(count(&store, table) > 0, "{table} is empty");
        let sql = format!("UPDATE {table} SET {column} = 1");
        let error = store.connection.execute(&sql, []).unwrap_err();
        assert!(
            error.to_string().contains("only added to"),
            "{table}: {error}"
        );
    }
}

#[test]
fn what_its_owner_deletes_takes_all_of_it_along() {
    let place = Place::new("delete");
    let mut store = place.store();
    store.begin_study(&study(1, "echo")).unwrap();
    store.keep(&trial(2, 1, 0)).unwrap();
    store.keep(&run(3)).unwrap();
    store.tag(&id(3), "x").unwrap();
    // As docs/store.md tells.
    store
        .connection
        .execute("DELETE FROM entry WHERE id = ?", [id(3)])
        .unwrap();
    assert_eq!((count(&store, "series"), count(&store, "tag")), (0, 0));
    store
        .connection
        .execute(
            "DELETE FROM entry WHERE id = ?1 OR id IN (SELECT id FROM run WHERE study = ?1)",
            [id(1)],
        )
        .unwrap();
    for table in ["entry", "run", "study", "event", "document"] {
        assert_eq!(count(&store, table), 0, "{table}");
    }
    drop(store);
    is_whole(&place.file());
}

/// The tables as version 1 made them, with a run, a study and a trial in them.
const VERSION_1: &str = include_str!("version_1.sql");

#[test]
fn a_store_of_version_1_is_brought_up_to_this_with_all_it_holds() {
    let place = Place::new("version-1");
    let old = Connection::open(place.file()).unwrap();
    old.execute_batch(VERSION_1).unwrap();
    drop(old);
    // Many come for it at once, and one does it.
    let at = place.file();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| Store::open(&at).unwrap());
        }
    });
    let mut store = place.store();
    assert_eq!(store.amounts().unwrap().version, STEPS.len() as i64);
    let run = found(&store, "0123");
    assert_eq!(run.document["summary"]["goodput_bps"]["mean"], 940e6);
    assert_eq!(run.document["environment"]["client"]["name"], "here");
    assert_eq!(run.environment["machine"]["meanwhile"]["steal"], 0.25);
    assert_eq!(run.series[0].values, [5.0, 3.0, 4.0]);
    let listed = store
        .list(&Filter {
            trials: true,
            ..Filter::default()
        })
        .unwrap();
    let kinds: Vec<&str> = listed.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["trial", "study", "tcp"]);
    assert_eq!(listed[2].tags, ["golden"]);
    assert_eq!(store.trials(&listed[1].id).unwrap().len(), 1);
    store.keep(&super::tests::run(1)).unwrap();
    store.keep(&trial(2, 1, 1)).unwrap_err();
    drop(store);
    is_whole(&at);
}

#[test]
fn every_earlier_version_leads_to_the_same_tables() {
    let place = Place::new("steps");
    let shape = |connection: &Connection| -> Vec<String> {
        connection
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let fresh = shape(&place.store().connection);
    for version in 0..=STEPS.len() {
        let at = place.0.join(format!("{version}.db"));
        let mut old = Connection::open(&at).unwrap();
        if version > 0 {
            migrate(&mut old, &STEPS[..version]).unwrap();
            assert_eq!(look(&old).unwrap(), Found::Version(version as i64));
        }
        drop(old);
        assert_eq!(
            shape(&Store::open(&at).unwrap().connection),
            fresh,
            "from {version}"
        );
    }
    // What version 1 was is what the fixture says it was.
    let mut then = Connection::open_in_memory().unwrap();
    migrate(&mut then, &STEPS[..1]).unwrap();
    let fixture = Connection::open_in_memory().unwrap();
    fixture.execute_batch(VERSION_1).unwrap();
    assert_eq!(shape(&then), shape(&fixture));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it() {
    let place = Place::new("half");
    let mut store = place.store();
    store.keep(&run(1)).unwrap();
    let steps = [STEPS[0], STEPS[1], "CREATE TABLE more (x) STRICT; nonsense"];
    assert!(migrate(&mut store.connection, &steps).is_err());
    drop(store);
    let store = place.store();
    assert_eq!(found(&store, &id(1)), run(1));
    assert_eq!(store.amounts().unwrap().version, 2);
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let place = Place::new("newer");
    place.store().keep(&run(1)).unwrap();
    let newer = Connection::open(place.file()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let before = fs::read(place.file()).unwrap();
    for opened in [
        Store::open(&place.file()),
        Store::open_to_read(&place.file()),
    ] {
        match opened {
            Err(StoreError::Newer { theirs, ours, .. }) => assert_eq!((theirs, ours), (99, 2)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fs::read(place.file()).unwrap(), before);
}

#[test]
fn what_is_no_store_is_left_alone() {
    let place = Place::new("foreign");
    let text = place.0.join("notes.txt");
    fs::write(&text, "Dear diary, ".repeat(200)).unwrap();
    let other = place.0.join("other.db");
    let connection = Connection::open(&other).unwrap();
    connection
        .execute_batch("CREATE TABLE bookmarks (url)")
        .unwrap();
    drop(connection);
    for at in [text, other] {
        let before = fs::read(&at).unwrap();
        for opened in [Store::open(&at), Store::open_to_read(&at)] {
            assert!(
                matches!(opened, Err(StoreError::Foreign { .. })),
                "{at:?}: {opened:?}"
            );
        }
        assert_eq!(fs::read(&at).unwrap(), before);
    }
    let opened = Store::open(&place.0);
    assert!(matches!(opened, Err(StoreError::Open { .. })), "{opened:?}");
    let missing = Store::open_to_read(&place.file());
    assert!(
        matches!(missing, Err(StoreError::Missing { .. })),
        "{missing:?}"
    );
    assert!(!place.file().exists());
}

#[test]
fn a_damaged_store_is_told_from_a_good_one_and_left_as_it_is() {
    let place = Place::new("corrupt");
    let mut store = place.store();
    for nth in 0..200 {
        store.keep(&run(nth)).unwrap();
    }
    drop(store);
    let good = fs::read(place.file()).unwrap();
    let page = 4096;
    assert!(good.len() > 20 * page);
    let mut damaged = 0;
    for at in 1..good.len() / page {
        let mut bytes = good.clone();
        bytes[at * page..(at + 1) * page].fill(0xa5);
        fs::write(place.file(), &bytes).unwrap();
        let all = Store::open_to_read(&place.file()).and_then(|store| {
            let entries = store.list(&Filter::default())?;
            entries
                .iter()
                .try_for_each(|entry| store.find(&entry.id).map(drop))
        });
        match all {
            Ok(()) => {}
            Err(StoreError::Corrupt { .. }) => damaged += 1,
            // A page of the table of ids that is gone may also hide ids.
            Err(StoreError::Unknown { .. }) => {}
            Err(other) => panic!("page {at}: {other:?}"),
        }
        assert_eq!(fs::read(place.file()).unwrap(), bytes, "page {at}");
    }
    assert!(damaged > good.len() / page / 2, "{damaged}");
    fs::write(place.file(), &good[..good.len() / 2]).unwrap();
    let cut = Store::open(&place.file()).and_then(|mut store| {
        store.list(&Filter::default())?;
        store.keep(&run(1000))
    });
    assert!(matches!(cut, Err(StoreError::Corrupt { .. })), "{cut:?}");
}

#[test]
fn a_full_disk_loses_nothing_that_was_kept() {
    let place = Place::new("full");
    let mut store = place.store();
    // The disk is as full as SQLite is told it is.
    store
        .connection
        .pragma_update(None, "max_page_count", 60)
        .unwrap();
    let kept = (0..)
        .find(|nth| match store.keep(&run(*nth)) {
            Ok(()) => false,
            Err(StoreError::Full { .. }) => true,
            Err(other) => panic!("{other:?}"),
        })
        .unwrap();
    assert!(kept > 10, "{kept}");
    drop(store);
    is_whole(&place.file());
    let mut store = place.store();
    assert_eq!(store.amounts().unwrap().runs, kept);
    // Room was made.
    store.keep(&run(kept)).unwrap();
}

#[test]
fn many_write_at_once_and_nobody_loses_a_run() {
    let place = Place::new("many");
    let at = place.file();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let at = &at;
            scope.spawn(move || {
                let mut store = Store::open(at).unwrap();
                for nth in 0..25 {
                    store.keep(&run(writer * 100 + nth)).unwrap();
                    store.list(&Filter::default()).unwrap();
                }
            });
        }
    });
    let store = place.store();
    assert_eq!(store.amounts().unwrap().runs, 200);
    is_whole(&at);
}

/// Where the child of the next test keeps runs; not set in any other.
const KEEPER: &str = "CAUDAL_TEST_KEEPER";

/// Not a test by itself: the process that is killed in the next.
#[test]
fn keeps_runs_until_it_is_killed() {
    let Some(told) = std::env::var_os(KEEPER) else {
        return;
    };
    let told = told.into_string().unwrap();
    let (first, at) = told.split_once(' ').unwrap();
    let mut store = Store::open(Path::new(at)).unwrap();
    for nth in first.parse().unwrap().. {
        store.keep(&run(nth)).unwrap();
        println!("kept {nth}");
    }
}

#[test]
fn a_kill_at_any_moment_costs_no_run_that_was_kept() {
    let place = Place::new("killed");
    let mut acknowledged = Vec::new();
    for round in 0..30_u64 {
        let first = round * 1000;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "store::tests::keeps_runs_until_it_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(KEEPER, format!("{first} {}", place.file().display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = round % 7;
        // Killed as soon as so many are kept, which is in the middle of the next; and in the first rounds of
        // each seven while it opens the store.
        let note = |line: &str, acknowledged: &mut Vec<u64>| {
            let number: Option<u64> = line
                .rsplit_once("kept ")
                .map(|(_, nth)| nth.parse().unwrap());
            acknowledged.extend(number);
            number.is_some()
        };
        while left > 0 {
            let line = lines
                .next()
                .expect("it goes on until it is killed")
                .unwrap();
            left -= u64::from(note(&line, &mut acknowledged));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it still said before it went was true as well.
        for line in lines.map_while(Result::ok) {
            note(&line, &mut acknowledged);
        }
        let store = place.store();
        for nth in &acknowledged {
            assert_eq!(found(&store, &id(*nth)), run(*nth));
        }
    }
    assert!(acknowledged.len() > 30);
    is_whole(&place.file());
}

#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("private");
    let at = place.0.join("data/caudal/store.db");
    let mut store = Store::open(&at).unwrap();
    store.keep(&run(1)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&at), 0o600);
    assert_eq!(mode(&place.0.join("data/caudal/store.db-wal")), 0o600);
    assert_eq!(mode(&place.0.join("data/caudal")), 0o700);
    assert_eq!(mode(&place.0.join("data")), 0o700);
}

#[test]
fn a_file_that_nobody_may_change_can_still_be_read() {
    let place = Place::new("name ? # % of it");
    let mut store = place.store();
    store.keep(&run(1)).unwrap();
    drop(store);
    let connection = connect_immutable(&place.file()).unwrap();
    let store = Store {
        connection,
        at: place.file(),
    };
    assert_eq!(found(&store, &id(1)), run(1));
    assert!(store.list(&Filter::default()).unwrap().len() == 1);
}

#[test]
fn errors_are_one_line_and_say_what_to_do() {
    let at = PathBuf::from("/data/store.db");
    let id = "abcd".to_owned();
    let all = [
        StoreError::Open {
            at: at.clone(),
            cause: std::io::ErrorKind::PermissionDenied.into(),
        },
        StoreError::Missing { at: at.clone() },
        StoreError::Newer {
            at: at.clone(),
            theirs: 3,
            ours: 2,
        },
        StoreError::Foreign { at: at.clone() },
        StoreError::Corrupt {
            at: at.clone(),
            what: "a page".into(),
        },
        StoreError::Full { at: at.clone() },
        StoreError::ReadOnly { at: at.clone() },
        StoreError::Busy { at: at.clone() },
        StoreError::Sqlite {
            at,
            cause: rusqlite::Error::InvalidQuery,
        },
        StoreError::Unknown { id: id.clone() },
        StoreError::Ambiguous {
            id: id.clone(),
            of: vec!["abcd1".into(), "abcd2".into()],
        },
        StoreError::NoId { id: id.clone() },
        StoreError::Exists { id },
    ];
    for error in all {
        let text = error.to_string();
        assert!(!text.contains('\n') && !text.is_empty(), "{text}");
        assert!(
            !error.advice().is_empty() && !error.advice().contains('\n'),
            "{text}"
        );
    }
}
