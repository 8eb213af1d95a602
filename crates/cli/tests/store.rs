//! The store over the program itself: what runs leave there, how it is found again, and that no trouble with it
//! ever costs a result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use support::place::Place;
use support::port::free_port;
use support::{Ended, Running, SOON, Serve, caudal, run, trial, uninstalled};

/// A run that takes hardly any time, and enough of it for a rate.
const QUICK: &str = "tcp -n 16M";

/// The entries of the list.
#[track_caller]
fn entries_in(place: &Place, words: &str) -> Vec<Value> {
    let list = place
        .says(&format!("report list --json {words}"))
        .done()
        .json();
    assert_eq!(list["schema"], "caudal.list/1");
    list["entries"].as_array().unwrap().clone()
}

/// Puts many runs at once where a test needs ids that it knows: the store itself, as SQL sees it.
fn sql(at: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(at).unwrap()
}

/// The warning on standard error is one line with all of these words, and the run is whole all the same.
#[track_caller]
fn shown_but_not_recorded(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert!(
        ended
            .stderr
            .starts_with("caudal: warning: the run is not recorded: "),
        "{ended:#?}"
    );
    for word in words {
        assert!(
            ended.stderr.contains(word),
            "{word:?} is missing: {ended:#?}"
        );
    }
    support::assert_reported(ended);
    assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
}

