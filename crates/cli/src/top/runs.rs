//! Recorded runs, played on the terminal's whole screen.

use super::args::TopArgs;
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::views::Views;
use crate::report::{open_store, stored_run};
use caudal_analysis::run::{TimedEvent, events_of};
use caudal_core::event::View;
use caudal_core::run::Run;
use caudal_sys::signal::Interrupt;
use caudal_top::{Model, Replay, ViewState, show, unusable_terminal};

/// Plays the runs that were asked for.
pub(super) fn show_runs(args: &TopArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let store = open_store(args.store.as_deref())?;
    let mut runs = Vec::with_capacity(args.runs.len());
    for name in &args.runs {
        runs.push(stored_run(&store, name)?);
    }
    if let Some(why) = unusable_terminal() {
        diagnostic(&format!("{why}: the runs are shown as rows"));
        return show_rows(&runs, args);
    }
    let model = |run: &Run| {
        let events = events_of(run);
        Model::of_events(headline(run), events.iter().map(|timed| &timed.event))
    };
    let models = runs.iter().map(model).collect();
    if let Some(mut replay) = Replay::new(models, args.speed) {
        show(&mut replay, &mut ViewState::replay(), interrupt)?;
    }
    Ok(Exit::Done)
}

/// A run in a line.
fn headline(run: &Run) -> String {
    let id = caudal_store::short_id(&run.header.id);
    let command = run.header.command.as_ref().map(ToString::to_string);
    format!(
        "{id}  {}  {}",
        command.unwrap_or_else(|| run.header.tool.name.to_string()),
        run.header.started
    )
}

/// The same runs as rows, at once.
fn show_rows(runs: &[Run], args: &TopArgs) -> Result<Exit, Failure> {
    for run in runs {
        let mut views = Views::open(&Default::default(), false)?;
        if args.runs.len() > 1 {
            views.note(&headline(run));
        }
        for TimedEvent { event, .. } in events_of(run) {
            views.event(&event);
        }
        views.finish()?;
    }
    Ok(Exit::Done)
}
