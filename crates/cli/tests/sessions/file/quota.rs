//! What clients may store at a server, and what they may ask it to make ready.

use super::content;
use crate::support::place::Place;
use crate::support::{SOON, Serve, caudal, run};
use std::fs;

trials! {
    what_is_stored_keeps_to_the_quota,
    content_of_any_size_begins_at_once,
    a_digest_computed_while_sending_is_verified,
}

/// A quota of 4 MB, of which one source has half.
fn what_is_stored_keeps_to_the_quota() {
    let place = Place::of("file");
    fs::create_dir(place.at("stored")).unwrap();
    let mut command = caudal(["serve", "-p", "0", "--accept-bytes", "4M", "--accept-files"]);
    let server = Serve::of(command.arg(place.at("stored")));
    let send = |words: &str| {
        let mut client = server.client(&format!("file {words}"));
        run(client.current_dir(place.at(".")), SOON)
    };
    for (name, bytes) in [
        ("first", 1_500_000),
        ("second", 1_000_000),
        ("third", 100_000),
    ] {
        fs::write(place.at(name), content(bytes)).unwrap();
    }
    send("--send first --via tcp").done();
    for via in ["tcp", "rbt", "quic"] {
        send(&format!("--send second --via {via}")).failed(3, &["--accept-bytes"]);
    }
    // A file whose size is not known before is ended where it is too long, and leaves nothing.
    let mut piped = server.client("file --send - --to piped --via tcp");
    piped.stdin(fs::File::open(place.at("second")).unwrap());
    let piped = piped.current_dir(place.at(".")).output().unwrap();
    assert!(!piped.status.success(), "{piped:?}");
    let told = String::from_utf8_lossy(&piped.stderr) + String::from_utf8_lossy(&piped.stdout);
    assert!(told.contains("--accept-bytes"), "{told}");
    // What did not stay takes nothing, nor do the directories above it.
    let mut below = server.client("file --send - --to a/b/c/piped --via tcp");
    below.stdin(fs::File::open(place.at("second")).unwrap());
    let below = below.current_dir(place.at(".")).output().unwrap();
    assert!(!below.status.success(), "{below:?}");
    send("--send third --via rbt").done();
    let stored = fs::read_dir(place.at("stored")).unwrap();
    let mut names: Vec<_> = stored.map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "third"]);
}

/// A content whose digest would take days begins at once, and costs no more than what the client takes of it.
fn content_of_any_size_begins_at_once() {
    let server = Serve::start("--max-time 2s");
    let ended = run(&mut server.client("file -R --sizes 1000T --via tcp"), SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let line = server.running.line_with("ended early");
    assert!(line.contains("sent at"), "{line}");
    assert!(!line.contains(" 0 B sent"), "{line}");
    server.still_serves();
}

/// Of more than a gibibyte the digest is computed while it is sent.
fn a_digest_computed_while_sending_is_verified() {
    let server = Serve::start("");
    for via in ["tcp", "rbt"] {
        let mut client = server.client(&format!("file -R --sizes 1080M --via {via} -q"));
        let ended = run(&mut client, SOON).done();
        assert!(ended.stdout.contains("digest verified"), "{ended:#?}");
    }
}
