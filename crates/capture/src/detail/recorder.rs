//! What is kept of the one flow asked for in detail.

use crate::bins::ByteBins;
use crate::decimated::DecimatedPoints;
use crate::model::{
    CapturedFlow, FlowGraph, FrameDirection, GraphKind, GraphPoint, GraphSeries, Ladder, LadderStep,
};
use crate::tcp::SegmentOutcome;

/// The sequence diagram and the graphs of one flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowDetail {
    /// The sequence diagram.
    pub ladder: Ladder,
    /// Every graph that the flow has; a flow of UDP has the throughput alone.
    pub graphs: Vec<FlowGraph>,
}

impl FlowDetail {
    /// One of the graphs.
    #[must_use]
    pub fn graph(&self, kind: GraphKind) -> Option<&FlowGraph> {
        self.graphs.iter().find(|graph| graph.kind == kind)
    }
}

/// The points of one direction: of the data that this end sent.
#[derive(Debug, Clone, Default)]
struct DirectionPoints {
    segments: DecimatedPoints,
    repeated: DecimatedPoints,
    acknowledged: DecimatedPoints,
    window_edge: DecimatedPoints,
    ack_rtt: DecimatedPoints,
    timestamp_rtt: DecimatedPoints,
    in_flight: DecimatedPoints,
    window: DecimatedPoints,
    bins: ByteBins,
}

/// One frame of the flow, whatever its transport.
#[derive(Debug, Clone)]
pub(crate) struct DetailFrame {
    pub(crate) frame: u64,
    pub(crate) since_start_ns: u64,
    pub(crate) direction: FrameDirection,
    pub(crate) payload_bytes: u32,
    pub(crate) frame_bytes: u32,
}

/// What is kept of the flow.
#[derive(Debug, Clone)]
pub(crate) struct DetailRecorder {
    /// The number of the flow.
    pub(crate) flow: u64,
    steps: Vec<LadderStep>,
    from_frame: u64,
    max_steps: usize,
    left_out: u64,
    points: [DirectionPoints; 2],
}

const fn index(direction: FrameDirection) -> usize {
    match direction {
        FrameDirection::ToServer => 0,
        FrameDirection::ToClient => 1,
    }
}

fn label(outcome: &SegmentOutcome) -> String {
    let notes = [
        outcome.class.label(),
        outcome.ack_class.label(),
        if outcome.zero_window {
            "zero window"
        } else {
            ""
        },
        if outcome.window_full {
            "window full"
        } else {
            ""
        },
    ];
    let mut words: Vec<String> = notes
        .into_iter()
        .filter(|note| !note.is_empty())
        .map(str::to_owned)
        .collect();
    if outcome.wire_segments > 1 {
        words.push(format!("{} segments on the wire", outcome.wire_segments));
    }
    words.join(", ")
}

impl DetailRecorder {
    /// A recorder of the flow with this number.
    pub(crate) fn new(flow: u64, from_frame: u64, max_steps: usize) -> Self {
        Self {
            flow,
            steps: Vec::new(),
            from_frame,
            max_steps,
            left_out: 0,
            points: Default::default(),
        }
    }

    /// Takes in a frame without sequence numbers.
    pub(crate) fn frame(&mut self, frame: &DetailFrame) {
        let bytes = u64::from(frame.payload_bytes);
        let points = &mut self.points[index(frame.direction)];
        points.bins.add(frame.since_start_ns, bytes, bytes);
        self.step(empty_step(frame));
    }

    /// Takes in a segment.
    pub(crate) fn segment(&mut self, frame: &DetailFrame, flags: &str, outcome: &SegmentOutcome) {
        self.record_points(frame, outcome);
        let step = LadderStep {
            flags: flags.to_owned(),
            seq: Some(outcome.seq),
            ack: outcome.ack,
            window_bytes: Some(outcome.window),
            wire_segments: outcome.wire_segments,
            label: label(outcome).into(),
            ..empty_step(frame)
        };
        self.step(step);
    }

    fn step(&mut self, step: LadderStep) {
        if step.frame < self.from_frame {
            return;
        }
        if self.steps.len() < self.max_steps {
            self.steps.push(step);
        } else {
            self.left_out += 1;
        }
    }

