//! One run as it happens: its events passed on to the views, its readings paired into intervals, its summary.

use super::plan::Settings;
use crate::output::views::Views;
use crate::peer::Peer;
use caudal_core::event::{Event, View};
use caudal_core::interval::{IntervalRow, ServerAccount};
use caudal_core::plan::{BulkPlan, Plan};
use caudal_core::prediction::PredictionCheck;
use caudal_core::sample::FlowRecord;
use caudal_core::summary::{BulkSummary, Context, summarise};
use caudal_core::timeline::Timeline;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::{CutShort, RunError, TrafficRun};
use caudal_predict::throughput;
use std::sync::atomic::Ordering::Relaxed;

/// One run with its arithmetic done.
pub(super) struct RecordedRun {
    pub(super) run: TrafficRun,
    pub(super) timeline: Timeline,
    pub(super) summary: BulkSummary,
    pub(super) predictions: Vec<PredictionCheck>,
    /// The time traffic began, ns since 1970; `None` when it did not.
    pub(super) began_ns: Option<u64>,
}

impl RecordedRun {
    /// `true` when the run was completed and carried not a byte.
    pub(super) fn sent_nothing(&self) -> bool {
        let sent = self.run.flows.iter().filter_map(FlowRecord::sent);
        self.is_complete() && sent.map(|sent| sent.bytes).sum::<u64>() == 0
    }

    /// `true` unless the run was cut short.
    pub(super) const fn is_complete(&self) -> bool {
        self.run.cut_short.is_none()
    }
}

/// The reason why a run was cut short, in words.
#[must_use]
pub fn reason(cut: &CutShort) -> String {
    match cut {
        CutShort::Interrupted => "interrupted".to_owned(),
        CutShort::ByServer(why) | CutShort::Lost(why) => why.clone(),
    }
}

/// Carries a plan out once, as run number `repeat` of its command.
pub(super) fn record(
    peer: &mut Peer,
    plan: &Plan,
    settings: &Settings<'_>,
    repeat: u32,
    views: &mut Views,
) -> Result<RecordedRun, RunError> {
    let account = peer.server_account();
    let new_timeline = |plan: &Plan, bulk: &BulkPlan| {
        Timeline::new(bulk.flows(), &bulk.ticks(), plan.transport(), account)
    };
    let mut timeline = plan.bulk().map(|bulk| new_timeline(plan, bulk));
    let mut began_ns = None;
    let quit = &settings.local.quit;
    let outcome = peer.run(plan, &settings.local, &mut |event| {
        match &event {
            // The server may allow less than was asked for.
            Event::Agreed(agreement) => {
                if let Ok(plan) = Plan::try_from(&agreement.plan)
                    && let Some(bulk) = plan.bulk()
                {
                    timeline = Some(new_timeline(&plan, bulk));
                }
            }
            Event::Started { .. } => began_ns = Some(caudal_sys::clock::realtime_ns()),
            Event::Sampled(sample) => {
                if let Some(timeline) = &mut timeline {
                    timeline.push(sample);
                    while let Some(row) = timeline.next_row() {
                        show(views, row, repeat);
                    }
                }
            }
            _ => {}
        }
        views.event(&numbered(event, repeat));
        if views.is_unread() {
            quit.store(true, Relaxed);
        }
    });
    let run = match outcome {
        Ok(run) => run,
        Err(error) => {
            views.abandon();
            return Err(error);
        }
    };
    let (Some(mut timeline), Some(bulk)) = (timeline, run.plan.bulk()) else {
        return Err(RunError::Protocol("no bulk transfer".to_owned()));
    };
    for record in &run.flows {
        timeline.close(record, run.cut_short.is_none());
    }
    for row in timeline.remaining_rows() {
        show(views, row, repeat);
    }
    let cut_short = run.cut_short.as_ref().map(reason);
    let context = Context {
        plan: &run.plan,
        bulk,
        records: &run.flows,
        timeline: &timeline,
        client: peer.here(),
        server: peer.there(),
        client_usage: &run.client_usage,
        server_usage: run.server_usage.as_ref(),
        ip: peer.ip(),
        loopback: peer.is_loopback(),
        link_rate: settings.traffic.link_rate,
        confidence: settings.output.confidence,
        cut_short: cut_short.as_deref(),
        changed: &run.changed,
    };
    let mut summary = summarise(&context);
    let predictions = summary
        .directions
        .iter()
        .flat_map(|direction| throughput::predictions(&context, direction))
        .collect();
    summary.warnings.extend(foreign_server(peer));
    Ok(RecordedRun {
        run,
        timeline,
        summary,
        predictions,
        began_ns,
    })
}

/// The event with the number of its run.
fn numbered(event: Event, number: u32) -> Event {
    match event {
        Event::Agreed(mut agreement) => {
            agreement.repeat = Some(number);
            Event::Agreed(agreement)
        }
        Event::Started { .. } => Event::Started {
            repeat: Some(number),
        },
        other => other,
    }
}

fn show(views: &mut Views, row: IntervalRow, repeat: u32) {
    views.event(&Event::Interval {
        repeat,
        flows: row.flows,
    });
}

/// The warning about a server of another program.
fn foreign_server(peer: &Peer) -> Option<Warning> {
    let ServerAccount::Totals { reordered } = peer.server_account() else {
        return None;
    };
    Some(Warning::new(
        WarningCode::ForeignServer,
        format!(
            "the server is {}'s: it reports totals of what it receives, at the end, without duplicates, {}its CPU or \
             its socket's drops; intervals of a TCP upload are what its kernel acknowledged",
            peer.there().tool,
            if reordered { "" } else { "reordering, " }
        ),
    ))
}
