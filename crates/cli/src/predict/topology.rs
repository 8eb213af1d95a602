//! `caudal predict topology`: flows over a test network, by formula and by simulation.

use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::plan::{MAX_DATAGRAM, MAX_MESSAGE, Transport};
use caudal_core::prediction::{self, Method, Prediction};
use caudal_core::quantity::{Unit, rate, size, time};
use caudal_core::units::{BitRate, ByteCount, parse_duration};
use caudal_predict::loss::LossResponse;
use caudal_predict::topology::{FlowKind, FlowParameters, FlowPrediction, predict_flows};
use caudal_simulate::error::SimulateError;
use caudal_simulate::result::{DropReason, FlowDetails, FlowResult, LinkResult, SimulationResult};
use caudal_simulate::scenario::{
    EchoClient, EchoTransport, Pattern, Scenario, SimFlow, Traffic, UdpSource,
};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::{Hop, NodeRole, QueueLimit, Topology};
use clap::Args;
use serde_json::{Value, json};

use super::ShowArgs;
use super::output;
use super::simulated::value as simulated;
use crate::exit::{Exit, Failure};
use crate::output::document::{command_line, this_tool};
use crate::output::text::fold;
use crate::topology::WhatArgs;

/// Frames and timers after which a simulation is cut short: some seconds of work.
const EVENT_LIMIT: u64 = 20_000_000;
/// The most flows that are told one by one.
const MAX_FLOWS: usize = 100;

const EXAMPLES: &str = "A flow is FROM>TO:WHAT, where WHAT is one of
  tcp              a TCP transfer with the congestion control of its host, or CUBIC
  reno, cubic      the same with this one
  udp=RATE         datagrams of 1472 bytes at so much payload a second
  udp=RATE/SIZE    the same of another size
  echo=SIZE        messages over TCP, one after the other
  echo-udp=SIZE    the same over UDP
Without --flow one TCP transfer goes from the first host to the last.

Examples:
  caudal predict topology dumbbell
  caudal predict topology dumbbell --flow 'h1>h3:cubic' --flow 'h2>h4:udp=4M'
  caudal predict topology star --set '*.duplex=half' --time 60s --explain
  caudal predict topology wan.toml --set wan.loss=1% --seed 7 --json";

/// `caudal predict topology`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct TopologyArgs {
    #[command(flatten)]
    what: WhatArgs,
    /// A flow, as 'h1>h3:cubic' or 'h1>h3:udp=8M'; several at once
    #[arg(short = 'F', long = "flow", value_name = "FROM>TO:WHAT")]
    flows: Vec<String>,
    /// How long the simulated flows last, in virtual time
    #[arg(short, long, value_name = "TIME", default_value = "20s", value_parser = parse_duration)]
    time: Duration,
    #[command(flatten)]
    show: TopologyShowArgs,
}

/// What is printed, and where.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
struct TopologyShowArgs {
    /// Show the arithmetic with the numbers put in, what is assumed, and the sources
    #[arg(long)]
    explain: bool,
    /// Print one JSON object (schema caudal.predict/1)
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values: a row for each prediction
    #[arg(long)]
    csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    output: Option<std::path::PathBuf>,
}

impl TopologyShowArgs {
    fn plain(&self) -> ShowArgs {
        ShowArgs {
            explain: self.explain,
            svg: None,
            json: self.json,
            csv: self.csv,
            output: self.output.clone(),
        }
    }
}

/// What a flow was told to be.
#[derive(Debug, Clone)]
struct Asked {
    from: usize,
    to: usize,
    /// What it is, in words.
    words: String,
    traffic: Traffic,
    question: FlowParameters,
}

/// A flow with its answers.
struct Answer {
    asked: Asked,
    forecast: FlowPrediction,
    /// Formulas and simulation, with names that end in the flow's number.
    predictions: Vec<Prediction>,
    /// What is to be said where they differ.
    differences: Vec<String>,
}

/// Everything that is told.
struct Told<'a> {
    args: &'a TopologyArgs,
    topology: &'a Topology,
    seed: u64,
    flows: Vec<Answer>,
    /// Of links that flows cross.
    links: Vec<Prediction>,
    outcome: SimulationResult,
}

