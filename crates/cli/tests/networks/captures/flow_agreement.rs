//! One capture as `caudal pcap` and as tshark read it, flow by flow and frame by frame.

use super::sequence_model::{FrameLabels, SequenceModel};
use super::tshark::{TsharkFrame, frames};
use crate::support::{SOON, caudal, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The ways of a flow in documents; the first is that of the client's frames.
const WAYS: [&str; 2] = ["to_server", "to_client"];
/// Times of both programs are ns, ours as µs with decimals.
const ROUNDING_US: f64 = 0.002;
/// A median is the middle of a bucket that is at most 1/32 of its value wide.
const BUCKET: f64 = 0.016;

/// What a capture held of what was compared.
#[derive(Debug, Default)]
pub struct SeenInCapture {
    /// TCP segments below the highest sequence number.
    pub late: u64,
    pub out_of_order: u64,
    /// Frames that are one before them once more.
    pub copies: u64,
    pub copied_bytes: u64,
    pub zero_windows: u64,
    pub round_trips: u64,
}

/// One flow as both programs have it.
struct ComparedFlow<'a> {
    flow: &'a Value,
    frames: Vec<(usize, &'a TsharkFrame)>,
}

/// Fails unless both programs agree on all that a capture holds, but for the differences in docs/captures.md.
pub fn agree(file: &Path) -> SeenInCapture {
    let document = document(file, &[]);
    let theirs = frames(file);
    let flows = document["flows"].as_array().unwrap();
    same_flows(flows, &theirs);
    let mut seen = SeenInCapture::default();
    for flow in flows {
        let ends = ["client", "server"].map(|end| end_text(&flow[end]));
        let of_flow = theirs.iter().filter_map(|frame| {
            let is_flow = frame.transport == flow["transport"].as_str();
            let direction = ends.iter().position(|end| *end == frame.source)?;
            (is_flow && frame.destination == ends[1 - direction]).then_some((direction, frame))
        });
        let compared = ComparedFlow {
            flow,
            frames: of_flow.collect(),
        };
        compared.traffic(&mut seen);
        if flow["transport"] == "tcp" {
            compared.connection(file, &mut seen);
        }
    }
    let of_code = |finding: &&Value| finding["code"] == "duplicate-frames";
    let findings = document["findings"].as_array().unwrap();
    let found: u64 = findings
        .iter()
        .filter(of_code)
        .map(|finding| count(&finding["count"]))
        .sum();
    assert_eq!(found, seen.copies, "{findings:#?}");
    let totals = &document["totals"];
    assert_eq!(count(&totals["captured_twice_frames"]), seen.copies);
    assert_eq!(count(&totals["frames"]) + seen.copies, theirs.len() as u64);
    let bytes: u64 = theirs.iter().map(|frame| frame.bytes).sum();
    assert_eq!(count(&totals["bytes"]) + seen.copied_bytes, bytes);
    seen
}

fn document(file: &Path, words: &[&str]) -> Value {
    let mut command = caudal(["pcap"]);
    run(command.arg(file).arg("--json").args(words), SOON)
        .done()
        .json()
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no count"))
}

fn end_text(end: &Value) -> String {
    format!("{}:{}", end["address"].as_str().unwrap(), end["port"])
}

fn same_flows(flows: &[Value], frames: &[TsharkFrame]) {
    let ours: BTreeSet<(String, BTreeSet<String>)> = flows
        .iter()
        .map(|flow| {
            let transport = flow["transport"].as_str().unwrap().to_owned();
            let ends = ["client", "server"].map(|end| end_text(&flow[end]));
            (transport, BTreeSet::from(ends))
        })
        .collect();
    assert_eq!(ours.len(), flows.len(), "two flows between the same ports");
    let theirs: BTreeSet<(String, BTreeSet<String>)> = frames
        .iter()
        // An ICMP error has two addresses in each field: its own, and that of the datagram it quotes.
        .filter(|frame| !frame.source.contains(','))
        .filter_map(|frame| {
            let ends = [frame.source.clone(), frame.destination.clone()];
            Some((frame.transport?.to_owned(), BTreeSet::from(ends)))
        })
        .collect();
    assert_eq!(ours, theirs);
}

impl ComparedFlow<'_> {
    /// The frames that are one before them of their direction once more, by the identification of IP.
    fn copies(&self) -> BTreeSet<u64> {
        let mut known: BTreeSet<_> = BTreeSet::new();
        let key = |frame: &TsharkFrame| {
            (
                frame.ip_id.clone(),
                frame.checksum.clone(),
                frame.bytes,
                frame.seq,
            )
        };
        let mut found = BTreeSet::new();
        for (direction, frame) in &self.frames {
            // Linux answers a SYN without an identification.
            let has_id = !frame.ip_id.ends_with("x0000") || frame.flags & 2 != 0;
            if !known.insert((*direction, key(frame))) && has_id {
                found.insert(frame.number);
            }
        }
        found
    }

    /// Frames, bytes and payload of both ways.
    fn traffic(&self, seen: &mut SeenInCapture) {
        let copies = self.copies();
        seen.copies += copies.len() as u64;
        let copied = self.frames.iter().map(|(_, frame)| frame);
        let copied = copied.filter(|frame| copies.contains(&frame.number));
        seen.copied_bytes += copied.map(|frame| frame.bytes).sum::<u64>();
        for (direction, way) in WAYS.iter().enumerate() {
            let frames = self.frames.iter().filter(|(of, _)| *of == direction);
            let all: Vec<&TsharkFrame> = frames.map(|(_, frame)| *frame).collect();
            let once = all.iter().filter(|frame| !copies.contains(&frame.number));
            let payload: i64 = once.clone().map(|frame| frame.payload).sum();
            let traffic = &self.flow[way];
            let frames = once.clone().count() as u64;
            assert_eq!(count(&traffic["frames"]), frames, "{traffic:#}");
            let bytes: u64 = once.clone().map(|frame| frame.bytes).sum();
            assert_eq!(count(&traffic["bytes"]), bytes, "{traffic:#}");
            assert_eq!(
                count(&traffic["payload_bytes"]),
                payload as u64,
                "{traffic:#}"
            );
            if self.flow["transport"] == "udp" {
                let datagrams = &self.flow["udp"][way]["datagrams"];
                assert_eq!(count(datagrams), once.count() as u64, "{traffic:#}");
            }
        }
    }

    /// The round-trip time of the handshake, on which both programs agree; `None` where a part of it was repeated.
    fn handshake_rtt_ns(&self) -> Option<u64> {
        let us = self.flow["tcp"]["handshake"]["rtt_us"].as_f64()?;
        let ours = (us * 1e3).round() as u64;
        let theirs = self
            .frames
            .iter()
            .find_map(|(_, frame)| frame.initial_rtt_ns);
        assert_eq!(Some(ours), theirs, "the handshake's round trip");
        Some(ours)
    }

    /// What was notable about each frame, and the round-trip times.
    fn connection(&self, file: &Path, seen: &mut SeenInCapture) {
        let number = self.flow["number"].to_string();
        let steps = self.steps(file, &number);
        let mut samples = RttSamples::read(file, &number);
        let copies = self.copies();
        let mut model = SequenceModel::new(self.handshake_rtt_ns());
        let mut wrong = Vec::new();
        for (direction, frame) in &self.frames {
            let Some(step) = steps.get(&frame.number) else {
                assert!(
                    copies.contains(&frame.number),
                    "frame {} was left out",
                    frame.number
                );
                continue;
            };
            let (labels, direction) = (&step.labels, *direction);
            let is_late = model.is_late(direction, frame);
            seen.late += u64::from(is_late);
            seen.out_of_order += u64::from(labels.has("out of order"));
            seen.zero_windows += u64::from(labels.has("zero window"));
            let judged = if is_late {
                model.late_segment(direction, frame, labels)
            } else {
                let is_again = labels.is_retransmission() || labels.has("out of order");
                let is_theirs = frame.notes.retransmission || frame.notes.out_of_order;
                (is_again || is_theirs).then_some("a segment that is not late")
            };
            let acked = model.acknowledgement(direction, frame, labels);
            let told = RttRule {
                none: model.tells_no_rtt(direction, frame),
                acknowledged: model.acknowledged(direction, frame),
            };
            let timed = samples.judge(1 - direction, step.time_ns, frame, told);
            for rule in [judged, acked, timed].into_iter().flatten() {
                wrong.push(format!("{rule}: ours {labels:?}, {frame:?}"));
            }
            model.push(direction, frame);
        }
        assert!(
            wrong.is_empty(),
            "flow {number} of {}:\n{}",
            file.display(),
            wrong.join("\n")
        );
        seen.round_trips += samples.agree_with(&self.flow["tcp"]);
        self.totals(&steps);
    }

    /// The steps of the sequence diagram by frame.
    fn steps(&self, file: &Path, number: &str) -> BTreeMap<u64, LabelledStep> {
        let ladder = document(file, &["--flow", number, "--ladder"])["ladder"].clone();
        assert_eq!(ladder["left_out"], 0, "more frames than a diagram holds");
        let steps = ladder["steps"].as_array().unwrap().iter();
        let read = |step: &Value| {
            let labelled = LabelledStep {
                direction: WAYS
                    .iter()
                    .position(|way| step["direction"] == *way)
                    .unwrap(),
                time_ns: nanoseconds(&step["time_s"]),
                labels: FrameLabels::of(step["label"].as_str().unwrap_or_default()),
                is_syn: step["flags"].as_str().unwrap().contains("SYN"),
            };
            (count(&step["frame"]), labelled)
        };
        steps.map(read).collect()
    }

    /// The counts of the document are those of the frames.
    fn totals(&self, steps: &BTreeMap<u64, LabelledStep>) {
        for (direction, way) in WAYS.iter().enumerate() {
            let counts = &self.flow["tcp"][way];
            let of = |label: &str| {
                // A SYN sent again is counted with the handshake.
                let mine = |step: &&LabelledStep| step.direction == direction && !step.is_syn;
                let mine = steps.values().filter(mine);
                mine.filter(|step| step.labels.has(label)).count() as u64
            };
            let again = &counts["retransmissions"];
            for (value, label) in [
                (&again["fast"], "fast retransmission"),
                (&again["timeout"], "retransmission after timeout"),
                (&again["spurious"], "spurious retransmission"),
                (&again["other"], "retransmission"),
                (&counts["out_of_order"], "out of order"),
                (&counts["duplicate_acks"], "duplicate ACK"),
                (
                    &counts["previous_not_captured"],
                    "previous segment not captured",
                ),
                (&counts["window"]["zero_windows"], "zero window"),
            ] {
                assert_eq!(count(value), of(label), "{label} of {way}: {counts:#}");
            }
        }
    }
}

