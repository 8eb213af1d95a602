//! What was captured of a run, and the offloads that were set for it.

use super::page::Block;
use super::study_page::counted_items;
use caudal_core::finding::Finding;
use caudal_core::run::{Run, RunCapture, RunOffload};

/// The blocks on a run's capture and offloads; none without.
pub(super) fn capture(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(offload) = &run.offload {
        blocks.push(Block::Text(offload_text(offload)));
    }
    if let Some(capture) = &run.capture {
        blocks.push(Block::Text(capture_text(capture)));
        let findings: Vec<String> = capture.findings.iter().map(finding_text).collect();
        if !findings.is_empty() {
            blocks.push(Block::List(counted_items(findings.into_iter())));
        }
    }
    blocks
}

fn offload_text(offload: &RunOffload) -> String {
    let state = if offload.enabled { "on" } else { "off" };
    let changed: Vec<String> = offload.changed.iter().map(ToString::to_string).collect();
    match changed.as_slice() {
        [] => format!("The offloads of {} were {state} before.", offload.interface),
        changed => format!(
            "Offloads of {} turned {state} for the test: {}.",
            offload.interface,
            changed.join(", ")
        ),
    }
}

fn capture_text(capture: &RunCapture) -> String {
    let end = match &capture.cut_short {
        Some(why) => format!(" It ended early: {why}."),
        None => String::new(),
    };
    format!(
        "{} frames captured at {}, {} dropped; the file was {}.{end}",
        capture.frames, capture.interface, capture.dropped_frames, capture.file
    )
}

fn finding_text(finding: &Finding) -> String {
    let flow = finding.flow.map(|flow| format!("flow {flow}: "));
    let remedy = match finding.remedy.to_string() {
        remedy if remedy.is_empty() => String::new(),
        remedy => format!("; {remedy}"),
    };
    format!("{}{}{remedy}", flow.unwrap_or_default(), finding.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(capture: serde_json::Value) -> Run {
        let mut document = json!({
            "schema": "caudal.run/1", "id": "0", "tool": {"name": "caudal"}, "plan": {"kind": "tcp"},
            "offload": {"interface": "v0", "enabled": false, "changed": ["tx-tcp-segmentation"], "refused": []},
        });
        if !capture.is_null() {
            document["capture"] = capture;
        }
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_capture_is_told_with_its_findings_and_its_end() {
        let blocks = capture(&run(json!({
            "file": "test.pcapng", "interface": "v0", "snap_bytes": 128, "frames": 7, "dropped_frames": 2,
            "bytes": 700, "cut_short": "the disk is full",
            "findings": [{"code": "retransmissions", "severity": "problem", "flow": 2, "count": 3,
                "message": "3 frames were sent again", "remedy": "compare"}],
        })));
        let [Block::Text(offloads), Block::Text(text), Block::List(items)] = blocks.as_slice()
        else {
            panic!("{} blocks", blocks.len());
        };
        assert_eq!(
            offloads,
            "Offloads of v0 turned off for the test: tx-tcp-segmentation."
        );
        assert!(
            text.starts_with("7 frames captured at v0, 2 dropped; "),
            "{text}"
        );
        assert!(
            text.ends_with("It ended early: the disk is full."),
            "{text}"
        );
        assert_eq!(items.len(), 1);
        assert_eq!(capture(&run(serde_json::Value::Null)).len(), 1);
    }
}
