//! `caudal tcp` and `caudal udp`: from flags to a plan, through one or more runs, to what is shown.

use crate::args::{OmitArg, OutputArgs, RateArg, TargetArgs, TcpArgs, TrafficArgs, UdpArgs};
use crate::exit::{Exit, Failure};
use crate::output::json::{self, Header, Tool};
use crate::output::live::Live;
use crate::output::sink::{Sink, Sinks};
use crate::output::{csv, text};
use caudal_core::framing::IpVersion;
use caudal_core::interval::{Interval, Timeline};
use caudal_core::plan::{
    Directions, End, LARGEST_DATAGRAM, Omit, Plan, Rate, TrafficPlan, Transport,
};
use caudal_core::search::{Outcome, Search};
use caudal_core::stats::{Estimate, StopRule, Verdict};
use caudal_core::summary::{Context, TrafficSummary, over_repeats, summarise};
use caudal_core::units::{BitRate, ByteCount};
use caudal_core::warning::Warning;
use caudal_engine::{
    Client, CutShort, Event, Family, Manner, Origin, RunError, Server, ServerOptions, Target,
    TrafficRun,
};
use caudal_sys::signal::Interrupt;
use caudal_sys::{affinity, tcp};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;

/// What a program is called when it speaks to another.
pub const TOOL: &str = concat!("caudal ", env!("CARGO_PKG_VERSION"));
/// How long a test measures unless told otherwise.
const TIME: Duration = Duration::from_secs(10);
/// How long each trial of a search measures unless told otherwise.
const TRIAL: Duration = Duration::from_secs(2);
/// The most runs of `--until` unless `--repeat` says more.
const MOST_RUNS: u32 = 100;
/// The fewest runs of `--until`.
const FEWEST_RUNS: u64 = 5;

/// A connection to the server of a command, which may be one of our own.
pub struct Peer {
    /// The greeted server.
    pub client: Client,
    /// The server we started because none was named.
    pub own: Option<Server>,
}

impl Peer {
    /// Connects to the host named, or to a server started on loopback for the occasion.
    ///
    /// # Errors
    /// When nobody answers, or the address makes no sense.
    pub fn connect(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Failure> {
        let origin = Origin {
            address: args.bind,
            device: args.device.clone(),
        };
        let family = match (args.ipv4, args.ipv6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        };
        let (host, port, own) = match &args.host {
            Some(host) => (host.clone(), args.port, None),
            None => {
                let loopback: IpAddr = if args.ipv6 || args.bind.is_some_and(|from| from.is_ipv6())
                {
                    std::net::Ipv6Addr::LOCALHOST.into()
                } else {
                    std::net::Ipv4Addr::LOCALHOST.into()
                };
                let options = ServerOptions {
                    bind: Some(loopback),
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: Duration::from_secs(3600),
                    ..ServerOptions::default()
                };
                let own = Server::start(options, None)?;
                (loopback.to_string(), own.local().port(), Some(own))
            }
        };
        let target = Target {
            host,
            port,
            family,
            origin,
        };
        let client = Client::connect(&target, TOOL, Some(interrupt))?;
        Ok(Self { client, own })
    }

    /// The peer in words.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.own.is_some() {
            "this machine over loopback".to_owned()
        } else {
            format!("{} ({})", self.client.peer(), self.client.server.name)
        }
    }

    /// Whether traffic to it stays on a loopback interface.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.client.here.interface.as_deref() == Some("lo")
    }

    /// The IP version between both.
    #[must_use]
    pub fn ip(&self) -> IpVersion {
        if self.client.peer().is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        }
    }
}

/// What a throughput command wants, beyond its plan.
struct Wanted<'a> {
    traffic: &'a TrafficArgs,
    output: &'a OutputArgs,
    manner: Manner,
}

