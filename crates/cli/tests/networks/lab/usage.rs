//! Wrong files and command lines, presets and the schema.

use crate::support::place::Place;
use crate::support::run;
use std::fs;
use std::process::Command;
use std::time::Duration;

pub(crate) fn full_disk() {
    let place = Place::of("lab");
    let script = format!(
        "mkdir -p {labs}/full && mount -t tmpfs -o size=4k,mode=700 none {labs}/full && dd if=/dev/zero of={labs}/full/fill bs=4k count=1 2>/dev/null; CAUDAL_LAB_DIR={labs}/full exec {caudal} lab up pair",
        labs = place.path().display(),
        caudal = env!("CARGO_BIN_EXE_caudal")
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    run(&mut command, Duration::from_secs(30)).failed(4, &["No space left on device"]);
}

pub(crate) fn few_files() {
    let place = Place::of("lab");
    let script = format!(
        "ulimit -n 40; exec {} lab up pair",
        env!("CARGO_BIN_EXE_caudal")
    );
    let mut command = Command::new("bash");
    command
        .args(["-c", &script])
        .env("CAUDAL_LAB_DIR", place.labs());
    run(&mut command, Duration::from_secs(30)).failed(4, &["open files", "ulimit -n"]);
    assert!(place.has_no_lab());
}

pub(crate) fn wrong_command_line() {
    let place = Place::of("lab");
    for (words, expected) in [
        ("up ring", "cannot read ring: No such file or directory"),
        ("up line 0", "preset line takes 1 to 100 routers, not 0"),
        ("up pair 3", "preset pair takes no number"),
        ("up pair --set rate=1M", "names no key of a link"),
        ("up pair --set h1-h2.rate", "has no value"),
        (
            "up pair --set h1-h3.rate=1M",
            "there is no link \"h1-h3\"; take one of h1-h2",
        ),
        ("up pair --set h1-h2.speed=1", "unknown field `speed`"),
        ("up pair --set h1-h2.rate=fast", "h1-h2.rate=fast"),
        (
            "up pair --set h1-h2.rate=1",
            "a rate of 1 bit/s cannot be emulated",
        ),
        ("up pair --name a/b", "\"a/b\" is not a valid name of a lab"),
        ("up /", "cannot read /"),
        ("up /dev/zero", "longer than 16 MiB"),
        ("preset ring", "there is no preset \"ring\""),
        ("run pair", "required"),
    ] {
        let ended = place.says(words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
    let list = place.says("list").done();
    assert!(list.stdout.contains("no lab is up"));
}

pub(crate) fn wrong_files() {
    let place = Place::of("lab");
    for (text, expected) in [
        (
            "host = [\n  { name = \"a\" },\n  { nam = \"b\" },\n]\n",
            "file.toml:3: unknown field `nam`",
        ),
        (
            "[[host]]\nname = \"a\"\n\n[[link]]\nbetween = [\"a\", \"b\"]\n",
            "file.toml:5: link[0].between: there is no node \"b\"",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10X\"\n",
            "file.toml:4: ",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1M\"\n[link.queue]\nframes = 0\n",
            "file.toml:6: link[0].queue.frames: a queue of no frames",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n[[link]]\nbetween = [\"a\", \"b\", \"c\"]\n",
            "file.toml:3: invalid length 3, expected two names",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nloss = 1\n",
            "file.toml:4: \"1\" could be 1% or 100%",
        ),
        ("this is no TOML", "file.toml:1: "),
        ("", "there is no host"),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n",
            "host a has no link",
        ),
    ] {
        let file = place.file("file.toml", text);
        let ended = place.says(&format!("up {file}"));
        assert_eq!(ended.code, Some(2), "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{text}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.trim_end().lines().count(),
            1,
            "{}",
            ended.stderr
        );
    }
    let binary = place.at("file.toml");
    fs::write(&binary, [0xff, 0xfe, 0, 1]).unwrap();
    place
        .says(&format!("up {}", binary.display()))
        .failed(2, &["is not text"]);
}

pub(crate) fn presets() {
    let place = Place::of("lab");
    let names = place.says("preset").done().stdout;
    for line in names.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = place.says(&format!("preset {name}")).done().stdout;
        let file: caudal_topology::TopologyFile = toml::from_str(&text).unwrap();
        assert!(caudal_topology::Topology::resolve(&file).is_ok(), "{name}");
    }
    assert_eq!(names.lines().count(), 7);
}
