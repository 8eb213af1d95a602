//! `caudal rtt`: round-trip times by message size, from flags to a plan to what is shown.

use crate::args::{Moment, OutputArgs, ProtocolArg, TargetArgs, moment};
use crate::exit::{Exit, Failure};
use crate::keeping::{Keeping, Outcome};
use crate::output::json::{self, Environment, Header};
use crate::output::round_trips::{self, Closing};
use crate::output::sink::{Sink, Sinks};
use crate::output::text;
use crate::peer::Peer;
use crate::traffic::why;
use caudal_core::echo::{SizeSummary, Summarise};
use caudal_core::framing::Framing;
use caudal_core::link::{link_mtu, link_rate, timestamps};
use caudal_core::plan::{
    EchoPlan, EchoSchedule, LARGEST_DATAGRAM, MOST_ECHO_VALUES, MOST_MESSAGES, MOST_SIZES, Plan,
    Transport,
};
use caudal_core::prediction::{Compared, far};
use caudal_core::units::{BitRate, ByteCount, format_duration, parse_duration};
use caudal_core::warning::Warning;
use caudal_engine::{CutShort, EchoManner, EchoRun, Event, RunError};
use caudal_predict::echo::EchoPath;
use caudal_predict::round_trips::{Facts, compare};
use caudal_sys::affinity;
use caudal_sys::signal::Interrupt;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Message sizes unless told otherwise: 2⁰ to 2¹⁶ bytes.
const LARGEST_DEFAULT: u32 = 65_536;
/// The size on a schedule unless told otherwise: enough for the times a message carries.
const SCHEDULED_DEFAULT: u32 = 64;
/// How long a reply may take over UDP unless told otherwise.
const UDP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a reply may take over TCP unless told otherwise: enough for a few retransmissions.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// Messages of each size unless told otherwise.
const COUNT: u64 = 1000;
/// No round trip through two kernels takes less.
const FASTEST: Duration = Duration::from_micros(4);
/// About what a message over the control connection holds that measures the idle path.
const PROBE_BYTES: u32 = 64;
/// Sizes told at most of those that took other times than predicted.
const MOST_FAILED: usize = 3;
/// Processor time given to others from which it is worth a warning.
const STOLEN: f64 = 0.02;

