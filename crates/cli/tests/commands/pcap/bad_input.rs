//! What is no capture, and what cannot be asked.

use super::{OFFLOADED, SMALL, capture, folder, pcap, piped};
use crate::support::{SOON, caudal, run};
use std::path::Path;
use std::process::Stdio;

const FAILED: i32 = 1;
const USAGE: i32 = 2;

/// Runs `caudal pcap` on a file.
#[track_caller]
fn refused(path: &Path, code: i32, words: &[&str]) {
    run(caudal(["pcap"]).arg(path), SOON).failed(code, words);
    let ended = run(caudal(["pcap", "--json"]).arg(path), SOON);
    assert_eq!(ended.json()["error"]["exit_code"], code);
}

pub fn no_capture() {
    let folder = folder("bad");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    refused(
        &folder.join("missing.pcap"),
        FAILED,
        &["cannot read", "check the name"],
    );
    refused(&folder, FAILED, &["cannot read", "give a file in it"]);
    refused(&file("empty", b""), FAILED, &["is empty"]);
    refused(
        &file("text", b"hello, world, this is text"),
        FAILED,
        &["no pcap or pcapng"],
    );
    refused(
        &file("zip", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
        FAILED,
        &["gzip"],
    );
    let small = std::fs::read(capture(SMALL)).unwrap();
    refused(&file("header", &small[..10]), FAILED, &["ends at byte 10"]);
}

pub fn truncated() {
    let small = std::fs::read(capture(SMALL)).unwrap();
    let ended = piped(&small[..small.len() - 7], &["-"]).done();
    let text = ended.stdout.replace("\n    ", " ");
    assert!(text.starts_with("9 frames"), "{text}");
    let offset = small.len() - 7;
    assert!(text.contains(&format!("ends at byte {offset}")), "{text}");
    let document = piped(&small[..small.len() - 7], &["-", "--json"])
        .done()
        .json();
    assert_eq!(document["findings"][0]["code"], "cut-short");
}

/// A capture in which nothing can be read is no capture without flows.
pub fn unreadable() {
    let small = std::fs::read(capture(SMALL)).unwrap();
    for (link_type, words) in [
        (
            127_u32,
            "10 frames have the link type 127 (IEEE 802.11 with radiotap header), which is not read",
        ),
        (
            1,
            "none of the 10 frames holds a packet that could be read: 10 MACsec",
        ),
    ] {
        let mut bytes = small.clone();
        bytes[20..24].copy_from_slice(&link_type.to_le_bytes());
        let mut at = 24;
        while at < bytes.len() {
            let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            bytes[at + 16 + 12..at + 16 + 14].copy_from_slice(&[0x88, 0xe5]);
            at += 16 + captured as usize;
        }
        piped(&bytes, &["-"]).failed(FAILED, &["standard input: ", words]);
        let ended = piped(&bytes, &["-", "--json"]);
        assert_eq!(ended.code, Some(FAILED));
        assert_eq!(ended.json()["totals"]["frames"], 10);
    }
}

/// Bytes changed anywhere: a result or one line, never anything else.
pub fn any_bytes() {
    let small = std::fs::read(capture(SMALL)).unwrap();
    for at in (0..small.len()).step_by(61) {
        let mut bytes = small.clone();
        bytes[at] ^= 0xff;
        let ended = piped(&bytes, &["-", "--flows"]);
        match ended.code {
            Some(0) => assert_eq!(ended.stderr, "", "{at}"),
            _ => drop(ended.failed(FAILED, &["standard input: "])),
        }
    }
}

pub fn usage() {
    for (words, expected) in [
        ("--flow 7", "there is no flow 7: there are 2"),
        ("--flow 0", "there is no flow 0"),
        ("--flow x", "invalid value"),
        ("--graph speed", "is no graph"),
        ("--ladder --graph rtt", "cannot be used with"),
        ("--filter nonsense", "is no condition"),
        ("--json --csv", "cannot be used with"),
        ("--sender a --receiver b", "cannot be used with"),
    ] {
        pcap(OFFLOADED, words).failed(USAGE, &[expected]);
    }
    run(&mut caudal(["pcap", "--sender", "a"]), SOON).failed(USAGE, &["--receiver"]);
    run(&mut caudal(["pcap"]), SOON).failed(USAGE, &["FILE"]);
    run(&mut caudal(["pcap", "-", "-"]), SOON).failed(USAGE, &["read once"]);
}

pub fn nothing_left() {
    let mut command = caudal(["pcap", "--filter", "port 1"]);
    let text = run(command.arg(capture(SMALL)), SOON).done().stdout;
    assert!(
        text.contains("the filter takes none of the 10 frames"),
        "{text}"
    );
    for drawn in [["--ladder", "--quiet"], ["--graph", "rtt"]] {
        let mut command = caudal(["pcap", "--filter", "port 1"]);
        command.args(drawn).arg(capture(SMALL));
        run(&mut command, SOON).failed(USAGE, &["the filter takes no flow"]);
    }
}

pub fn closed_pipe() {
    for words in ["--json", "--ladder", "--graph window"] {
        let mut command = caudal(["pcap"]);
        command.arg(capture(OFFLOADED)).args(words.split(' '));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
    }
}

pub fn hostile_name() {
    let path = folder("names").join("a\x1b[2J\u{202e}.pcap");
    std::fs::copy(capture(SMALL), &path).unwrap();
    let ended = run(caudal(["pcap"]).arg(&path), SOON).done();
    assert!(!ended.stdout.contains(['\x1b', '\u{202e}']), "{ended:#?}");
}

pub fn overwriting() {
    let path = folder("same").join("same.pcap");
    std::fs::copy(capture(SMALL), &path).unwrap();
    let mut command = caudal(["pcap", "--json", "-o"]);
    command.arg(&path).arg(&path);
    run(&mut command, SOON).failed(USAGE, &["would overwrite"]);
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(capture(SMALL)).unwrap()
    );
}
