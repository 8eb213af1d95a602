//! One trial carried out: a network made for it, a process for each flow, all begun together, and everything counted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use caudal_core::experiment::{Case, FlowSpec, KindFile};
use caudal_core::topology::Role;
use caudal_core::units::format_duration;
use caudal_engine::{Server, ServerOptions};
use caudal_lab::registry::{Card, Registry};
use caudal_lab::{LabReport, Request};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::signal::{self, Interrupt, poll_readable};
use serde_json::Value;

use super::place::{self, Net, Place};
use super::trial::{InterfaceSeries, TrialFlow};
use crate::exit::{Exit, Failure};
use crate::lab::keep;
use crate::peer::TOOL;

/// What processes need until they can connect.
const LEAD: Duration = Duration::from_millis(400);
/// For how long a connection's clock and idle round trip are looked at, where round trips are not quick.
const CLOCKS: Duration = Duration::from_millis(220);
/// What each process and each connection adds to that.
const LEAD_EACH: Duration = Duration::from_millis(12);
/// Round trips until all connections of a flow are open, with some to spare.
const ROUND_TRIPS: u32 = 20;
/// The same on a real network, whose round trips nobody knows.
const LEAD_FAR: Duration = Duration::from_secs(2);
/// How long flows may take to end after their time: the last data, the other end's account.
const GRACE_NS: u64 = 30_000_000_000;
/// How often processes are looked at, ns.
const LOOK_NS: u64 = 20_000_000;
/// A flow that begins later than this after its time is told.
const LATE_S: f64 = 0.1;
/// The part of what UDP should send that may be missing because others had the processor.
const MOST_SHORT: f64 = 0.3;
/// The most samples of interfaces in a trial.
const MOST_SAMPLES: usize = 20_000;

/// What is to be carried out.
pub struct Stage<'a> {
    /// The case.
    pub case: &'a Case,
    /// Where.
    pub place: &'a Place,
    /// Where chance begins in the lab.
    pub seed: u64,
    /// What its lab is called, unlike any other.
    pub name: String,
    /// Where capture files go; `None` for none.
    pub captures: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Carried {
    /// The moment from which flows and intervals are counted, ns since 1970.
    pub zero_ns: u64,
    /// How long was measured after the warm-up, seconds.
    pub measured_s: f64,
    /// The flows, in the order of the case.
    pub flows: Vec<TrialFlow>,
    /// Raw round-trip times, by the number of the flow.
    pub raw: BTreeMap<usize, Raw>,
    /// What the lab had counted when measuring began.
    pub before: Option<LabReport>,
    /// What it had counted when measuring ended.
    pub after: Option<LabReport>,
    /// Bytes at interfaces over time.
    pub interfaces: Vec<InterfaceSeries>,
    /// Why it does not count.
    pub spoiled: Option<String>,
    /// What to doubt.
    pub warnings: Vec<String>,
    /// Capture files, by host and interface.
    pub captures: BTreeMap<String, String>,
}

/// Raw round-trip times of an echo flow.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Raw {
    /// Of all counted messages that came back, ns.
    pub rtt_ns: Vec<f64>,
    /// The connection of each.
    pub client: Vec<f64>,
    /// The size of each, bytes.
    pub size: Vec<f64>,
    /// When each was due, s; empty without a schedule.
    pub at_s: Vec<f64>,
    /// Of the first message of each size and connection, ns.
    pub first_ns: Vec<f64>,
}

/// Why there is no trial.
#[derive(Debug)]
pub enum Trouble {
    /// The user ended it.
    Interrupted,
    /// It cannot be carried out.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Messages of each size of an echo flow for which the experiment says nothing; within a time as many as there is room for.
const MESSAGES: u64 = 1000;

/// Messages of each of several sizes on a schedule that the time measured has room for.
fn fitting(case: &Case, flow: &FlowSpec) -> u64 {
    let sizes = flow
        .sizes
        .as_deref()
        .and_then(|sizes| crate::rtt::sizes(sizes).ok());
    let sizes = sizes.map_or(1, |sizes| sizes.list().len()).max(1) as u128;
    let fits = flow
        .every
        .map(|every| case.measure.as_nanos() / (every.as_nanos().max(1) * sizes));
    fits.map_or(MESSAGES, |fits| {
        u64::try_from(fits).unwrap_or(u64::MAX).max(1)
    })
}

/// When a flow sends, after the trial's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// It begins.
    pub start: Duration,
    /// What of it is left out.
    pub omit: Duration,
    /// How long is measured; `None` when it ends by itself.
    pub time: Option<Duration>,
}