/// Runs `caudal predict topology`.
///
/// # Errors
/// When the topology or a flow cannot be, or the answer cannot be written.
pub(super) fn predict(args: &TopologyArgs) -> Result<Exit, Failure> {
    let file = crate::topology::read(&args.what)?;
    let resolved = Topology::resolve(&file)
        .map_err(|error| Failure::usage(error.problem.clone(), error.remedy.clone()))?;
    let asked = flows(args, &resolved)?;
    let seed = args.what.seed.unwrap_or(1);
    let scenario = Scenario {
        seed,
        interval: args.time.max(Duration::from_nanos(1)),
        event_limit: EVENT_LIMIT,
        ..Scenario::new(
            asked
                .iter()
                .map(|flow| {
                    let name = |node: usize| resolved.nodes[node].name.clone();
                    SimFlow::between(name(flow.from), name(flow.to), flow.traffic.clone())
                })
                .collect(),
            args.time,
        )
    };
    let outcome = simulate(&resolved, &scenario).map_err(|error| refused(&error))?;
    let questions: Vec<FlowParameters> = asked.iter().map(|flow| flow.question).collect();
    let forecasts = predict_flows(&resolved, &questions);
    let flows = asked
        .into_iter()
        .zip(forecasts)
        .enumerate()
        .map(|(number, (asked, forecast))| {
            let predictions = beside(number, &forecast, &outcome.flows[number]);
            let crossing = Difference {
                topology: &resolved,
                outcome: &outcome,
                number,
                forecast: &forecast,
                time: args.time,
            };
            let differences = crossing.words(&predictions);
            Answer {
                asked,
                forecast,
                predictions,
                differences,
            }
        })
        .collect();
    let links = outcome.links.iter().flat_map(of_link).collect();
    let told = Told {
        args,
        topology: &resolved,
        seed,
        flows,
        links,
        outcome,
    };
    let all: Vec<&Prediction> = told.all().collect();
    output::deliver(&args.show.plain(), &told.text(), &|| told.json(), &|| {
        output::rows(&all)
    })?;
    Ok(Exit::Done)
}

/// Why the simulator does not take it: something in the command line or the file.
fn refused(error: &SimulateError) -> Failure {
    let words = error.to_string();
    match words.rsplit_once("; ") {
        Some((problem, remedy)) => Failure::usage(problem, remedy),
        None => Failure::usage(words, "give another"),
    }
}

fn flows(args: &TopologyArgs, topology: &Topology) -> Result<Vec<Asked>, Failure> {
    if args.flows.len() > MAX_FLOWS {
        return Err(Failure::usage(
            format!("--flow is given more than {MAX_FLOWS} times"),
            "give fewer flows",
        ));
    }
    if !args.flows.is_empty() {
        return args.flows.iter().map(|word| flow(word, topology)).collect();
    }
    let hosts: Vec<&str> = topology
        .nodes
        .iter()
        .filter(|node| matches!(node.role, NodeRole::Host(_)))
        .map(|node| node.name.as_str())
        .collect();
    match hosts[..] {
        [first, .., last] => Ok(vec![flow(&format!("{first}>{last}:tcp"), topology)?]),
        _ => Err(Failure::usage(
            "the topology has fewer than two hosts",
            "add a host, or name routers with --flow",
        )),
    }
}