/// Runs `caudal tcp`.
///
/// # Errors
/// When nothing could be measured.
pub fn tcp(args: &TcpArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    check_local(&args.traffic)?;
    if let Some(name) = &args.congestion
        && !tcp::available_congestion_controls().contains(name)
        && !args.traffic.reverse
    {
        let offered = tcp::available_congestion_controls().join(", ");
        return Err(Failure::new(
            Exit::NotPermitted,
            format!("this kernel offers no congestion control {name:?}"),
            format!("choose one of {offered}, or load its module"),
        ));
    }
    let manner = Manner {
        affinity: args.traffic.affinity.clone(),
        file: args.file.clone(),
        max_rate: None,
    };
    // Pages cost a call what they cost whatever their number: more of them in one is faster.
    let usual = if args.zerocopy { 256 << 10 } else { 128 << 10 };
    let block = length(args.length.unwrap_or(ByteCount::new(usual)))?;
    let mut plan = base_plan(&args.traffic, Transport::Tcp, block, args.rate);
    if args.file.is_some() && args.traffic.bytes.is_none() && args.traffic.time.is_none() {
        plan.end = End::Bytes(file_size(args.file.as_deref())?);
    }
    plan.mss = args.mss;
    plan.congestion.clone_from(&args.congestion);
    plan.no_delay = args.nodelay;
    plan.mptcp = args.mptcp;
    plan.discard = args.discard;
    plan.zero_copy = args.zerocopy;
    plan.check()
        .map_err(|error| Failure::usage(error.to_string(), "see --help"))?;
    let wanted = Wanted {
        traffic: &args.traffic,
        output: &args.output,
        manner,
    };
    let sinks = Sinks::open(&args.output)?;
    let mut peer = Peer::connect(&args.target, interrupt)?;
    plan.same_machine = peer.client.is_same_machine();
    measure(&mut peer, &plan, &wanted, sinks, interrupt)
}

/// Runs `caudal udp`.
///
/// # Errors
/// When nothing could be measured.
pub fn udp(args: &UdpArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    check_local(&args.traffic)?;
    let manner = Manner {
        affinity: args.traffic.affinity.clone(),
        ..Manner::default()
    };
    let asked = args.length.map(length).transpose()?;
    let mut plan = base_plan(
        &args.traffic,
        Transport::Udp,
        asked.unwrap_or(1448),
        args.rate,
    );
    plan.verify = args.verify;
    plan.check()
        .map_err(|error| Failure::usage(error.to_string(), "see --help"))?;
    let wanted = Wanted {
        traffic: &args.traffic,
        output: &args.output,
        manner,
    };
    let sinks = Sinks::open(&args.output)?;
    let mut peer = Peer::connect(&args.target, interrupt)?;
    if asked.is_none() {
        let headers = 8 + peer.ip().header_bytes() as u32;
        let mtu = peer.client.path_mtu().unwrap_or(1500);
        plan.length = mtu.saturating_sub(headers).clamp(32, LARGEST_DATAGRAM);
    }
    plan.same_machine = peer.client.is_same_machine();
    match args.find_rate {
        Some(limit) => {
            if args.traffic.time.is_none() {
                plan.end = End::Time(TRIAL);
            }
            find_rate(
                &mut peer, &plan, &wanted, limit, args.rate, sinks, interrupt,
            )
        }
        None => measure(&mut peer, &plan, &wanted, sinks, interrupt),
    }
}

fn length(size: ByteCount) -> Result<u32, Failure> {
    u32::try_from(size.get()).map_err(|_| {
        Failure::usage(
            format!("--length {size} is too large"),
            "at most 4Mi for TCP, 65507 for UDP",
        )
    })
}

fn file_size(path: Option<&std::path::Path>) -> Result<ByteCount, Failure> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        return Ok(ByteCount::new(u64::MAX - 1));
    };
    let meta = std::fs::metadata(path).map_err(|cause| {
        Failure::usage(
            format!("cannot read {}: {cause}", path.display()),
            "name a file that can be read",
        )
    })?;
    if meta.is_file() && meta.len() == 0 {
        return Err(Failure::usage(
            format!("{} is empty", path.display()),
            "name a file with content",
        ));
    }
    Ok(ByteCount::new(if meta.is_file() {
        meta.len()
    } else {
        u64::MAX - 1
    }))
}