    fn record_points(&mut self, frame: &DetailFrame, outcome: &SegmentOutcome) {
        let at = frame.since_start_ns as f64 / 1e9;
        let payload = f64::from(frame.payload_bytes);
        let [mine, others] = match frame.direction {
            FrameDirection::ToServer => {
                let [client, server] = &mut self.points;
                [client, server]
            }
            FrameDirection::ToClient => {
                let [client, server] = &mut self.points;
                [server, client]
            }
        };
        if frame.payload_bytes > 0 {
            let end = outcome.seq as f64 + payload;
            mine.segments.push(at, end);
            if outcome.class.is_retransmission() {
                mine.repeated.push(at, end);
            }
            let bytes = u64::from(frame.payload_bytes);
            mine.bins
                .add(frame.since_start_ns, bytes, outcome.new_bytes);
        }
        if let Some(flight) = outcome.in_flight {
            mine.in_flight.push(at, flight as f64);
        }
        mine.window.push(at, outcome.window as f64);
        if let Some(ack) = outcome.ack {
            others.acknowledged.push(at, ack as f64);
            others
                .window_edge
                .push(at, ack as f64 + outcome.window as f64);
        }
        if let Some(ns) = outcome.ack_rtt_ns {
            others.ack_rtt.push(at, ns as f64 / 1e3);
        }
        if let Some(ns) = outcome.timestamp_rtt_ns {
            others.timestamp_rtt.push(at, ns as f64 / 1e3);
        }
    }

    /// The details of the flow, whose document this is.
    pub(crate) fn document(self, flow: &CapturedFlow) -> FlowDetail {
        let ladder = Ladder {
            flow: self.flow,
            client: flow.client,
            server: flow.server,
            steps: self.steps,
            left_out: self.left_out,
        };
        let mut graphs: Vec<FlowGraph> = GraphKind::ALL
            .into_iter()
            .map(|kind| FlowGraph {
                kind,
                flow: self.flow,
                unit: unit(kind).to_owned(),
                series: Vec::new(),
            })
            .collect();
        let [client, server] = self.points;
        for (points, direction) in [
            (client, FrameDirection::ToServer),
            (server, FrameDirection::ToClient),
        ] {
            points.add_to(&mut graphs, direction);
        }
        graphs.retain(|graph| !graph.series.is_empty());
        FlowDetail { ladder, graphs }
    }
}

fn empty_step(frame: &DetailFrame) -> LadderStep {
    LadderStep {
        frame: frame.frame,
        time_s: frame.since_start_ns as f64 / 1e9,
        direction: frame.direction,
        flags: String::new(),
        seq: None,
        ack: None,
        payload_bytes: u64::from(frame.payload_bytes),
        window_bytes: None,
        frame_bytes: frame.frame_bytes,
        wire_segments: 1,
        label: String::new().into(),
    }
}

const fn unit(kind: GraphKind) -> &'static str {
    match kind {
        GraphKind::TimeSequence | GraphKind::Inflight | GraphKind::Window => "B",
        GraphKind::Throughput => "bit/s",
        GraphKind::Rtt => "µs",
    }
}

/// Bytes of bins as rates in bit/s.
fn bit_rates(bytes: &[u64], bin_s: f64) -> Vec<GraphPoint> {
    let points = bytes.iter().enumerate().map(|(at, bytes)| GraphPoint {
        time_s: at as f64 * bin_s,
        value: *bytes as f64 * 8.0 / bin_s,
    });
    points.collect()
}

impl DirectionPoints {
    /// Adds the series that have points to their graphs.
    fn add_to(self, graphs: &mut [FlowGraph], direction: FrameDirection) {
        let rates = self.bins.document(0.0);
        let throughput = (bit_rates(&rates.payload_bytes, rates.bin_s), 1);
        let goodput = (bit_rates(&rates.unique_bytes, rates.bin_s), 1);
        let series = [
            (
                GraphKind::TimeSequence,
                "segments",
                self.segments.into_points(),
            ),
            (
                GraphKind::TimeSequence,
                "retransmissions",
                self.repeated.into_points(),
            ),
            (
                GraphKind::TimeSequence,
                "acknowledged",
                self.acknowledged.into_points(),
            ),
            (
                GraphKind::TimeSequence,
                "window",
                self.window_edge.into_points(),
            ),
            (GraphKind::Throughput, "payload", throughput),
            (GraphKind::Throughput, "goodput", goodput),
            (
                GraphKind::Rtt,
                "acknowledgements",
                self.ack_rtt.into_points(),
            ),
            (
                GraphKind::Rtt,
                "timestamps",
                self.timestamp_rtt.into_points(),
            ),
            (
                GraphKind::Inflight,
                "in flight",
                self.in_flight.into_points(),
            ),
            (GraphKind::Window, "window", self.window.into_points()),
        ];
        for (kind, name, (points, stride)) in series {
            let graph = graphs.iter_mut().find(|graph| graph.kind == kind);
            if let (Some(graph), false) = (graph, points.is_empty()) {
                graph.series.push(GraphSeries {
                    name: name.to_owned(),
                    direction,
                    points,
                    stride,
                });
            }
        }
    }
}