/// One flow as it is written.
fn flow(word: &str, topology: &Topology) -> Result<Asked, Failure> {
    let wrong = |problem: String| {
        Failure::usage(
            format!("--flow {word}: {problem}"),
            "write it as 'h1>h3:cubic', 'h1>h3:udp=8M' or 'h1>h3:echo=64'",
        )
    };
    let (ends, what) = word.split_once(':').unwrap_or((word, "tcp"));
    let (from, to) = ends
        .split_once('>')
        .ok_or_else(|| wrong("there is no > between two hosts".to_owned()))?;
    let node = |name: &str| {
        topology
            .node(name)
            .filter(|node| topology.nodes[*node].has_addresses())
            .ok_or_else(|| {
                let nodes = topology.nodes.iter().filter(|node| node.has_addresses());
                let names: Vec<&str> = nodes.take(20).map(|node| node.name.as_str()).collect();
                Failure::usage(
                    format!("--flow {word}: there is no host {name:?}"),
                    format!("take one of {}", names.join(", ")),
                )
            })
    };
    let nodes = (node(from)?, node(to)?);
    if nodes.0 == nodes.1 {
        return Err(wrong("it leads to where it begins".to_owned()));
    }
    let number = |text: &str, most: u32| {
        let size: ByteCount = text
            .parse()
            .map_err(|_| wrong(format!("{text:?} is no size")))?;
        u32::try_from(size.get())
            .ok()
            .filter(|size| (1..=most).contains(size))
            .ok_or_else(|| {
                wrong(format!(
                    "a size of {text} is not between 1 and {most} bytes"
                ))
            })
    };
    let settings = |congestion: Option<CongestionControl>| {
        let set = TcpSettings::between(topology, from, to);
        match (set, congestion) {
            (Ok(settings), None) => Ok(settings),
            (Ok(settings), Some(congestion)) => Ok(TcpSettings {
                congestion,
                ..settings
            }),
            (Err(error), _) => Err(refused(&error)),
        }
    };
    let (kind, value) = match what.split_once('=') {
        Some((kind, value)) => (kind, Some(value)),
        None => (what, None),
    };
    let (words, traffic, kind, framing) = match (kind, value) {
        ("tcp" | "reno" | "cubic", None) => {
            let settings = settings(kind.parse().ok())?;
            let (name, model) = match settings.congestion {
                CongestionControl::Reno => ("reno", LossResponse::Reno),
                CongestionControl::Cubic => ("cubic", LossResponse::Cubic),
            };
            let kind = FlowKind::Tcp {
                loss_response: Some(model),
                window: settings.send_window.min(settings.receive_window),
            };
            let traffic = Traffic::tcp(settings);
            (format!("TCP, {name}"), traffic, kind, settings.framing)
        }
        ("udp", Some(value)) => {
            let (speed, payload) = match value.split_once('/') {
                Some((speed, payload)) => (speed, number(payload, MAX_DATAGRAM)?),
                None => (value, Framing::default().udp_payload_per_frame()),
            };
            let speed: BitRate = speed
                .parse()
                .map_err(|_| wrong(format!("{speed:?} is no rate")))?;
            if speed == BitRate::ZERO {
                return Err(wrong("a rate of 0 sends nothing".to_owned()));
            }
            let framing = Framing::default();
            let source = UdpSource {
                framing,
                payload,
                pattern: Pattern::Constant(speed),
            };
            let kind = FlowKind::Udp {
                rate: speed,
                payload,
            };
            let words = format!("UDP, {} in datagrams of {payload} bytes", rate(speed));
            (words, Traffic::Udp(source), kind, framing)
        }
        ("echo" | "echo-udp", Some(value)) => {
            let settings = settings(None)?;
            let (over, transport, most) = match kind {
                "echo" => (EchoTransport::Tcp(settings), Transport::Tcp, MAX_MESSAGE),
                _ => (
                    EchoTransport::Udp(Framing::default()),
                    Transport::Udp,
                    MAX_DATAGRAM,
                ),
            };
            let message = number(value, most)?;
            let client = EchoClient {
                transport: over,
                message,
                exchanges: None,
                pause: Duration::ZERO,
            };
            let named = match transport {
                Transport::Tcp => "TCP",
                Transport::Udp => "UDP",
            };
            let words = format!("echo of {message} bytes over {named}");
            let kind = FlowKind::Echo { transport, message };
            (words, Traffic::Echo(client), kind, settings.framing)
        }
        _ => {
            return Err(wrong(format!(
                "{what:?} is none of tcp, reno, cubic, udp=RATE, udp=RATE/SIZE, echo=SIZE, echo-udp=SIZE"
            )));
        }
    };
    Ok(Asked {
        from: nodes.0,
        to: nodes.1,
        words,
        traffic,
        question: FlowParameters {
            from: nodes.0,
            to: nodes.1,
            framing,
            kind,
        },
    })
}