impl Times {
    /// Of a flow of a case.
    #[must_use]
    pub fn of(case: &Case, flow: &FlowSpec) -> Self {
        let whole = case.warm_up + case.measure;
        let begins_late = flow.probe && flow.start.is_zero();
        let start = if begins_late {
            case.warm_up
        } else {
            flow.start
        };
        let end = flow.stop.unwrap_or(whole).max(start);
        let begin = if end > case.warm_up {
            start.max(case.warm_up)
        } else {
            start
        };
        let by_itself = if place::is_echo(flow) {
            // What only looks on does so until the trial's end, and a schedule knows its own.
            has_sizes(flow) || !(flow.probe || flow.every.is_some() || flow.stop.is_some())
        } else {
            flow.bytes.is_some()
        };
        Self {
            start,
            omit: if by_itself || place::is_echo(flow) {
                Duration::ZERO
            } else {
                begin - start
            },
            time: (!by_itself).then_some(end - begin),
        }
    }

    /// When it has ended at the latest, where that is known.
    #[must_use]
    pub fn end(&self) -> Option<Duration> {
        self.time.map(|time| self.start + self.omit + time)
    }
}

/// Whether an echo flow has several sizes.
fn has_sizes(flow: &FlowSpec) -> bool {
    flow.sizes
        .as_deref()
        .and_then(|sizes| crate::rtt::sizes(sizes).ok())
        .is_some_and(|sizes| sizes.list().len() > 1)
}

/// How long a trial of a case takes from its start, as far as that is known beforehand.
#[must_use]
pub fn length(case: &Case) -> Duration {
    let ends = case.flows.iter().map(|flow| {
        let times = Times::of(case, flow);
        times
            .end()
            .unwrap_or_else(|| times.start + guessed(case, flow))
    });
    ends.max().unwrap_or_default()
}

/// How long a flow may take that ends by itself: the time measured, or what its rate needs.
fn guessed(case: &Case, flow: &FlowSpec) -> Duration {
    match (flow.every, flow.messages) {
        (Some(every), Some(messages)) => every * u32::try_from(messages).unwrap_or(u32::MAX),
        _ => case.measure,
    }
}

/// The lead before the trial's start.
#[must_use]
pub fn lead(case: &Case, place: &Place) -> Duration {
    let connections: u32 = case.flows.iter().map(|flow| 1 + flow.count).sum();
    let own = LEAD + LEAD_EACH * connections;
    match place {
        Place::Lab(net) => {
            let longest = case.flows.iter().map(|flow| round_trip(flow, net)).max();
            let longest = longest.unwrap_or_default();
            // Datagrams on a schedule carry times: their clock is looked at once more.
            let timed = case
                .flows
                .iter()
                .any(|flow| flow.kind == KindFile::RttUdp && flow.every.is_some());
            let looks = if timed { 2 } else { 1 };
            let clocks = (longest * 20).min(CLOCKS) * looks;
            own + clocks + longest * ROUND_TRIPS
        }
        Place::Hosts { .. } => own + LEAD_FAR,
        Place::Loopback => own,
    }
}

/// The delay of the links on the way of a flow, there and back.
fn round_trip(flow: &FlowSpec, net: &Net) -> Duration {
    let delays = place::way(flow, net).into_iter().map(|hop| {
        let courses = &net.topology.links[hop.link].courses;
        let of = |course: &caudal_core::topology::Course| {
            course.delay
                + course
                    .paths
                    .iter()
                    .map(|path| path.delay)
                    .max()
                    .unwrap_or_default()
        };
        of(&courses[0]) + of(&courses[1])
    });
    delays.sum()
}

/// Where the processes of a trial run.
enum Ground {
    Lab {
        registry: Registry,
        keeper: Option<Child>,
        card: Box<Card>,
        servers: Vec<Process>,
    },
    Loopback(Server),
    Far,
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Self::Lab {
            registry,
            keeper,
            card,
            servers,
        } = self
        {
            servers.clear();
            if let Some(keeper) = keeper.take() {
                keep::end(registry, keeper, &card.name);
            }
        }
    }
}

