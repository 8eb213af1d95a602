//! One run as it happens: its events passed on to the views, its readings paired into intervals, its summary.

use crate::bulk_recorder::{BulkRecorder, RecordedBulk, SummaryOptions};
use crate::control::Observer;
use crate::test_peer::TestPeer;
use caudal_core::event::{CutShort, Event};
use caudal_core::interval::IntervalRow;
use caudal_core::plan::Plan;
use caudal_core::prediction::PredictionCheck;
use caudal_engine::{BulkOutcome, LocalOptions, RunError};
use caudal_predict::throughput;
use std::sync::atomic::Ordering::Relaxed;

/// One run with its arithmetic done.
pub(super) struct RecordedRun {
    pub(super) bulk: RecordedBulk,
    pub(super) predictions: Vec<PredictionCheck>,
}

/// The settings of a run beyond its plan.
#[derive(Clone, Copy)]
pub(super) struct RunSettings<'a> {
    pub(super) local: &'a LocalOptions,
    pub(super) summary: SummaryOptions,
    /// `true` for a test that the user ends.
    pub(super) is_endless: bool,
}

/// Carries a plan out once, as run number `repeat` of its measurement.
pub(super) fn record(
    peer: &mut TestPeer,
    plan: &Plan,
    settings: RunSettings<'_>,
    repeat: u32,
    observer: &mut dyn Observer,
) -> Result<RecordedRun, RunError> {
    let mut recorder = BulkRecorder::with_peer(plan, peer.info());
    let quit = &settings.local.quit;
    let outcome = peer.peer_mut().run(plan, settings.local, &mut |event| {
        for row in recorder.event(&event) {
            show(observer, row, repeat);
        }
        observer.event(&numbered(event, repeat));
        if observer.is_unread() {
            quit.store(true, Relaxed);
        }
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            observer.abandoned();
            return Err(error);
        }
    };
    let info = peer.info();
    let (bulk, rows) = outcome
        .into_bulk()
        .map(|outcome| ended_as_asked(outcome, settings.is_endless))
        .and_then(|outcome| recorder.finish(outcome, info, settings.summary))
        .ok_or_else(|| RunError::Protocol("no bulk transfer".into()))?;
    for row in rows {
        show(observer, row, repeat);
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
fn ended_as_asked(mut outcome: BulkOutcome, is_endless: bool) -> BulkOutcome {
    if is_endless && outcome.cut_short == Some(CutShort::Interrupted) {
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

fn show(observer: &mut dyn Observer, row: IntervalRow, repeat: u32) {
    observer.event(&Event::Interval {
        repeat,
        flows: row.flows,
    });
}
