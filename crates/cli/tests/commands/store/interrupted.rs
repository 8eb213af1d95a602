//! Commands that end at once, are interrupted or killed.

use super::{QUICK, entries_in, sql};
use crate::support::place::Place;
use crate::support::{Running, SOON, Serve};

pub(crate) fn two_at_once() {
    let place = Place::new();
    let server = Serve::start("");
    let commands: Vec<Running> = (0..6)
        .map(|_| {
            let mut command = server.client("tcp -n 64K -q");
            Running::start(command.env("CAUDAL_STORE", place.store()))
        })
        .collect();
    for command in commands {
        command.wait(SOON).done();
    }
    assert_eq!(entries_in(&place, "").len(), 6);
    let connection = sql(&place.store());
    let said: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(said, "ok");
}

pub(crate) fn interrupted() {
    let place = Place::new();
    let command = Running::start(&mut place.command("tcp -t 60 -i 0.1"));
    command.two_intervals();
    command.signal("INT");
    let ended = command.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    crate::support::assert_reported(&ended);
    let entries = entries_in(&place, "");
    assert_eq!(entries[0]["outcome"], "cut short", "{entries:#?}");
    assert!(
        entries[0]["headline"]["goodput_bps"].as_f64() > Some(0.0),
        "{entries:#?}"
    );
    // Nothing was measured: nothing is kept.
    let ended = place.says("tcp 127.0.0.1 -p 1");
    assert_eq!(ended.code, Some(3));
    assert_eq!(entries_in(&place, "").len(), 1);
}

pub(crate) fn killed() {
    let place = Place::new();
    place.says(QUICK).done();
    for _ in 0..10 {
        let mut command = Running::start(&mut place.command("tcp -n 64K -i 0.1"));
        // In the middle of whatever it does after its result.
        command.line_with("upload:");
        command.kill();
        drop(command);
        let connection = sql(&place.store());
        let said: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(said, "ok");
    }
    place.says(QUICK).done();
    assert!(entries_in(&place, "").len() >= 2);
}
