//! A recorded or running study on the terminal's whole screen: its trials as they come, and the time that is left.

use super::args::TopArgs;
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::line_width;
use crate::output::sink::Sink;
use crate::report::open_store;
use caudal_report::stored_text::study_lines;
use caudal_store::{Filter, Store, StoreEntry, StoredItem, StoredStudy, short_id};
use caudal_study::StoredCampaign;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_top::{PolledText, ViewState, show, unusable_terminal};
use caudal_views::text::about;
use std::time::Duration;

/// Shows a study, or the newest one.
pub(super) fn show_study(
    id: Option<&str>,
    args: &TopArgs,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let store = open_store(args.store.as_deref())?;
    let id = study_id(&store, id)?;
    let (title, lines) = read(&store, &id)?;
    if let Some(why) = unusable_terminal() {
        diagnostic(&format!("{why}: the study now"));
        let mut out = Sink::stdout();
        out.line(&title);
        lines.iter().for_each(|line| out.line(line));
        out.finish()?;
        return Ok(Exit::Done);
    }
    let read = || {
        read(&store, &id).unwrap_or_else(|failure| {
            let title = format!("the study cannot be read: {}", failure.message);
            (title, Vec::new())
        })
    };
    show(
        &mut PolledText::new(read),
        &mut ViewState::default(),
        interrupt,
    )?;
    Ok(Exit::Done)
}

/// The id of a study by its id or the name of its experiment; of the newest without one.
fn study_id(store: &Store, id: Option<&str>) -> Result<String, Failure> {
    let Some(id) = id else {
        let filter = Filter {
            kind: Some("study".to_owned()),
            limit: Some(1),
            ..Filter::default()
        };
        let newest = store.list(&filter)?.into_iter().next();
        return newest.map(|entry| entry.id).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "no study is recorded",
                "run one: caudal study list",
            )
        });
    };
    match store.find(id) {
        Ok(StoredItem::Study(study)) => Ok(study.id),
        _ => Ok(store.newest_study(id)?),
    }
}

/// The title and the lines of a study as it is now.
fn read(store: &Store, id: &str) -> Result<(String, Vec<String>), Failure> {
    let StoredItem::Study(study) = store.find(id)? else {
        return Err(Failure::new(Exit::Failed, format!("{id} is no study"), ""));
    };
    let filter = Filter {
        study: Some(study.id.clone()),
        ..Filter::default()
    };
    let trials = store.list(&filter)?;
    let lines = study_lines(&study, &trials, &[], line_width());
    let lines = lines
        .iter()
        .flat_map(|text| text.lines().map(str::to_owned));
    let title = format!(
        "study {} {}, {}: {}",
        study.name,
        short_id(&study.id),
        study.state(),
        progress(&study, &trials, realtime_ns())
    );
    Ok((title, lines.collect()))
}

/// The trials so far of those there will be, and the time that is left while the study runs.
fn progress(study: &StoredStudy, trials: &[StoreEntry], now_ns: u64) -> String {
    let done = trials.len() as u64;
    let Some(least) = least_trials(study).filter(|_| study.state() == "unfinished") else {
        return format!("{done} trials");
    };
    let left = least.saturating_sub(done);
    let mut begins = study.events.iter().rev();
    let begun = begins.find(|(_, event, _)| event == "begun" || event == "resumed");
    let begun_ns = begun.map_or(study.started_ns, |(at, ..)| *at);
    let since = trials.iter().filter(|trial| trial.started_ns >= begun_ns);
    let elapsed_s = (now_ns as f64 - begun_ns as f64).max(0.0) / 1e9;
    let left_s = match since.count() {
        0 => None,
        count => Some(elapsed_s / count as f64 * left as f64),
    };
    let time = left_s
        .and_then(|left_s| Duration::try_from_secs_f64(left_s).ok())
        .map_or_else(String::new, |left| {
            format!(", about {} left at least", about(left))
        });
    format!("{done} of at least {} trials{time}", least.max(done))
}

/// The least number of trials of a study; `None` where its experiment cannot be read.
fn least_trials(study: &StoredStudy) -> Option<u64> {
    let stored: StoredCampaign = serde_json::from_value(study.campaign.clone()).ok()?;
    let campaign = stored.source.campaign().ok()?;
    Some(campaign.cases.len() as u64 * campaign.rule.min)
}