fn check_local(traffic: &TrafficArgs) -> Result<(), Failure> {
    let here = affinity::available_cpus();
    if let Some(cpu) = traffic.affinity.iter().find(|cpu| !here.contains(cpu)) {
        return Err(Failure::usage(
            format!("--affinity names processor {cpu}, which this program may not use"),
            format!("it may use {here:?}"),
        ));
    }
    if traffic.repeat == 0 || traffic.repeat > 10_000 {
        return Err(Failure::usage(
            format!("--repeat is {}", traffic.repeat),
            "it must lie between 1 and 10000",
        ));
    }
    Ok(())
}

fn base_plan(
    traffic: &TrafficArgs,
    transport: Transport,
    length: u32,
    rate: RateArg,
) -> TrafficPlan {
    TrafficPlan {
        transport,
        directions: match (traffic.reverse, traffic.bidir) {
            (_, true) => Directions::Both,
            (true, _) => Directions::Down,
            _ => Directions::Up,
        },
        parallel: traffic.parallel,
        end: traffic
            .bytes
            .map_or(End::Time(traffic.time.unwrap_or(TIME)), End::Bytes),
        interval: traffic.interval,
        omit: match traffic.omit {
            None => Omit::Nothing,
            Some(OmitArg::Auto) => Omit::Auto,
            Some(OmitArg::Time(time)) => Omit::Time(time),
        },
        rate: match rate {
            RateArg::Max => Rate::Max,
            RateArg::Limit(rate) => Rate::Limit(rate),
        },
        length,
        window: traffic.window,
        mss: None,
        congestion: None,
        no_delay: false,
        dscp: traffic.dscp,
        mptcp: false,
        discard: false,
        zero_copy: false,
        verify: false,
        same_machine: false,
    }
}

/// One run with its arithmetic done.
struct Done {
    run: TrafficRun,
    timeline: Timeline,
    summary: TrafficSummary,
}

fn headline(peer: &Peer, plan: &TrafficPlan) -> String {
    let what = match plan.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    };
    let ways = match plan.directions {
        Directions::Up => "upload",
        Directions::Down => "download",
        Directions::Both => "both directions",
    };
    let end = match plan.end {
        End::Time(time) => format!(" for {}", caudal_core::units::format_duration(time)),
        End::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => ", to the end of the input".to_owned(),
        End::Bytes(bytes) => format!(", {bytes} a direction"),
    };
    let rate = match plan.rate {
        Rate::Max => String::new(),
        Rate::Limit(rate) => format!(", {rate} a flow"),
    };
    let unit = if plan.transport == Transport::Udp {
        "datagrams"
    } else {
        "blocks"
    };
    text::fold(
        &format!(
            "{what} with {}, {ways}, {} flow{}{end}{rate}, {unit} of {} B",
            peer.describe(),
            plan.parallel,
            if plan.parallel == 1 { "" } else { "s" },
            plan.length
        ),
        4,
    )
}

