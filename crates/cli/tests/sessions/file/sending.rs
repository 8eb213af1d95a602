//! Files that are sent.

use super::{FilePair, content, report};
use crate::support::{SOON, caudal, run};
use std::fs;
use std::io::Write;
use std::process::Stdio;

trials! {
    a_file_arrives_under_its_name_and_is_not_replaced_unasked,
    a_directory_arrives_with_its_files,
    what_cannot_be_sent_of_a_directory_is_named_and_keeps_nothing_back,
    standard_input_is_sent_to_its_end,
    a_file_is_compared_without_being_kept,
    an_empty_file_takes_a_moment_over_each_protocol_in_each_direction,
    a_file_is_sent_over_ipv6_by_each_protocol,
}

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

fn what_cannot_be_sent_of_a_directory_is_named_and_keeps_nothing_back() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let pair = FilePair::new();
    let tree = pair.place.at("here/tree");
    fs::create_dir_all(tree.join("empty")).unwrap();
    fs::write(tree.join("good"), content(3)).unwrap();
    fs::write(tree.join("new\nline"), content(3)).unwrap();
    fs::write(tree.join(OsStr::from_bytes(b"z\xff")), content(3)).unwrap();
    std::os::unix::fs::symlink("good", tree.join("link")).unwrap();
    let ended = pair.runs("--send tree");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let stored = pair.place.at("stored/tree/good");
    assert_eq!(fs::read(stored).unwrap(), content(3));
    for line in [
        "not sent: tree/empty: an empty directory",
        "not sent: tree/link: a symbolic link",
        "not sent: tree/new\\nline: of a name",
        "not UTF-8",
        "4 of what is in the directory was not sent",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:#?}");
    }
    // Three bytes have no limit worth a word.
    assert!(!ended.stdout.contains("limited by"), "{ended:#?}");
    let run = pair.runs("--send tree --force --json").json();
    let codes = run["warnings"].as_array().unwrap().iter();
    assert!(
        codes.clone().any(|one| one["code"] == "files_left_out"),
        "{run}"
    );
}

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

fn a_file_is_compared_without_being_kept() {
    let pair = FilePair::new();
    fs::write(pair.place.at("here/a"), content(100_000)).unwrap();
    let mut command = pair.client("--send a --repeat 5 --json");
    let document = run(&mut command, SOON).done().json();
    assert_eq!(report(&document)["cells"][0]["n"], 5);
    assert_eq!(document["plan"]["sink"], "discard");
    assert_eq!(fs::read_dir(pair.place.at("stored")).unwrap().count(), 0);
}

fn an_empty_file_takes_a_moment_over_each_protocol_in_each_direction() {
    let pair = FilePair::new();
    fs::write(pair.place.at("here/none"), "").unwrap();
    fs::write(pair.place.at("served/none"), "").unwrap();
    for via in ["tcp", "tls", "rbt", "quic"] {
        for way in ["--send none --force", "--get none --force"] {
            let document = pair
                .runs(&format!("{way} --via {via} --json"))
                .done()
                .json();
            let run = &report(&document)["runs"][0];
            let moment =
                |value: &serde_json::Value| (1..5_000_000_000).contains(&value.as_u64().unwrap());
            assert!(moment(&run["time_ns"]), "{via} {way}: {run}");
            let of_writing = run["times"]["write_ns"].as_u64().unwrap();
            assert!(of_writing < 5_000_000_000, "{via} {way}: {run}");
            let receiver = &document["transfers"][0][if way.starts_with("--get") {
                "client"
            } else {
                "server"
            }];
            assert!(
                receiver["write_after_answer_ns"].as_u64().unwrap_or(0) < 5_000_000_000,
                "{receiver}"
            );
        }
    }
}

fn a_file_is_sent_over_ipv6_by_each_protocol() {
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        return;
    }
    let pair = FilePair::new();
    fs::write(pair.place.at("here/six"), content(2_000_000)).unwrap();
    for via in ["tcp", "tls", "rbt", "quic"] {
        let mut command = caudal(["file", "::1", "-p", &pair.server.port.to_string()]);
        command.args(["--send", "six", "--force", "--via", via]);
        command.current_dir(pair.place.at("here"));
        let ended = run(&mut command, SOON).done();
        assert!(
            ended.stdout.contains("digest verified"),
            "{via}: {ended:#?}"
        );
    }
}
