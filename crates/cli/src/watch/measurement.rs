//! One test, carried out by this program started anew: what it crashes on, hangs at or is killed by costs that test only.

use caudal_sys::process::kill_with_parent;
use caudal_sys::signal::Interrupt;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::watched::WatchedPath;

/// Maximum length of the lines that say why a test failed, bytes.
const MAX_COMPLAINT: u64 = 64 << 10;
/// The time between two looks at a running test.
const LOOK: Duration = Duration::from_millis(50);
/// The time in which a test that was interrupted ends by itself.
const GRACE: Duration = Duration::from_secs(15);

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedEnding {
    /// It has a result.
    Done,
    /// It failed, for this reason.
    Failed(String),
    /// The watch was interrupted.
    Interrupted,
}

/// Carries out one test of a path, recorded in this store, within this time.
pub(super) fn measure(
    path: &WatchedPath,
    store: &Path,
    max_time: Duration,
    interrupt: &Interrupt,
) -> WatchedEnding {
    match start(path, store) {
        Ok(child) => attend(child, max_time, interrupt),
        Err(cause) => WatchedEnding::Failed(format!("this program could not be started: {cause}")),
    }
}

fn start(path: &WatchedPath, store: &Path) -> io::Result<Child> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    // A test does not outlive the watch that is to record it, whatever ends that.
    kill_with_parent(&mut command)
        .args(&path.words)
        .arg("--quiet")
        .arg("--store")
        .arg(store)
        .args(["--tag", &path.tag()])
        // A terminal's ^C is for this process, which passes it on.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

fn attend(mut child: Child, max_time: Duration, interrupt: &Interrupt) -> WatchedEnding {
    let complaint = child.stderr.take().map(|stream| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stream.take(MAX_COMPLAINT).read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let began = Instant::now();
    let interrupts = interrupt.count();
    let mut stopped: Option<(Instant, WatchedEnding)> = None;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) => {}
            Err(_) => break None,
        }
        match &stopped {
            None if interrupt.count() > interrupts => {
                signal(&child);
                stopped = Some((Instant::now(), WatchedEnding::Interrupted));
            }
            None if began.elapsed() > max_time => {
                signal(&child);
                let why = format!("it did not end within {max_time:?}");
                stopped = Some((Instant::now(), WatchedEnding::Failed(why)));
            }
            Some((at, _)) if at.elapsed() > GRACE => {
                let _ = child.kill();
            }
            _ => {}
        }
        thread::sleep(LOOK);
    };
    let complaint = complaint
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    if let Some((_, ending)) = stopped {
        return ending;
    }
    match status {
        Some(status) if status.success() => WatchedEnding::Done,
        Some(status) => {
            let why = complaint.lines().rfind(|line| line.starts_with("caudal: "));
            let why = why.map(|line| line.trim_start_matches("caudal: ").to_owned());
            WatchedEnding::Failed(why.unwrap_or_else(|| format!("{status}")))
        }
        None => WatchedEnding::Failed("its end could not be waited for".to_owned()),
    }
}

/// Asks a test to end, as `^C` does.
fn signal(child: &Child) {
    caudal_sys::process::interrupt(child.id());
}