/// A process of ours, killed when dropped.
struct Process {
    child: Child,
    readers: Vec<JoinHandle<()>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// A flow's process and what it says.
struct Running {
    process: Process,
    said: Option<JoinHandle<String>>,
    complained: Option<JoinHandle<String>>,
    raw: Option<JoinHandle<Raw>>,
    times: Times,
    /// How it ended, and whether because it was told to.
    ended: Option<std::process::ExitStatus>,
    told_to_end: bool,
}

/// Carries a case out once.
///
/// # Errors
/// When the network cannot be built, nobody answers, or the user ends it.
pub fn carry(stage: &Stage<'_>, interrupt: &'static Interrupt) -> Result<Carried, Trouble> {
    let mut carried = Carried::default();
    let ground = Ground::build(stage, &mut carried.warnings)?;
    let captures = ground.capture(stage, &mut carried)?;
    if interrupt.count() > 0 {
        return Err(Trouble::Interrupted);
    }
    let lead = lead(stage.case, stage.place);
    let zero_ns = realtime_ns() + nanos(lead);
    // To the microsecond, as it is written.
    let zero_ns = zero_ns - zero_ns % 1000;
    carried.zero_ns = zero_ns;
    let zero = monotonic_ns() + zero_ns.saturating_sub(realtime_ns());
    let mut flows = Vec::with_capacity(stage.case.flows.len());
    for flow in &stage.case.flows {
        flows.push(ground.start(stage, flow, zero_ns)?);
    }
    let watched = watch(stage, &ground, &mut flows, zero, &mut carried, interrupt);
    if watched.is_ok() {
        for (nth, (flow, running)) in stage.case.flows.iter().zip(flows).enumerate() {
            let (told, raw) = running.finish(flow, stage.place, &mut carried);
            carried.flows.push(told);
            if let Some(raw) = raw {
                carried.raw.insert(nth, raw);
            }
        }
    }
    for mut capture in captures {
        signal::interrupt(capture.child.id());
        let _ = capture.child.wait();
    }
    drop(ground);
    watched?;
    judge(&mut carried);
    Ok(carried)
}

/// Says whether the trial counts.
fn judge(carried: &mut Carried) {
    let emulator = carried
        .after
        .as_ref()
        .and_then(|report| report.emulator.as_ref());
    carried.spoiled = spoiled_by_stall(emulator).or_else(|| {
        carried.flows.iter().find_map(|flow| {
            let Some(failure) = flow.failure.as_ref() else {
                return held_back(flow);
            };
            Some(format!("flow {} failed: {failure}", flow.name))
        })
    });
}

/// Why a trial does not count in which UDP was not sent as fast as it should: its threads were ready to and had no processor.
///
/// A sender that waits for its own interface, or that cannot do more, is a result; one that others keep from the processor is not.
fn held_back(flow: &TrialFlow) -> Option<String> {
    let asked = flow.offered_bps.filter(|_| flow.kind == KindFile::Udp)?;
    let run = flow.run.as_ref()?;
    let way = &run["summary"]["directions"][0];
    let whole_s = way["measured_s"].as_f64()? + way["omitted_s"].as_f64()?;
    let flows = run["flows"].as_array()?;
    let threads_s = whole_s * flows.len() as f64;
    let waited_s: f64 = flows
        .iter()
        .filter_map(|flow| flow["sender"]["cpu_wait_s"].as_f64())
        .sum();
    let sent = way["sent_bytes"].as_f64()? * 8.0 / threads_s;
    let short = 1.0 - sent / asked;
    let explained = waited_s / threads_s;
    (short > MOST_SHORT && explained > short / 2.0).then(|| {
        format!(
            "flow {} sent {:.0} % of what it should, its thread was without a processor {:.0} % of the time",
            flow.name,
            100.0 * (1.0 - short),
            100.0 * explained
        )
    })
}

/// Why a trial does not count in which the emulator stood still.
fn spoiled_by_stall(emulator: Option<&caudal_lab::EmulatorState>) -> Option<String> {
    let run = &emulator?.run;
    run.must_repeat.then(|| {
        format!(
            "this machine stood still for {:.1} ms ({} frames late, {} lost unread)",
            run.max_us.unwrap_or(0.0) / 1e3,
            run.stalls,
            run.unread
        )
    })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Ground {
    fn build(stage: &Stage<'_>, warnings: &mut Vec<String>) -> Result<Self, Failure> {
        match stage.place {
            Place::Lab(net) => Self::lab(stage, net, warnings),
            Place::Hosts { .. } => Ok(Self::Far),
            Place::Loopback => {
                let options = ServerOptions {
                    bind: Some(std::net::Ipv4Addr::LOCALHOST.into()),
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: Duration::from_secs(3600),
                    ..ServerOptions::default()
                };
                Ok(Self::Loopback(
                    Server::start(options, None).map_err(Failure::from)?,
                ))
            }
        }
    }

    fn lab(stage: &Stage<'_>, net: &Net, warnings: &mut Vec<String>) -> Result<Self, Failure> {
        let registry = Registry::open()?;
        let mut file = net.file.clone();
        file.seed = Some(stage.seed);
        let (keeper, said) = keep::start(&registry, file, &stage.name, true)?;
        warnings.extend(said);
        let card = match registry.find(Some(&stage.name)) {
            Ok(card) => card,
            Err(error) => {
                keep::end(&registry, keeper, &stage.name);
                return Err(error.into());
            }
        };
        let mut ground = Self::Lab {
            registry,
            keeper: Some(keeper),
            card: Box::new(card),
            servers: Vec::new(),
        };
        let answering: BTreeSet<&str> = stage
            .case
            .flows
            .iter()
            .map(|flow| flow.to.as_str())
            .collect();
        for host in answering {
            let server = ground.serve(host)?;
            if let Self::Lab { servers, .. } = &mut ground {
                servers.push(server);
            }
        }
        Ok(ground)
    }

    /// A command on a host, where the place has hosts of its own.
    fn command(&self, host: &str, words: &[String]) -> Result<Command, Failure> {
        let mut command = match self {
            Self::Lab { registry, card, .. } => {
                let (host, entry) = registry.entry(card, Some(host))?;
                let mut command = keep::command(card, &host, words);
                entry.dying_with_parent().apply(&mut command);
                command
            }
            Self::Loopback(_) | Self::Far => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                caudal_sys::schedule::bound_to_parent(&mut command);
                command
            }
        };
        // The terminal's ^C is for this process, which ends them itself.
        command
            .process_group(0)
            .env("CAUDAL_STORE", "none")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// `caudal serve` on a host, when it listens.
    fn serve(&self, host: &str) -> Result<Process, Failure> {
        let words = [
            "/proc/self/exe",
            "serve",
            "--json-log",
            "--no-iperf2",
            "--no-nttcp",
            "--no-iperf3",
        ];
        let words = words.map(str::to_owned);
        let mut command = self.command(host, &words)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|cause| cannot_start("caudal serve", host, &cause))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process = Process {
            child,
            readers: Vec::new(),
        };
        let mut line = String::new();
        if let Some(stdout) = stdout {
            let mut lines = BufReader::new(stdout);
            // An output that ends is told below.
            let _ = lines.read_line(&mut line);
            process.readers.push(std::thread::spawn(move || {
                // What it logs is for nobody, but has to go somewhere.
                let _ = std::io::copy(&mut lines, &mut std::io::sink());
            }));
        }
        if line.contains("\"listening\"") {
            return Ok(process);
        }
        let mut said = String::new();
        if let Some(mut stderr) = stderr {
            let _ = process.child.kill();
            let _ = stderr.read_to_string(&mut said);
        }
        Err(Failure::new(
            Exit::Failed,
            format!(
                "caudal serve on {host} did not begin to listen: {}",
                said.trim().trim_start_matches("caudal: ")
            ),
            "try again",
        ))
    }

    /// Starts the process of a flow.
    fn start(&self, stage: &Stage<'_>, flow: &FlowSpec, zero_ns: u64) -> Result<Running, Failure> {
        let times = Times::of(stage.case, flow);
        let mut words = self.words(stage, flow, &times)?;
        let at = zero_ns + nanos(times.start);
        words.extend([
            "--at".to_owned(),
            format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000),
        ]);
        let is_echo = place::is_echo(flow);
        if is_echo {
            words.extend(["--raw".to_owned(), "/proc/self/fd/0".to_owned()]);
        }
        let mut command = self.command(&flow.from, &words)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut raw = None;
        if is_echo {
            let pipe = std::io::pipe();
            let (reader, writer) =
                pipe.map_err(|cause| cannot_start("a flow", &flow.name, &cause))?;
            command.stdin(writer);
            raw = Some(reader);
        }
        let mut child = command
            .spawn()
            .map_err(|cause| cannot_start(&format!("flow {}", flow.name), &flow.from, &cause))?;
        // With it goes the end of the pipe that this process holds.
        drop(command);
        let said = child
            .stdout
            .take()
            .map(|pipe| std::thread::spawn(move || read(pipe)));
        let complained = child
            .stderr
            .take()
            .map(|pipe| std::thread::spawn(move || read(pipe)));
        Ok(Running {
            said,
            complained,
            raw: raw.map(|pipe| std::thread::spawn(move || Raw::read(pipe))),
            process: Process {
                child,
                readers: Vec::new(),
            },
            times,
            ended: None,
            told_to_end: false,
        })
    }

