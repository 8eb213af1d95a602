//! A recorded run turned back into its events.

use caudal_core::event::{Agreement, Event, SizeProgress};
use caudal_core::interval::FlowInterval;
use caudal_core::path::{PathPhase, PathRound};
use caudal_core::run::Run;

/// An event of a recorded run and the time it happened at.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    /// Seconds after the start of the test; the order of events is exact, of a round-trip test or a search their times
    /// are not known, and zero.
    pub at_s: f64,
    /// The event.
    pub event: Event,
}

/// The events of this run, in their order: those views need to show it as they did live. Raw readings and, of several
/// runs, the intervals of all but the last completed are not recorded.
#[must_use]
pub fn events_of(run: &Run) -> Vec<TimedEvent> {
    let repeat = shown_repeat(run);
    let numbered = run.round_trips().is_none().then_some(repeat);
    let at = |at_s: f64, event: Event| TimedEvent { at_s, event };
    let mut events = vec![
        at(
            0.0,
            Event::Agreed(Agreement {
                repeat: numbered,
                plan: run.plan.clone(),
                changed: Vec::new(),
            }),
        ),
        at(0.0, Event::Started { repeat: numbered }),
    ];
    events.extend(interval_events(run, repeat));
    events.extend(size_events(run));
    let trials = run.search().into_iter().flat_map(|search| &search.trials);
    events.extend(trials.map(|trial| at(0.0, Event::Trial { trial: *trial })));
    events.extend(connect_events(run));
    events.extend(quality_events(run));
    events.extend(transfer_events(run));
    events.extend(path_events(run));
    let end_s = events.last().map_or(0.0, |last| last.at_s);
    events.push(at(
        end_s,
        Event::Finished {
            run: Box::new(run.clone()),
        },
    ));
    events
}

/// The number of the run whose flows the document has: the last complete one.
fn shown_repeat(run: &Run) -> u32 {
    let complete = run.repeats.iter().rfind(|one| one.cut_short.is_none());
    complete.or(run.repeats.last()).map_or(1, |one| one.run)
}

fn interval_events(run: &Run, repeat: u32) -> Vec<TimedEvent> {
    let flows = run.flows();
    let rows = flows.iter().map(|flow| flow.intervals().len()).max();
    let row = |nth: usize| -> TimedEvent {
        let flows: Vec<FlowInterval> = flows
            .iter()
            .filter_map(|flow| {
                Some(FlowInterval {
                    flow: flow.flow,
                    interval: flow.intervals().get(nth)?.clone(),
                })
            })
            .collect();
        let ends = flows.iter().map(|flow| flow.interval.end_s);
        TimedEvent {
            at_s: ends.fold(0.0, f64::max),
            event: Event::Interval { repeat, flows },
        }
    };
    (0..rows.unwrap_or(0)).map(row).collect()
}

fn connect_events(run: &Run) -> impl Iterator<Item = TimedEvent> {
    let intervals = run
        .connect()
        .into_iter()
        .flat_map(|report| &report.intervals);
    intervals.map(|interval| TimedEvent {
        at_s: interval.end_s,
        event: Event::Connections {
            interval: *interval,
        },
    })
}

fn quality_events(run: &Run) -> impl Iterator<Item = TimedEvent> {
    let intervals = run
        .quality()
        .into_iter()
        .flat_map(|report| &report.intervals);
    intervals.map(|interval| TimedEvent {
        at_s: interval.end_s,
        event: Event::Quality {
            interval: *interval,
        },
    })
}

fn transfer_events(run: &Run) -> impl Iterator<Item = TimedEvent> {
    let transfers = run.transfers().iter();
    transfers.scan(0.0, |end_s, transfer| {
        *end_s += transfer.elapsed_s;
        Some(TimedEvent {
            at_s: *end_s,
            event: Event::Transferred {
                transfer: Box::new(transfer.clone()),
            },
        })
    })
}

fn path_events(run: &Run) -> Option<TimedEvent> {
    let path = run.path()?;
    Some(TimedEvent {
        at_s: path.cost.elapsed_s,
        event: Event::PathRound {
            round: PathRound {
                at_s: path.cost.elapsed_s,
                phase: if path.links.is_empty() {
                    PathPhase::Hops
                } else {
                    PathPhase::Capacity
                },
                remaining_s: None,
                hops: path.hops.clone(),
                links: path.links.clone(),
                changes: Vec::new(),
                between_ends: path.between_ends.clone(),
            },
        },
    })
}

fn size_events(run: &Run) -> Vec<TimedEvent> {
    let sizes = run.round_trips().map_or(&[][..], |summary| &summary.sizes);
    sizes
        .iter()
        .flat_map(|size| {
            size.clients.iter().map(|client| TimedEvent {
                at_s: 0.0,
                event: Event::Size(SizeProgress {
                    client: client.client,
                    size_bytes: size.size_bytes,
                    replies: (client.replies.sent - client.replies.lost) as usize,
                    mean_us: client.replies.mean_us.map_or(0.0, |mean| mean.mean),
                }),
            })
        })
        .collect()
}
