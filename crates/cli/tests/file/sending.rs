//! Files that are sent.

use crate::support::{SOON, run};
use crate::{FilePair, content, report};
use std::fs;
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_file_arrives_under_its_name_and_is_not_replaced_unasked() {
    let pair = FilePair::new();
    fs::write(pair.place.at("here/disk.img"), content(1_300_000)).unwrap();
    let shown = pair.runs("--send disk.img").done().stdout;
    assert!(shown.contains("disk.img, 1.300 MB in "), "{shown}");
    let stored = pair.place.at("stored/disk.img");
    assert_eq!(fs::read(&stored).unwrap(), content(1_300_000));
    pair.runs("--send disk.img")
        .failed(3, &["disk.img", "exists"]);
    fs::write(pair.place.at("here/disk.img"), content(20)).unwrap();
    pair.runs("--send disk.img --force").done();
    assert_eq!(fs::read(&stored).unwrap(), content(20));
    pair.runs("--send disk.img --to sub/other.img").done();
    assert_eq!(
        fs::read(pair.place.at("stored/sub/other.img")).unwrap(),
        content(20)
    );
}

#[test]
fn a_directory_arrives_with_its_files() {
    let pair = FilePair::new();
    fs::create_dir_all(pair.place.at("here/tree/sub")).unwrap();
    for (name, bytes) in [("tree/a", 1000), ("tree/sub/b", 0), ("tree/c", 2_000_000)] {
        fs::write(pair.place.at("here").join(name), content(bytes)).unwrap();
    }
    let ended = pair.runs("--send tree").done();
    assert!(
        ended.stdout.contains("3 of 3 transfers: 2.001 MB in "),
        "{ended:#?}"
    );
    for (name, bytes) in [("tree/a", 1000), ("tree/sub/b", 0), ("tree/c", 2_000_000)] {
        assert_eq!(
            fs::read(pair.place.at("stored").join(name)).unwrap(),
            content(bytes),
            "{name}"
        );
    }
    // One that is there already is no reason to leave the others out.
    fs::remove_file(pair.place.at("stored/tree/c")).unwrap();
    let ended = pair.runs("--send tree");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("failed; tree/a: "), "{ended:#?}");
    assert!(ended.stdout.contains("1 of 3 transfers"), "{ended:#?}");
    assert!(pair.place.at("stored/tree/c").exists());
}

#[test]
fn standard_input_is_sent_to_its_end() {
    let pair = FilePair::new();
    let mut command = pair.client("--send - --to piped --json");
    command.env("CAUDAL_STORE", "none");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&content(700_000)).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        fs::read(pair.place.at("stored/piped")).unwrap(),
        content(700_000)
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report(&document)["cells"][0]["size_bytes"], 700_000);
}

#[test]
fn a_file_is_compared_without_being_kept() {
    let pair = FilePair::new();
    fs::write(pair.place.at("here/a"), content(100_000)).unwrap();
    let mut command = pair.client("--send a --repeat 5 --json");
    let document = run(&mut command, SOON).done().json();
    assert_eq!(report(&document)["cells"][0]["n"], 5);
    assert_eq!(document["plan"]["sink"], "discard");
    assert_eq!(fs::read_dir(pair.place.at("stored")).unwrap().count(), 0);
}
