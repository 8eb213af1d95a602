//! One started program: its lines as they come, and its end.

use super::history::History;
use caudal_core::text::command_line;
use serde::Serialize;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Maximum length of a line, bytes: a whole run with its intervals.
const MAX_LINE: u64 = 64 << 20;
/// The time in which a test that is to stop ends by itself.
const GRACE: Duration = Duration::from_secs(15);

/// What a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobKind {
    /// A test: its lines are events.
    Test,
    /// A study, or a server on a host of a lab: its lines are text.
    Text,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum JobState {
    /// It runs.
    Running,
    /// It has ended, with this code; none where a signal ended it.
    Ended {
        /// The exit code.
        code: Option<i32>,
    },
}

/// A job as pages are shown it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct JobView {
    /// Its number.
    pub(crate) id: u64,
    /// What it is.
    pub(crate) kind: JobKind,
    /// Its command line.
    pub(crate) line: String,
    /// The time it was started, ms since 1970.
    pub(crate) started_ms: u64,
    /// How far it is.
    #[serde(flatten)]
    pub(crate) state: JobState,
}

/// A started program.
#[derive(Debug)]
pub(crate) struct Job {
    id: u64,
    kind: JobKind,
    line: String,
    started_ms: u64,
    inner: Mutex<JobInner>,
    /// Sent the number of changes, so that whoever watches knows of each.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct JobInner {
    history: History,
    state: JobState,
    process: u32,
}

impl Job {
    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(
        id: u64,
        kind: JobKind,
        words: &[String],
        mut command: Command,
    ) -> std::io::Result<Arc<Self>> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let (changes, _) = watch::channel(0);
        let job = Arc::new(Self {
            id,
            kind,
            line: command_line(words.iter().map(String::as_str)),
            started_ms: started.map_or(0, |time| time.as_millis() as u64),
            inner: Mutex::new(JobInner {
                history: History::default(),
                state: JobState::Running,
                process: child.id(),
            }),
            changes,
        });
        let stdout = child.stdout.take().map(|stream| {
            let job = Arc::clone(&job);
            thread::spawn(move || job.read(stream, false))
        });
        let stderr = child.stderr.take().map(|stream| {
            let job = Arc::clone(&job);
            thread::spawn(move || job.read(stream, true))
        });
        let waiting = Arc::clone(&job);
        thread::spawn(move || {
            for reader in [stdout, stderr].into_iter().flatten() {
                let _ = reader.join();
            }
            waiting.ended(&mut child);
        });
        Ok(job)
    }

    fn lock(&self) -> MutexGuard<'_, JobInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a stream says, line by line; of standard error as text in an object of its own.
    fn read(&self, stream: impl Read, is_note: bool) {
        let mut lines = BufReader::new(stream);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes) {
                Ok(1..) => {}
                _ => return,
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim_end_matches(['\n', '\r']);
            let is_json = self.kind == JobKind::Test && !is_note;
            let line = match is_json && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            {
                true => text.to_owned(),
                false => serde_json::json!({"event": "text", "is_note": is_note, "text": text})
                    .to_string(),
            };
            self.lock().history.push(line);
            self.changes.send_modify(|count| *count += 1);
        }
    }

    fn ended(&self, child: &mut Child) {
        let status = child.wait();
        self.lock().state = JobState::Ended {
            code: status.ok().and_then(|status| status.code()),
        };
        self.changes.send_modify(|count| *count += 1);
    }

    /// Asks it to end, as `^C` does, and ends it where it does not.
    pub(crate) fn stop(self: &Arc<Self>) {
        let process = {
            let inner = self.lock();
            if inner.state != JobState::Running {
                return;
            }
            inner.process
        };
        caudal_sys::process::interrupt(process);
        let job = Arc::clone(self);
        thread::spawn(move || {
            let until = std::time::Instant::now() + GRACE;
            while job.is_running() && std::time::Instant::now() < until {
                thread::sleep(Duration::from_millis(50));
            }
            if job.is_running() {
                caudal_sys::process::kill(process);
            }
        });
    }

    /// `true` until it has ended.
    pub(crate) fn is_running(&self) -> bool {
        self.lock().state == JobState::Running
    }

    /// Its number.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// It as pages are shown it.
    pub(crate) fn view(&self) -> JobView {
        JobView {
            id: self.id,
            kind: self.kind,
            line: self.line.clone(),
            started_ms: self.started_ms,
            state: self.lock().state.clone(),
        }
    }

    /// Sees each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The lines from number `from` on as a JSON array, the number after them, and whether there are no more.
    pub(crate) fn lines(&self, from: u64) -> (Option<String>, u64, bool) {
        let inner = self.lock();
        let (lines, next) = inner.history.from(from);
        let is_over = inner.state != JobState::Running && next == inner.history.end();
        let array = (!lines.is_empty()).then(|| format!("[{}]", lines.join(",")));
        (array, next, is_over)
    }
}
