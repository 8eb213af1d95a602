//! What the tests of the binary share: commands and servers with a hard limit on their time, places for what
//! commands keep, a peer that speaks the protocol by hand, a relay whose connections can be cut, and the pages that
//! describe JSON.
#![allow(
    dead_code,
    unused_macros,
    reason = "every test program uses a part of it"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[macro_use]
pub mod program;

pub mod awake;
pub mod browser;
pub mod network;
pub mod pair;
pub mod path_lab;
pub mod peer;
pub mod place;
pub mod port;
pub mod processor;
pub mod reference;
pub mod relay;
pub mod served_ui;

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long anything may take that is not told otherwise. Generous: machines that test are busy.
pub const SOON: Duration = Duration::from_secs(30);

/// A command line of the binary under test.
pub fn caudal(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    // The width of a usual terminal: without it nothing is folded in a pipe.
    command.env("COLUMNS", "80");
    command.args(args);
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it, such as ours after its time was over.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Ended {
    /// Fails unless the command succeeded without a word of complaint.
    #[track_caller]
    pub fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert_eq!(self.stderr, "", "{self:#?}");
        self
    }

    /// Fails unless the command ended with `code` and one line on standard error that holds all of `words`.
    #[track_caller]
    pub fn failed(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stderr.lines().count(), 1, "one line: {self:#?}");
        assert!(self.stderr.starts_with("caudal: "), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:#?}");
        }
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A command under way; killed when dropped.
pub struct Running {
    child: Child,
    began: Instant,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    lines: Receiver<String>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        keep_nothing(command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (tell, lines) = channel();
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            readers.push(keep(pipe, Arc::clone(&stdout), Some(tell)));
        }
        if let Some(pipe) = child.stderr.take() {
            readers.push(keep(pipe, Arc::clone(&stderr), None));
        }
        Self {
            child,
            began: Instant::now(),
            stdout,
            stderr,
            readers,
            lines,
        }
    }

    /// Waits for a line on standard output that contains `text`.
    #[track_caller]
    pub fn line_with(&self, text: &str) -> String {
        let until = Instant::now() + SOON;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(_) => {
                    let complaint = self.stderr.lock().unwrap().clone();
                    panic!("no line with {text:?}: {:?} {complaint:?}", self.said());
                }
            }
        }
    }

    /// Waits until two intervals of a text run have been printed.
    #[track_caller]
    pub fn two_intervals(&self) {
        self.line_with(" s  ");
        self.line_with(" s  ");
    }

    pub fn said(&self) -> String {
        self.stdout.lock().unwrap().clone()
    }

    /// What was written on standard error so far.
    pub fn complained(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `INT`.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Ends it without a word.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end for at most `limit`, then kills it and fails.
    #[track_caller]
    pub fn wait(mut self, limit: Duration) -> Ended {
        let until = Instant::now() + limit;
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() >= until {
                let _ = self.child.kill();
                panic!(
                    "still running after {limit:?}: {:?} {:?}",
                    self.stdout.lock().unwrap(),
                    self.stderr.lock().unwrap()
                );
            }
            thread::sleep(Duration::from_millis(5));
        }
        let took = self.began.elapsed();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        Ended {
            code: self.child.wait().unwrap().code(),
            stdout: self.stdout.lock().unwrap().clone(),
            stderr: self.stderr.lock().unwrap().clone(),
            took,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has a command keep no run, so that no test writes to the store of whoever runs it. A command that says
/// otherwise, or that takes the variable away, is one of the store's own tests.
pub fn keep_nothing(command: &mut Command) {
    if !command.get_envs().any(|(name, _)| name == "CAUDAL_STORE") {
        command.env("CAUDAL_STORE", "none");
    }
}

fn keep(
    pipe: impl Read + Send + 'static,
    into: Arc<Mutex<String>>,
    tell: Option<std::sync::mpsc::Sender<String>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            let text = String::from_utf8_lossy(&line).into_owned();
            into.lock().unwrap().push_str(&text);
            if let Some(tell) = &tell {
                let _ = tell.send(text);
            }
            line.clear();
        }
    })
}

/// Sends a signal by name to a process.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status()
        .unwrap();
    assert!(sent.success(), "kill -{name} {pid}");
}

/// Runs a command to its end within `limit`.
#[track_caller]
pub fn run(command: &mut Command, limit: Duration) -> Ended {
    Running::start(command).wait(limit)
}

/// Runs `caudal` with these words, split at spaces, to its end.
#[track_caller]
pub fn run_caudal(words: &str) -> Ended {
    run(&mut caudal(words.split_whitespace()), SOON)
}

/// A `caudal serve` on a port of its own; killed when dropped.
pub struct Serve {
    pub running: Running,
    pub port: u16,
}

impl Serve {
    #[track_caller]
    pub fn start(words: &str) -> Self {
        let mut command = caudal(["serve", "-p", "0"]);
        command.args(words.split_whitespace());
        Self::of(&mut command)
    }

    /// Starts a server by a whole command line.
    #[track_caller]
    pub fn of(command: &mut Command) -> Self {
        let running = Running::start(command);
        let line = running.line_with("listening on ");
        let port = line
            .split(',')
            .next()
            .and_then(|address| address.rsplit(':').next())
            .and_then(|port| port.trim().parse().ok())
            .unwrap_or_else(|| panic!("no port in {line:?}"));
        Self { running, port }
    }

    /// A client of this server, with these words after the address.
    pub fn client(&self, words: &str) -> Command {
        let mut words = words.split_whitespace();
        let mut command = caudal(words.next());
        command
            .args(["127.0.0.1", "-p", &self.port.to_string()])
            .args(words);
        command
    }

    /// Runs such a client to its end.
    #[track_caller]
    pub fn serves(&self, words: &str) -> Ended {
        run(&mut self.client(words), SOON)
    }

    /// Fails unless a newcomer gets what it asks for, over TCP and UDP.
    #[track_caller]
    pub fn still_serves(&self) {
        let run = self.serves("tcp -n 100K --json").done().json();
        assert_eq!(run["flows"][0]["receiver"]["bytes"], 100_000, "{run}");
        let run = self.serves("udp -t 0.2 -b 1M --json").done().json();
        assert!(
            run["flows"][0]["receiver"]["bytes"].as_u64() > Some(0),
            "{run}"
        );
    }
}

/// The closing block of a text run was printed: what was measured is not lost.
#[track_caller]
pub fn assert_reported(ended: &Ended) {
    assert!(
        ended.stdout.contains("goodput"),
        "nothing was reported: {ended:#?}"
    );
}

/// The warning codes of a run.
pub fn warnings(run: &Value) -> Vec<String> {
    let list = run["warnings"].as_array().cloned().unwrap_or_default();
    list.iter()
        .filter_map(|warning| Some(warning["code"].as_str()?.to_owned()))
        .collect()
}

/// What is missing when a program cannot be found; `None` when it can.
pub fn uninstalled(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|directory| directory.join(program).is_file());
    (!is_there).then(|| format!("{program} is not installed"))
}

/// Builds a trial: ignored with its reason printed when something it needs is missing, except under
/// `CI=true`, where everything is there and nothing may be left out.
pub fn trial(
    name: &str,
    missing: Option<String>,
    test: impl FnOnce() + Send + 'static,
) -> libtest_mimic::Trial {
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let body = move || {
        test();
        Ok(())
    };
    match missing {
        Some(why) if !ci => {
            eprintln!("ignored: {name}: {why}");
            libtest_mimic::Trial::test(name, body).with_ignored_flag(true)
        }
        _ => libtest_mimic::Trial::test(name, body),
    }
}
