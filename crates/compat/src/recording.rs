//! The recording of a run in the store: after its result was shown, and never at its expense.

use caudal_analysis::run::RunRecorder;
use caudal_core::event::{CutShort, EndedTest, Event, View};
use caudal_core::plan::PlanRecord;
use caudal_core::run::{Environment, RunOutcome};
use caudal_core::text::{ExternalText, on_one_line};
use caudal_engine::machine::MachineMonitor;
use caudal_engine::{StartedRun, TOOL, describe_host, this_tool};
use caudal_store::{Recording, RecordingError, StoreError, StoredRun};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// The remedy where no file can be used: these programs have no flags for the store.
const OTHER_FILE: &str = "name a file with CAUDAL_STORE=FILE, or say CAUDAL_STORE=none";

/// The end of a client's test, as its run is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEnd<'a> {
    /// It was completed.
    Complete,
    /// The user ended it before its time, which is no error.
    Interrupted,
    /// It ended in this error.
    Failed(&'a str),
}

/// The recording of a client's test, from before it begins.
pub struct ClientRecording {
    recording: Recording,
    monitor: MachineMonitor,
    started: StartedRun,
    recorder: RunRecorder,
    title: Option<ExternalText>,
}

impl ClientRecording {
    /// Begins the recording of a test that is run by `command`, a command line of the tool `compatible_with`.
    #[must_use]
    pub fn start(compatible_with: &str, command: String) -> Self {
        Self {
            recording: Recording::new(None),
            monitor: MachineMonitor::start(),
            started: StartedRun::now(this_tool(Some(compatible_with)), command),
            recorder: RunRecorder::new(PlanRecord::default()),
            title: None,
        }
    }

    /// Sets the title of the run.
    pub fn set_title(&mut self, title: Option<ExternalText>) {
        self.title = title;
    }

    /// Records the test, unless nothing was counted in it; `peer` is the address of the other end. A failure is one line on
    /// standard error.
    pub fn finish(mut self, peer: Option<IpAddr>, end: ClientEnd<'_>) {
        if !self.recording.is_enabled() {
            return;
        }
        match end {
            ClientEnd::Complete => {}
            ClientEnd::Interrupted => self.recorder.event(&Event::Ended(EndedTest {
                cut_short: Some(CutShort::Interrupted),
                ..EndedTest::default()
            })),
            ClientEnd::Failed(error) => self.recorder.failed(error),
        }
        let outcome = match end {
            ClientEnd::Failed(_) => RunOutcome::Failed,
            _ if self.recorder.is_cut_short() => RunOutcome::CutShort,
            _ => RunOutcome::Done,
        };
        let StartedRun { header, started_ns } = self.started;
        let client = describe_host(TOOL, peer.map(|peer| SocketAddr::new(peer, 0)));
        let Some(run) = self.recorder.into_run(header, client) else {
            return;
        };
        let environment = Environment {
            machine: Some(self.monitor.machine(peer)),
            ..run.environment.clone().unwrap_or_default()
        };
        let started_ns = i64::try_from(started_ns).unwrap_or(i64::MAX);
        let run = StoredRun {
            title: self.title,
            environment,
            ..StoredRun::new(run, started_ns, outcome)
        };
        record(&self.recording, &run);
    }
}

impl View for ClientRecording {
    fn event(&mut self, event: &Event) {
        self.recorder.event(event);
    }
}

/// Records a run. A failure is one line on standard error.
fn record(recording: &Recording, run: &StoredRun) {
    if let Err(error) = recording.record(run, &[]) {
        let line = format!("the run is not recorded: {error}; {}", remedy(&error));
        let _ = writeln!(std::io::stderr(), "caudal: warning: {}", on_one_line(&line));
    }
}

/// The remedy for an error of the store.
const fn remedy(error: &RecordingError) -> &'static str {
    let RecordingError::Store(error) = error else {
        return OTHER_FILE;
    };
    match error {
        StoreError::Open { .. } => OTHER_FILE,
        StoreError::Newer { .. } => {
            "update this program, or name another store with CAUDAL_STORE=FILE"
        }
        StoreError::Foreign { .. } => {
            "name another file with CAUDAL_STORE=FILE; this one was left alone"
        }
        StoreError::Corrupt { .. } => {
            "it was left as it is: move it away, and get what it holds with \
             `sqlite3 OLD .recover | sqlite3 NEW`"
        }
        StoreError::Full { .. } => {
            "make room, or name another place with CAUDAL_STORE=FILE; what is in it is safe"
        }
        StoreError::ReadOnly { .. } => {
            "have its owner let you write to it and its directory, or name another with CAUDAL_STORE=FILE"
        }
        StoreError::Busy { .. } => "try again, or name another with CAUDAL_STORE=FILE",
        StoreError::Exists { .. } => "see `caudal report show`",
        _ => "name another with CAUDAL_STORE=FILE",
    }
}