/// Formulas and simulated values of one flow.
fn beside(number: usize, forecast: &FlowPrediction, outcome: &FlowResult) -> Vec<Prediction> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let part = |some: u64, of: u64| Some(some as f64 / of.max(1) as f64);
    let goodput = outcome.goodput.unwrap_or(BitRate::ZERO).as_f64();
    let mut seen = vec![("goodput", "goodput", Some(goodput), Unit::BitPerSecond)];
    #[rustfmt::skip]
    let more = match &outcome.details {
        FlowDetails::Tcp { counts, rtt, cwnd } => vec![
            // Small segments have the least: it is not that of full ones.
            ("rtt_least", "round trip, least", seconds(rtt.min()), Unit::Seconds),
            ("rtt_mean", "round trip, mean", seconds(rtt.mean()), Unit::Seconds),
            // Queues fill to their end, or not: the longest is what compares.
            ("rtt_full", "round trip, longest", seconds(rtt.max()), Unit::Seconds),
            ("loss", "segments lost", part(counts.retransmits, counts.segments), Unit::Share),
            ("retransmits", "sent again", Some(counts.retransmits as f64), Unit::Segments),
            ("timeouts", "timeouts", Some(counts.timeouts as f64), Unit::Timeouts),
            ("cwnd", "window, largest", Some(cwnd.max as f64), Unit::Segments),
        ],
        FlowDetails::Udp { counts, delay, .. } => vec![
            ("rtt", "one way, least", seconds(delay.min()), Unit::Seconds),
            ("delay_mean", "one way, mean", seconds(delay.mean()), Unit::Seconds),
            ("delay_max", "one way, longest", seconds(delay.max()), Unit::Seconds),
            ("loss", "datagrams lost", part(counts.lost, counts.expected), Unit::Share),
        ],
        FlowDetails::Echo { exchanges, lost, rtt } => vec![
            ("rtt", "round trip", seconds(rtt.min()), Unit::Seconds),
            ("rtt_mean", "round trip, mean", seconds(rtt.mean()), Unit::Seconds),
            ("rtt_max", "round trip, longest", seconds(rtt.max()), Unit::Seconds),
            ("exchanges", "came back", Some(*exchanges as f64), Unit::Messages),
            ("loss", "messages lost", part(*lost, *exchanges + *lost), Unit::Share),
        ],
    };
    seen.extend(more);
    let mut all = forecast.predictions.clone();
    for (name, words, value, unit) in seen {
        let Some(value) = value else { continue };
        // What a formula tells too has its words.
        let known = forecast.predictions.iter().find(|one| one.name == name);
        let title = known.map_or(words, |one| &one.title);
        all.push(simulated(name, title, value, unit));
    }
    for one in &mut all {
        one.name = format!("{}_{}", one.name, number + 1);
    }
    all
}

/// What the simulation saw of a link, each way that anything went.
fn of_link(link: &LinkResult) -> Vec<Prediction> {
    let mut all = Vec::new();
    for (direction, way) in link.directions.iter().zip(["forward", "backward"]) {
        if direction.counters.offered.frames == 0 {
            continue;
        }
        let name = |what: &str| format!("{what}_{way}_{}", link.name);
        let title = |what: &str| format!("{} {way}: {what}", link.name);
        if let Some(queue) = &direction.queue {
            // One frame queues wherever any passes.
            let most = queue.frames.max;
            if most > 1 {
                let title = title("most queued");
                all.push(simulated(&name("queue"), &title, most as f64, Unit::Frames));
            }
        }
        let lost: f64 = direction.counters.dropped.total().frames as f64;
        if lost > 0.0 {
            let reasons: Vec<String> = DropReason::ALL
                .into_iter()
                .filter_map(|reason| {
                    let frames = direction.counters.dropped.by(reason).frames;
                    (frames > 0).then(|| format!("{frames} {}", reason_words(reason)))
                })
                .collect();
            let dropped = simulated(&name("dropped"), &title("dropped"), lost, Unit::Frames);
            all.push(dropped.detail(reasons.join(", ")));
        }
        if let Some(collisions) = direction.collisions.filter(|it| it.all > 0) {
            let count = collisions.all as f64;
            let seen = simulated(
                &name("collisions"),
                &title("collided"),
                count,
                Unit::Collisions,
            );
            all.push(seen.detail(format!(
                "{} frames deferred, {} given up",
                collisions.deferred, collisions.excessive
            )));
        }
    }
    all
}

