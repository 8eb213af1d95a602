//! The dispatch of `caudal top` to what it shows.

use super::args::TopArgs;
use super::{lab, runs, server, study, timeline};
use crate::exit::{Exit, Failure};
use caudal_sys::signal::Interrupt;

/// Runs `caudal top`.
///
/// # Errors
/// When there is nothing of this kind to show, or the terminal cannot be used.
pub fn top(args: &TopArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    if let Some(name) = &args.watch {
        return timeline::show_timeline(name, args, interrupt);
    }
    if let Some(id) = &args.study {
        return study::show_study(id.as_deref(), args, interrupt);
    }
    match (&args.serve, &args.lab) {
        (Some(port), _) => server::show_server(*port, interrupt),
        (None, Some(name)) => lab::show_lab(name.as_deref(), interrupt),
        (None, None) => runs::show_runs(args, interrupt),
    }
}
