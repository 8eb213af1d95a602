//! The list, its filters and abbreviated ids.

use super::{QUICK, entries_in, sql};
use crate::support::place::Place;

pub(crate) fn filters() {
    let place = Place::new();
    place.says("tcp -n 64K").done();
    place.says("udp -t 0.2 -b 1M").done();
    place.says("rtt --count 10 --sizes 64").done();
    place
        .says("report tag last golden first,second")
        .failed(2, &["comma"]);
    place.says("report tag last golden day-1").done();
    let kinds = |words: &str| -> Vec<String> {
        let entries = entries_in(&place, words);
        entries
            .iter()
            .map(|entry| entry["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(""), ["rtt", "udp", "tcp"]);
    assert_eq!(kinds("--limit 2"), ["rtt", "udp"]);
    assert_eq!(kinds("--kind udp"), ["udp"]);
    assert_eq!(kinds("--tag golden"), ["rtt"]);
    assert_eq!(kinds("DAY-1 rtt"), ["rtt"]);
    assert_eq!(kinds("--peer 127.0.0.1"), ["rtt", "udp", "tcp"]);
    assert_eq!(kinds("--peer 192.0.2"), [""; 0]);
    assert_eq!(kinds("--since 1h"), ["rtt", "udp", "tcp"]);
    assert_eq!(kinds("--since 2100-01-01"), [""; 0]);
    assert_eq!(kinds("-- -b"), ["udp"]);
    place
        .says("report list --since soon")
        .failed(2, &["\"soon\" is neither a date"]);
    place
        .says("report list --study nowhere")
        .failed(2, &["there is no run or study \"nowhere\""]);
    let text = place.says("report list no such words").done().stdout;
    assert_eq!(text, "no matching runs\n");
    let text = place.says("report list -n 1").done().stdout;
    assert!(
        text.contains("#day-1 #golden") && text.contains("… and more"),
        "{text}"
    );
    let csv = place.says("report list --csv").done().stdout;
    assert!(
        csv.starts_with("id,kind,started,") && csv.lines().count() == 4,
        "{csv}"
    );
    let text = place.says("report tag last -d golden").done().stdout;
    assert!(text.ends_with(": day-1\n"), "{text}");
    assert_eq!(kinds("--tag golden"), [""; 0]);
}

pub(crate) fn ids() {
    let place = Place::new();
    place
        .says("report show")
        .failed(1, &["there is no store", "a first run makes it"]);
    place.says(QUICK).done();
    let connection = sql(&place.store());
    for id in ["abcd1111", "abcd2222"] {
        // A store is added to by anybody who may: these runs have all a run must have.
        let id = format!("{id}{}", "0".repeat(24));
        connection
            .execute("INSERT INTO entry (id, started_ns) VALUES (?, 1)", [&id])
            .unwrap();
        connection
            .execute(
                "INSERT INTO run (id, kind, tool, command, outcome, environment, varying)
                 SELECT ?, kind, tool, command, outcome, environment, varying FROM run LIMIT 1",
                [&id],
            )
            .unwrap();
        connection
            .execute("INSERT INTO document VALUES (?, NULL, 2, '{}')", [&id])
            .unwrap_err();
        let document = format!(
            r#"{{"schema":"caudal.run/1","id":"{id}","tool":{{"name":"caudal"}},"plan":{{}}}}"#
        );
        connection
            .execute(
                "INSERT INTO document VALUES (?1, NULL, ?2, ?3)",
                rusqlite::params![&id, document.len(), document.as_bytes()],
            )
            .unwrap();
    }
    drop(connection);
    let shown = place.says("report show abcd1").done().stdout;
    assert!(shown.starts_with("tcp abcd1111"), "{shown}");
    place.says("report show abcd").failed(
        2,
        &["\"abcd\" is ambiguous: abcd1111, abcd2222; give more of it"],
    );
    place.says("report show ffffffff0000").failed(
        2,
        &["there is no run or study \"ffffffff0000\"", "report list"],
    );
    place
        .says("report show abc")
        .failed(2, &["4 to 32 hexadecimal digits"]);
    place
        .says("report tag abcd x")
        .failed(2, &["is ambiguous: "]);
}
