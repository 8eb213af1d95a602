//! Files that are fetched.

use super::{FilePair, content, report};
use crate::support::place::eventually;
use crate::support::{Running, SOON};
use std::fs;

trials! {
    a_file_is_fetched_and_not_replaced_unasked,
    what_is_not_served_is_one_line,
    a_file_that_was_fetched_whole_is_not_continued,
    a_transfer_that_was_interrupted_is_continued,
}

fn a_file_is_fetched_and_not_replaced_unasked() {
    let pair = FilePair::new();
    fs::create_dir(pair.place.at("served/sub")).unwrap();
    fs::write(pair.place.at("served/sub/a.iso"), content(1_200_000)).unwrap();
    let shown = pair.runs("--get sub/a.iso").done().stdout;
    assert!(shown.contains("sub/a.iso, 1.200 MB in "), "{shown}");
    let here = pair.place.at("here/a.iso");
    assert_eq!(fs::read(&here).unwrap(), content(1_200_000));
    pair.runs("--get sub/a.iso")
        .failed(2, &["a.iso", "exists", "--force"]);
    fs::write(&here, "old").unwrap();
    pair.runs("--get sub/a.iso --force").done();
    assert_eq!(fs::read(&here).unwrap(), content(1_200_000));
    pair.runs("--get sub/a.iso --to b.iso").done();
    assert_eq!(
        fs::read(pair.place.at("here/b.iso")).unwrap(),
        content(1_200_000)
    );
    pair.runs("--get sub/a.iso --sink discard").done();
}

fn what_is_not_served_is_one_line() {
    let pair = FilePair::new();
    fs::write(pair.place.at("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(pair.place.at("secret"), pair.place.at("served/link")).unwrap();
    pair.runs("--get missing").failed(3, &["missing"]);
    pair.runs("--get link").failed(3, &["link"]);
    pair.runs("--get ../secret").failed(2, &["not allowed"]);
    pair.runs("--get /etc/passwd").failed(2, &["not allowed"]);
    assert_eq!(fs::read_dir(pair.place.at("here")).unwrap().count(), 0);
}

fn a_file_that_was_fetched_whole_is_not_continued() {
    let pair = FilePair::new();
    fs::write(pair.place.at("served/a"), content(3_000_000)).unwrap();
    pair.runs("--get a --resume").done();
    assert_eq!(
        fs::read(pair.place.at("here/a")).unwrap(),
        content(3_000_000)
    );
}

fn a_transfer_that_was_interrupted_is_continued() {
    let pair = FilePair::new();
    fs::write(pair.place.at("served/a"), content(12_000_000)).unwrap();
    let running = Running::start(&mut pair.client("--get a -b 60M"));
    // The part grows past some chunks before the end: 12 MB take 1.6 s at this rate.
    let part = pair.place.at("here/a.part");
    eventually("some chunks are stored", || {
        fs::metadata(&part).is_ok_and(|meta| meta.len() > 4 << 20)
    });
    running.signal("INT");
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(!pair.place.at("here/a").exists());
    let document = pair.runs("--get a --resume --json").done().json();
    let one = &report(&document)["runs"][0];
    let resumed = one["resumed_bytes"].as_u64().unwrap();
    assert!(resumed >= 1 << 20, "{one}");
    assert_eq!(
        one["bytes"].as_u64().unwrap() + resumed,
        12_000_000,
        "{one}"
    );
    assert_eq!(
        fs::read(pair.place.at("here/a")).unwrap(),
        content(12_000_000)
    );
}