    /// The command of a flow.
    fn words(
        &self,
        stage: &Stage<'_>,
        flow: &FlowSpec,
        times: &Times,
    ) -> Result<Vec<String>, Failure> {
        let (host, port, reverse) = self.server(stage, flow)?;
        let kind = match flow.kind {
            KindFile::Tcp => "tcp",
            KindFile::Udp => "udp",
            KindFile::Rtt | KindFile::RttUdp => "rtt",
        };
        let mut words = vec!["/proc/self/exe".to_owned(), kind.to_owned(), host];
        let mut put = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        put("--port", port.to_string());
        put("--parallel-or-clients", flow.count.to_string());
        if let Some(congestion) = &flow.congestion {
            put("--congestion", congestion.clone());
        }
        if let Some(window) = flow.window {
            put("--window", window.get().to_string());
        }
        if let Some(dscp) = flow.dscp {
            put("--dscp", dscp.to_string());
        }
        if place::is_echo(flow) {
            if flow.kind == KindFile::RttUdp {
                put("--proto", "udp".to_owned());
            }
            let one = flow.length.map(|length| length.to_string());
            if let Some(sizes) = flow.sizes.clone().or(one) {
                put("--sizes", sizes);
            } else {
                put("--sizes", "64".to_owned());
            }
            if let Some(every) = flow.every {
                put("--every", format_duration(every));
            }
            if let Some(time) = times.time {
                put("--time", format_duration(time));
            }
            let told = flow.messages.filter(|messages| {
                times.time.is_none() || flow.every.is_some() || *messages != MESSAGES
            });
            if let Some(messages) = told {
                put("--count", messages.to_string());
            } else if times.time.is_none() {
                put("--count", fitting(stage.case, flow).to_string());
            }
        } else {
            let rate = place::offered(flow, stage.place)
                .map_err(|problem| Failure::usage(problem, "give a rate"))?;
            put(
                "--rate",
                rate.map_or("max".to_owned(), |bps| format!("{bps:.0}")),
            );
            put("--interval", format_duration(stage.case.interval));
            if let Some(length) = flow.length {
                put("--length", length.to_string());
            }
            if let Some(mss) = flow.mss {
                put("--mss", mss.to_string());
            }
            match (times.time, flow.bytes) {
                (None, Some(bytes)) => put("--bytes", bytes.get().to_string()),
                (time, _) => {
                    put(
                        "--time",
                        format_duration(time.unwrap_or(stage.case.measure)),
                    );
                    if !times.omit.is_zero() {
                        put("--omit", format_duration(times.omit));
                    }
                }
            }
        }
        if reverse {
            words.push("--reverse".to_owned());
        }
        words.extend(["--json".to_owned(), "--quiet".to_owned()]);
        let many = if kind == "rtt" {
            "--clients"
        } else {
            "--parallel"
        };
        for word in &mut words {
            if word == "--parallel-or-clients" {
                *word = many.to_owned();
            }
        }
        Ok(words)
    }