fn recorded_and_shown() {
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

fn document_unchanged() {
    let place = Place::new();
    for words in [
        "tcp -n 64K --json",
        "udp -t 0.3 -b 1M --bidir --json",
        "rtt -n 20 --sizes 1,64 --json",
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
        "rtt -n 5 --sizes 1 -q",
    ] {
        let ended = place.says(words).done();
        assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
    }
    assert_eq!(entries_in(&place, "").len(), 9);
}

fn samples_kept() {
    let place = Place::new();
    let raw = place.at("raw.csv");
    let words = format!("rtt -P 2 -n 50 --sizes 1,64 --raw {} -q", raw.display());
    place.says(&words).done();
    let shown = place.says("report show").done().stdout;
    // Two clients, two sizes of 50, and their first messages.
    assert!(shown.contains("raw samples: 204 in 6 series"), "{shown}");
    let path = place.says("report path --json").done().json();
    assert_eq!(path["amounts"]["samples"], 204);
    assert_eq!(path["amounts"]["runs"], 1);
    assert_eq!(path["path"], place.store().display().to_string());
}

fn machines_kept() {
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

fn filters() {
    let place = Place::new();
    place.says("tcp -n 64K").done();
    place.says("udp -t 0.2 -b 1M").done();
    place.says("rtt -n 10 --sizes 64").done();
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

fn ids() {
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

fn two_at_once() {
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

fn interrupted() {
    let place = Place::new();
    let command = Running::start(&mut place.command("tcp -t 60 -i 0.1"));
    command.two_intervals();
    command.signal("INT");
    let ended = command.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    support::assert_reported(&ended);
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

fn killed() {
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

fn places() {
    let place = Place::new();
    let home = place.at("home");
    fs::create_dir(&home).unwrap();
    let within = |words: &str| {
        let mut command = caudal(words.split_whitespace());
        command
            .env_remove("CAUDAL_STORE")
            .env_remove("XDG_DATA_HOME")
            .env("HOME", &home);
        command
    };
    let of_home = home.join(".local/share/caudal/store.db");
    run(&mut within(QUICK), SOON).done();
    assert!(of_home.is_file());
    let data = place.at("data");
    run(within(QUICK).env("XDG_DATA_HOME", &data), SOON).done();
    assert!(data.join("caudal/store.db").is_file());
    let path = run(&mut within("report path"), SOON).done().stdout;
    assert!(
        path.starts_with(&format!("{}\n", of_home.display())),
        "{path}"
    );
    assert!(path.contains("1 run outside studies"), "{path}");
    // By flag, which goes before all else.
    let flag = place.at("by-flag.db");
    let words = format!("{QUICK} --store {}", flag.display());
    let ended = run(within(&words).env("CAUDAL_STORE", "none"), SOON).done();
    assert!(
        ended
            .stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("saved as "),
        "{ended:#?}"
    );
    assert!(flag.is_file());
    let listed = run(
        &mut within(&format!("report list --store {}", flag.display())),
        SOON,
    )
    .done();
    assert_eq!(listed.stdout.lines().count(), 2);
}

fn no_home() {
    // A home that is no place: such as a service or a container has.
    let mut command = caudal(QUICK.split_whitespace());
    command
        .env_remove("CAUDAL_STORE")
        .env_remove("XDG_DATA_HOME")
        .env("HOME", "nowhere");
    let ended = run(&mut command, SOON);
    shown_but_not_recorded(&ended, &["no home directory", "--store FILE", "--no-store"]);
    let mut command = caudal(["report", "list"]);
    command
        .env_remove("CAUDAL_STORE")
        .env_remove("XDG_DATA_HOME")
        .env("HOME", "nowhere");
    run(&mut command, SOON).failed(2, &["no home directory", "--store FILE"]);
}

fn not_wanted() {
    let place = Place::new();
    let data = place.at("data");
    for (words, store) in [
        ("tcp -n 64K --no-store", None),
        ("tcp -n 64K", Some("none")),
        ("rtt -n 5 --sizes 1", Some("")),
        ("udp -t 0.2 -b 1M --no-store", Some("/no/such/place.db")),
    ] {
        let mut command = caudal(words.split_whitespace());
        command
            .env("XDG_DATA_HOME", &data)
            .env_remove("CAUDAL_STORE");
        if let Some(store) = store {
            command.env("CAUDAL_STORE", store);
        }
        let ended = run(&mut command, SOON).done();
        assert!(!ended.stdout.contains("saved as"), "{words}: {ended:#?}");
    }
    assert!(!data.exists());
    let mut command = caudal(["report", "list"]);
    run(command.env("CAUDAL_STORE", "none"), SOON).failed(2, &["CAUDAL_STORE disables the store"]);
    place
        .says("tcp --no-store --store x")
        .failed(2, &["--no-store", "--store"]);
}

fn damaged() {
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

fn newer() {
    let place = Place::new();
    place.says(QUICK).done();
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
        .pragma_update(None, "user_version", 2)
        .unwrap();
    assert_eq!(entries_in(&place, "").len(), 1, "nothing was lost");
}

fn nowhere_to_write() {
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

/// A shell in a mount namespace of its own, with a file system of `options` on `at`.
fn with_file_system(at: &Path, options: &str, script: &str) -> Command {
    let script = format!(
        "mount -t tmpfs -o {options} none {at} && {script}",
        at = at.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    command.env("CAUDAL_STORE", at.join("store.db"));
    command
}

fn read_only() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_caudal");
    let at = place.path().display();
    let script = format!(
        "{program} {QUICK} -q >/dev/null && mount -o remount,ro {at} && {{ {program} {QUICK}; {program} report list; \
         {program} report tag last x; true; }}"
    );
    let ended = run(
        &mut with_file_system(place.path(), "size=8m,mode=700", &script),
        SOON,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    support::assert_reported(&ended);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{ended:#?}");
    assert!(
        lines[0].contains("the run is not recorded: the store")
            && lines[0].contains("cannot be written to"),
        "{lines:#?}"
    );
    assert!(lines[1].contains("cannot be written to"), "{lines:#?}");
    // What is there can be read all the same.
    assert!(
        ended.stdout.contains("id        started (UTC)"),
        "{ended:#?}"
    );
    // With nothing there, nothing can be made.
    let script = format!("mount -o remount,ro {at} && exec {program} {QUICK}");
    let ended = run(
        &mut with_file_system(place.path(), "size=8m,mode=700", &script),
        SOON,
    );
    shown_but_not_recorded(&ended, &["cannot be opened: Read-only file system"]);
}

fn full_disk() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_caudal");
    let disk = place.at("disk");
    fs::create_dir(&disk).unwrap();
    let at = disk.display();
    let said = place.at("said");
    let said = said.display();
    // A file system that fills up after a few runs, each of which is shown to its end.
    let script = format!(
        "dd if=/dev/zero of={at}/ballast bs=1k count=120 2>/dev/null; until [ -s {said} ]; do {program} rtt -n 20000 --sizes 1 -q 2>{said} || exit 9; done; \
         {program} report list --csv; cat {said} >&2; dd if=/dev/zero of={at}/fill bs=1k 2>/dev/null; \
         {program} {QUICK}; rm -f {at}/fill {at}/ballast; {program} {QUICK} -q; {program} report path --json >&2"
    );
    let ended = run(
        &mut with_file_system(&disk, "size=400k,mode=700", &script),
        SOON * 2,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    for line in &lines[..2] {
        assert!(line.contains("the disk of the store"), "{line}");
        assert!(line.contains("what is in it is safe"), "{line}");
    }
    let listed = ended
        .stdout
        .lines()
        .filter(|line| line.contains(",rtt,"))
        .count() as u64;
    assert!(listed > 0, "{ended:#?}");
    let path: Value = serde_json::from_str(&lines[2..].join("\n")).unwrap();
    assert_eq!(
        path["amounts"]["runs"].as_u64(),
        Some(listed + 1),
        "{ended:#?}"
    );
}

fn foreign_server() {
    let place = Place::new();
    let server = Running::start(&mut caudal(["iperf3", "-s", "-1", "-p", "0"]));
    drop(server);
    let server = Serve::start("--iperf2-port 0");
    let mut command = server.client("tcp -n 64K --as iperf3");
    run(command.env("CAUDAL_STORE", place.store()), SOON).done();
    let entries = entries_in(&place, "");
    assert_eq!(entries[0]["kind"], "tcp");
    let shown = place.says("report show").done().stdout;
    assert!(shown.contains("warning: the server is"), "{shown}");
}

/// A server that speaks the other programs' languages too, and its port for each.
struct Speaks {
    server: Serve,
    iperf2: String,
    nttcp: String,
}

impl Speaks {
    fn start() -> Self {
        let server = Serve::start("--iperf2-port 0 --nttcp-port 0");
        let port_behind = |words: &str| {
            let line = server.running.line_with(words);
            let rest = line.split(words).nth(1).unwrap();
            rest.split(',').next().unwrap().trim().to_owned()
        };
        Self {
            iperf2: port_behind("iperf 2 on port "),
            nttcp: port_behind("nttcp on port "),
            server,
        }
    }

    /// A client in the ways of the program that its words begin with.
    fn client(&self, words: &str) -> Command {
        let (program, words) = words.split_once(' ').unwrap();
        let words = words.split_whitespace();
        let native = self.server.port.to_string();
        match program {
            "nttcp" => {
                let mut command = caudal(["nttcp", "-p", &self.nttcp]);
                command.args(words).arg("127.0.0.1");
                command
            }
            program => {
                let port = if program == "iperf" {
                    &self.iperf2
                } else {
                    &native
                };
                let mut command = caudal([program, "-c", "127.0.0.1", "-p", port]);
                command.args(words);
                command
            }
        }
    }
}

/// What is kept of a client in the ways of another program: what it printed, its line of the list, its document.
fn recorded_by(words: &str) -> (Ended, Value, Value) {
    let place = Place::new();
    let speaks = Speaks::start();
    let mut command = speaks.client(words);
    let ended = run(command.env("CAUDAL_STORE", place.store()), SOON);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{ended:#?}"
    );
    assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
    let entries = entries_in(&place, "");
    let [entry] = entries.as_slice() else {
        panic!("{words}: {entries:#?}");
    };
    let program = words.split(' ').next().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(entry["tool"], format!("caudal {version} (as {program})"));
    assert_eq!(entry["outcome"], "done", "{entry}");
    let command = entry["command"].as_str().unwrap();
    assert!(
        command.starts_with(&format!("caudal {program} -")),
        "{command}"
    );
    assert!(
        entry["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{entry}"
    );
    let varying: String = sql(&place.store())
        .query_row("SELECT varying FROM run", [], |row| row.get(0))
        .unwrap();
    let varying: Value = serde_json::from_str(&varying).unwrap();
    assert!(
        varying["machine"]["meanwhile"]["elapsed_s"].as_f64() > Some(0.0),
        "{varying}"
    );
    place.says("report show").done();
    let document = place.says("report show --json").done().json();
    assert_eq!(document["schema"], "caudal.run/1");
    assert_eq!(document["id"], entry["id"]);
    assert_eq!(document["tool"]["as"], program);
    assert!(
        document["environment"]["client"]["kernel"].is_string(),
        "{document}"
    );
    assert_eq!(document.get("imported"), None);
    (ended, entry.clone(), document)
}

#[track_caller]
fn close(kept: &Value, printed: &Value) {
    let (kept, printed) = (kept.as_f64().unwrap(), printed.as_f64().unwrap());
    let off = (kept - printed).abs();
    assert!(
        off <= printed.abs() * 1e-9 && printed > 0.0,
        "{kept} is not {printed}"
    );
}

fn iperf3_kept() {
    let (ended, entry, document) = recorded_by("iperf3 -n 2M -P 2 -J");
    let printed = ended.json();
    let direction = &document["summary"]["directions"][0];
    assert_eq!(
        (&entry["kind"], &direction["direction"]),
        (&"tcp".into(), &"up".into())
    );
    let received = &printed["end"]["sum_received"];
    let sent = &printed["end"]["sum_sent"];
    assert_eq!(direction["received_bytes"], received["bytes"]);
    assert_eq!(direction["sent_bytes"], sent["bytes"]);
    let rate = &document["summary"]["goodput_bps"]["mean"];
    assert_eq!(&entry["headline"]["goodput_bps"], rate);
    assert!(rate.as_f64() > Some(0.0));
    assert_eq!(document["flows"].as_array().unwrap().len(), 2);
    assert_eq!(document["flows"][0]["counted_by"], "sender");
    assert_eq!(document["plan"]["end"]["bytes"], 2 << 20);

    // What arrives here is counted here, and both directions at once are told apart.
    let (ended, entry, document) = recorded_by("iperf3 -t 1 -i 0.25 -b 20M --bidir -J");
    let printed = ended.json();
    let rates = [0, 1].map(|at| {
        let direction = &document["summary"]["directions"][at];
        direction["goodput_bps"]["mean"].as_f64().unwrap()
    });
    close(
        &entry["headline"]["goodput_bps"],
        &rates.iter().sum::<f64>().into(),
    );
    let down = &document["flows"][1];
    assert_eq!(
        (&down["direction"], &down["counted_by"]),
        (&"down".into(), &"receiver".into())
    );
    let rows = printed["intervals"].as_array().unwrap();
    assert_eq!(down["intervals"].as_array().unwrap().len(), rows.len());
    let found = &down["intervals"][1]["goodput_bps"];
    close(found, &rows[1]["sum_bidir_reverse"]["bits_per_second"]);

    let (ended, entry, document) = recorded_by("iperf3 -u -t 1 -b 2M -J");
    let printed = ended.json();
    assert_eq!(entry["kind"], "udp");
    let receiver = &document["flows"][0]["receiver"];
    let arrived = &printed["end"]["sum_received"];
    assert_eq!(receiver["lost"], arrived["lost_packets"]);
    assert_eq!(receiver["bytes"], arrived["bytes"]);
    assert_eq!(receiver.get("reordered"), None, "the server does not tell");
}

fn iperf2_kept() {
    /// A column of the last row that was printed.
    fn printed(ended: &Ended, at: usize) -> u64 {
        let row = ended.stdout.lines().last().unwrap();
        row.split(',').nth(at).unwrap().parse().unwrap()
    }

    // The sender's own count is not what arrived: a client of TCP does not learn that.
    let (ended, entry, document) = recorded_by("iperf -t 0.6 -i 0.2 -b 20M -y C");
    assert_eq!(entry["kind"], "tcp");
    assert!(entry["headline"]["goodput_bps"].is_null(), "{entry}");
    let direction = &document["summary"]["directions"][0];
    assert_eq!(direction["sent_bytes"], printed(&ended, 7), "{ended:#?}");
    assert!(direction["sent_bps"].as_f64() > Some(0.0), "{direction}");
    let flow = &document["flows"][0];
    assert_eq!(flow.get("receiver"), None, "{flow}");
    assert!(
        flow["intervals"][0]["tcp"]["cwnd_bytes"].as_u64() > Some(0),
        "{flow}"
    );
    assert_eq!(flow["intervals"][0].get("goodput_bps"), None);

    let (ended, entry, document) = recorded_by("iperf -t 0.6 -b 5M -R -y C");
    assert!(
        entry["headline"]["goodput_bps"].as_f64() > Some(0.0),
        "{entry}"
    );
    let flow = &document["flows"][0];
    assert_eq!(flow["direction"], "down");
    assert_eq!(flow["receiver"]["bytes"], printed(&ended, 7));

    let (ended, entry, document) = recorded_by("iperf -u -t 0.6 -b 2M -y C");
    assert_eq!(entry["kind"], "udp");
    let flow = &document["flows"][0];
    assert_eq!(flow["receiver"]["bytes"], printed(&ended, 7), "{ended:#?}");
    assert_eq!(flow["receiver"]["lost"], printed(&ended, 10), "{ended:#?}");
    assert!(flow["sender"]["datagrams"].as_u64() > Some(0), "{flow}");

    // One direction after the other is not both at once.
    let (_, entry, document) = recorded_by(&format!("iperf -t 0.5 -b 5M -r -L {}", free_port()));
    let (up, down) = (&document["flows"][0], &document["flows"][1]);
    assert_eq!(
        (&up["direction"], &down["direction"]),
        (&"up".into(), &"down".into())
    );
    let end = up["sender"]["end_s"].as_f64().unwrap();
    assert!(
        down["receiver"]["start_s"].as_f64().unwrap() > end * 0.9,
        "{document:#}"
    );
    assert!(entry["headline"]["goodput_bps"].is_null(), "{entry}");
}

fn nttcp_kept() {
    let (_, entry, document) = recorded_by("nttcp -l 8192 -n 100");
    assert_eq!(entry["kind"], "tcp");
    assert!(
        entry["headline"]["goodput_bps"].as_f64() > Some(0.0),
        "{entry}"
    );
    let flow = &document["flows"][0];
    assert_eq!(
        (&flow["sender"]["bytes"], &flow["receiver"]["bytes"]),
        (&819_200.into(), &819_200.into())
    );

    let (_, _, document) = recorded_by("nttcp -r -u -l 1000 -n 50 -g 500");
    let flow = &document["flows"][0];
    assert_eq!(flow["direction"], "down");
    assert_eq!(flow["sender"]["datagrams"], 50);
    let receiver = &flow["receiver"];
    let [arrived, lost] = ["datagrams", "lost"].map(|key| receiver[key].as_u64().unwrap());
    assert_eq!(arrived + lost, 50, "{receiver}");
    assert_eq!(receiver["bytes"], arrived * 1000);
}

fn other_ways_without_a_store() {
    let speaks = Speaks::start();
    for words in ["iperf3 -n 1M", "iperf -n 1M", "nttcp -n 100"] {
        let with = |store: &str| {
            let mut command = speaks.client(words);
            run(command.env("CAUDAL_STORE", store), SOON)
        };
        let (plain, warned) = (with("none"), with("/proc/caudal/store.db"));
        assert_eq!(
            (plain.code, plain.stderr.as_str()),
            (Some(0), ""),
            "{plain:#?}"
        );
        assert_eq!(warned.code, plain.code, "{warned:#?}");
        assert_eq!(
            warned.stdout.lines().count(),
            plain.stdout.lines().count(),
            "{plain:#?} {warned:#?}"
        );
        let [line] = warned.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{warned:#?}");
        };
        assert!(
            line.starts_with("caudal: warning: the run is not recorded: "),
            "{line}"
        );
        assert!(line.contains("CAUDAL_STORE=FILE"), "{line}");
        assert!(!line.contains("--store"), "it has no such flag: {line}");
    }
}

fn other_ways_interrupted() {
    let place = Place::new();
    let speaks = Speaks::start();
    for words in ["iperf3 -t 30 -i 0.1 -b 5M", "iperf -t 30 -i 0.1 -b 5M"] {
        let mut command = speaks.client(words);
        let client = Running::start(command.env("CAUDAL_STORE", place.store()));
        client.line_with("its/sec");
        client.signal("INT");
        client.wait(SOON);
        let entry = &entries_in(&place, "")[0];
        assert_eq!(entry["outcome"], "cut short", "{words}: {entry}");
        let shown = place.says("report show --json").done().json();
        assert_eq!(shown["warnings"][0]["code"], "cut_short", "{shown}");
        assert!(
            !shown["flows"][0]["intervals"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
    // Nothing was measured where nobody listens.
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", "1"]);
    let ended = run(command.env("CAUDAL_STORE", place.store()), SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(entries_in(&place, "").len(), 2);
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let namespaces = || {
        uninstalled("unshare").or_else(|| {
            let probe = Command::new("unshare").args(["-m", "true"]).output();
            let has = probe.is_ok_and(|probe| probe.status.success());
            (!has).then(|| "mount namespaces take root".to_owned())
        })
    };
    let plain = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    let trials = vec![
        plain("a_run_is_kept_and_shown_as_it_closed", recorded_and_shown),
        plain("the_kept_document_is_the_printed_one", document_unchanged),
        plain("every_sample_of_round_trips_is_kept", samples_kept),
        plain(
            "the_machine_is_kept_once_and_its_load_each_time",
            machines_kept,
        ),
        plain("a_list_shows_what_is_asked_for", filters),
        plain("digits_stand_for_one_id_or_say_which_they_may_be", ids),
        plain("commands_that_end_at_once_are_all_kept", two_at_once),
        plain("a_run_that_is_cut_short_is_kept_as_such", interrupted),
        plain(
            "a_command_killed_after_its_result_leaves_a_whole_store",
            killed,
        ),
        plain("the_store_is_where_flag_variable_or_home_say", places),
        plain("without_a_home_the_run_is_shown_and_not_kept", no_home),
        plain("nothing_is_kept_where_that_is_not_wanted", not_wanted),
        plain(
            "a_damaged_or_foreign_file_costs_no_result_and_stays_as_it_is",
            damaged,
        ),
        plain(
            "a_store_of_a_newer_version_costs_no_result_and_stays_as_it_is",
            newer,
        ),
        plain("a_place_that_cannot_be_costs_no_result", nowhere_to_write),
        plain("a_run_with_another_programs_server_is_kept", foreign_server),
        plain("a_client_in_the_ways_of_iperf3_is_kept", iperf3_kept),
        plain("a_client_in_the_ways_of_iperf_2_is_kept", iperf2_kept),
        plain("a_client_in_the_ways_of_nttcp_is_kept", nttcp_kept),
        plain(
            "a_client_in_another_programs_ways_goes_on_without_a_store",
            other_ways_without_a_store,
        ),
        plain(
            "a_client_in_another_programs_ways_is_kept_when_it_is_cut_short",
            other_ways_interrupted,
        ),
        trial(
            "a_store_that_may_only_be_read_is_read",
            namespaces(),
            read_only,
        ),
        trial(
            "a_full_disk_costs_no_result_and_nothing_that_was_kept",
            namespaces(),
            full_disk,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
