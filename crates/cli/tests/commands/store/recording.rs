//! Runs that are recorded, and what is recorded of them.

use super::{QUICK, entries_in, sql};
use crate::support::place::Place;
use serde_json::Value;

pub(crate) fn recorded_and_shown() {
    let place = Place::new();
    let ended = place.says(QUICK).done();
    let note = ended.stdout.lines().last().unwrap();
    let id = note
        .strip_prefix("saved as ")
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or_else(|| panic!("{note:?}"));
    assert_eq!(note, format!("saved as {id} (caudal report show {id})"));
    let shown = place.says(&format!("report show {id}")).done().stdout;
    // All that the command closed with but what its sockets were granted.
    let closing = ended
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("upload:"));
    let granted = |line: &&str| !line.contains("granted:") && !line.starts_with("    buffer");
    for line in closing
        .take_while(|line| line.starts_with("upload") || line.starts_with(' '))
        .filter(granted)
    {
        assert!(shown.contains(line), "{line:?} is missing:\n{shown}");
    }
    for expected in [
        id,
        "tcp ",
        ", done",
        "command: caudal tcp -n 16M",
        "client: ",
        "server: ",
        "during the run: load",
    ] {
        assert!(
            shown.contains(expected),
            "{expected:?} is missing:\n{shown}"
        );
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    let listed = place.says("report list").done().stdout;
    assert!(
        listed.contains(id) && listed.lines().count() == 2,
        "{listed}"
    );
    assert_eq!(
        place.says("report show").done().stdout,
        shown,
        "`last` goes without saying"
    );
}

pub(crate) fn document_unchanged() {
    let place = Place::new();
    for words in [
        "tcp -n 64K --json",
        "udp -t 0.3 -b 1M --bidir --json",
        "rtt --count 20 --sizes 1,64 --json",
        "udp -t 0.2 -b 1M --find-rate 50% --json",
        "tcp -n 64K --repeat 3 --json",
    ] {
        let printed = place.says(words).done();
        let kept = place.says("report show last --json").done();
        assert_eq!(kept.json(), printed.json(), "{words}");
        assert_eq!(kept.stdout, printed.stdout, "{words}: to the last byte");
    }
    let kinds: Vec<Value> = entries_in(&place, "")
        .iter()
        .map(|entry| entry["kind"].clone())
        .collect();
    assert_eq!(kinds, ["tcp", "find-rate", "rtt", "udp", "tcp"]);
    // Where programs read, nothing is added.
    for words in [
        "tcp -n 64K --csv",
        "tcp -n 64K -q",
        "tcp -n 64K --json-stream",
        "rtt --count 5 --sizes 1 -q",
    ] {
        let ended = place.says(words).done();
        assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
    }
    assert_eq!(entries_in(&place, "").len(), 9);
}

pub(crate) fn samples_kept() {
    let place = Place::new();
    let raw = place.at("raw.csv");
    let words = format!(
        "rtt -P 2 --count 50 --sizes 1,64 --raw {} -q",
        raw.display()
    );
    place.says(&words).done();
    let shown = place.says("report show").done().stdout;
    // Two clients, two sizes of 50, and their first messages.
    assert!(shown.contains("raw samples: 204 in 6 series"), "{shown}");
    let path = place.says("report path --json").done().json();
    assert_eq!(path["amounts"]["samples"], 204);
    assert_eq!(path["amounts"]["runs"], 1);
    assert_eq!(path["path"], place.store().display().to_string());
}

pub(crate) fn machines_kept() {
    let place = Place::new();
    place.says(QUICK).done();
    place.says(QUICK).done();
    let connection = sql(&place.store());
    let count = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(
        count("SELECT count(*) FROM environment"),
        1,
        "the same machine twice"
    );
    assert_eq!(count("SELECT count(DISTINCT varying) FROM run"), 2);
    let varying: String = connection
        .query_row("SELECT varying FROM run LIMIT 1", [], |row| row.get(0))
        .unwrap();
    let varying: Value = serde_json::from_str(&varying).unwrap();
    assert!(
        varying["machine"]["meanwhile"]["elapsed_s"].as_f64() > Some(0.0),
        "{varying}"
    );
}