    /// The server of a flow: its address and port, and whether it is the one that sends.
    fn server(&self, stage: &Stage<'_>, flow: &FlowSpec) -> Result<(String, u16, bool), Failure> {
        match (self, stage.place) {
            (Self::Loopback(server), _) => {
                Ok(("127.0.0.1".to_owned(), server.local().port(), false))
            }
            (_, Place::Lab(net)) => {
                let node = net.topology.node(&flow.to);
                let addresses = node
                    .map(|node| net.topology.addresses_of(node))
                    .unwrap_or_default();
                let address = addresses.first().ok_or_else(|| {
                    Failure::usage(format!("{} has no address", flow.to), "join it to a link")
                })?;
                Ok((address.to_string(), caudal_engine::PORT, false))
            }
            (_, Place::Hosts { at, .. }) => {
                let (far, reverse) = match (at.get(&flow.to), at.get(&flow.from)) {
                    (Some(far), _) => (far, false),
                    (None, Some(far)) => (far, true),
                    (None, None) => {
                        return Err(Failure::usage(
                            format!("flow {:?} has no other host", flow.name),
                            "name one of its hosts in --hosts",
                        ));
                    }
                };
                Ok((far.host.clone(), far.port, reverse))
            }
            (_, Place::Loopback) => Err(Failure::new(Exit::Failed, "there is no server", "")),
        }
    }

    fn report(&self) -> Option<LabReport> {
        match self {
            Self::Lab { registry, card, .. } => registry.report(card).ok(),
            _ => None,
        }
    }

    fn mark(&self) {
        if let Self::Lab { registry, card, .. } = self {
            // A lab that does not answer is noticed when it is asked for its report.
            let _ = registry.tell(card, &Request::Mark);
        }
    }

    /// Starts tcpdump on every interface of every host, when captures are asked for.
    fn capture(&self, stage: &Stage<'_>, carried: &mut Carried) -> Result<Vec<Process>, Failure> {
        let Some(directory) = &stage.captures else {
            return Ok(Vec::new());
        };
        std::fs::create_dir_all(directory)
            .map_err(|cause| Failure::writing(&directory.display().to_string(), &cause))?;
        let mut wanted: Vec<(String, String)> = Vec::new();
        match stage.place {
            Place::Lab(net) => {
                for (number, node) in net.topology.nodes.iter().enumerate() {
                    if matches!(node.role, Role::Host(_)) {
                        wanted.extend(net.topology.attachments(number).map(|(link, end)| {
                            let device = net.topology.links[link].ends[end].device.clone();
                            (node.name.clone(), device)
                        }));
                    }
                }
            }
            Place::Hosts { .. } => wanted.push(("here".to_owned(), "any".to_owned())),
            Place::Loopback => wanted.push(("here".to_owned(), "lo".to_owned())),
        }
        let mut running = Vec::new();
        for (host, device) in wanted {
            let file = directory.join(format!("{host}-{device}.pcap"));
            match self.tcpdump(&host, &device, &file) {
                Ok(process) => {
                    running.push(process);
                    carried
                        .captures
                        .insert(format!("{host} {device}"), file.display().to_string());
                }
                Err(why) => {
                    let said = format!("no capture: {why}");
                    if !carried.warnings.contains(&said) {
                        carried.warnings.push(said);
                    }
                }
            }
        }
        Ok(running)
    }

