//! This program, started for an answer: with a limit on its time and on what it may say.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use caudal_sys::process::kill_with_parent;
use std::os::unix::process::CommandExt;

/// Maximum length of an answer, bytes.
const MAX_ANSWER: u64 = 64 << 20;
/// Maximum length of what it says beside it, bytes.
const MAX_COMPLAINT: u64 = 64 << 10;
/// The time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// What a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramAnswer {
    /// Its exit code; `None` when it was ended.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) text: String,
    /// Standard error.
    pub(crate) complaint: String,
}

impl ProgramAnswer {
    /// Why it gave no answer: the last line in which the program says so.
    pub(crate) fn why(&self) -> String {
        let line = self.complaint.lines().rfind(|line| !line.is_empty());
        let line = line.map(|line| line.trim_start_matches("caudal: ").to_owned());
        line.unwrap_or_else(|| "the program gave no answer".to_owned())
    }
}

/// A command of this program whose end is that of this process, too.
pub(crate) fn own_command(program: &Path, store: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    kill_with_parent(&mut command)
        .process_group(0)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("CAUDAL_STORE", store.unwrap_or(Path::new("none")));
    command
}

/// Runs this program with these arguments, and `input` at its standard input.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn answer(
    mut command: Command,
    args: &[&str],
    input: &[u8],
) -> io::Result<ProgramAnswer> {
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let reader = |stream: Option<Box<dyn Read + Send>>, max| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stream) = stream {
                let _ = stream.take(max).read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let text = reader(stdout.map(|stream| Box::new(stream) as _), MAX_ANSWER);
    let complaint = reader(stderr.map(|stream| Box::new(stream) as _), MAX_COMPLAINT);
    thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input);
            }
        });
        let until = Instant::now() + PATIENCE;
        let code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if Instant::now() < until => thread::sleep(LOOK),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        Ok(ProgramAnswer {
            code,
            text: text.join().unwrap_or_default(),
            complaint: complaint.join().unwrap_or_default(),
        })
    })
}