const fn reason_words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::QueueFull => "queue full",
        DropReason::Red => "by RED",
        DropReason::Codel => "by CoDel",
        DropReason::Loss => "lost",
        DropReason::CheckSequence => "damaged",
        DropReason::Policed => "policed",
        DropReason::ExcessiveCollisions => "after 16 collisions",
        DropReason::LateCollision => "collided late",
        DropReason::UndetectedCollision => "in an undetected collision",
        DropReason::NoPort => "without a port",
        DropReason::PauseConsumed => "PAUSE",
    }
}

/// A flow whose formula and simulation are held against each other.
struct Difference<'a> {
    topology: &'a Topology,
    outcome: &'a SimulationResult,
    number: usize,
    forecast: &'a FlowPrediction,
    time: Duration,
}

impl Difference<'_> {
    fn words(&self, predictions: &[Prediction]) -> Vec<String> {
        let ending = format!("_{}", self.number + 1);
        let of = |name: &str, method| {
            let name = format!("{name}{ending}");
            predictions
                .iter()
                .find(|one| one.name == name && one.method == method)
        };
        let mut all = Vec::new();
        for name in ["goodput", "rtt", "rtt_full", "loss"] {
            let (Some(formula), Some(run)) =
                (of(name, Method::Formula), of(name, Method::Simulation))
            else {
                continue;
            };
            if name == "loss" {
                all.extend(self.losses(formula, run));
                continue;
            }
            if formula.value <= 0.0 {
                continue;
            }
            let difference = run.value / formula.value - 1.0;
            let far = prediction::RelativeDifference(difference);
            if formula.tolerance.allows(difference) {
                let within = formula.tolerance;
                all.push(format!(
                    "{}: simulated {far} (within {within})",
                    formula.title
                ));
            } else {
                let why = match name {
                    "goodput" if difference < 0.0 => self.below(),
                    "goodput" => self.above(formula),
                    "rtt_full" if difference < 0.0 => {
                        "that queue never filled with full segments".to_owned()
                    }
                    "rtt_full" => {
                        "other queues filled as well, or frames waited for a medium in use"
                            .to_owned()
                    }
                    _ => self.slower(),
                };
                all.push(format!("{}: simulated {far}: {why}", formula.title));
            }
        }
        all
    }

    /// Why other parts are lost than links lose at random.
    fn losses(&self, formula: &Prediction, run: &Prediction) -> Option<String> {
        let difference = run.value / formula.value - 1.0;
        if run.value == formula.value || formula.tolerance.allows(difference) {
            return None;
        }
        let title = &formula.title;
        let queued = self.drops(DropReason::QueueFull)
            + self.drops(DropReason::Red)
            + self.drops(DropReason::Codel);
        let policed = self.drops(DropReason::Policed);
        let random = self.drops(DropReason::Loss) + self.drops(DropReason::CheckSequence);
        let why = if policed > 0 {
            format!("the policer dropped {policed} frames on its way, which the formula leaves out")
        } else if queued > 0 {
            format!("queues on its way dropped {queued} frames, which the formula leaves out")
        } else if random < 30 {
            format!("with {random} losses on its way the part is a matter of chance")
        } else {
            "cannot tell: nothing that was counted explains it".to_owned()
        };
        Some(format!("{title}: {why}"))
    }

    fn drops(&self, reason: DropReason) -> u64 {
        let hops = self.forecast.path.iter();
        hops.map(|hop| {
            let direction = &self.outcome.links[hop.link].directions[hop.from];
            direction.counters.dropped.by(reason).frames
        })
        .sum()
    }

    fn below(&self) -> String {
        let hops = self.forecast.path.iter().chain(&self.forecast.return_path);
        let collisions: u64 = hops
            .filter_map(|hop| {
                let direction = &self.outcome.links[hop.link].directions[hop.from];
                direction.collisions.map(|collisions| collisions.all)
            })
            .sum();
        if collisions > 0 {
            return format!(
                "{collisions} collisions on its way, and the backoff behind them, which the formula leaves out"
            );
        }
        if self.outcome.cut_short {
            return "the simulation was cut short".to_owned();
        }
        let FlowDetails::Tcp { counts, .. } = &self.outcome.flows[self.number].details else {
            return self.slower();
        };
        let policed = self.drops(DropReason::Policed);
        let queued = self.drops(DropReason::QueueFull)
            + self.drops(DropReason::Red)
            + self.drops(DropReason::Codel);
        let random = self.drops(DropReason::Loss) + self.drops(DropReason::CheckSequence);
        let mut reasons = Vec::new();
        if counts.timeouts > 0 {
            let times = if counts.timeouts == 1 {
                "time"
            } else {
                "times"
            };
            reasons.push(format!(
                "it waited {} {times} for a timeout, which no formula counts",
                counts.timeouts
            ));
        }
        if policed > 0 {
            reasons.push(format!(
                "the policer dropped {policed} frames in bursts, where the formula has an even saw-tooth"
            ));
        }
        if queued > 0 {
            reasons.push(format!(
                "queues dropped {queued} frames, and {}",
                self.queue_words()
            ));
        }
        if random > 0 {
            reasons.push(format!(
                "links lost {random} frames, in the {} it ran",
                time(self.time)
            ));
        }
        reasons.extend(self.shared());
        let rounds = self.time.as_secs_f64() / self.forecast.rtt.as_secs_f64().max(1e-9);
        if rounds < 500.0 {
            reasons.push(format!(
                "{} are only {rounds:.0} round trips, of which slow start takes its part",
                time(self.time)
            ));
        }
        if reasons.is_empty() {
            return "cannot tell: nothing that was counted explains it".to_owned();
        }
        reasons.join("; ")
    }

    fn queue_words(&self) -> String {
        let Some(hop) = self.forecast.bottleneck else {
            return "windows halved".to_owned();
        };
        let impairments = self.topology.impairments(hop);
        let limit = match impairments.queue.limit {
            QueueLimit::Frames(frames) => ByteCount::new(frames.saturating_mul(1538)),
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::None => return "the window went down for it".to_owned(),
        };
        let product = self
            .forecast
            .predictions
            .iter()
            .find(|one| one.name == "bdp");
        let product = product.map_or(0.0, |one| one.value);
        if limit.as_f64() < product {
            format!(
                "that of {} holds {}, less than the bandwidth-delay product of {}: the link idles after a loss",
                self.topology.links[hop.link].name,
                size(limit),
                Unit::Bytes.show(product)
            )
        } else {
            "the window went down for it".to_owned()
        }
    }

    /// What keeps datagrams and messages.
    fn slower(&self) -> String {
        if self.outcome.flows.len() > 1 {
            "packets of others are in its way, and hosts of several flows are up to 100 µs late"
                .to_owned()
        } else {
            "cannot tell: nothing that was counted explains it".to_owned()
        }
    }

    /// What others on its way make of it.
    fn shared(&self) -> Option<String> {
        (self.outcome.flows.len() > 1).then(|| {
            format!(
                "flows share unevenly by phase and round trip in {}",
                time(self.time)
            )
        })
    }

    fn above(&self, formula: &Prediction) -> String {
        match formula.binding.as_deref() {
            Some("loss" | "policer") => {
                "the model holds to a factor of 2, and the congestion control kept more than it gives"
                    .to_owned()
            }
            Some("sharing") => {
                "it won against the others, which even shares leave out: by round trip, by phase, or because they stood still"
                    .to_owned()
            }
            Some("half_duplex") => "fewer acknowledgements than one for two segments".to_owned(),
            _ => "cannot tell: nothing that was counted explains it".to_owned(),
        }
    }
}