/// A frame in the sequence diagram.
struct LabelledStep {
    direction: usize,
    time_ns: u64,
    labels: FrameLabels,
    is_syn: bool,
}

fn nanoseconds(seconds: &Value) -> u64 {
    (seconds.as_f64().unwrap() * 1e9).round() as u64
}

/// What the definitions say of the round-trip time of an acknowledgement.
#[derive(Clone, Copy)]
struct RttRule {
    /// It tells none.
    none: bool,
    /// The time since the last segment that it covers, ns, and whether it is the end of that segment.
    acknowledged: Option<(u64, bool)>,
}

impl RttRule {
    /// `true` when the acknowledgement ends within a segment, and `us` is the time since the one before it.
    fn is_within_a_segment(self, us: f64) -> bool {
        let is_time = |ns: u64| (ns as f64 / 1e3 - us).abs() <= ROUNDING_US;
        self.acknowledged
            .is_some_and(|(ns, is_end)| !is_end && is_time(ns))
    }
}

/// The round-trip times by acknowledgement of one flow: by way of the data and time of the acknowledgement, µs.
struct RttSamples {
    waiting: [BTreeMap<u64, f64>; 2],
    agreed: [Vec<f64>; 2],
}

impl RttSamples {
    fn read(file: &Path, number: &str) -> Self {
        let graph = document(file, &["--flow", number, "--graph", "rtt"])["graph"].clone();
        let mut waiting: [BTreeMap<u64, f64>; 2] = Default::default();
        for series in graph["series"].as_array().unwrap() {
            if series["name"] != "acknowledgements" {
                continue;
            }
            assert_eq!(series["stride"], 1, "a graph leaves samples out");
            let way = WAYS
                .iter()
                .position(|way| series["direction"] == *way)
                .unwrap();
            for point in series["points"].as_array().unwrap() {
                let value = point["value"].as_f64().unwrap();
                let before = waiting[way].insert(nanoseconds(&point["time_s"]), value);
                assert_eq!(before, None, "two samples at one time");
            }
        }
        Self {
            waiting,
            agreed: Default::default(),
        }
    }

