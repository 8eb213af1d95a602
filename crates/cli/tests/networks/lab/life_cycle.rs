//! Networks that come up, run commands, and go down, also when their daemon is killed.

use super::{daemon_of, sleepers};
use crate::support::place::{Place, eventually};
use crate::support::{Running, run};
use std::fs;
use std::time::Duration;

pub(crate) fn run_a_command() {
    let place = Place::of("lab");
    let ended = place.says("run pair -- ping -4 -c 2 -i 0.1 h2");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("2 received"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("caudal: ") && ended.stderr.lines().count() == 1,
        "{}",
        ended.stderr
    );
    let mut own = place.command("run line 1 --on h2 --");
    own.args(["sh", "-c", "test $(hostname) = h2 && exit 7"]);
    assert_eq!(run(&mut own, Duration::from_secs(30)).code, Some(7));
    place
        .says("run pair -q -- no-such-program")
        .failed(127, &["cannot run no-such-program on h1", "install it"]);
    let plain = place.file("plain.txt", "no program\n");
    place
        .says(&format!("run pair -q -- {plain}"))
        .failed(126, &["plain.txt on h1", "executable"]);
    let mut crashing = place.command("run pair -q --");
    crashing.args(["sh", "-c", "kill -SEGV $$"]);
    assert_eq!(run(&mut crashing, Duration::from_secs(30)).code, Some(139));
    place
        .says("run pair --on h9 -- true")
        .failed(2, &["there is no host \"h9\"", "h1, h2"]);
    assert!(place.has_no_lab());
}

pub(crate) fn up_and_down() {
    let place = Place::of("lab");
    let ended = place.says("up star 2 --set h1-s1.delay=3ms").done();
    for words in [
        "h1  host  10.0.0.1",
        "10 Mbit/s",
        "3 ms",
        "s1  switch",
        "emulated",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    place.says("exec h1 -- ping -4 -c 1 h2").done();
    place
        .says("exec nobody -- true")
        .failed(2, &["there is no host", "h1, h2"]);
    place.says("set h1-s1 rate=1M delay=1ms").done();
    place.says("set h1-s1 loss=100% --backward").done();
    let report = place.says("stats --json").done().json();
    let link = &report["links"][0];
    assert_eq!(link["forward"]["rate_bps"], 1_000_000);
    assert_eq!(link["backward"]["delay_us"], 1000.0);
    assert!(link["forward"]["delivered"]["frames"].as_u64().unwrap() > 0);
    let lost = place.says("exec h1 -- ping -4 -c 1 -W 1 h2");
    assert_eq!(lost.code, Some(1));
    let text = place.says("stats").done().stdout;
    assert!(
        text.contains("loss") && text.contains("queue max"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 200),
        "{text}"
    );
    for (words, expected) in [
        ("set h1-s1 rate=0", "cannot be emulated"),
        ("set h1-s1 speed=1", "\"speed\" cannot be set"),
        ("set h1-s1 rate", "\"rate\" is not KEY=VALUE"),
        ("set h9 rate=1M", "there is no link \"h9\""),
        ("set h1-s1 loss=2", "loss=2"),
    ] {
        place.says(words).failed(2, &[expected]);
    }
    place
        .says("up star")
        .failed(2, &["a lab called \"star\" is up", "--name"]);
    let daemon = daemon_of(&place, "star");
    place.says("down").done();
    assert!(place.has_no_lab());
    eventually("its process is gone", || {
        let state = fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    });
    place.says("down").failed(2, &["no lab is up"]);
    place.says("exec h1 -- true").failed(2, &["no lab is up"]);
}

pub(crate) fn two_labs() {
    let place = Place::of("lab");
    place.says("up pair --name one -q").done();
    place.says("up pair --name two -q").done();
    let list = place.says("list --json").done().json();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|lab| lab["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "two"]);
    place
        .says("exec h1 -- true")
        .failed(2, &["2 labs are up", "--lab"]);
    assert_eq!(
        place.says("exec --lab two h1 -- hostname").done().stdout,
        "h1\n"
    );
    place.says("down --lab one").done();
    // With one left it need not be named.
    assert_eq!(place.says("exec h2 -- hostname").done().stdout, "h2\n");
    place.says("down --all").done();
    assert!(place.has_no_lab());
}

pub(crate) fn killed_daemon() {
    let place = Place::of("lab");
    place.says("up dumbbell -q").done();
    let mark = format!("{}", 900_000 + std::process::id());
    let mut program = place.command("exec h1 -- setsid -f sleep");
    program.arg(&mark).stdout(std::process::Stdio::null());
    assert!(program.status().unwrap().success());
    eventually("the program runs", || sleepers(&mark) == 1);
    crate::support::signal(daemon_of(&place, "dumbbell"), "KILL");
    let record = place.at("labs/dumbbell/lab.json");
    eventually("it is found", || {
        let ended = place.says("list");
        ended
            .stderr
            .contains("removed the remains of lab dumbbell, whose process was killed")
            || !record.exists()
    });
    eventually("the program is gone", || sleepers(&mark) == 0);
    assert!(place.has_no_lab());
    place.says("up dumbbell -q").done();
}

pub(crate) fn interrupted() {
    let place = Place::of("lab");
    let mark = format!("{}", 910_000 + std::process::id());
    let mut command = place.command("run pair -- sleep");
    let running = Running::start(command.arg(&mark));
    eventually("the command runs", || sleepers(&mark) == 1);
    running.signal("TERM");
    let ended = running.wait(Duration::from_secs(20));
    assert_eq!(ended.code, Some(137), "{}", ended.stderr);
    eventually("the command is gone", || sleepers(&mark) == 0);
    assert!(place.has_no_lab());
}

pub(crate) fn killed_run() {
    let place = Place::of("lab");
    let mark = format!("{}", 920_000 + std::process::id());
    let mut command = place.command("run pair -- sleep");
    let mut running = Running::start(command.arg(&mark));
    eventually("the command runs", || sleepers(&mark) == 1);
    running.kill();
    eventually("the command is gone", || sleepers(&mark) == 0);
    eventually("the lab is gone", || place.has_no_lab());
}
