//! The recording of a run: after its result was shown, and never at its expense.

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::document::{StartedRun, new_id, this_tool};
use crate::peer::{Peer, TOOL};
use crate::store_advice::store_advice;
use caudal_core::run::{Environment, Run};
use caudal_engine::{MachineMonitor, describe};
use caudal_report::import::{Log, run_made_here};
use caudal_store::{RunOutcome, SampleSeries, Store, StoreError, StoredDocument, StoredRun};
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

/// Digits of an id that people are shown: enough to tell any runs of a lifetime apart.
pub const SHOWN: usize = 8;

/// The beginning of an id that people are shown.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..SHOWN).unwrap_or(id)
}

/// The outcome of a run whose command ends with this exit code.
#[must_use]
pub fn run_outcome(exit: Exit, cut_short: bool) -> RunOutcome {
    match exit {
        _ if cut_short => RunOutcome::CutShort,
        Exit::Done => RunOutcome::Done,
        _ => RunOutcome::Failed,
    }
}

/// The place a command's run will be recorded at, and the machine from before the run on.
#[derive(Debug)]
pub struct Recording {
    place: StorePlace,
    /// `true` when the command has flags for the store.
    has_flags: bool,
    machine: MachineMonitor,
}

#[derive(Debug)]
enum StorePlace {
    /// Nothing is to be recorded.
    Nowhere,
    /// There is no place for the store.
    Unknown,
    /// This file; `true` when a flag named it.
    At(PathBuf, bool),
}

impl Recording {
    /// Prepares to record the run that begins now.
    #[must_use]
    pub fn start(args: &StoreArgs) -> Self {
        let flag = args.store.as_deref();
        let place = if args.no_store {
            StorePlace::Nowhere
        } else {
            match Store::locate(flag) {
                Some(at) => StorePlace::At(at, flag.is_some()),
                None if std::env::var_os("CAUDAL_STORE").is_some() => StorePlace::Nowhere,
                None => StorePlace::Unknown,
            }
        };
        Self {
            place,
            has_flags: true,
            machine: MachineMonitor::start(),
        }
    }

    /// Prepares to record the run of a command with another tool's flags: the environment alone names the store.
    #[must_use]
    pub fn by_environment() -> Self {
        Self {
            has_flags: false,
            ..Self::start(&StoreArgs::default())
        }
    }

    /// `true` when the run is to be recorded.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        matches!(self.place, StorePlace::At(..))
    }

    /// Records a run that has been shown. A failure is one line on standard error.
    ///
    /// The line that shows people its id; `None` when the run is not recorded.
    pub fn record(
        &self,
        peer: &Peer,
        started: &StartedRun,
        run: &Run,
        outcome: RunOutcome,
        samples: impl FnOnce() -> Vec<SampleSeries>,
    ) -> Option<String> {
        if matches!(self.place, StorePlace::Nowhere) {
            return None;
        }
        let environment = Environment {
            machine: Some(self.machine.machine(Some(peer.address().ip()))),
            ..run.environment.clone().unwrap_or_default()
        };
        let started_ns = i64::try_from(started.started_ns).unwrap_or(i64::MAX);
        let stored = StoredRun {
            tool: TOOL.to_owned(),
            peer: Some(peer.address().to_string()),
            environment,
            series: samples(),
            ..StoredRun::new(run.clone(), started_ns, outcome)
        };
        let by_flag = self.put(&stored)?;
        let id = short(&stored.id);
        Some(if by_flag {
            format!("saved as {id}")
        } else {
            format!("saved as {id} (caudal report show {id})")
        })
    }

    /// Records a test that was run with another tool's command line and has been shown in that tool's format. A failure is
    /// one line on standard error.
    ///
    /// `towards` is the address of the other end. A test in which nothing was measured is not recorded.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the clients make the log for this call"
    )]
    pub fn record_log(&self, log: Log, towards: Option<IpAddr>) {
        if matches!(self.place, StorePlace::Nowhere) {
            return;
        }
        let Some(mut stored) = run_made_here(&log, new_id(), this_tool()) else {
            return;
        };
        stored.environment = Environment {
            client: Some(describe(TOOL, towards)),
            server: None,
            machine: Some(self.machine.machine(towards)),
        };
        if let StoredDocument::Run(run) = &mut stored.document {
            run.environment = Some(Environment {
                machine: None,
                ..stored.environment.clone()
            });
        }
        self.put(&stored);
    }

    /// Puts a run into the store, and says so when that cannot be; whether a flag has named it.
    fn put(&self, run: &StoredRun) -> Option<bool> {
        let (at, by_flag) = match &self.place {
            StorePlace::Nowhere => return None,
            StorePlace::Unknown => {
                let remedy = if self.has_flags {
                    "name a file with --store FILE, or use --no-store"
                } else {
                    BY_ENVIRONMENT
                };
                let what = "the run is not kept: this user has no home directory";
                warn(&Failure::new(Exit::Done, what, remedy));
                return None;
            }
            StorePlace::At(at, by_flag) => (at, *by_flag),
        };
        match Store::open(at).and_then(|mut store| store.record(run)) {
            Ok(()) => Some(by_flag),
            Err(error) => {
                warn(&not_recorded(&error, self.has_flags));
                None
            }
        }
    }
}

/// What there is to do where no flag is.
const BY_ENVIRONMENT: &str = "name a file with CAUDAL_STORE=FILE, or use CAUDAL_STORE=none";

fn not_recorded(error: &StoreError, has_flags: bool) -> Failure {
    let remedy = match (error, has_flags) {
        (StoreError::Open { .. }, true) => {
            "name another place with --store FILE, or use --no-store".to_owned()
        }
        (StoreError::Open { .. }, false) => BY_ENVIRONMENT.to_owned(),
        (other, true) => store_advice(other).to_owned(),
        (other, false) => store_advice(other).replace("--store FILE", "CAUDAL_STORE=FILE"),
    };
    Failure::new(Exit::Done, format!("the run is not kept: {error}"), remedy)
}

fn warn(failure: &Failure) {
    let line = failure.to_string();
    let line = line.replacen("caudal: ", "caudal: warning: ", 1);
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_cut_short_is_not_taken_for_one_that_failed() {
        assert_eq!(run_outcome(Exit::Done, false).name(), "done");
        assert_eq!(run_outcome(Exit::Failed, false).name(), "failed");
        assert_eq!(run_outcome(Exit::Failed, true).name(), "cut short");
        assert_eq!(run_outcome(Exit::Peer, true).name(), "cut short");
    }
}