/// `caudal rtt`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("confidence", |confidence| confidence.default_value("0.98")),
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row per size and client, and one for all clients")),
    mut_arg("verbose", |verbose| verbose.help("Show each client by itself"))
)]
pub struct RttArgs {
    /// Where the server is.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The protocol
    #[arg(
        long,
        value_enum,
        value_name = "tcp|udp",
        default_value = "tcp",
        help_heading = "Test"
    )]
    pub proto: ProtocolArg,
    /// Connections at once, all at the same size at the same time
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub clients: u32,
    /// Messages of each size from each client, after a first one that counts apart
    /// [default: 1000; with --time as many as it has room for]
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub count: Option<u64>,
    /// End after this time, however many messages remain [default: when all are through]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// Begin to send at this moment: seconds since 1970, or from now on as +2s; at once when it is past
    #[arg(long, value_name = "TIME", value_parser = moment, help_heading = "Test")]
    pub at: Option<Moment>,
    /// Message sizes, as 1,64,1Ki or 1..64Ki for doubling ones [default: 1..64Ki; 64 with --every]
    #[arg(short = 'l', long, value_name = "SIZE,…", value_parser = sizes, help_heading = "Test", allow_hyphen_values = true)]
    pub sizes: Option<Sizes>,
    /// Count the first message of each size with the others
    #[arg(long, help_heading = "Test")]
    pub include_first: bool,
    /// Send on a schedule, a message every so often from each client, and measure from when it was due
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub every: Option<Duration>,
    /// Make the gaps of the schedule exponential instead of fixed
    #[arg(long, requires = "every", help_heading = "Test")]
    pub poisson: bool,
    /// What the random gaps grow from: the same number, the same gaps [default: another each time]
    #[arg(
        long,
        value_name = "N",
        requires = "poisson",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub seed: Option<u64>,
    /// How long a reply may take before it is lost (UDP) or the connection given up (TCP)
    /// [default: 1s over UDP, 10s over TCP]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub timeout: Option<Duration>,
    /// Leave Nagle's algorithm on
    #[arg(long, help_heading = "Test")]
    pub nagle: bool,
    /// The congestion control, such as cubic, reno or bbr
    #[arg(short = 'C', long, value_name = "NAME", help_heading = "Test")]
    pub congestion: Option<String>,
    /// Socket buffers to ask for, instead of the kernel's own choice
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub window: Option<ByteCount>,
    /// The DSCP to send with, 0 to 63
    #[arg(
        long,
        value_name = "N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Option<u8>,
    /// Pin the connections' threads of this end to processors, as 0,2, in turn
    #[arg(
        short = 'A',
        long,
        value_name = "CPU,…",
        value_delimiter = ',',
        help_heading = "Test"
    )]
    pub affinity: Vec<usize>,
    /// The rate of the link, to predict with, where the interface does not say it
    #[arg(
        long,
        value_name = "RATE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub link_rate: Option<BitRate>,
    /// Print the table MED, DVP, LOW, UPP (ms) with a column per size
    #[arg(long, conflicts_with_all = ["json", "json_stream", "csv"], help_heading = "Output")]
    pub table: bool,
    /// Write every sample to FILE as comma-separated values
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub raw: Option<PathBuf>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal rtt                                   this machine's own TCP, 17 sizes\n  \
    caudal rtt far.example --clients 2 --count 100 --table\n  \
    caudal rtt far.example --proto udp --every 10ms --sizes 64   loss and one-way delays\n  \
    caudal rtt far.example --csv --raw samples.csv -o rtt.csv";

/// Message sizes in the order they are measured, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(Vec<u32>);

impl Sizes {
    /// The sizes, bytes.
    #[must_use]
    pub fn list(&self) -> &[u32] {
        &self.0
    }
}

/// Reads sizes, and ranges of doubling sizes, separated by commas.
pub(crate) fn sizes(text: &str) -> Result<Sizes, String> {
    let one = |text: &str| -> Result<u32, String> {
        let bytes: ByteCount = text.trim().parse().map_err(|_| {
            format!(
                "{text:?} is not a size; give sizes such as 1,64,1Ki or a range such as 1..64Ki"
            )
        })?;
        u32::try_from(bytes.get())
            .ok()
            .filter(|size| *size > 0)
            .ok_or_else(|| {
                format!("the size {text} is out of range; it must lie between 1 and 16Mi")
            })
    };
    let mut sizes: Vec<u32> = Vec::new();
    for part in text.split(',') {
        let range: Vec<u32> = match part.split_once("..") {
            Some((low, high)) => {
                let (low, high) = (one(low)?, one(high.trim_start_matches('='))?);
                if low > high {
                    return Err(format!("the range {part} ends before it begins"));
                }
                std::iter::successors(Some(low), |size| size.checked_mul(2))
                    .take_while(|size| *size <= high)
                    .collect()
            }
            None => vec![one(part)?],
        };
        sizes.extend(range);
    }
    let mut seen = std::collections::BTreeSet::new();
    sizes.retain(|size| seen.insert(*size));
    if sizes.len() > MOST_SIZES {
        return Err(format!(
            "{} sizes are too many; at most {MOST_SIZES}",
            sizes.len()
        ));
    }
    Ok(Sizes(sizes))
}