    fn tcpdump(&self, host: &str, device: &str, file: &Path) -> Result<Process, String> {
        let mut words: Vec<String> = [
            "tcpdump",
            "-n",
            "-U",
            "--immediate-mode",
            "-s",
            "128",
            "-i",
            device,
            "-w",
        ]
        .map(str::to_owned)
        .to_vec();
        words.push(file.display().to_string());
        if caudal_sys::host::is_root() {
            words.extend(["-Z".to_owned(), "root".to_owned()]);
        }
        let mut command = self
            .command(host, &words)
            .map_err(|failure| failure.message)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => "tcpdump is not installed".to_owned(),
            _ => format!("tcpdump cannot be started: {cause}"),
        })?;
        let stderr = child.stderr.take();
        let mut process = Process {
            child,
            readers: Vec::new(),
        };
        let mut said = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr);
            while let Ok(1..) = lines.read_line(&mut said) {
                if said.contains("listening on") {
                    process.readers.push(std::thread::spawn(move || {
                        let _ = std::io::copy(&mut lines, &mut std::io::sink());
                    }));
                    return Ok(process);
                }
            }
        }
        Err(format!(
            "tcpdump on {host}: {}",
            said.trim().replace('\n', " ")
        ))
    }
}

fn cannot_start(what: &str, host: &str, cause: &std::io::Error) -> Failure {
    Failure::new(
        Exit::NotPermitted,
        format!("cannot start {what} on {host}: {cause}"),
        "",
    )
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What came until a pipe broke is what there is.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Raw {
    /// Reads the rows of `caudal rtt --raw`.
    fn read(pipe: PipeReader) -> Self {
        let mut raw = Self::default();
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            raw.row(&line);
        }
        raw
    }

    /// Takes a row in: client, size, index, round trip, when it was due, and more.
    fn row(&mut self, line: &str) {
        let mut cells = line.split(',');
        let mut next = || cells.next().unwrap_or("").parse::<f64>().ok();
        let (client, size, index, rtt, due) = (next(), next(), next(), next(), next());
        let (Some(client), Some(size), Some(index), Some(rtt)) = (client, size, index, rtt) else {
            // The heading, or a message that did not come back.
            return;
        };
        if index == 0.0 {
            self.first_ns.push(rtt);
            return;
        }
        self.rtt_ns.push(rtt);
        self.client.push(client);
        self.size.push(size);
        if let Some(due) = due {
            self.at_s.push(due / 1e9);
        }
    }
}

