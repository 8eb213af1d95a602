//! `caudal tcp` and `caudal udp`: from flags to a plan, through one or more runs, to what is shown.

mod find_rate;
mod report;

use crate::args::{OmitArg, OutputArgs, RateArg, TcpArgs, TrafficArgs, UdpArgs};
use crate::exit::{Exit, Failure};
use crate::keeping::{Keeping, Outcome};
use crate::output::json::{self, Header};
use crate::output::live::Live;
use crate::output::sink::Sinks;
use crate::output::{csv, text};
use crate::peer::{Language, Peer};
use caudal_core::interval::{Row, Timeline};
use caudal_core::plan::{
    Directions, End, LARGEST_DATAGRAM, Omit, Plan, Rate, TrafficPlan, Transport,
};
use caudal_core::prediction::Compared;
use caudal_core::sample::FlowRecord;
use caudal_core::summary::{Context, TrafficSummary, summarise};
use caudal_core::units::{BitRate, ByteCount};
use caudal_core::warning::Warning;
use caudal_engine::{CutShort, Event, Manner, RunError, TrafficRun};
use caudal_predict::throughput;
use caudal_stats::{StopRule, Verdict};
use caudal_sys::signal::Interrupt;
use caudal_sys::{affinity, tcp};
use find_rate::{TRIAL, find_rate};
use report::{goodputs, report, show};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long a test measures unless told otherwise.
const TIME: Duration = Duration::from_secs(10);
/// The most runs of `--until` unless `--repeat` says more.
const MOST_RUNS: u32 = 100;
/// The fewest runs of `--until`: with fewer a run of luck ends the test too early, and the interval holds the truth less
/// often than it says (docs/statistics.md).
const FEWEST_RUNS: u64 = 10;

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
    args.target.check()?;
    check_local(&args.traffic)?;
    if let Some(at) = args.traffic.at {
        at.approach(interrupt)?;
    }
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
        at_ns: args.traffic.at.map(|at| at.0),
        ..Manner::default()
    };
    // Pages cost a call what they cost whatever their number: more of them in one is faster.
    let usual = if args.zerocopy { 256 << 10 } else { 128 << 10 };
    let block = length(args.length.unwrap_or(ByteCount::new(usual)))?;
    let mut plan = base_plan(&args.traffic, Transport::Tcp, block, args.rate);
    if let Some(path) = &args.file {
        let size = file_size(path)?;
        if args.traffic.bytes.is_none() && args.traffic.time.is_none() {
            plan.end = End::Bytes(size);
        }
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
    let mut peer = Peer::connect_in(&args.target, args.traffic.language, interrupt)?;
    plan.same_machine = peer.is_same_machine();
    measure(&mut peer, &plan, &wanted, sinks, interrupt)
}

