//! The flows of runs and trials over time.

use super::cleaning::cleaned_intervals;
use super::combine::combined_intervals;
use super::flow_timeline::FlowTimeline;
use caudal_core::plan::{Direction, PlanKind};
use caudal_core::run::{FlowReport, Run};
use caudal_core::sample::Role;
use caudal_experiment::{FlowKindFile, Trial};

/// The flows of a run over time, moved by `offset_s`. A connection of a round-trip test has none.
#[must_use]
pub fn flows_of_run(run: &Run, offset_s: f64) -> Vec<FlowTimeline> {
    let kind = run.kind().unwrap_or(PlanKind::Tcp);
    let flows = run.flows();
    let timeline = |flow: &FlowReport| {
        let intervals = flow.intervals.as_deref()?;
        Some(FlowTimeline {
            name: flow_name(flow, kind, flows),
            kind,
            intervals: cleaned_intervals(intervals, offset_s),
        })
    };
    flows.iter().filter_map(timeline).collect()
}

/// The name of a flow with intervals, which bulk transfers alone have, among those of its run.
fn flow_name(flow: &FlowReport, kind: PlanKind, flows: &[FlowReport]) -> String {
    let is_bidirectional = flows
        .windows(2)
        .any(|pair| pair[0].flow.direction != pair[1].flow.direction);
    let (id, direction) = (flow.flow.id, flow.flow.direction.name());
    let transport = match kind {
        PlanKind::Udp => "UDP",
        _ => "TCP",
    };
    let name = match (flows.len(), is_bidirectional) {
        (1, _) => transport.to_owned(),
        (2, true) => format!("{transport} {direction}"),
        (_, true) => format!("#{id} {direction}"),
        _ => format!("#{id}"),
    };
    // A log of the sender alone reports what was sent, not what arrived.
    match flow.counted_by {
        Some(Role::Sender) => format!("{name}, as sent"),
        _ => name,
    }
}

/// The sums over the connections of a run in each direction that has several, where all of them are known.
#[must_use]
pub fn totals_of_run(run: &Run, offset_s: f64) -> Vec<FlowTimeline> {
    let kind = run.kind().unwrap_or(PlanKind::Tcp);
    let flows = run.flows();
    let is_bidirectional = [Direction::Up, Direction::Down].iter().all(|direction| {
        let mut directions = flows.iter().map(|flow| flow.flow.direction);
        directions.any(|one| one == *direction)
    });
    let timelines = flows_of_run(run, offset_s);
    let recorded = flows.iter().filter(|flow| flow.intervals.is_some());
    let with_direction: Vec<(Direction, &FlowTimeline)> = recorded
        .map(|flow| flow.flow.direction)
        .zip(&timelines)
        .collect();
    let total = |direction: Direction| {
        let connections: Vec<FlowTimeline> = with_direction
            .iter()
            .filter(|(one, _)| *one == direction)
            .map(|(_, timeline)| (*timeline).clone())
            .collect();
        (connections.len() > 1).then(|| FlowTimeline {
            name: if is_bidirectional {
                format!("total {}", direction.name())
            } else {
                "total".to_owned()
            },
            kind,
            intervals: combined_intervals(&connections),
        })
    };
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter_map(total)
        .collect()
}

/// The bulk flows of a trial over time, each with its connections combined. A flow that failed has no intervals.
#[must_use]
pub fn flows_of_trial(trial: &Trial) -> Vec<FlowTimeline> {
    let flows = trial.flows.iter().filter_map(|flow| {
        let kind = match flow.kind {
            FlowKindFile::Tcp => PlanKind::Tcp,
            FlowKindFile::Udp => PlanKind::Udp,
            FlowKindFile::Rtt | FlowKindFile::RttUdp | FlowKindFile::File | FlowKindFile::Path => {
                return None;
            }
        };
        let offset_s = flow.offset_s.unwrap_or(0.0);
        let connections = flow
            .run
            .as_ref()
            .map_or_else(Vec::new, |run| flows_of_run(run, offset_s));
        Some(FlowTimeline {
            name: flow.name.clone(),
            kind,
            intervals: combined_intervals(&connections),
        })
    });
    flows.collect()
}