impl Running {
    /// Whether it has ended.
    fn is_over(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.process.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    /// What it came to.
    fn finish(
        mut self,
        flow: &FlowSpec,
        place: &Place,
        carried: &mut Carried,
    ) -> (TrialFlow, Option<Raw>) {
        let in_time = self.is_over();
        if !in_time {
            let _ = self.process.child.kill();
        }
        let text = |thread: Option<JoinHandle<String>>| {
            thread
                .and_then(|thread| thread.join().ok())
                .unwrap_or_default()
        };
        let (said, complained) = (text(self.said.take()), text(self.complained.take()));
        let raw = self.raw.take().and_then(|thread| thread.join().ok());
        let run: Option<Value> = serde_json::from_str(&said).ok();
        let complaint = complained
            .lines()
            .last()
            .map(|line| line.trim_start_matches("caudal: ").to_owned());
        let warned = |code: &str| {
            let warnings = run.as_ref().and_then(|run| run["warnings"].as_array())?;
            let found = warnings.iter().find(|warning| warning["code"] == code)?;
            found["message"].as_str().map(str::to_owned)
        };
        let failure = match &run {
            None if !in_time => Some("it did not end in time".to_owned()),
            None => Some(complaint.unwrap_or_else(|| "it said nothing".to_owned())),
            Some(_) if self.told_to_end => None,
            Some(_) => warned("cut_short"),
        };
        let zero_s = carried.zero_ns as f64 / 1e9;
        let offset_s = run
            .as_ref()
            .and_then(|run| run["began_s"].as_f64())
            // To the microsecond: what is beyond it is the arithmetic's.
            .map(|began| ((began - zero_s) * 1e6).round() / 1e6);
        if let (Some(offset), None) = (offset_s, &failure) {
            let late = offset - self.times.start.as_secs_f64();
            if late > LATE_S {
                carried.warnings.push(format!(
                    "flow {} began {:.0} ms late: its connections took so long to open",
                    flow.name,
                    late * 1e3
                ));
            }
        }
        let told = TrialFlow {
            name: flow.name.clone(),
            kind: flow.kind,
            from: flow.from.clone(),
            to: flow.to.clone(),
            probe: flow.probe,
            offered_bps: place::offered(flow, place).ok().flatten(),
            offset_s,
            run: run.filter(|_| failure.is_none()),
            failure,
        };
        (told, raw)
    }
}

/// Waits for a moment of the monotonic clock, or until the user ends it.
fn wait_until(moment: u64, interrupt: &Interrupt) -> Result<(), Trouble> {
    loop {
        if interrupt.count() > 0 {
            return Err(Trouble::Interrupted);
        }
        let left = moment.saturating_sub(monotonic_ns());
        if left == 0 {
            return Ok(());
        }
        let _ = poll_readable(&[interrupt.fd()], Some(Duration::from_nanos(left)));
    }
}

/// Watches over the flows from the trial's start to their end, and reads the lab's counters at the right moments.
fn watch(
    stage: &Stage<'_>,
    ground: &Ground,
    flows: &mut [Running],
    zero: u64,
    carried: &mut Carried,
    interrupt: &'static Interrupt,
) -> Result<(), Trouble> {
    let case = stage.case;
    let is_load = |nth: usize| !case.flows[nth].probe;
    let has_load = case.flows.iter().any(|flow| !flow.probe);
    let counts = |nth: usize| is_load(nth) || !has_load;
    let ends: Vec<Option<Duration>> = flows.iter().map(|flow| flow.times.end()).collect();
    // With a load that ends by itself, measuring ends with it.
    let by_itself = (0..flows.len()).any(|nth| counts(nth) && ends[nth].is_none());
    let timed = ends.iter().flatten().max().copied().unwrap_or_default();
    let end = zero + nanos(timed);
    let begin = zero + nanos(case.warm_up);
    let every = nanos(case.interval).max(1);
    let mut samples = Samples::default();
    let (mut began, mut ended) = (None, None);
    let mut next_sample = zero;
    let mut deadline = None;
    loop {
        let now = monotonic_ns();
        if began.is_none() && now >= begin {
            carried.before = ground.report();
            ground.mark();
            began = Some(monotonic_ns());
        }
        if now >= next_sample && ended.is_none() && samples.at_s.len() < MOST_SAMPLES {
            if let Some(report) = ground.report() {
                samples.take(report, monotonic_ns().saturating_sub(zero));
            }
            next_sample += every * ((now - next_sample) / every + 1);
        }
        let mut all_over = true;
        let mut load_over = true;
        for (nth, flow) in flows.iter_mut().enumerate() {
            let over = flow.is_over();
            all_over &= over;
            load_over &= over || !counts(nth);
        }
        let failed = flows
            .iter()
            .any(|flow| flow.ended.is_some_and(|status| !status.success()) && now < end);
        if ended.is_none()
            && ((by_itself && load_over) || (!by_itself && now >= end) || all_over || failed)
        {
            carried.after = ground.report();
            ended = Some(monotonic_ns());
            deadline = Some(monotonic_ns() + GRACE_NS);
            if (by_itself && load_over) || failed {
                // What only looks on has nothing left to see.
                for flow in flows.iter_mut().filter(|flow| flow.ended.is_none()) {
                    signal::interrupt(flow.process.child.id());
                    flow.told_to_end = true;
                }
            }
        }
        if all_over || deadline.is_some_and(|deadline| now >= deadline) {
            break;
        }
        let mut until = monotonic_ns() + LOOK_NS;
        if began.is_none() {
            until = until.min(begin.max(zero));
        } else if ended.is_none() && !by_itself {
            until = until.min(end.max(now + 1));
        }
        wait_until(until, interrupt)?;
    }
    let (began, ended) = (began.unwrap_or(begin), ended.unwrap_or_else(monotonic_ns));
    carried.measured_s = ended.saturating_sub(began) as f64 / 1e9;
    carried.interfaces = samples.series();
    Ok(())
}

/// Bytes at interfaces over time.
#[derive(Default)]
struct Samples {
    at_s: Vec<f64>,
    series: BTreeMap<(String, String), InterfaceSeries>,
}

impl Samples {
    fn take(&mut self, report: LabReport, after_ns: u64) {
        let at = (after_ns as f64 / 1e3).round() / 1e6;
        self.at_s.push(at);
        for node in report.nodes {
            for interface in node.interfaces {
                let key = (node.name.clone(), interface.name.clone());
                let series = self.series.entry(key).or_insert_with(|| InterfaceSeries {
                    node: node.name.clone(),
                    interface: interface.name.clone(),
                    link: interface.link.clone(),
                    at_s: Vec::new(),
                    tx_bytes: Vec::new(),
                    rx_bytes: Vec::new(),
                });
                series.at_s.push(at);
                series.tx_bytes.push(interface.tx_bytes);
                series.rx_bytes.push(interface.rx_bytes);
            }
        }
    }