/// Runs `caudal rtt`.
///
/// # Errors
/// When nothing could be measured.
pub fn rtt(args: &RttArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    let (plan, left_out) = plan(args)?;
    crate::traffic::check_link_rate(args.link_rate)?;
    let here = affinity::available_cpus();
    if let Some(cpu) = args.affinity.iter().find(|cpu| !here.contains(cpu)) {
        return Err(Failure::usage(
            format!("--affinity names processor {cpu}, which this program may not use"),
            format!("it may use {here:?}"),
        ));
    }
    let manner = EchoManner {
        affinity: args.affinity.clone(),
        seed: args.seed.unwrap_or_else(caudal_sys::clock::realtime_ns),
        at_ns: args.at.map(|at| at.0),
        time: args.time,
        kernel_stamps: args.time.is_none(),
    };
    if let Some(at) = args.at {
        at.approach(interrupt)?;
    }
    let mut sinks = Sinks::open(&args.output)?;
    let mut raw = args.raw.as_deref().map(Sink::file).transpose()?;
    let mut peer = Peer::connect(&args.target, interrupt)?;
    let header = Header::now();
    let keeping = Keeping::start(&args.output.store);
    if !args.output.quiet {
        sinks.text.line(&headline(&peer, &plan, args));
    }
    let (run, began_ns) = carry_out(&mut peer, &plan, &manner, args, &mut sinks)?;
    let sizes = run.record.summarise(Summarise {
        confidence: args.output.confidence,
        include_first: args.include_first,
    });
    let (predictions, unpredicted) = predictions(&peer, &run, &sizes, args.link_rate);
    let done = Done {
        warnings: doubts(&peer, &run, &sizes, &left_out),
        predictions,
        unpredicted,
        sizes,
        run,
        began_ns,
    };
    if let Some(raw) = &mut raw {
        raw.line(round_trips::RAW_COLUMNS);
        for series in round_trips::raw(&done.run.record) {
            raw.write(&series);
        }
    }
    let lines = done.lines(args);
    for line in &lines {
        sinks.text.line(line);
    }
    let document = (keeping.is_wanted() || args.output.json || args.output.json_stream)
        .then(|| done.to_json(args, &peer, &header, manner.seed));
    let result = done.data(args, document.as_ref(), &mut sinks);
    if let Some(document) = &document {
        let outcome = Outcome::of(done.exit(), done.run.cut_short.is_some());
        let samples = || round_trips::series(&done.run.record);
        let kept = keeping.keep(&peer, &header, document, outcome, samples);
        if let (Some(note), false) = (kept, args.output.quiet) {
            sinks.text.line(&note);
        }
    }
    sinks.finish(&result.unwrap_or_else(|| lines.join("\n")))?;
    if let Some(raw) = &mut raw {
        raw.finish()?;
    }
    Ok(done.exit())
}

/// The plan that the flags ask for, and the sizes left out because no datagram can have them.
fn plan(args: &RttArgs) -> Result<(EchoPlan, Vec<u32>), Failure> {
    let transport = match args.proto {
        ProtocolArg::Tcp => Transport::Tcp,
        ProtocolArg::Udp => Transport::Udp,
    };
    let schedule = match args.every {
        Some(period) => EchoSchedule::Every {
            period,
            poisson: args.poisson,
        },
        None => EchoSchedule::StopAndWait,
    };
    let asked = match (&args.sizes, args.every) {
        (Some(sizes), _) => sizes.0.clone(),
        (None, Some(_)) => vec![SCHEDULED_DEFAULT],
        (None, None) => (0..=LARGEST_DEFAULT.ilog2())
            .map(|power| 1 << power)
            .collect(),
    };
    let (sizes, left_out): (Vec<u32>, Vec<u32>) = asked
        .into_iter()
        .partition(|size| transport == Transport::Tcp || *size <= LARGEST_DATAGRAM);
    if sizes.is_empty() {
        return Err(Failure::usage(
            format!("no datagram can have more than {LARGEST_DATAGRAM} bytes"),
            "give smaller --sizes, or use --proto tcp",
        ));
    }
    if transport == Transport::Udp && (args.nagle || args.congestion.is_some()) {
        let flag = if args.nagle {
            "--nagle"
        } else {
            "--congestion"
        };
        return Err(Failure::usage(
            format!("{flag} is for TCP"),
            "leave it out, or use --proto tcp",
        ));
    }
    let timeout = args.timeout.unwrap_or(match transport {
        Transport::Tcp => TCP_TIMEOUT,
        Transport::Udp => UDP_TIMEOUT,
    });
    let count = count(args, sizes.len())?;
    let plan = EchoPlan {
        transport,
        clients: args.clients,
        sizes,
        count,
        schedule,
        timeout,
        no_delay: !args.nagle,
        congestion: args.congestion.clone(),
        dscp: args.dscp,
        window: args.window,
    };
    plan.check()
        .map_err(|error| Failure::usage(error.to_string(), "see --help"))?;
    Ok((plan, left_out))
}

