//! The captures of the study, as text and as documents.

use super::{OFFLOADED, SMALL, assert_width, capture, folder, pcap, piped};
use crate::support::reference::{Reference, disagreements};
use crate::support::{SOON, caudal, run};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::CompressionLevel;
use std::fs;
use std::io::Write;
use std::process::Command;

pub fn summary() {
    let text = pcap(SMALL, "").done().stdout;
    assert_width(&text);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("10 frames, "), "{text}");
    assert!(first.ends_with("1 flow"), "{text}");
    for words in [
        "pcap (µs), Ethernet",
        "dropped while capturing: cannot tell",
        "10.0.100.11:33348 > 10.0.100.16:1025",
    ] {
        let folded = text.replace("\n    ", " ");
        assert!(folded.contains(words), "{words:?} is missing:\n{text}");
    }
    let quiet = pcap(SMALL, "-q").done().stdout;
    assert!(quiet.len() < text.len(), "{quiet}");
}

/// What gzip and zstd compressed is read as it is, and where that ends early, what came before counts.
pub fn compressed() {
    let bytes = fs::read(capture(SMALL)).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&bytes).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], CompressionLevel::Fastest);
    let plain = piped(&bytes, &["-", "--json"]).done().json();
    let gzip = gzip.finish().unwrap();
    for compressed in [&gzip, &zstd] {
        assert_eq!(piped(compressed, &["-", "--json"]).done().json(), plain);
    }
    for compressed in [&gzip, &zstd] {
        let early = &compressed[..compressed.len() - 6];
        let ended = piped(early, &["-", "--json"]);
        if ended.code == Some(0) {
            let document = ended.json();
            let cut_short = document["files"][0]["cut_short"].as_str().unwrap();
            assert!(
                cut_short.contains("is damaged or ends early"),
                "{cut_short}"
            );
        } else {
            assert!(ended.stderr.contains("ends early"), "{}", ended.stderr);
        }
    }
}

pub fn super_packets() {
    let text = pcap(OFFLOADED, "-v").done().stdout;
    assert_width(&text);
    assert!(text.starts_with("182 frames, "), "{text}");
    assert!(text.contains("21786 B (frames 71, "), "{text}");
    let text = pcap(OFFLOADED, "--flow 1").done().stdout;
    assert_width(&text);
    assert!(text.contains("super-packets of the client: 10"), "{text}");
    assert!(text.contains("super-packets of the server: 16"), "{text}");
    assert!(text.contains("1448 B by MSS"), "{text}");
}

pub fn flows() {
    let text = pcap(OFFLOADED, "--flows").done().stdout;
    assert_width(&text);
    assert!(text.lines().next().unwrap().contains("goodput"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("TCP")).count(), 2);
}

pub fn one_flow() {
    let text = pcap(SMALL, "--flow 1").done().stdout;
    assert_width(&text);
    for words in [
        "flow 1: TCP 10.0.100.11:33348 > 10.0.100.16:1025",
        "handshake complete in 901 µs, 827 µs towards the server",
        "the client offers MSS 1460, window",
        "captured on the client's host",
        "closed by both ends: FIN of the client in frame 8",
    ] {
        let folded = text.replace("\n    ", " ");
        assert!(folded.contains(words), "{words:?} is missing:\n{text}");
    }
}

/// Two segments 47 µs apart are no rate: their payload over that time would be three times what the link carries.
pub fn no_rate() {
    let text = pcap(SMALL, "--flow 1").done().stdout;
    assert!(!text.contains("goodput"), "{text}");
    let text = pcap(SMALL, "--flows").done().stdout;
    assert!(!text.contains("bit/s"), "{text}");
    let text = pcap(OFFLOADED, "--flow 1").done().stdout;
    assert!(text.contains("goodput"), "{text}");
}

pub fn csv() {
    let text = pcap(OFFLOADED, "--csv").done().stdout;
    let mut lines = text.lines().map(|line| line.split(',').count());
    assert_eq!(text.lines().count(), 3, "{text}");
    let columns = lines.next().unwrap();
    assert!(lines.all(|count| count == columns), "{text}");
}

pub fn documented() {
    let reference = Reference::read("pcap-json.md");
    let rows = reference.expand("pcap");
    for (name, words) in [
        (SMALL, "--json"),
        (OFFLOADED, "--json"),
        (OFFLOADED, "--json --flow 2 --ladder"),
        (OFFLOADED, "-J --graph time-sequence"),
    ] {
        let document = pcap(name, words).done().json();
        assert_eq!(document["schema"], "caudal.pcap/1");
        let pairs = ["folded.transports", "folded.applications"];
        let wrong = disagreements(&document, &rows, &["always"], &pairs);
        assert!(wrong.is_empty(), "{name} {words}:\n{}", wrong.join("\n"));
    }
    let one = pcap(OFFLOADED, "--json --flow 2").done().json();
    assert_eq!(one["flows"].as_array().unwrap().len(), 1);
    assert_eq!(one["flows"][0]["number"], 2);
}

pub fn filters() {
    for (filter, frames) in [
        ("host 10.0.100.11 and port 1025", 10),
        ("proto tcp", 10),
        ("proto udp", 0),
        ("port 1", 0),
        ("time ..1ms", 3),
        ("time 1ms..", 7),
    ] {
        let mut command = caudal(["pcap", "--json", "--filter", filter]);
        command.arg(capture(SMALL));
        let document = run(&mut command, SOON).done().json();
        assert_eq!(document["totals"]["frames"], frames, "{filter}");
        assert_eq!(document["totals"]["filtered_frames"], 10 - frames);
    }
}

pub fn standard_input() {
    let bytes = std::fs::read(capture(OFFLOADED)).unwrap();
    let mut from_file = pcap(OFFLOADED, "--json").done().json();
    let mut from_pipe = piped(&bytes, &["-", "--json"]).done().json();
    assert_eq!(from_pipe["files"][0]["name"], "standard input");
    for document in [&mut from_file, &mut from_pipe] {
        document["files"][0]["name"] = "".into();
    }
    assert_eq!(from_file, from_pipe);
}

pub fn several_files() {
    let mut command = caudal(["pcap", "--json"]);
    command.arg(capture(SMALL)).arg(capture(OFFLOADED));
    let document = run(&mut command, SOON).done().json();
    assert_eq!(document["totals"]["frames"], 192);
    assert_eq!(document["files"][1]["first_frame"], 11);
}

/// tcpdump writes what it reads: in its own hand, with nanoseconds and cut off.
pub fn from_tcpdump() {
    let copy = folder("tcpdump").join("copy.pcap");
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.arg("-r").arg(capture(SMALL));
    tcpdump.args(["--nano", "-w"]).arg(&copy);
    let output = tcpdump.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = caudal(["pcap", "--json"]);
    let document = run(command.arg(&copy), SOON).done().json();
    assert_eq!(document["totals"]["frames"], 10);
}
