//! One flow captured at both of its ends.

use super::generated::{Segment, at_client, at_server, pcap_file};
use super::{assert_width, folder};
use crate::support::reference::{Reference, disagreements};
use crate::support::{Ended, SOON, caudal, run};

/// Compares two captures.
fn compare(test: &str, sender: &[Segment], receiver: &[Segment], words: &[&str]) -> Ended {
    let folder = folder(test);
    let files = [("sender", sender), ("receiver", receiver)].map(|(name, segments)| {
        let path = folder.join(format!("{name}.pcap"));
        std::fs::write(&path, pcap_file(segments)).unwrap();
        path
    });
    let mut command = caudal(["pcap", "--sender"]);
    command.arg(&files[0]).arg("--receiver").arg(&files[1]);
    run(command.args(words), SOON)
}

pub fn compared() {
    let ended = compare("ends", &at_client(), &at_server(&[11_001, 31_001]), &[]);
    let text = ended.done().stdout.replace("\n    ", " ");
    for words in [
        "10.0.0.1:1000 > 10.0.0.2:2000",
        "sender to receiver: 2 of 102 lost (1.961 %), 2000 B; delay 4 ms/4 ms/4 ms (min/avg/max)",
        "receiver to sender: 0 of 101 lost (0 %), 0 B",
        "the receiver's clock is 7 s ahead of the sender's, wrong by at most 4 ms",
        "changed: TTL of the client's packets: 64 where they leave, 61 where they arrive",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
    let again = compare(
        "ends-width",
        &at_client(),
        &at_server(&[]),
        &["--flow", "1"],
    );
    for line in again.done().stdout.lines() {
        // A path is a word that is not broken before the line is full.
        assert_width(line);
    }
}

pub fn document() {
    let ended = compare("ends-json", &at_client(), &at_server(&[]), &["--json"]);
    let document = ended.done().json();
    assert_eq!(document["schema"], "caudal.pcap-ends/1");
    assert_eq!(document["clock"]["offset_us"], 7_000_000.0);
    let rows = Reference::read("pcap-json.md").expand("pcap_ends");
    let wrong = disagreements(&document, &rows, &["always"], &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a capture lacks looks like loss, so that it is said beside the numbers.
pub fn incomplete() {
    let folder = folder("ends-cut");
    let [sender, receiver] = ["sender", "receiver"].map(|name| folder.join(name));
    std::fs::write(&sender, pcap_file(&at_client())).unwrap();
    let whole = pcap_file(&at_server(&[]));
    std::fs::write(&receiver, &whole[..whole.len() - 5]).unwrap();
    let mut command = caudal(["pcap", "--sender"]);
    command.arg(&sender).arg("--receiver").arg(&receiver);
    let text = run(&mut command, SOON).done().stdout;
    assert!(text.contains("the capture of the receiver:\n"), "{text}");
    let folded = text.replace("\n    ", " ");
    assert!(folded.contains("in the middle of the record"), "{text}");
    let document = run(command.arg("--json"), SOON).done().json();
    assert_eq!(document["receiver_findings"][0]["code"], "cut-short");
    assert_eq!(document["sender_findings"][0], serde_json::Value::Null);
}

pub fn different() {
    let other: Vec<Segment> = at_client()
        .into_iter()
        .map(|segment| Segment {
            seq: segment.seq + 7,
            ack: segment.ack + 9,
            ..segment
        })
        .skip(3)
        .collect();
    compare("ends-other", &at_client(), &other, &[]).failed(1, &["no packet in common"]);
    compare("ends-flow", &at_client(), &other, &["--flow", "9"]).failed(2, &["no flow 9"]);
    let filter = ["--filter", "proto udp"];
    compare("ends-udp", &at_client(), &other, &filter).failed(2, &["filter takes no flow"]);
}