fn one_run(
    peer: &mut Peer,
    plan: &TrafficPlan,
    wanted: &Wanted<'_>,
    number: u32,
    sinks: &mut Sinks,
) -> Result<Done, RunError> {
    let ticks = plan.ticks();
    let is_udp = plan.transport == Transport::Udp;
    let mut timeline = Timeline::new(plan.flows(), &ticks, is_udp);
    let mut live = Live::new(
        &sinks.text,
        plan.transport,
        &ticks,
        wanted.output.verbose,
        wanted.output.quiet,
    );
    let (stream, rows) = (wanted.output.json_stream, wanted.output.csv);
    let mut begun = false;
    let address = peer.client.peer().to_string();
    let outcome = peer.client.run(plan, &wanted.manner, &mut |event| match event {
        Event::Agreed { plan, changed } => {
            if stream {
                sinks.data.line(&json!({"event": "agreed", "repeat": number, "plan": json::plan(&plan, &address), "changed": changed}).to_string());
            }
        }
        Event::Started => {
            if stream {
                sinks.data.line(&json!({"event": "started", "repeat": number}).to_string());
            }
        }
        Event::Sampled(sample) => {
            timeline.push(&sample);
            while let Some(row) = timeline.next_row() {
                if !std::mem::replace(&mut begun, true) {
                    live.begin(&mut sinks.text);
                }
                live.row(&mut sinks.text, &row);
                if stream {
                    sinks.data.line(&row_event(&row, number));
                }
                if rows {
                    for line in csv::lines(&row, number) {
                        sinks.data.line(&line);
                    }
                }
            }
        }
        Event::Echoed { .. } | Event::Ending => {}
    });
    let run = match outcome {
        Ok(run) => run,
        Err(error) => {
            live.end(&mut sinks.text);
            return Err(error);
        }
    };
    if plan.duration().is_none() || run.cut_short.is_some() {
        for record in &run.flows {
            timeline.close(record);
        }
    }
    for row in timeline.rest() {
        if !std::mem::replace(&mut begun, true) {
            live.begin(&mut sinks.text);
        }
        live.row(&mut sinks.text, &row);
        if stream {
            sinks.data.line(&row_event(&row, number));
        }
        if rows {
            for line in csv::lines(&row, number) {
                sinks.data.line(&line);
            }
        }
    }
    live.end(&mut sinks.text);
    let why = run.cut_short.as_ref().map(why);
    let summary = summarise(&Context {
        plan: &run.plan,
        records: &run.flows,
        timeline: &timeline,
        client: &peer.client.here,
        server: &peer.client.server,
        client_usage: &run.client_usage,
        server_usage: run.server_usage.as_ref(),
        ip: peer.ip(),
        loopback: peer.is_loopback(),
        link_rate: wanted.traffic.link_rate,
        confidence: wanted.output.confidence,
        cut_short: why.as_deref(),
        changed: &run.changed,
    });
    Ok(Done {
        run,
        timeline,
        summary,
    })
}

/// Why a run was cut short, in words.
#[must_use]
pub fn why(cut: &CutShort) -> String {
    match cut {
        CutShort::Interrupted => "interrupted".to_owned(),
        CutShort::ByServer(why) | CutShort::Lost(why) => why.clone(),
    }
}

fn row_event(row: &caudal_core::interval::Row, repeat: u32) -> String {
    let flows: Vec<Value> = row
        .flows
        .iter()
        .map(|(flow, interval)| {
            let mut value = json!(interval);
            if let Value::Object(map) = &mut value {
                map.insert("id".to_owned(), json!(flow.id));
                map.insert("direction".to_owned(), json!(flow.direction));
            }
            value
        })
        .collect();
    json!({"event": "interval", "repeat": repeat, "flows": flows}).to_string()
}

