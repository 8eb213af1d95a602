//! Files that are sent.

use super::{FilePair, content, report};
use crate::support::{SOON, caudal, run};
use std::fs;
use std::io::Write;
use std::process::Stdio;

trials! {
    a_file_arrives_under_its_name_and_is_not_replaced_unasked,
    a_directory_arrives_with_its_files,
    small_files_go_together_over_each_protocol,
    small_files_fit_what_the_server_takes_at_once,
    what_a_server_does_not_store_of_a_directory_is_named,
    permissions_and_times_are_kept_both_ways,
    links_are_sent_as_links_where_that_is_asked_for,
    zeros_become_holes_over_each_protocol,
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
        "not sent: tree/link: a symbolic link",
        "not sent: tree/new\\nline: of a name",
        "2 of what is in the directory are not at the server",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:#?}");
    }
    assert!(pair.place.at("stored/tree/empty").is_dir());
    // A name is bytes.
    let stored = pair
        .place
        .at("stored/tree")
        .join(OsStr::from_bytes(b"z\xff"));
    assert_eq!(fs::read(stored).unwrap(), content(3));
    // Three bytes have no limit worth a word.
    assert!(!ended.stdout.contains("limited by"), "{ended:#?}");
    let run = pair.runs("--send tree --force --json").json();
    let codes = run["warnings"].as_array().unwrap().iter();
    assert!(
        codes.clone().any(|one| one["code"] == "files_left_out"),
        "{run}"
    );
}

fn small_files_fit_what_the_server_takes_at_once() {
    let pair = FilePair::with(&["--max-bytes", "1M"]);
    for number in 0..30 {
        let name = format!("here/tree/{number}");
        let path = pair.place.at(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(100_000)).unwrap();
    }
    let ended = pair.runs("--send tree").done();
    let transfers = "tree (30 files), part 4 of 4";
    assert!(ended.stdout.contains(transfers), "{ended:#?}");
    for number in 0..30 {
        let stored = pair.place.at(&format!("stored/tree/{number}"));
        assert!(fs::read(stored).unwrap() == content(100_000), "{number}");
    }
}