/// How many messages of each size; with a time and no number as many as there can be in it.
fn count(args: &RttArgs, sizes: usize) -> Result<u64, Failure> {
    let Some(time) = args.time else {
        return Ok(args.count.unwrap_or(COUNT));
    };
    if time.is_zero() {
        return Err(Failure::usage("--time is 0", "it must be longer"));
    }
    if let Some(count) = args.count {
        return Ok(count);
    }
    if sizes > 1 {
        return Err(Failure::usage(
            format!("--time alone does not tell how it is shared by {sizes} sizes"),
            "give --count as well, or one size with --sizes",
        ));
    }
    let (each, values) = match args.every {
        Some(period) => (period, 6),
        None => (FASTEST, 1),
    };
    let fits = (time.as_nanos() / each.as_nanos().max(1)).max(1);
    let room = MOST_ECHO_VALUES / (u64::from(args.clients.max(1)) * values);
    Ok(u64::try_from(fits)
        .unwrap_or(u64::MAX)
        .min(room.saturating_sub(1))
        .clamp(1, MOST_MESSAGES))
}

const fn protocol(plan: &EchoPlan) -> &'static str {
    match plan.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

fn plural(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn headline(peer: &Peer, plan: &EchoPlan, args: &RttArgs) -> String {
    let number = match (args.time, args.count) {
        (Some(time), None) => format!("for {}, messages", format_duration(time)),
        (Some(time), Some(count)) => format!(
            "for up to {}, {}",
            format_duration(time),
            plural(count, "message")
        ),
        (None, _) => plural(plan.count, "message"),
    };
    let sizes = match plan.sizes.as_slice() {
        [size] => format!("{size} B"),
        sizes => format!("each of {} sizes", sizes.len()),
    };
    let manner = match plan.schedule {
        EchoSchedule::StopAndWait => "one after another".to_owned(),
        EchoSchedule::Every { period, poisson } => {
            let gaps = if poisson {
                " on average (exponential gaps)"
            } else {
                ""
            };
            format!("one every {}{gaps}", format_duration(period))
        }
    };
    text::fold(
        &format!(
            "{} round trips with {}: {}, {} of {sizes}, {manner}; times in µs",
            protocol(plan),
            peer.describe(),
            plural(u64::from(plan.clients), "client"),
            number,
        ),
        4,
    )
}

fn carry_out(
    peer: &mut Peer,
    plan: &EchoPlan,
    manner: &EchoManner,
    args: &RttArgs,
    sinks: &mut Sinks,
) -> Result<(EchoRun, Option<u64>), RunError> {
    let mut began_ns = None;
    let rewrites = sinks.text.is_terminal() && !args.output.quiet;
    let stream = args.output.json_stream;
    let all = plan.sizes.len() as u64 * u64::from(plan.clients);
    let mut series = 0;
    let outcome = peer.native()?.echo(plan, manner, &mut |event| match event {
        Event::Agreed { plan, changed } if stream => {
            sinks
                .data
                .line(&json!({"event": "agreed", "plan": plan, "changed": changed}).to_string());
        }
        Event::Started => {
            began_ns = Some(caudal_sys::clock::realtime_ns());
            if stream {
                sinks.data.line(&json!({"event": "started"}).to_string());
            }
        }
        Event::Echoed {
            client,
            size,
            messages,
            mean,
        } => {
            series += 1;
            if stream {
                let event = json!({
                    "event": "size",
                    "client": client,
                    "size_bytes": size,
                    "replies": messages,
                    "mean_us": mean.as_secs_f64() * 1e6,
                });
                sinks.data.line(&event.to_string());
            }
            if rewrites {
                let full = (series * 40 / all.max(1)) as usize;
                let bar = format!("{}{}", "#".repeat(full), ".".repeat(40 - full.min(40)));
                sinks
                    .text
                    .write(&format!("\r\x1b[K\x1b[2m{size:>8}  [{bar}]\x1b[0m"));
            }
        }
        _ => {}
    });
    if rewrites && series > 0 {
        sinks.text.write("\r\x1b[K");
    }
    Ok((outcome?, began_ns))
}

/// A run with its arithmetic done.
struct Done {
    run: EchoRun,
    /// When the first message left, ns since 1970.
    began_ns: Option<u64>,
    sizes: Vec<SizeSummary>,
    /// What larger messages should have taken, beside what they took.
    predictions: Vec<Compared>,
    /// Why nothing was predicted, where nothing was.
    unpredicted: Option<&'static str>,
    warnings: Vec<Warning>,
}

impl Done {
    fn connecting(&self) -> Vec<Duration> {
        self.run
            .connections
            .iter()
            .filter_map(|connection| connection.connecting)
            .collect()
    }

    fn period(&self) -> Option<Duration> {
        match self.run.plan.schedule {
            EchoSchedule::Every { period, .. } => Some(period),
            EchoSchedule::StopAndWait => None,
        }
    }

    /// What people read.
    fn lines(&self, args: &RttArgs) -> Vec<String> {
        let plan = &self.run.plan;
        let quiet = args.output.quiet;
        let mut lines = Vec::new();
        if args.table {
            lines.extend(round_trips::table(
                &self.sizes,
                protocol(plan),
                plan.clients,
                plan.count,
            ));
            lines.push(round_trips::legend(args.output.confidence));
        } else {
            if !quiet {
                lines.push(round_trips::header(args.output.confidence));
                for size in &self.sizes {
                    lines.extend(round_trips::rows(size, args.output.verbose));
                }
            }
            let closing = Closing {
                sizes: &self.sizes,
                connecting: &self.connecting(),
                unstamped: self.run.unstamped.as_deref(),
                period: self.period(),
            };
            lines.extend(closing.lines());
            lines.extend(self.predicted());
        }
        lines.extend(self.warnings.iter().map(text::warning));
        lines
    }

    /// What was predicted, in words: the largest message, and how many of all held.
    fn predicted(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(why) = self.unpredicted {
            lines.push(format!("predicted: nothing, because {why}"));
        }
        let largest = self
            .predictions
            .iter()
            .max_by(|a, b| a.prediction.value.total_cmp(&b.prediction.value));
        let Some(largest) = largest else { return lines };
        lines.push(format!(
            "predicted: {} {}",
            largest.prediction.title,
            largest.words()
        ));
        let mut failed: Vec<&Compared> = self.predictions.iter().filter(|one| !one.holds).collect();
        let all = self.predictions.len();
        if all > 1 {
            let tolerance = largest.prediction.tolerance.words();
            lines.push(if failed.is_empty() {
                format!("  all {all} sizes are within {tolerance} of theirs")
            } else {
                let off = |one: &Compared| one.difference.unwrap_or(0.0).abs();
                failed.sort_by(|a, b| off(b).total_cmp(&off(a)));
                let worst: Vec<String> = failed
                    .iter()
                    .take(MOST_FAILED)
                    .map(|one| {
                        format!(
                            "{}: {}",
                            one.prediction.title.trim_start_matches("round trip of "),
                            one.difference.map_or_else(String::new, far)
                        )
                    })
                    .collect();
                format!(
                    "  {} of {all} sizes are not within {tolerance} of theirs, the furthest {}",
                    failed.len(),
                    worst.join(", ")
                )
            });
        }
        lines.iter().map(|line| text::fold(line, 4)).collect()
    }

    /// What programs read, written where it belongs; `None` when text was asked for.
    fn data(&self, args: &RttArgs, run: Option<&Value>, sinks: &mut Sinks) -> Option<String> {
        if args.output.csv {
            let transport = protocol(&self.run.plan).to_lowercase();
            let connecting = self.connecting();
            let mut rows = vec![round_trips::COLUMNS.join(",")];
            for size in &self.sizes {
                rows.extend(round_trips::csv_rows(&transport, size, &connecting));
            }
            let text = rows.join("\n");
            sinks.data.line(&text);
            return Some(text);
        }
        if !args.output.json && !args.output.json_stream {
            return None;
        }
        let run = run?;
        let text = if args.output.json {
            serde_json::to_string_pretty(run).unwrap_or_default()
        } else {
            json!({"event": "finished", "run": run}).to_string()
        };
        sinks.data.line(&text);
        Some(text)
    }

    fn to_json(&self, args: &RttArgs, peer: &Peer, header: &Header, seed: u64) -> Value {
        let run = &self.run;
        let sum = |of: fn(&SizeSummary) -> u64| self.sizes.iter().map(of).sum::<u64>();
        let (sent, lost) = (sum(|size| size.pooled.sent), sum(|size| size.pooled.lost));
        let connections: Vec<Value> = run
            .connections
            .iter()
            .map(|connection| {
                json!({
                    "id": connection.client,
                    "direction": "up",
                    "connect_us": connection.connecting.map(|took| took.as_secs_f64() * 1e6),
                    "granted": without_nulls(json!(connection.granted)),
                    "server_granted":
                        connection.server.as_ref().map(|end| without_nulls(json!(end.granted))),
                    "failure": connection.failure,
                })
            })
            .map(without_nulls)
            .collect();
        let mut plan = json::plan(&Plan::Echo(run.plan.clone()), &peer.address().to_string());
        if let (Value::Object(map), EchoSchedule::Every { poisson: true, .. }) =
            (&mut plan, run.plan.schedule)
        {
            map.insert("seed".to_owned(), json!(seed));
        }
        let one = match self.sizes.as_slice() {
            [one] => Some(&one.pooled),
            _ => None,
        };
        let mut summary = json!({
            "rtt_us": one.and_then(|one| one.rtt_us),
            "mean_us": one.and_then(|one| one.mean_us),
            "sizes": self.sizes,
            "include_first": args.include_first,
            "messages": sent,
            "lost": lost,
            "loss": caudal_stats::wilson(lost, sent, args.output.confidence),
            "elapsed_s": run.took.as_secs_f64(),
            "idle_rtt_us": peer.idle_rtt_us(),
            "connect_us": peer.connect_us(),
            "kernel_stamps_missing": run.unstamped,
            "clock": run.record.clock.map(|clock| json!({
                "offset_before_us": clock.before.offset_ns as f64 / 1e3,
                "offset_after_us": clock.after.offset_ns as f64 / 1e3,
                "bound_us": clock.bound_ns() as f64 / 1e3,
                "drift_ppm": clock.drift_ppm(),
            })),
            "cpu": json::Cpu { client: &run.client_usage, server: run.server_usage.as_ref() },
            "cut_short": run.cut_short.as_ref().map(why),
        });
        prune(&mut summary);
        let mut value = json!({
            "plan": plan,
            "environment": Environment { client: peer.here(), server: peer.there() },
            "flows": connections,
            "summary": summary,
            "predictions": self.predictions,
            "warnings": self.warnings,
        });
        if let (Value::Object(map), Value::Object(common)) = (&mut value, json!(header)) {
            map.extend(common);
            map.extend(self.began_ns.map(json::began));
        }
        value
    }

    fn exit(&self) -> Exit {
        match &self.run.cut_short {
            Some(CutShort::Lost(_)) => Exit::Peer,
            Some(_) => Exit::Failed,
            None => Exit::Done,
        }
    }
}

/// What the messages should have taken by the link, or why that cannot be told.
fn predictions(
    peer: &Peer,
    run: &EchoRun,
    sizes: &[SizeSummary],
    given: Option<BitRate>,
) -> (Vec<Compared>, Option<&'static str>) {
    let (here, there) = (peer.here(), peer.there());
    let (rate, whence) = match link_rate(given, here, there, peer.is_loopback()) {
        Ok(known) => known,
        Err(why) => return (Vec::new(), Some(why.words())),
    };
    let framing = Framing {
        mtu: link_mtu(here, there),
        ip: peer.ip(),
        timestamps: timestamps(here),
        ..Framing::default()
    };
    let clients = match run.plan.schedule {
        EchoSchedule::StopAndWait => run.plan.clients,
        EchoSchedule::Every { .. } => 1,
    };
    let all = compare(&Facts {
        path: EchoPath {
            transport: run.plan.transport,
            rate,
            delay: Duration::ZERO,
            hosts: Duration::ZERO,
            framing,
            half_duplex: false,
        },
        whence,
        clients,
        idle: peer
            .idle_rtt_us()
            .and_then(|us| Some((Duration::try_from_secs_f64(us / 1e6).ok()?, PROBE_BYTES))),
        sizes,
    });
    (all, None)
}

fn without_nulls(mut value: Value) -> Value {
    prune(&mut value);
    value
}

/// Takes out what does not apply.
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, what| !what.is_null());
            map.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// What to doubt about a run.