fn measure(
    peer: &mut Peer,
    plan: &TrafficPlan,
    wanted: &Wanted<'_>,
    mut sinks: Sinks,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let header = Header::now();
    let until = wanted.traffic.until;
    let most = match until {
        Some(_) if wanted.traffic.repeat > 1 => wanted.traffic.repeat,
        Some(_) => MOST_RUNS,
        None => wanted.traffic.repeat,
    };
    let rule = until.map(|relative| StopRule {
        relative_error: relative,
        confidence: wanted.output.confidence,
        min: FEWEST_RUNS.min(u64::from(most)),
        max: u64::from(most),
    });
    if !wanted.output.quiet {
        sinks.text.line(&headline(peer, plan));
    }
    if wanted.output.csv {
        sinks.data.line(&csv::header());
    }
    let mut all: Vec<Done> = Vec::new();
    let mut lost = None;
    let mut gave_up = None;
    for number in 1..=most {
        if number > 1 && interrupt.count() > 0 {
            break;
        }
        if most > 1 && !wanted.output.quiet {
            let of = if until.is_some() {
                String::new()
            } else {
                format!(" of {most}")
            };
            sinks.text.line(&format!("run {number}{of}"));
        }
        match one_run(peer, plan, wanted, number, &mut sinks) {
            Ok(done) => {
                let cut = done.run.cut_short.is_some();
                all.push(done);
                if cut {
                    break;
                }
            }
            Err(error) if all.is_empty() => return Err(error.into()),
            Err(error) => {
                // The runs that were finished are not lost with the one that was not.
                lost = Some(Failure::from(error));
                break;
            }
        }
        if let Some(rule) = &rule {
            let verdicts: Vec<Verdict> = goodputs(&all)
                .iter()
                .map(|(_, means)| rule.judge(means))
                .collect();
            if verdicts
                .iter()
                .all(|verdict| matches!(verdict, Verdict::Reached { .. }))
            {
                break;
            }
            if number == most {
                gave_up = Some(verdicts);
            }
        }
    }
    let mut report = report(peer, wanted, &header, all, gave_up.as_deref());
    if let Some(failure) = &lost {
        report.warnings.push(Warning::new(
            "cut_short",
            failure.message.clone(),
            failure.advice.clone(),
        ));
    }
    show(&report, wanted, &mut sinks);
    let result = if wanted.output.json || wanted.output.json_stream {
        report.json.to_string()
    } else {
        report.closing(wanted).join("\n")
    };
    sinks.finish(&result)?;
    Ok(report.exit(lost.as_ref()))
}

/// The mean goodput of each run so far, a direction.
fn goodputs(all: &[Done]) -> Vec<(caudal_core::plan::Direction, Vec<f64>)> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    first
        .summary
        .directions
        .iter()
        .enumerate()
        .map(|(at, direction)| {
            let means = all
                .iter()
                .filter(|done| done.run.cut_short.is_none())
                .filter_map(|done| Some(done.summary.directions.get(at)?.goodput_bps?.mean))
                .collect();
            (direction.direction, means)
        })
        .collect()
}

struct Report {
    all: Vec<Done>,
    over_runs: Vec<(caudal_core::plan::Direction, Option<Estimate>)>,
    warnings: Vec<Warning>,
    json: Value,
}

fn report(
    peer: &Peer,
    wanted: &Wanted<'_>,
    header: &Header,
    all: Vec<Done>,
    gave_up: Option<&[Verdict]>,
) -> Report {
    let confidence = wanted.output.confidence;
    let over_runs: Vec<_> = if all.len() > 1 {
        goodputs(&all)
            .into_iter()
            .map(|(direction, means)| (direction, over_repeats(&means, confidence)))
            .collect()
    } else {
        Vec::new()
    };
    let mut warnings: Vec<Warning> = Vec::new();
    for done in &all {
        for warning in &done.summary.warnings {
            if !warnings
                .iter()
                .any(|known| known.code == warning.code && known.message == warning.message)
            {
                warnings.push(warning.clone());
            }
        }
    }
    if all.len() > 1 {
        // One of a kind is enough: the runs differ in their figures only.
        let mut seen = std::collections::BTreeSet::new();
        warnings.retain(|warning| {
            seen.insert((
                warning.code,
                warning.message.split(':').next().unwrap_or("").to_owned(),
            ))
        });
    }
    if let Some(verdicts) = gave_up {
        let widest = verdicts
            .iter()
            .filter_map(|verdict| match verdict {
                Verdict::GaveUp {
                    half_width_relative,
                } => *half_width_relative,
                _ => None,
            })
            .fold(0.0, f64::max);
        warnings.push(Warning::new(
            "few_repeats",
            format!(
                "after {} runs the interval is still ±{} of the mean, not the {} asked for",
                all.len(),
                text::percent(widest),
                text::percent(wanted.traffic.until.unwrap_or(0.0))
            ),
            "allow more with --repeat, or measure longer each time",
        ));
    }
    let mut report = Report {
        all,
        over_runs,
        warnings,
        json: Value::Null,
    };
    report.json = report.to_json(peer, header);
    report
}