fn links_are_sent_as_links_where_that_is_asked_for() {
    let pair = FilePair::new();
    let tree = pair.place.at("here/tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    fs::write(tree.join("a"), content(3)).unwrap();
    std::os::unix::fs::symlink("../a", tree.join("sub/up")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tree.join("out")).unwrap();
    let ended = pair.runs("--send tree --links");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let out = "not sent: tree/out: a symbolic link that leads out of the directory";
    assert!(ended.stdout.contains(out), "{ended:#?}");
    let stored = pair.place.at("stored/tree/sub/up");
    assert_eq!(fs::read_link(&stored).unwrap().as_os_str(), "../a");
    assert_eq!(fs::read(&stored).unwrap(), content(3));
    fs::remove_file(tree.join("out")).unwrap();
    pair.runs("--send tree -a --resume").done();
    pair.runs("--send tree -a --force").done();
    // What was stored as a link is not read through.
    pair.runs("--get tree/sub/up").failed(3, &["tree/sub/up"]);
}

fn zeros_become_holes_over_each_protocol() {
    use std::os::unix::fs::MetadataExt;
    let pair = FilePair::new();
    let mut image = vec![0; 24 << 20];
    image[(9 << 20)..(10 << 20)].copy_from_slice(&content(1 << 20));
    fs::write(pair.place.at("here/disk.img"), &image).unwrap();
    fs::write(pair.place.at("served/disk.img"), &image).unwrap();
    let blocks = |name: &str| fs::metadata(pair.place.at(name)).unwrap().blocks() * 512;
    for via in ["tcp", "tls", "rbt", "quic"] {
        pair.runs(&format!("--send disk.img -S --force --via {via}"))
            .done();
        assert!(
            fs::read(pair.place.at("stored/disk.img")).unwrap() == image,
            "{via}"
        );
        assert!(blocks("stored/disk.img") < 4 << 20, "{via}");
        pair.runs(&format!(
            "--get disk.img --to got --sparse --force --via {via}"
        ))
        .done();
        assert!(
            fs::read(pair.place.at("here/got")).unwrap() == image,
            "{via}"
        );
        assert!(
            blocks("here/got") < 4 << 20,
            "{via}: {}",
            blocks("here/got")
        );
    }
    pair.runs("--send disk.img --force").done();
    assert!(blocks("stored/disk.img") >= 24 << 20);
}

fn a_directory_arrives_with_its_files() {
    let pair = FilePair::new();
    fs::create_dir_all(pair.place.at("here/tree/sub")).unwrap();
    for (name, bytes) in [("tree/a", 1000), ("tree/sub/b", 0), ("tree/c", 2_000_000)] {
        fs::write(pair.place.at("here").join(name), content(bytes)).unwrap();
    }
    let ended = pair.runs("--send tree").done();
    assert!(
        ended.stdout.contains("2 of 2 transfers: 2.001 MB in "),
        "{ended:#?}"
    );
    assert!(ended.stdout.contains("tree (2 files), "), "{ended:#?}");
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
    for line in [
        "not stored: tree/a: it exists already",
        "not stored: tree/sub/b: it exists already",
        "2 of what is in the directory are not at the server",
        "--force replaces them",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:#?}");
    }
    assert!(pair.place.at("stored/tree/c").exists());
    // What is there is what was to come.
    fs::remove_file(pair.place.at("stored/tree/a")).unwrap();
    fs::remove_file(pair.place.at("stored/tree/c")).unwrap();
    pair.runs("--send tree --resume").done();
    assert!(pair.place.at("stored/tree/a").exists());
}

fn small_files_go_together_over_each_protocol() {
    let pair = FilePair::new();
    for number in 0..300 {
        let name = format!("here/tree/{}/{number}", number % 7);
        let path = pair.place.at(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(number * 11)).unwrap();
    }
    for via in ["tcp", "tls", "rbt", "quic"] {
        let document = pair
            .runs(&format!("--send tree --via {via} --json"))
            .done()
            .json();
        assert_eq!(report(&document)["runs"].as_array().unwrap().len(), 1);
        let archive = &document["transfers"][0]["plan"]["content"]["archive"];
        assert_eq!(archive["entries"], 300, "{via}: {document}");
        let size = &report(&document)["cells"][0]["size_bytes"];
        assert_eq!(archive["bytes"], *size, "{via}");
        for number in 0..300 {
            let name = format!("stored/tree/{}/{number}", number % 7);
            let stored = fs::read(pair.place.at(&name)).unwrap();
            assert_eq!(stored, content(number * 11), "{via}: {number}");
        }
        fs::remove_dir_all(pair.place.at("stored/tree")).unwrap();
    }
    // Each file of a comparison has times of its own.
    let few = pair.place.at("here/few");
    fs::create_dir(&few).unwrap();
    for name in ["a", "b"] {
        fs::write(few.join(name), "x").unwrap();
    }
    let document = pair.runs("--send few --repeat 2 --json").done().json();
    assert_eq!(report(&document)["cells"].as_array().unwrap().len(), 2);
}

fn what_a_server_does_not_store_of_a_directory_is_named() {
    let pair = FilePair::new();
    let tree = pair.place.at("here/tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..80 {
        fs::write(tree.join(format!("{number:02}")), "new").unwrap();
    }
    pair.runs("--send tree").done();
    let ended = pair.runs("--send tree");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let named = ended.stdout.matches("not stored: tree/").count();
    assert_eq!(named, 50, "{ended:#?}");
    assert!(
        ended.stdout.contains("not sent or not stored: 30 more"),
        "{ended:#?}"
    );
    let document = pair.runs("--send tree --json").json();
    let refused = &document["transfers"][0]["server"]["refused"];
    assert_eq!(refused["count"], 80, "{refused}");
    assert_eq!(refused["first"].as_array().unwrap().len(), 50);
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

fn permissions_and_times_are_kept_both_ways() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let pair = FilePair::new();
    let at = std::time::UNIX_EPOCH + std::time::Duration::new(1_234_567_890, 987_000_000);
    for (name, bytes) in [
        ("here/tool", 400_000),
        ("here/tree/small", 4),
        ("here/tree/none", 0),
        ("served/tool", 1000),
    ] {
        let path = pair.place.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content(bytes)).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o710))
            .unwrap();
        file.set_modified(at).unwrap();
    }
    let tree = fs::File::open(pair.place.at("here/tree")).unwrap();
    tree.set_permissions(fs::Permissions::from_mode(0o710))
        .unwrap();
    tree.set_modified(at).unwrap();
    for flags in ["--send tool", "--send tree", "--get tool --to got"] {
        pair.runs(&format!("{flags} -a")).done();
    }
    for name in [
        "stored/tool",
        "stored/tree/small",
        "stored/tree/none",
        "stored/tree",
        "here/got",
    ] {
        let meta = fs::metadata(pair.place.at(name)).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o710, "{name}");
        assert_eq!(meta.modified().unwrap(), at, "{name}");
    }
    pair.runs("--send tool --force").done();
    let meta = fs::metadata(pair.place.at("stored/tool")).unwrap();
    assert!(meta.modified().unwrap() > at && meta.mode() & 0o100 == 0);
}
