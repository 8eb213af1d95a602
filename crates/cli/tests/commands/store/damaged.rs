//! Stores that are damaged, newer or cannot be written.

use super::{QUICK, entries_in, shown_but_not_recorded, sql};
use crate::support::place::Place;
use crate::support::{SOON, caudal, run};
use std::fs;
use std::path::Path;

pub(crate) fn damaged() {
    let place = Place::new();
    for _ in 0..3 {
        place.says(QUICK).done();
    }
    let good = fs::read(place.store()).unwrap();
    let mut bad = good.clone();
    let length = bad.len();
    bad[4096..length].fill(0xa5);
    let cases: [(&[u8], &str, &str); 3] = [
        (&bad, "is damaged", ".recover"),
        (
            b"#!/bin/sh\necho this is no store at all, and long enough to look like something\n",
            "not a caudal store",
            "was left alone",
        ),
        (&good[..100], "", "--store FILE"),
    ];
    for (bytes, what, todo) in cases {
        fs::write(place.store(), bytes).unwrap();
        let ended = place.says(QUICK);
        shown_but_not_recorded(&ended, &[what]);
        let _ = todo;
        let ended = place.says("report list");
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        assert!(ended.stderr.contains(what), "{ended:#?}");
        assert_eq!(fs::read(place.store()).unwrap(), bytes, "left as it was");
    }
    // JSON is whole too.
    let ended = place.says("tcp -n 64K --json");
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.json()["schema"], "caudal.run/1");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
}

pub(crate) fn newer() {
    let place = Place::new();
    place.says(QUICK).done();
    let version: i64 = sql(&place.store())
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    sql(&place.store())
        .pragma_update(None, "user_version", 1000)
        .unwrap();
    let ended = place.says(QUICK);
    shown_but_not_recorded(&ended, &["has version 1000", "update this program"]);
    place.says("report list").failed(
        1,
        &[
            "has version 1000, and this program supports versions up to",
            "update",
        ],
    );
    sql(&place.store())
        .pragma_update(None, "user_version", version)
        .unwrap();
    assert_eq!(entries_in(&place, "").len(), 1, "nothing was lost");
}

pub(crate) fn nowhere_to_write() {
    let place = Place::new();
    // Below a file no directory can be.
    fs::write(place.at("file"), "").unwrap();
    let below = place.at("file/store.db");
    for at in [
        below.as_path(),
        Path::new("/proc/caudal/store.db"),
        place.path(),
    ] {
        let mut command = caudal(QUICK.split_whitespace());
        let ended = run(command.env("CAUDAL_STORE", at), SOON);
        shown_but_not_recorded(
            &ended,
            &[
                &at.display().to_string(),
                "cannot be opened",
                "--store FILE",
            ],
        );
    }
}
