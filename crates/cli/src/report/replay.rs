//! `caudal report replay`: a recorded run shown again as it was live, through the same views.

use super::unknown_name::{list_tagged, unknown_id};
use crate::args::{OutputArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::views::Views;
use caudal_analysis::run::events_of;
use caudal_core::event::View;
use caudal_core::run::Run;
use caudal_store::{Store, StoredDocument, StoredItem};
use caudal_sys::signal::Interrupt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum time between two checks for an interrupt.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// `caudal report replay`
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayArgs {
    /// The run
    #[arg(value_name = "ID", default_value = "last")]
    pub id: String,
    /// Replay at this multiple of the original speed; 0 for at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed, allow_hyphen_values = true)]
    pub speed: f64,
    /// Print the whole run as JSON when done
    #[arg(long, conflicts_with_all = ["json_stream", "csv"], help_heading = "Output")]
    pub json: bool,
    /// Print one JSON event a line as they happened; the last is the whole run
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    pub json_stream: bool,
    /// Print comma-separated values
    #[arg(long, help_heading = "Output")]
    pub csv: bool,
    /// Write the output to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print the closing block only
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Show every column of every interval
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,
}

/// Reads a speed: a finite number, not negative.
fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed: &f64| speed.is_finite() && *speed >= 0.0)
        .ok_or_else(|| {
            format!("{text:?} is not a speed; give a number such as 10, or 0 for at once")
        })
}

/// The run of an id.
///
/// # Errors
/// When there is none, or it cannot be replayed.
pub(crate) fn stored_run(store: &Store, id: &str) -> Result<Run, Failure> {
    let item = store
        .find(id)
        .map_err(|error| unknown_id(store, error, list_tagged))?;
    let StoredItem::Run(stored) = item else {
        return Err(Failure::usage(
            format!("{id} is a study"),
            "name a run; `caudal report export` shows a study",
        ));
    };
    match stored.document {
        StoredDocument::Run(run) => Ok(*run),
        _ => Err(Failure::usage(
            format!("{id} is a trial of a study"),
            "name a run of caudal tcp, udp or rtt, or an imported one",
        )),
    }
}

/// Shows a recorded run as it was live.
pub(super) fn replay(
    store: &Store,
    args: &ReplayArgs,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let run = stored_run(store, &args.id)?;
    let mut views = Views::open(&args.output_args(), false)?;
    let began = Instant::now();
    for timed in events_of(&run) {
        if args.speed > 0.0 {
            let due = Duration::try_from_secs_f64(timed.at_s / args.speed).unwrap_or_default();
            while let Some(left) = due.checked_sub(began.elapsed()) {
                if left.is_zero() || interrupt.count() > 0 {
                    break;
                }
                std::thread::sleep(left.min(MAX_SLEEP));
            }
        }
        if interrupt.count() > 0 || views.is_unread() {
            views.abandon();
            return Ok(Exit::Failed);
        }
        views.event(&timed.event);
    }
    views.finish()?;
    Ok(Exit::Done)
}

impl ReplayArgs {
    fn output_args(&self) -> OutputArgs {
        OutputArgs {
            json: self.json,
            json_stream: self.json_stream,
            csv: self.csv,
            output: self.output.clone(),
            quiet: self.quiet,
            verbose: self.verbose,
            store: StoreArgs {
                store: None,
                no_store: true,
                tag: Vec::new(),
            },
            ..OutputArgs::default()
        }
    }
}
