//! The counters of one direction of a link, gathered from the nodes that implement it.

use serde::{Deserialize, Serialize};

use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::graph::PortId;
use crate::report::{Collisions, ComponentReport, QueueReport};

/// The counters and statistics of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// The frames that entered, left and were dropped, by reason.
    #[serde(flatten)]
    pub counters: FrameCounters,
    /// The frames still inside.
    pub held: FrameTotals,
    /// The queue in front of the line; absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,
    /// Present when the sending end is half duplex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collisions: Option<Collisions>,
    /// The stages that frames pass, in order, each with its own counters.
    pub parts: Vec<ComponentReport>,
}

/// The line of a switch that sends into a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct SwitchLine {
    /// The switch and its port.
    pub(super) port: PortId,
    /// The position of the line among the lines of the switch.
    pub(super) part: usize,
}

/// The nodes that implement one link, for each of its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkParts {
    /// The node that holds the stages of both directions.
    pub(super) stages: usize,
    /// The line of the switch at that end.
    pub(super) lines: [Option<SwitchLine>; 2],
    /// The station at that end of the link's own half-duplex medium.
    pub(super) stations: [Option<PortId>; 2],
    /// The station, on the medium of the hub at that end, that the link is plugged into.
    pub(super) hub_stations: [Option<PortId>; 2],
}

impl LinkParts {
    /// The report of the direction that starts at `end`, from the reports of all `nodes`.
    ///
    /// Frames pass a switch's line, a station or a hub, then the stages, then the hub at the other end.
    pub(super) fn direction(&self, end: usize, nodes: &[ComponentReport]) -> DirectionReport {
        let part = |at: PortId| nodes[at.node].parts.get(at.port);
        let mut collisions = None;
        let mut parts: Vec<ComponentReport> = Vec::new();
        if let Some(line) = self.lines[end] {
            parts.extend(nodes[line.port.node].parts.get(line.part).cloned());
        }
        if let Some(station) = self.hub_stations[end].and_then(part) {
            let mut received = receiving_side(station);
            received.counters.offered = received.counters.delivered;
            received.counters.offered += received.counters.dropped.total();
            parts.push(received);
        }
        let stages = nodes[self.stages].parts.get(end).cloned();
        // The stages of a half-duplex link are at its second end.
        let stages_first = end == 1;
        if stages_first {
            parts.extend(stages.clone());
        }
        let [sender, receiver] = [end, 1 - end].map(|end| self.stations[end].and_then(part));
        if let (Some(sender), Some(receiver)) = (sender, receiver) {
            let mut medium = sending_side(sender);
            let received = receiving_side(receiver);
            medium.counters.delivered = received.counters.delivered;
            medium.counters.dropped += received.counters.dropped;
            collisions = sender.collisions;
            parts.push(medium);
        }
        if !stages_first {
            parts.extend(stages);
        }
        if let Some(station) = self.hub_stations[1 - end].and_then(part) {
            let mut sent = sending_side(station);
            sent.counters.delivered = sent.counters.offered;
            sent.counters.delivered -= sent.counters.dropped.total();
            sent.counters.delivered -= sent.held;
            collisions = station.collisions;
            parts.push(sent);
        }
        DirectionReport::from_parts(parts, collisions)
    }
}

impl DirectionReport {
    /// The report of a direction whose frames pass `parts` in this order.
    fn from_parts(parts: Vec<ComponentReport>, collisions: Option<Collisions>) -> Self {
        let mut report = Self {
            counters: FrameCounters::default(),
            held: FrameTotals::default(),
            queue: None,
            collisions,
            parts: Vec::new(),
        };
        if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
            report.counters.offered = first.counters.offered;
            report.counters.delivered = last.counters.delivered;
        }
        for part in parts {
            report.counters.merge_inner(&part.counters);
            report.held += part.held;
            if report.queue.is_none() {
                report.queue = first_queue(&part);
            }
            if part.parts.is_empty() {
                report.parts.push(part);
            } else {
                report.parts.extend(part.parts);
            }
        }
        report
    }
}

/// The part of a station's report that concerns the frames it sends.
fn sending_side(station: &ComponentReport) -> ComponentReport {
    let mut report = ComponentReport::new("station", FrameCounters::default(), station.held);
    let counters = &station.counters;
    report.counters.offered = counters.offered;
    report.counters.dropped = counters.dropped.without(DropReason::UndetectedCollision);
    report.queue = station.queue.clone();
    report
}

/// The part of a station's report that concerns the frames it receives.
fn receiving_side(station: &ComponentReport) -> ComponentReport {
    let none = FrameTotals::default();
    let mut report = ComponentReport::new("station", FrameCounters::default(), none);
    let counters = &station.counters;
    report.counters.delivered = counters.delivered;
    report.counters.dropped = counters.dropped.only(DropReason::UndetectedCollision);
    report
}

/// The first queue in `report` or its parts.
fn first_queue(report: &ComponentReport) -> Option<QueueReport> {
    report
        .queue
        .clone()
        .or_else(|| report.parts.iter().find_map(first_queue))
}
