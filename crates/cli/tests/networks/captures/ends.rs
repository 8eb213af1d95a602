//! Two captures of every flow against what the lab counted on the link between them.

use super::ExpectedImpairments;
use super::lab_capture::LabCapture;
use serde_json::Value;

/// Frames that one way carried.
#[derive(Debug, Default, PartialEq, Eq)]
struct WayCounts {
    sent: u64,
    lost: u64,
    duplicated: u64,
}

/// Fails unless all flows together lost and duplicated as many frames as the lab counted, each way.
pub fn agree_with_the_lab(lab: &LabCapture, expected: ExpectedImpairments) {
    let files = [0, 1].map(|end| lab.file(end).display().to_string());
    let place = lab.place();
    let pcap = |words: String| {
        let mut command = crate::support::caudal(["pcap", "--json"]);
        command
            .current_dir(place.path())
            .args(words.split_whitespace());
        crate::support::run(&mut command, crate::support::SOON)
            .done()
            .json()
    };
    let flows = pcap(files[0].clone())["flows"].as_array().unwrap().clone();
    let mut ways: [WayCounts; 2] = Default::default();
    for flow in &flows {
        let words = format!(
            "--sender {} --receiver {} --flow {}",
            files[0], files[1], flow["number"]
        );
        let document = pcap(words);
        for (way, name) in ways.iter_mut().zip(["there", "back"]) {
            let counts = &document[name];
            let of = |key: &str| counts[key].as_u64().unwrap();
            assert_eq!((of("unsent"), of("not_compared")), (0, 0), "{document:#}");
            way.sent += of("sent");
            way.lost += of("lost");
            way.duplicated += of("duplicated");
        }
        assert_eq!(
            document["changes"],
            Value::Array(Vec::new()),
            "{document:#}"
        );
    }
    let counted = ["forward", "backward"].map(|way| WayCounts {
        sent: lab.counted(way, &["offered", "frames"]),
        lost: lab.counted(way, &["dropped", "loss", "frames"]),
        duplicated: lab.counted(way, &["added", "frames"]),
    });
    assert_eq!(
        ways, counted,
        "there and back; the right ones are the lab's"
    );
    let sum = |of: fn(&WayCounts) -> u64| ways.iter().map(of).sum::<u64>();
    assert_eq!(sum(|way| way.lost) > 0, expected.loss, "{ways:?}");
    assert_eq!(
        sum(|way| way.duplicated) > 0,
        expected.duplication,
        "{ways:?}"
    );
}
