//! One run as it happens: its events passed on to the views, its readings paired into intervals, its summary.

use super::plan::{Settings, is_endless};
use crate::output::views::Views;
use crate::peer::CommandPeer;
use caudal_core::event::{CutShort, Event, View};
use caudal_core::interval::IntervalRow;
use caudal_core::plan::Plan;
use caudal_core::prediction::PredictionCheck;
use caudal_engine::record::{BulkRecorder, RecordedBulk, SummaryOptions};
use caudal_engine::{BulkOutcome, RunError};
use caudal_predict::throughput;
use std::sync::atomic::Ordering::Relaxed;

/// One run with its arithmetic done.
pub(super) struct RecordedRun {
    pub(super) bulk: RecordedBulk,
    pub(super) predictions: Vec<PredictionCheck>,
}

/// Carries a plan out once, as run number `repeat` of its command.
pub(super) fn record(
    peer: &mut CommandPeer,
    plan: &Plan,
    settings: &Settings<'_>,
    repeat: u32,
    views: &mut Views,
) -> Result<RecordedRun, RunError> {
    let mut recorder = BulkRecorder::new(plan, peer.info().server_account);
    let quit = &settings.local.quit;
    let outcome = peer.peer_mut().run(plan, &settings.local, &mut |event| {
        for row in recorder.event(&event) {
            show(views, row, repeat);
        }
        views.event(&numbered(event, repeat));
        if views.is_unread() {
            quit.store(true, Relaxed);
        }
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            views.abandon();
            return Err(error);
        }
    };
    let info = peer.info();
    let options = SummaryOptions {
        link_rate: settings.traffic.link_rate,
        confidence: settings.output.confidence,
    };
    let (bulk, rows) = outcome
        .into_bulk()
        .map(|outcome| ended_as_asked(outcome, settings))
        .and_then(|outcome| recorder.finish(outcome, info, options))
        .ok_or_else(|| RunError::Protocol("no bulk transfer".into()))?;
    for row in rows {
        show(views, row, repeat);
    }
    let predictions = bulk.context(info).map_or_else(Vec::new, |context| {
        bulk.summary
            .directions
            .iter()
            .flat_map(|direction| throughput::predictions(&context, direction))
            .collect()
    });
    Ok(RecordedRun { bulk, predictions })
}

/// The outcome, which nothing cut short when the user ended a test that had no other end.
fn ended_as_asked(mut outcome: BulkOutcome, settings: &Settings<'_>) -> BulkOutcome {
    if is_endless(settings.traffic) && outcome.cut_short == Some(CutShort::Interrupted) {
        outcome.cut_short = None;
    }
    outcome
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