impl Told<'_> {
    fn all(&self) -> impl Iterator<Item = &Prediction> {
        let flows = self.flows.iter().flat_map(|flow| &flow.predictions);
        flows.chain(&self.links)
    }

    fn hop(&self, hop: Hop) -> String {
        let link = &self.topology.links[hop.link];
        let impairments = self.topology.impairments(hop);
        let mut words = vec![match &impairments.rate {
            Some(setup) => match setup.constant() {
                Some(constant) => rate(constant),
                None => format!("up to {}", rate(setup.max())),
            },
            None if impairments.paths.is_empty() => "no limit".to_owned(),
            None => format!("{} paths", impairments.paths.len()),
        }];
        if !impairments.delay.is_zero() {
            words.push(time(impairments.delay));
        }
        if self.topology.is_half_duplex(hop) {
            words.push("half duplex".to_owned());
        }
        if impairments.loss > 0.0 {
            words.push(format!("loss {}", Unit::Share.show(impairments.loss)));
        }
        if impairments.policer.is_some() {
            words.push("policer".to_owned());
        }
        if impairments.shaper.is_some() {
            words.push("shaper".to_owned());
        }
        format!("{} ({}, MTU {})", link.name, words.join(", "), link.mtu)
    }

    fn text(&self) -> Vec<String> {
        let title = self.topology.title.as_deref();
        let title = title.map_or_else(|| self.args.what.what.clone(), str::to_owned);
        let speed = format!(
            "{} of virtual time, seed {}",
            time(self.args.time),
            self.seed
        );
        let mut lines = vec![fold(
            &format!("What flows get over {title}: by formula, and simulated for {speed}"),
            4,
        )];
        for (number, flow) in self.flows.iter().enumerate() {
            lines.push(String::new());
            let name = |node: usize| &self.topology.nodes[node].name;
            let (from, to) = (name(flow.asked.from), name(flow.asked.to));
            let head = format!("flow {}: {from} > {to}, {}", number + 1, flow.asked.words);
            lines.push(fold(&head, 4));
            let hops: Vec<String> = flow
                .forecast
                .path
                .iter()
                .map(|hop| self.hop(*hop))
                .collect();
            lines.push(fold(&format!("  over {}", hops.join(", ")), 4));
            let mut shown = flow.predictions.clone();
            for one in &mut shown {
                one.title = format!("  {}", one.title);
            }
            lines.extend(output::table(&shown));
            lines.extend(
                flow.differences
                    .iter()
                    .map(|words| fold(&format!("  {words}"), 4)),
            );
        }
        if !self.links.is_empty() {
            lines.extend([String::new(), "links".to_owned()]);
            let mut shown = self.links.clone();
            for one in &mut shown {
                one.title = format!("  {}", one.title);
            }
            lines.extend(output::table(&shown));
        }
        if self.outcome.cut_short {
            let words = format!(
                "the simulation was cut short after {} events, at {}",
                self.outcome.events,
                time(Duration::from_nanos(self.outcome.end.as_ns()))
            );
            lines.extend([String::new(), fold(&words, 4)]);
        }
        if self.args.show.explain {
            let formulas = self.all().filter(|one| one.method == Method::Formula);
            lines.extend(formulas.flat_map(output::explanation));
        } else {
            lines.push(String::new());
            lines.push(output::HINT.to_owned());
        }
        lines
    }

    fn json(&self) -> Value {
        let hop = |hop: &Hop| {
            let link = &self.topology.links[hop.link];
            let impairments = self.topology.impairments(*hop);
            let node = |end: usize| &self.topology.nodes[link.ends[end].node].name;
            json!({
                "link": link.name,
                "from": node(hop.from),
                "to": node(1 - hop.from),
                "rate_bps": impairments.rate.as_ref().map(|rate| rate.max().bps()),
                "delay_s": impairments.delay.as_secs_f64(),
                "mtu_bytes": link.mtu,
                "half_duplex": self.topology.is_half_duplex(*hop),
            })
        };
        let flows: Vec<Value> = self
            .flows
            .iter()
            .enumerate()
            .map(|(number, flow)| {
                let name = |node: usize| &self.topology.nodes[node].name;
                json!({
                    "number": number + 1,
                    "from": name(flow.asked.from),
                    "to": name(flow.asked.to),
                    "traffic": flow.asked.words,
                    "path": flow.forecast.path.iter().map(hop).collect::<Vec<_>>(),
                    "mtu_bytes": flow.forecast.mtu,
                    "differences": flow.differences,
                })
            })
            .collect();
        let all: Vec<&Prediction> = self.all().collect();
        json!({
            "schema": output::SCHEMA,
            "tool": this_tool(),
            "command": command_line(),
            "question": "topology",
            "words": format!("What flows get over {}", self.args.what.what),
            "given": { "time_s": self.args.time.as_secs_f64(), "seed": self.seed },
            "topology": {
                "flows": flows,
                "simulated_s": self.outcome.end.as_ns() as f64 / 1e9,
                "events": self.outcome.events,
                "cut_short": self.outcome.cut_short,
            },
            "predictions": all,
        })
    }
}