    fn series(self) -> Vec<InterfaceSeries> {
        self.series.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_that_others_kept_from_the_processor_spoils_a_trial_and_udp_that_waits_for_its_interface_does_not()
     {
        let flow = |sent_bytes: f64, cpu_wait_s: f64| -> TrialFlow {
            serde_json::from_value(serde_json::json!({
                "name": "udp", "kind": "udp", "from": "h1", "to": "h2", "probe": false, "offered_bps": 8e6,
                "run": {
                    "summary": {"directions": [{"measured_s": 1.5, "omitted_s": 0.5, "sent_bytes": sent_bytes}]},
                    "flows": [{"sender": {"cpu_wait_s": cpu_wait_s}}],
                },
            }))
            .unwrap()
        };
        assert_eq!(held_back(&flow(2e6, 0.4)), None);
        assert_eq!(held_back(&flow(1e6, 0.02)), None);
        let why = held_back(&flow(1e6, 1.0)).unwrap();
        assert!(why.contains("sent 50 % of what it should"), "{why}");
    }
    use caudal_core::experiment::Campaign;

    fn case(flow: &str) -> Case {
        let text = format!(
            "title = 'x'\n[topology]\nloopback = true\n[time]\nmeasure = '10s'\nwarm_up = '2s'\n\
             [[flow]]\nname = 'f'\nfrom = 'a'\nto = 'b'\n{flow}"
        );
        let file = toml::from_str(&text).unwrap();
        Campaign::unfold(&file, false).unwrap().cases.remove(0)
    }

    fn times(flow: &str) -> (f64, f64, Option<f64>) {
        let case = case(flow);
        let times = Times::of(&case, &case.flows[0]);
        let seconds = |time: Duration| time.as_secs_f64();
        (
            seconds(times.start),
            seconds(times.omit),
            times.time.map(seconds),
        )
    }

    #[test]
    fn a_flow_is_measured_from_the_end_of_the_warm_up_or_its_own_start() {
        for (flow, expected) in [
            ("kind = 'tcp'", (0.0, 2.0, Some(10.0))),
            ("kind = 'tcp'\nstart = '1s'", (1.0, 1.0, Some(10.0))),
            ("kind = 'tcp'\nstart = '4s'", (4.0, 0.0, Some(8.0))),
            (
                "kind = 'tcp'\nstart = '4s'\nstop = '6s'",
                (4.0, 0.0, Some(2.0)),
            ),
            ("kind = 'tcp'\nbytes = '1M'", (0.0, 0.0, None)),
            ("kind = 'rtt'\nmessages = 50", (0.0, 0.0, None)),
            (
                "kind = 'rtt'\nprobe = true\nlength = 64",
                (2.0, 0.0, Some(10.0)),
            ),
            (
                "kind = 'rtt-udp'\nprobe = true\nevery = '10ms'\nlength = 64",
                (2.0, 0.0, Some(10.0)),
            ),
        ] {
            assert_eq!(times(flow), expected, "{flow}");
        }
    }

    #[test]
    fn a_trial_in_which_the_emulator_stood_still_does_not_count() {
        let state = |must_repeat: bool| -> caudal_lab::EmulatorState {
            let run = serde_json::json!({"deliveries": 10, "p50_us": 1.0, "p99_us": 2.0, "max_us": 25_300.0,
                "stalls": 3, "unread": 0, "must_repeat": must_repeat});
            serde_json::from_value(serde_json::json!({"device": "tap", "scheduling": "nice", "frames_read": 1,
                "frames_delivered": 1, "frames_refused": 0, "cpu_s": null, "whole": run.clone(), "run": run}))
            .unwrap()
        };
        assert_eq!(spoiled_by_stall(Some(&state(false))), None);
        assert_eq!(spoiled_by_stall(None), None);
        let said = spoiled_by_stall(Some(&state(true))).unwrap();
        assert_eq!(
            said,
            "this machine stood still for 25.3 ms (3 frames late, 0 lost unread)"
        );
    }

    #[test]
    fn raw_rows_are_told_apart_from_the_heading_firsts_and_losses() {
        let mut raw = Raw::default();
        for row in [
            "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns",
            "0,64,0,90000,,,,",
            "0,64,1,50000,,,,",
            "0,64,2,,,,,",
            "1,64,1,60000,1500000000,20,,",
        ] {
            raw.row(row);
        }
        assert_eq!(raw.rtt_ns, [50_000.0, 60_000.0]);
        assert_eq!(raw.client, [0.0, 1.0]);
        assert_eq!((raw.first_ns, raw.at_s), (vec![90_000.0], vec![1.5]));
    }
}