fn doubts(peer: &Peer, run: &EchoRun, sizes: &[SizeSummary], left_out: &[u32]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut doubt = |code, message: String, remedy: &str| {
        warnings.push(Warning::new(code, message, remedy));
    };
    let listed = |sizes: &[u32]| {
        sizes
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    if let Some(cut) = &run.cut_short {
        doubt(
            "cut_short",
            format!("the test ended early: {}", why(cut)),
            "what is shown was measured until then",
        );
    }
    for connection in run.connections.iter().filter(|_| run.cut_short.is_none()) {
        if let Some(failure) = &connection.failure {
            doubt(
                "flow_failed",
                failure.clone(),
                "see whether a firewall cuts connections, and the server's log",
            );
        }
    }
    for change in &run.changed {
        doubt(
            "server_changed_plan",
            change.clone(),
            "ask for less, or the server's owner for more",
        );
    }
    if !left_out.is_empty() {
        doubt(
            "sizes_left_out",
            format!(
                "no datagram can have {} B; the largest has {LARGEST_DATAGRAM}",
                listed(left_out)
            ),
            "use --proto tcp for larger messages",
        );
    }
    let whole = peer
        .path_mtu()
        .map(|mtu| mtu.saturating_sub(peer.ip().header_bytes() as u32 + 8));
    if let (Transport::Udp, Some(whole)) = (run.plan.transport, whole) {
        let cut: Vec<u32> = run
            .plan
            .sizes
            .iter()
            .copied()
            .filter(|size| *size > whole)
            .collect();
        if !cut.is_empty() {
            doubt(
                "fragmented",
                format!(
                    "IP fragments datagrams of {} B: the path MTU has room for {whole} B",
                    listed(&cut)
                ),
                "one lost fragment loses the whole message; compare with sizes up to that",
            );
        }
    }
    if let EchoSchedule::Every { period, .. } = run.plan.schedule {
        let most_us = period.as_secs_f64() * 1e5;
        let late = sizes.iter().filter_map(|size| {
            let late = size.pooled.lateness_us?;
            Some((size.size_bytes, late.p99.unwrap_or(late.max)))
        });
        if let Some((size, late)) = late
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, late)| *late > most_us)
        {
            doubt(
                "schedule_late",
                format!(
                    "messages of {size} B left up to {} late (p99)",
                    text::time_us(late)
                ),
                "use a longer --every, fewer --clients, or a machine with less else to do",
            );
        }
    }
    let unsure: Vec<u32> = sizes
        .iter()
        .filter(|size| size.pooled.rtt_us.is_some_and(|rtt| !rtt.mean_trusted))
        .map(|size| size.size_bytes)
        .collect();
    if !unsure.is_empty() {
        doubt(
            "too_short",
            format!(
                "the round trips of {} B are too few or too correlated for the mean's interval to be leant on",
                listed(&unsure)
            ),
            "raise --count, and keep the machine to itself meanwhile",
        );
    }
    let cpus = f64::from(peer.here().cpus.max(1));
    let stolen = [Some(&run.client_usage), run.server_usage.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|usage| Some(usage.steal_ns? as f64 / (usage.wall_ns.max(1) as f64 * cpus)))
        .fold(0.0, f64::max);
    if stolen > STOLEN {
        doubt(
            "stolen_cpu",
            format!(
                "the hypervisor gave {:.1} % of the processor time to others",
                stolen * 100.0
            ),
            "repeat and compare, or measure on a quieter machine",
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RttArgs,
    }

    fn args(line: &str) -> RttArgs {
        Line::try_parse_from(std::iter::once("rtt").chain(line.split_whitespace()))
            .unwrap()
            .args
    }

    #[test]
    fn sizes_are_listed_or_doubled_and_each_counts_once() {
        let cases: [(&str, &[u32]); 5] = [
            ("1", &[1]),
            ("1,64,1Ki", &[1, 64, 1024]),
            ("1..16", &[1, 2, 4, 8, 16]),
            ("3..20,64,6", &[3, 6, 12, 64]),
            ("16Mi", &[16 << 20]),
        ];
        for (text, expected) in cases {
            assert_eq!(sizes(text).unwrap().0, expected, "{text}");
        }
        for bad in ["", "0", "x", "8..4", "1,,2", "0..4", "5Gi", "-1", "1.."] {
            assert!(sizes(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn without_flags_the_study_is_repeated() {
        let args = args("");
        assert_eq!(args.output.confidence, 0.98);
        let (plan, left_out) = plan(&args).unwrap();
        assert_eq!(
            (plan.transport, plan.clients, plan.count),
            (Transport::Tcp, 1, 1000)
        );
        assert_eq!(
            (plan.sizes.len(), plan.sizes[16], left_out.len()),
            (17, 65_536, 0)
        );
        assert!(plan.no_delay && !plan.is_scheduled());
    }

    #[test]
    fn sizes_no_datagram_can_have_are_left_out() {
        let (plan, left_out) = plan(&args("--proto udp")).unwrap();
        assert_eq!((plan.sizes.len(), left_out), (16, vec![65_536]));
        assert!(super::plan(&args("--proto udp --sizes 64Ki")).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_bad_usage() {
        for line in [
            "--count 0",
            "--clients 2000",
            "--proto udp --nagle",
            "--count 100000000",
            "--every 1us",
            "--proto udp --every 1ms --sizes 1",
        ] {
            let failure = plan(&args(line)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}");
        }
        for line in ["--poisson", "--table --json", "--json --csv", "--seed 3"] {
            assert!(
                Line::try_parse_from(std::iter::once("rtt").chain(line.split(' '))).is_err(),
                "{line}"
            );
        }
    }
}