impl Report {
    fn last(&self) -> Option<&Done> {
        self.all.last()
    }

    fn exit(&self, lost: Option<&Failure>) -> Exit {
        if let Some(failure) = lost {
            return failure.exit;
        }
        match self.last().map(|done| (&done.run.cut_short, done)) {
            Some((Some(CutShort::Lost(_)), _)) => Exit::Peer,
            Some((Some(_), _)) | None => Exit::Failed,
            Some((None, done)) => {
                let failed = done.run.flows.iter().all(|record| {
                    [&record.sender, &record.receiver]
                        .into_iter()
                        .flatten()
                        .any(|end| end.failure.is_some())
                });
                if failed { Exit::Failed } else { Exit::Done }
            }
        }
    }

    fn to_json(&self, peer: &Peer, header: &Header) -> Value {
        let Some(done) = self.last() else {
            return Value::Null;
        };
        let intervals: Vec<Vec<Interval>> = done
            .run
            .flows
            .iter()
            .map(|record| done.timeline.intervals(record.flow.id))
            .collect();
        let goodput = match self.over_runs.as_slice() {
            [(_, one)] => *one,
            _ => match done.summary.directions.as_slice() {
                [one] if self.over_runs.is_empty() => one.goodput_bps,
                _ => None,
            },
        };
        let repeats = if self.all.len() > 1 {
            self.all
                .iter()
                .enumerate()
                .map(|(nth, done)| {
                    json!({
                        "run": nth + 1,
                        "cut_short": done.run.cut_short.as_ref().map(why),
                        "directions": done.summary.directions.iter().map(|direction| json!({
                            "direction": direction.direction,
                            "goodput_bps": direction.goodput_bps,
                            "bytes": direction.bytes,
                            "measured_s": direction.measured_s,
                            "loss": direction.loss,
                        })).collect::<Vec<_>>(),
                    })
                })
                .collect()
        } else {
            Vec::new()
        };
        let mut value = json!(json::Run {
            header,
            plan: json::plan(
                &Plan::Traffic(done.run.plan.clone()),
                &peer.client.peer().to_string()
            ),
            environment: json::Environment {
                client: &peer.client.here,
                server: &peer.client.server
            },
            flows: done
                .run
                .flows
                .iter()
                .zip(&intervals)
                .map(|(record, intervals)| json::Flow::new(record, intervals))
                .collect(),
            summary: json::Summary {
                goodput_bps: goodput,
                directions: &done.summary.directions,
                idle_rtt_us: peer.client.clock.min_rtt_ns().map(|ns| ns as f64 / 1e3),
                connect_us: peer.client.connecting.as_secs_f64() * 1e6,
                cpu: json::Cpu {
                    client: &done.run.client_usage,
                    server: done.run.server_usage.as_ref(),
                },
            },
            predictions: json::predictions(&done.summary.directions),
            warnings: &self.warnings,
            repeats,
        });
        if let (Value::Object(map), false) = (&mut value, self.over_runs.is_empty()) {
            let over: Vec<Value> = self
                .over_runs
                .iter()
                .map(|(direction, estimate)| json!({"direction": direction, "goodput_bps": estimate}))
                .collect();
            map.insert("over_repeats".to_owned(), json!(over));
        }
        value
    }

    fn closing(&self, wanted: &Wanted<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(done) = self.last() else {
            return lines;
        };
        for direction in &done.summary.directions {
            if self.all.len() > 1 {
                lines.push(format!("the last run, {}:", direction.direction.name()));
            }
            lines.extend(text::closing(
                direction,
                &done.run.flows,
                done.run.plan.transport,
            ));
        }
        for (direction, estimate) in &self.over_runs {
            let shown = estimate.map_or_else(
                || "no run was finished".to_owned(),
                |estimate| text::estimate(&estimate, text::bits),
            );
            lines.push(text::fold(
                &format!("over all runs, {}: {shown}", direction.name()),
                4,
            ));
        }
        let _ = wanted;
        for warning in &self.warnings {
            lines.push(text::warning(warning));
        }
        lines
    }
}

