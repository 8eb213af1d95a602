//! Bad input: one line each, with the documented exit code.

use super::FilePair;
use crate::support::place::Place;
use crate::support::{Serve, run_caudal};
use std::fs;

trials! {
    flags_out_of_range_bother_nobody,
    files_that_cannot_be_sent_are_one_line,
    a_server_without_directories_says_so,
    a_failure_is_an_object_with_json,
    nobody_there_is_one_line,
}

fn flags_out_of_range_bother_nobody() {
    for (words, message) in [
        ("--packet 0", "--packet is 0"),
        ("--packet 65488", "--packet is 65488"),
        ("--packet x", "x"),
        ("--sizes 1Q", "1Q"),
        ("--sizes 1M,,2M", "--sizes"),
        ("--sizes 0", "--sizes has 0 B"),
        ("--sizes -5", "-5"),
        ("--via tcp,ftp", "ftp"),
        ("--get a --sizes 1M", "--sizes"),
        ("--get a --send b", "--send"),
        ("--resume --sizes 1M", "--resume"),
        ("--write-size 0 --via tcp", "--write-size is 0"),
        ("--write-size 17Mi --via tcp", "--write-size"),
        ("--repeat 0", "--repeat is 0"),
        ("--until 5% --repeat 3", "pilot"),
        ("-C fixed", "none is given"),
        ("-C vegas", "vegas"),
        ("--granularity 1s", "--granularity"),
        ("--dscp 64", "64"),
        ("--send missing", "missing"),
        ("--get ../a", "not allowed"),
        ("--get a\u{1b}b", "not allowed"),
    ] {
        // A peer that is not there shows that it was not asked.
        let ended = run_caudal(&format!("file nowhere.invalid {words}"));
        ended.failed(2, &[message]);
    }
}

fn files_that_cannot_be_sent_are_one_line() {
    let place = Place::of("file");
    fs::create_dir(place.at("empty")).unwrap();
    fs::create_dir(place.at("odd")).unwrap();
    fs::write(place.at("odd/new\nline"), "x").unwrap();
    for (words, message) in [
        ("nowhere.invalid --send missing", "missing"),
        ("nowhere.invalid --send empty", "has no files"),
        ("nowhere.invalid --send odd", "control"),
        ("nowhere.invalid --send /dev/null", "no regular file"),
    ] {
        place.says(words).failed(2, &[message]);
    }
}

fn a_server_without_directories_says_so() {
    let server = Serve::start("");
    let place = Place::new();
    let file = place.file("a", "content");
    server.serves("file --get a").failed(3, &["--files"]);
    server
        .serves(&format!("file --send {file}"))
        .failed(3, &["--accept-files"]);
    server.still_serves();
}

fn a_failure_is_an_object_with_json() {
    let pair = FilePair::new();
    let ended = pair.runs("--get missing --json");
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let document = ended.json();
    assert_eq!(document["schema"], "caudal.error/1");
    assert_eq!(document["error"]["code"], "peer");
}

fn nobody_there_is_one_line() {
    run_caudal("file nowhere.invalid --sizes 1M").failed(3, &["nowhere.invalid"]);
}
