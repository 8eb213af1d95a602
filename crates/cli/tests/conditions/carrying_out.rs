//! A cell carried out: its network, its servers, its client, and what happens meanwhile.

use crate::clock_step::{CLOCK_STEP, clock_step};
use crate::condition::Case;
use crate::network::Network;
use crate::support::place::Place;
use crate::support::{Ended, Running, signal};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The time after which a command hangs, whatever it does.
const LIMIT: Duration = Duration::from_secs(100);
/// The time that a server has to listen.
const SERVER_LIMIT: Duration = Duration::from_secs(20);

/// What came out.
#[derive(Debug)]
pub struct Observed {
    pub ended: Ended,
    /// The document, where one was asked for.
    pub document: Option<Value>,
}

/// Carries a cell out.
pub fn carry_out(case: &Case) -> Observed {
    let network = Network::up(&case.condition);
    let servers: Vec<Running> = case
        .servers
        .iter()
        .map(|line| serve(&network, case, line))
        .collect();
    let place = Place::of("condition");
    let document = place.path().join("run.json");
    let wants_document = case.condition.documents
        || !case.expected.values.is_empty()
        || !case.expected.warns.is_empty();
    let prints_document = case.line.contains(" -J") || case.line.contains(" --json");
    let mut words = words_of(case);
    if wants_document && !prints_document {
        words.extend(["--json", "-o"].map(str::to_owned));
        words.push(document.display().to_string());
    }
    let mut command = network.on("h1", &words);
    command.env("HOME", place.path());
    if std::env::var_os("COLUMNS").is_none()
        && command.get_envs().all(|(name, _)| name != "COLUMNS")
    {
        command.env("COLUMNS", "80");
    }
    let client = Running::start(&mut command);
    let pids: Vec<u32> = servers.iter().map(Running::pid).collect();
    let client_pid = client.pid();
    let ended = thread::scope(|scope| {
        let (over, is_over) = channel();
        let network = &network;
        scope.spawn(move || happen(network, &case.events, &pids, client_pid, &is_over));
        let ended = client.wait(LIMIT);
        drop(over);
        ended
    });
    for server in &servers {
        signal_quietly(server.pid(), "CONT");
    }
    let document = if !wants_document {
        None
    } else if prints_document {
        serde_json::from_str(&ended.stdout).ok()
    } else {
        read(&document)
    };
    Observed { ended, document }
}

fn read(file: &PathBuf) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

/// What a program runs under, with the library of the clock that steps where it is named.
fn under(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    for word in &mut words {
        if word.contains(CLOCK_STEP) {
            *word = word.replace(CLOCK_STEP, &clock_step().display().to_string());
        }
    }
    words
}

/// The words of the client's command line.
fn words_of(case: &Case) -> Vec<String> {
    let host = case
        .condition
        .host
        .as_deref()
        .unwrap_or(match case.condition.lab {
            Some(_) => "h2",
            None => "10.91.3.2",
        });
    let line = case.line.replace("{host}", host);
    let program = case.program.clone();
    let program = program.filter(|program| program != "caudal");
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_caudal").to_owned());
    let mut words = under(&case.condition.client_under);
    words.push(program);
    words.extend(line.split_whitespace().map(str::to_owned));
    words
}

/// Starts a server, on h2 unless its line begins with another host as `r2: `, and waits until it listens.
fn serve(network: &Network, case: &Case, line: &str) -> Running {
    let (host, line) = line.split_once(": ").unwrap_or(("h2", line));
    let mut words = under(&case.condition.servers_under);
    let mut of_line = line.split_whitespace().map(|word| match word {
        "caudal" => env!("CARGO_BIN_EXE_caudal").to_owned(),
        other => other.to_owned(),
    });
    words.extend(&mut of_line);
    let mut server = Running::start(&mut network.on(host, &words));
    if case.condition.lab.is_some() {
        // The process here is that of `lab exec`, which is in no namespace of the lab.
        server.line_with("istening");
        return server;
    }
    let until = Instant::now() + SERVER_LIMIT;
    let port = line
        .split_whitespace()
        .skip_while(|word| *word != "-p")
        .nth(1)
        .and_then(|port| port.parse().ok());
    while !listens(server.pid(), port) {
        assert!(
            !server.is_over() && Instant::now() < until,
            "{line}: {} {}",
            server.said(),
            server.complained()
        );
        thread::sleep(Duration::from_millis(10));
    }
    server
}

/// Whether a socket of a process's namespace waits for a client, at this port or at one of the servers'.
fn listens(pid: u32, port: Option<u16>) -> bool {
    let sockets = ["tcp", "tcp6", "udp", "udp6"].map(|kind| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{kind}")).unwrap_or_default();
        text.lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let local = fields.next()?.rsplit(':').next()?;
                let state = fields.nth(1)?;
                // 0A is TCP_LISTEN, 07 a UDP socket without a peer: include/net/tcp_states.h.
                (state == "0A" || state == "07").then(|| u16::from_str_radix(local, 16).ok())?
            })
            .collect::<Vec<u16>>()
    });
    let mut sockets = sockets.iter().flatten();
    sockets.any(|at| port.map_or([5201, 5001, 5037].contains(at), |port| *at == port))
}

/// Has what is due happen, until the client has ended.
fn happen(
    network: &Network,
    events: &[String],
    servers: &[u32],
    client: u32,
    is_over: &Receiver<()>,
) {
    let began = Instant::now();
    for event in events {
        let (after, what) = event.split_once(' ').unwrap_or_else(|| panic!("{event}"));
        let after: f64 = after.parse().unwrap_or_else(|_| panic!("{event}"));
        let left =
            (began + Duration::from_secs_f64(after)).saturating_duration_since(Instant::now());
        if is_over.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        match what.split_once(": ") {
            Some(("server", name)) => servers.iter().for_each(|pid| signal_quietly(*pid, name)),
            Some(("client", name)) => signal_quietly(client, name),
            _ => network.does(what),
        }
    }
}

/// Sends a signal to a process that may be gone.
fn signal_quietly(pid: u32, name: &str) {
    if fs::exists(format!("/proc/{pid}")).unwrap_or(false) {
        signal(pid, name);
    }
}