fn show(report: &Report, wanted: &Wanted<'_>, sinks: &mut Sinks) {
    for line in report.closing(wanted) {
        sinks.text.line(&line);
    }
    if wanted.output.json {
        let pretty = serde_json::to_string_pretty(&report.json).unwrap_or_default();
        sinks.data.line(&pretty);
    } else if wanted.output.json_stream {
        sinks
            .data
            .line(&json!({"event": "finished", "run": report.json}).to_string());
    }
}

fn find_rate(
    peer: &mut Peer,
    plan: &TrafficPlan,
    wanted: &Wanted<'_>,
    limit: f64,
    rate: RateArg,
    mut sinks: Sinks,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let header = Header::now();
    let confidence = wanted.output.confidence;
    let quiet = Wanted {
        traffic: wanted.traffic,
        output: &OutputArgs {
            quiet: true,
            csv: false,
            json_stream: false,
            ..wanted.output.clone()
        },
        manner: wanted.manner.clone(),
    };
    let most = match rate {
        RateArg::Limit(rate) => rate,
        RateArg::Max => unbounded(peer, plan, &quiet)?,
    };
    if !wanted.output.quiet {
        sinks.text.line(&headline(
            peer,
            &TrafficPlan {
                rate: Rate::Limit(most),
                ..plan.clone()
            },
        ));
        sinks.text.line(&format!(
            "the highest rate with at most {} of the datagrams lost:",
            text::percent(limit)
        ));
        sinks.text.line(&format!(
            "{:>14} {:>11} {:>9} {:>11}  {:<22} {}",
            "rate", "sent", "lost", "loss", "interval", "verdict"
        ));
    }
    if wanted.output.csv {
        sinks
            .data
            .line("rate_bps,sent,lost,loss,loss_low,loss_high,outcome");
    }
    let mut search = Search::new(limit, most, confidence);
    let mut cut = None;
    let mut last = None;
    while let Some(rate) = search.next_rate() {
        if interrupt.count() > 0 {
            cut = Some(CutShort::Interrupted);
            break;
        }
        let trial_plan = TrafficPlan {
            rate: Rate::Limit(rate),
            ..plan.clone()
        };
        let done = match one_run(peer, &trial_plan, &quiet, 1, &mut Sinks::silent()) {
            Ok(done) => done,
            Err(error) if search.trials().is_empty() => return Err(error.into()),
            Err(error) => {
                cut = Some(CutShort::Lost(error.to_string()));
                break;
            }
        };
        if done.run.cut_short.is_some() {
            cut.clone_from(&done.run.cut_short);
            break;
        }
        let Some(direction) = done.summary.directions.first() else {
            break;
        };
        let Some(loss) = &direction.loss else { break };
        let flows = done.run.flows.len().max(1) as f64;
        let reached = direction.sent_bytes.unwrap_or(0) as f64 * 8.0
            / plan.duration().map_or(1.0, |time| time.as_secs_f64())
            / flows;
        let Some(trial) = search.tell(loss.sent, loss.lost, reached) else {
            break;
        };
        if !wanted.output.quiet {
            sinks.text.line(&format!(
                "{:>14} {:>11} {:>9} {:>11}  {:<22} {}",
                text::bits(trial.rate_bps as f64),
                trial.sent,
                trial.lost,
                text::percent(trial.loss),
                format!(
                    "{} to {}",
                    text::percent(trial.low),
                    text::percent(trial.high)
                ),
                match trial.outcome {
                    Outcome::Held => "held",
                    Outcome::Failed => "failed",
                    Outcome::Unreached => "not reached",
                    Outcome::Undecided => "again",
                }
            ));
        }
        if wanted.output.json_stream {
            sinks
                .data
                .line(&json!({"event": "trial", "trial": trial}).to_string());
        }
        if wanted.output.csv {
            sinks.data.line(&format!(
                "{},{},{},{:.9},{:.9},{:.9},{}",
                trial.rate_bps,
                trial.sent,
                trial.lost,
                trial.loss,
                trial.low,
                trial.high,
                json!(trial.outcome).as_str().unwrap_or("")
            ));
        }
        last = Some(done);
    }
    let found = search.found();
    let mut warnings: Vec<Warning> = last.map_or_else(Vec::new, |done| done.summary.warnings);
    warnings.retain(|warning| {
        !matches!(
            warning.code,
            "too_short" | "not_steady" | "rate_not_reached"
        )
    });
    if let Some(cut) = &cut {
        warnings.push(Warning::new(
            "cut_short",
            format!("the search ended early: {}", why(cut)),
            "run it again",
        ));
    }
    let verdict = match (found.rate_bps, found.failed_bps) {
        (Some(rate), _) if found.sender_bound => format!(
            "found: {}, the most the sender reached; the path may carry more",
            text::bits(rate as f64)
        ),
        (Some(rate), None) => format!(
            "found: {} holds, and no more was asked for (--rate bounds the search)",
            text::bits(rate as f64)
        ),
        (Some(rate), Some(failed)) => format!(
            "found: {} of payload a flow; {} was too much{}",
            text::bits(rate as f64),
            text::bits(failed as f64),
            if found.undecided {
                " (decided by point estimates: trials too short to be sure)"
            } else {
                ""
            }
        ),
        (None, _) => format!(
            "found: no rate down to 1 kbit/s loses at most {}",
            text::percent(limit)
        ),
    };
    sinks.text.line(&text::fold(&verdict, 4));
    for warning in &warnings {
        sinks.text.line(&text::warning(warning));
    }
    let result = json!({
        "schema": json::SCHEMA,
        "id": header.id,
        "started": header.started,
        "tool": Tool::this(),
        "command": header.command,
        "plan": json::plan(&Plan::Traffic(TrafficPlan { rate: Rate::Limit(most), ..plan.clone() }), &peer.client.peer().to_string()),
        "environment": json::Environment { client: &peer.client.here, server: &peer.client.server },
        "search": {
            "loss_limit": limit,
            "confidence": confidence,
            "rate_bps": found.rate_bps,
            "failed_bps": found.failed_bps,
            "sender_bound": found.sender_bound,
            "undecided": found.undecided,
            "trials": search.trials(),
        },
        "warnings": warnings,
    });
    if wanted.output.json {
        sinks
            .data
            .line(&serde_json::to_string_pretty(&result).unwrap_or_default());
    } else if wanted.output.json_stream {
        sinks
            .data
            .line(&json!({"event": "finished", "run": result}).to_string());
    }
    sinks.finish(&verdict)?;
    Ok(match cut {
        None => Exit::Done,
        Some(CutShort::Lost(_)) => Exit::Peer,
        Some(_) => Exit::Failed,
    })
}

/// How fast the sender goes when nothing holds it: the upper bound of a search without `--rate`.
fn unbounded(peer: &mut Peer, plan: &TrafficPlan, wanted: &Wanted<'_>) -> Result<BitRate, Failure> {
    let plan = TrafficPlan {
        rate: Rate::Max,
        end: End::Time(Duration::from_secs(1)),
        omit: Omit::Nothing,
        ..plan.clone()
    };
    let done = one_run(peer, &plan, wanted, 0, &mut Sinks::silent())?;
    let sent: u64 = done
        .run
        .flows
        .iter()
        .filter_map(|record| Some(record.sent()?.bytes))
        .sum();
    let each = sent as f64 * 8.0 / done.run.flows.len().max(1) as f64;
    Ok(BitRate::from_f64(each).unwrap_or(BitRate::from_bps(1_000_000)))
}

impl Sinks {
    /// Nothing is shown anywhere.
    fn silent() -> Self {
        Self {
            data: Sink::nowhere(),
            text: Sink::nowhere(),
            data_in_file: false,
        }
    }
}