    /// What contradicts the definitions in the round-trip times of an acknowledgement.
    fn judge(
        &mut self,
        data: usize,
        time_ns: u64,
        frame: &TsharkFrame,
        rule: RttRule,
    ) -> Option<&'static str> {
        // Data in both directions at one time: the sample is that of the way whose acknowledgement this is.
        let ours = self.waiting[data].remove(&time_ns);
        let theirs = frame.ack_rtt_ns.map(|ns| ns as f64 / 1e3);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if (ours - theirs).abs() <= ROUNDING_US => {
                self.agreed[data].push(theirs);
                None
            }
            // The end of no segment: tshark takes the time of whole ones alone.
            (Some(ours), None) if rule.is_within_a_segment(ours) => {
                self.agreed[data].push(ours);
                None
            }
            (Some(_), _) => Some("tshark has another round-trip time, or none"),
            (None, Some(_)) if !rule.none => Some("tshark alone has a round-trip time"),
            (None, _) => None,
        }
    }

    /// Fails unless the document has the distribution of the samples; returns their number.
    fn agree_with(mut self, tcp: &Value) -> u64 {
        for (way, samples) in self.agreed.iter_mut().enumerate() {
            assert!(self.waiting[way].is_empty(), "samples at times of no frame");
            let told = &tcp[WAYS[way]]["ack_rtt"];
            samples.sort_unstable_by(f64::total_cmp);
            let (Some(min), Some(max)) = (samples.first(), samples.last()) else {
                assert!(told.is_null(), "{told:#}");
                continue;
            };
            let of = |key: &str| told[key].as_f64();
            assert_eq!(count(&told["n"]), samples.len() as u64);
            assert!(
                (of("min_us").unwrap() - min).abs() <= ROUNDING_US,
                "{min} {told:#}"
            );
            assert!(
                (of("max_us").unwrap() - max).abs() <= ROUNDING_US,
                "{max} {told:#}"
            );
            let median = samples[samples.len().div_ceil(2) - 1];
            if let Some(told_median) = of("p50_us") {
                assert!(
                    (told_median - median).abs() <= median * BUCKET + ROUNDING_US,
                    "{median} {told:#}"
                );
            }
        }
        self.agreed.iter().map(|samples| samples.len() as u64).sum()
    }
}