/// Runs `caudal udp`.
///
/// # Errors
/// When nothing could be measured.
pub fn udp(args: &UdpArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    check_local(&args.traffic)?;
    if let (Some(at), None) = (args.traffic.at, args.find_rate) {
        at.approach(interrupt)?;
    }
    let manner = Manner {
        affinity: args.traffic.affinity.clone(),
        at_ns: args.traffic.at.map(|at| at.0),
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
    let mut peer = Peer::connect_in(&args.target, args.traffic.language, interrupt)?;
    if asked.is_none() {
        let headers = 8 + peer.ip().header_bytes() as u32;
        let mtu = peer.path_mtu().unwrap_or(1500);
        plan.length = mtu.saturating_sub(headers).clamp(32, LARGEST_DATAGRAM);
        if args.traffic.language == Some(Language::Iperf2) {
            // What a server of iperf 2 reads unless told otherwise: the rest of longer ones would be cut.
            plan.length = plan.length.min(1470);
        }
    }
    plan.same_machine = peer.is_same_machine();
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

/// How much a file holds; to its end where only reading tells.
fn file_size(path: &Path) -> Result<ByteCount, Failure> {
    if path.as_os_str() == "-" {
        return Ok(ByteCount::new(u64::MAX - 1));
    }
    let unreadable = |cause: &dyn std::fmt::Display| {
        Failure::usage(
            format!("--file {} cannot be read: {cause}", path.display()),
            "name a file that can be read",
        )
    };
    let meta = std::fs::metadata(path).map_err(|cause| unreadable(&cause))?;
    if meta.is_dir() {
        return Err(unreadable(&"it is a directory"));
    }
    if meta.is_file() {
        File::open(path).map_err(|cause| unreadable(&cause))?;
        if meta.len() == 0 {
            return Err(empty(path));
        }
    }
    Ok(ByteCount::new(if meta.is_file() {
        meta.len()
    } else {
        u64::MAX - 1
    }))
}

/// There is nothing to send.
fn empty(path: &Path) -> Failure {
    let name = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    Failure::usage(
        format!("--file: {name} is empty"),
        "name a file with content",
    )
}

/// Holds a link's rate against what one can have.
///
/// # Errors
/// When it is too low for any.
pub(crate) fn check_link_rate(rate: Option<BitRate>) -> Result<(), Failure> {
    match rate.filter(|rate| rate.bps() < 1000) {
        Some(rate) => Err(Failure::usage(
            format!("--link-rate is {rate}"),
            "it must be at least 1 kbit/s",
        )),
        None => Ok(()),
    }
}

fn check_local(traffic: &TrafficArgs) -> Result<(), Failure> {
    check_link_rate(traffic.link_rate)?;
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
    predictions: Vec<Compared>,
    /// When traffic began, ns since 1970; `None` when it did not.
    began_ns: Option<u64>,
}

impl Done {
    /// Whether the run went its whole way and carried not a byte.
    fn sent_nothing(&self) -> bool {
        let sent = self.run.flows.iter().filter_map(FlowRecord::sent);
        self.run.cut_short.is_none() && sent.map(|sent| sent.bytes).sum::<u64>() == 0
    }
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
    let warm_up = match plan.omit {
        Omit::Time(time) => format!(
            " after a warm-up (*) of {}",
            caudal_core::units::format_duration(time)
        ),
        Omit::Nothing | Omit::Auto => String::new(),
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
            "{what} with {}, {ways}, {} flow{}{end}{warm_up}{rate}, {unit} of {} B",
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
    let is_udp = plan.transport == Transport::Udp;
    let foreign = peer.hearsay();
    let table = |plan: &TrafficPlan, sinks: &Sinks| {
        let ticks = plan.ticks();
        let (verbose, quiet) = (wanted.output.verbose, wanted.output.quiet);
        (
            {
                let mut timeline = Timeline::new(plan.flows(), &ticks, is_udp);
                if let Some(server) = foreign {
                    timeline.hear_from(server);
                }
                timeline
            },
            Live::new(&sinks.text, plan.transport, &ticks, verbose, quiet),
        )
    };
    let (mut timeline, mut live) = table(plan, sinks);
    let (stream, rows) = (wanted.output.json_stream, wanted.output.csv);
    let mut begun = false;
    let mut show_row = |row: &Row, live: &mut Live, sinks: &mut Sinks| {
        if !std::mem::replace(&mut begun, true) {
            live.begin(&mut sinks.text);
        }
        live.row(&mut sinks.text, row);
        if stream {
            sinks.data.line(&row_event(row, number));
        }
        if rows {
            for line in csv::lines(row, number) {
                sinks.data.line(&line);
            }
        }
    };
    let address = peer.address().to_string();
    let quit = &wanted.manner.quit;
    let mut began_ns = None;
    let outcome = peer.run(plan, &wanted.manner, &mut |event| {
        match event {
            Event::Agreed { plan, changed } => {
                if let Plan::Traffic(agreed) = &plan {
                    // The server may have allowed less than was asked for.
                    (timeline, live) = table(agreed, sinks);
                }
                if stream {
                    sinks.data.line(&json!({"event": "agreed", "repeat": number, "plan": json::plan(&plan, &address), "changed": changed}).to_string());
                }
            }
            Event::Started => {
                began_ns = Some(caudal_sys::clock::realtime_ns());
                if stream {
                    sinks.data.line(&json!({"event": "started", "repeat": number}).to_string());
                }
            }
            Event::Sampled(sample) => {
                timeline.push(&sample);
                while let Some(row) = timeline.next_row() {
                    show_row(&row, &mut live, sinks);
                }
            }
            Event::Echoed { .. } | Event::Ending => {}
        }
        if sinks.is_unread() {
            quit.store(true, Relaxed);
        }
    });
    let run = match outcome {
        Ok(run) => run,
        Err(error) => {
            live.end(&mut sinks.text);
            return Err(error);
        }
    };
    for record in &run.flows {
        timeline.close(record, run.cut_short.is_none());
    }
    for row in timeline.rest() {
        show_row(&row, &mut live, sinks);
    }
    live.end(&mut sinks.text);
    let why = run.cut_short.as_ref().map(why);
    let context = Context {
        plan: &run.plan,
        records: &run.flows,
        timeline: &timeline,
        client: peer.here(),
        server: peer.there(),
        client_usage: &run.client_usage,
        server_usage: run.server_usage.as_ref(),
        ip: peer.ip(),
        loopback: peer.is_loopback(),
        link_rate: wanted.traffic.link_rate,
        confidence: wanted.output.confidence,
        cut_short: why.as_deref(),
        changed: &run.changed,
    };
    let mut summary = summarise(&context);
    let predictions = summary
        .directions
        .iter()
        .flat_map(|direction| throughput::predictions(&context, direction))
        .collect();
    if let Some(told) = foreign {
        summary.warnings.push(Warning::new(
            "foreign_server",
            format!(
                "the server is {}'s: of what it receives it tells totals, at the end, without duplicates, {}its \
                 CPU or its socket's drops; intervals of a TCP upload are what its kernel acknowledged",
                peer.there().tool,
                if told.reordered { "" } else { "reordering, " }
            ),
            "run `caudal serve` there for the whole account",
        ));
    }
    Ok(Done {
        run,
        timeline,
        summary,
        predictions,
        began_ns,
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

fn row_event(row: &Row, repeat: u32) -> String {
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
    let keeping = Keeping::start(&wanted.output.store);
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
            Err(_) if wanted.manner.quit.load(Relaxed) => break,
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
    if wanted.manner.quit.load(Relaxed) {
        return Err(Failure::unread("the test was ended"));
    }
    if let Some(path) = &wanted.manner.file
        && all.iter().all(Done::sent_nothing)
    {
        return Err(empty(path));
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
    let exit = report.exit(lost.as_ref());
    let cut = lost.is_some() || report.is_cut_short();
    let kept = keeping.keep(
        peer,
        &header,
        &report.json,
        Outcome::of(exit, cut),
        Vec::new,
    );
    if let (Some(note), false) = (kept, wanted.output.quiet) {
        sinks.text.line(&note);
    }
    let result = if wanted.output.json || wanted.output.json_stream {
        report.json.to_string()
    } else {
        report.closing().join("\n")
    };
    sinks.finish(&result)?;
    Ok(exit)
}
