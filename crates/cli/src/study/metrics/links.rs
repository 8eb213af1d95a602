//! The metrics of the links of a lab.

use std::collections::BTreeMap;

use caudal_lab::{DirectionState, LabReport, LinkCounters, LinkState};
use caudal_topology::Link;

use super::super::place::{self, Net};
use super::metric_set::FlowMetrics;

/// Adds the metrics of all links between two reports, the first of which may be missing, `measured_s` seconds apart.
pub(super) fn add(
    before: Option<&LabReport>,
    after: &LabReport,
    net: &Net,
    measured_s: f64,
    all: &mut BTreeMap<String, f64>,
) {
    if measured_s <= 0.0 {
        return;
    }
    let mut collisions = Collided::default();
    for (nth, (link, setup)) in after.links.iter().zip(&net.topology.links).enumerate() {
        let earlier = before.and_then(|before| before.links.get(nth));
        let directions = [
            DirectionChange::new(earlier.map(|link| &link.forward), &link.forward),
            DirectionChange::new(earlier.map(|link| &link.backward), &link.backward),
        ];
        let mut metrics = FlowMetrics::new(format!("links.{}", link.name), all);
        let of_link = add_link(link, setup, &directions, measured_s, &mut metrics);
        collisions.add(of_link);
    }
    let share = collisions.share().unwrap_or(0.0);
    all.insert("total.collisions".to_owned(), share);
}

/// The collided frames of a link, and those it sent, where it has collisions.
#[derive(Default, Clone, Copy)]
struct Collided {
    collided: f64,
    sent: f64,
}

impl Collided {
    fn add(&mut self, other: Option<Self>) {
        if let Some(other) = other {
            self.collided += other.collided;
            self.sent += other.sent;
        }
    }

    /// The share of frames that collided at least once; `None` when none was sent.
    fn share(self) -> Option<f64> {
        (self.sent > 0.0).then(|| self.collided / self.sent)
    }
}

/// The change of the counters of one direction of a link.
struct DirectionChange<'a> {
    after: &'a DirectionState,
    bytes: f64,
    frames: f64,
    offered: f64,
    dropped: f64,
    /// Frames that collided at least once; `None` in full duplex.
    collided: Option<f64>,
}

impl<'a> DirectionChange<'a> {
    fn new(before: Option<&DirectionState>, after: &'a DirectionState) -> Self {
        let increase = |counter: fn(&DirectionState) -> u64| {
            counter(after).saturating_sub(before.map_or(0, counter)) as f64
        };
        Self {
            after,
            bytes: increase(|direction| direction.delivered().bytes),
            frames: increase(|direction| direction.delivered().frames),
            offered: increase(DirectionState::offered),
            dropped: increase(DirectionState::dropped),
            collided: after.collisions().map(|_| increase(collided_frames)),
        }
    }

    /// The bits on the line, with what the counters leave out of each frame: preamble and gap (IEEE 802.3, 20 bytes), and the
    /// check sequence that the kernel does not count.
    fn line_bits(&self) -> f64 {
        let uncounted = match self.after.counters {
            LinkCounters::Emulator(_) => 20.0,
            LinkCounters::Kernel(_) => 24.0,
        };
        (self.bytes + self.frames * uncounted) * 8.0
    }
}

/// Frames that collided at least once: those sent after one or more collisions, and those given up.
fn collided_frames(direction: &DirectionState) -> u64 {
    let collisions = direction.collisions().unwrap_or_default();
    collisions.single + collisions.multiple + collisions.excessive
}

fn add_link(
    link: &LinkState,
    setup: &Link,
    directions: &[DirectionChange<'_>; 2],
    measured_s: f64,
    metrics: &mut FlowMetrics<'_>,
) -> Option<Collided> {
    let sum = |count: fn(&DirectionChange<'_>) -> f64| directions.iter().map(count).sum::<f64>();
    let busy: Vec<f64> = directions
        .iter()
        .zip(&setup.directions)
        .filter_map(|(direction, setup)| {
            let rate = place::line_rate(setup)?;
            Some(direction.line_bits() / rate.as_f64() / measured_s)
        })
        .collect();
    // In half duplex both directions share one medium.
    let is_half_duplex = link.duplex != "full";
    let utilisation = if is_half_duplex && !busy.is_empty() {
        Some(busy.iter().sum())
    } else {
        busy.iter().copied().reduce(f64::max)
    };
    metrics.put("utilisation", utilisation);
    let delivered = directions
        .iter()
        .map(|direction| direction.bytes * 8.0 / measured_s);
    metrics.put("delivered", delivered.reduce(f64::max));
    let offered = sum(|direction| direction.offered);
    let dropped = sum(|direction| direction.dropped);
    metrics.put("drops", (offered > 0.0).then(|| dropped / offered));
    let has_collisions = directions.iter().any(|one| one.collided.is_some());
    let collided = has_collisions.then(|| Collided {
        collided: sum(|direction| direction.collided.unwrap_or(0.0)),
        sent: sum(|direction| direction.frames),
    });
    metrics.put("collisions", collided.and_then(Collided::share));
    let queue = directions.iter().map(|one| one.after.max_queue_bytes());
    metrics.put("queue_max", queue.max().flatten().map(|bytes| bytes as f64));
    collided
}
