//! A path as it is probed, and the result.

use super::args::NetworkPathArgs;
use super::ends::{EndsRequest, EndsRun, ThroughputRequest, connect, measure, own_duplex};
use super::names::names;
use super::observer::ViewObserver;
use super::target::{ResolvedTarget, resolve};
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::views::Views;
use crate::recording::{CommandRecording, run_outcome};
use caudal_core::event::{Agreement, Event, View};
use caudal_core::path::{PathHop, PathReport};
use caudal_core::plan::{PlanKind, PlanRecord, Transport};
use caudal_core::quality::QualityReport;
use caudal_core::run::{Environment, Run};
use caudal_core::text::ExternalText;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::RunError;
use caudal_engine::record::seconds_to_the_microsecond;
use caudal_probe::prober::{
    PROBE_PORT, PathSettings, ProbeError, ProbedPath, UdpChannel, probe_path,
};
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;

/// The largest probe, bytes: what is beyond it on loopback-like devices is no link's frame.
const MAX_PROBE: u32 = 9_216;

/// Runs `caudal path`.
///
/// # Errors
/// When nothing could be probed.
pub fn path(args: &NetworkPathArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let target = resolve(args)?;
    if args.needs_peer() {
        // A server that is not there is told before a minute has passed.
        connect(args, &target, interrupt)?;
    }
    if let Some(at) = args.at {
        at.wait(interrupt)?;
    }
    let mut views = Views::open(&args.output, false)?;
    let started = started_run();
    let recording = CommandRecording::start(&args.output.store);
    let plan = plan(args, &target);
    views.event(&Event::Agreed(Agreement {
        repeat: None,
        plan: plan.clone(),
        changed: Vec::new(),
    }));
    let began_ns = realtime_ns();
    let probed = probe(args, &target, &mut views, interrupt);
    if views.is_unread() {
        return Err(Failure::unread());
    }
    let mut probed = match probed {
        Ok(probed) => probed,
        Err(failure) => {
            views.abandon();
            return Err(failure);
        }
    };
    let ends = if args.measures_both_ends() && probed.report.cut_short.is_none() {
        both_ends(args, &target, &mut probed, &mut views, interrupt)
    } else {
        BothEnds::default()
    };
    if views.is_unread() {
        return Err(Failure::unread());
    }
    let exit = ends.exit.unwrap_or_else(|| exit(&probed.report));
    let run = Run {
        began_s: Some(seconds_to_the_microsecond(began_ns)),
        environment: ends.environment,
        path: Some(Box::new(probed.report)),
        quality: ends.quality,
        warnings: probed.warnings,
        ..Run::new(started.header.clone(), plan)
    };
    let outcome = run_outcome(exit, exit == Exit::Failed);
    let finished = Event::Finished { run: Box::new(run) };
    views.event(&finished);
    if let Event::Finished { run } = &finished
        && let Some(note) = recording.record(target.address, &started, run, outcome, Vec::new)
    {
        views.note(&note);
    }
    views.finish()?;
    Ok(exit)
}

/// Probes the path from this end.
fn probe(
    args: &NetworkPathArgs,
    target: &ResolvedTarget,
    views: &mut Views,
    interrupt: &'static Interrupt,
) -> Result<ProbedPath, Failure> {
    let settings = settings(args, target);
    let primers = (args.primers, settings.local_mtu);
    let channel = UdpChannel::open(target.address, args.bind, primers);
    let mut channel = channel.map_err(|cause| no_socket(target, &cause))?;
    let mut observer = ViewObserver { views, interrupt };
    let probed = probe_path(&mut channel, &settings, &mut observer)
        .map_err(|error| failure(target, &error))?;
    Ok(completed(probed, args, channel.has_icmp_primers()))
}

/// What both ends are asked for.
fn request(args: &NetworkPathArgs) -> EndsRequest {
    EndsRequest {
        rough: args.is_duplex_only(),
        available: !args.no_available && !args.is_duplex_only(),
        duplex: !args.no_duplex,
        throughput: args.rfc6349.then(|| ThroughputRequest {
            run: args.run_time,
            flows: args.parallel,
            congestion: args.congestion.clone(),
        }),
        confidence: args.output.confidence,
        seed: realtime_ns(),
    }
}

/// What became of a measurement between both ends.
#[derive(Debug, Default)]
struct BothEnds {
    environment: Option<Environment>,
    /// Latency under load.
    quality: Option<Box<QualityReport>>,
    /// The exit code where it did not complete.
    exit: Option<Exit>,
}

/// Measures between both ends and adds what was found to the path.
fn both_ends(
    args: &NetworkPathArgs,
    target: &ResolvedTarget,
    probed: &mut ProbedPath,
    views: &mut Views,
    interrupt: &'static Interrupt,
) -> BothEnds {
    let mut peer = match connect(args, target, interrupt) {
        Ok(peer) => peer,
        Err(failure) => {
            if args.duplex {
                probed.report.duplex = Some(own_duplex(&probed.report));
            }
            let message = format!("the other end took no part: {}", failure.message);
            let warning = Warning::new(WarningCode::CutShort, message);
            probed.warnings.push(warning.with_remedy(failure.advice));
            return BothEnds {
                exit: Some(failure.exit),
                ..BothEnds::default()
            };
        }
    };
    let request = request(args);
    let run = EndsRun::new(&mut peer, views, &probed.report, interrupt, &request);
    let measured = measure(run, &request);
    if let Some(why) = &measured.found.cut_short {
        let message = format!("between both ends: {why}");
        probed
            .warnings
            .push(Warning::new(WarningCode::CutShort, message));
    }
    let is_cut_short = measured.found.cut_short.is_some();
    let failed = match measured.failure {
        Some(RunError::Interrupted) | None => Exit::Failed,
        Some(error) => Failure::from(error).exit,
    };
    probed.report.between_ends = Some(Box::new(measured.found));
    probed.report.duplex = measured.duplex;
    probed.warnings.extend(measured.warnings);
    BothEnds {
        environment: Some(peer.info().environment()),
        quality: measured.quality,
        exit: is_cut_short.then_some(failed),
    }
}

fn settings(args: &NetworkPathArgs, target: &ResolvedTarget) -> PathSettings {
    // The seed decides on the order of probes only.
    let seed = realtime_ns();
    PathSettings {
        max_ttl: args.max_ttl,
        time: args.time,
        accuracy: args.accuracy,
        confidence: args.output.confidence,
        routes: !args.no_routes && !args.is_duplex_only(),
        mtu: !args.no_mtu,
        capacity: !args.no_capacity && !args.is_duplex_only(),
        primers: args.primers,
        ..PathSettings::new(target.address, target.mtu.min(MAX_PROBE), seed)
    }
}

fn plan(args: &NetworkPathArgs, target: &ResolvedTarget) -> PlanRecord {
    PlanRecord {
        kind: Some(PlanKind::Path),
        peer: Some(target.address.to_string().into()),
        transport: Some(Transport::Udp),
        max_ttl: Some(args.max_ttl),
        ..PlanRecord::default()
    }
}

/// The result with what only this machine knows: names, and what it did without.
fn completed(mut probed: ProbedPath, args: &NetworkPathArgs, has_icmp_primers: bool) -> ProbedPath {
    let report = &mut probed.report;
    report.target.host = ExternalText::from(&args.host.host);
    report.target.port = PROBE_PORT;
    report.means.icmp_primers = has_icmp_primers;
    report.means.without = without(report);
    if !args.numeric {
        let known = names(report.hops.iter().filter_map(|hop| hop.address));
        for hop in &mut report.hops {
            let name = hop.address.and_then(|address| known.get(&address));
            hop.name = name.map(ExternalText::from);
        }
    }
    probed
}

/// What was done without, each with what would provide it.
fn without(report: &PathReport) -> Vec<ExternalText> {
    let mut without: Vec<ExternalText> = Vec::new();
    if !report.means.icmp_primers {
        let text = "CAP_NET_RAW: with it primers are ICMP echo replies, which no host answers, and shaped links behind the \
                    host's limit on its answers are measured sooner";
        without.push(text.into());
    }
    if !report.means.kernel_timestamps && report.cost.answers > 0 {
        let text = "timestamps of departures: this driver gives none, so round-trip times contain the time in this machine's \
                    own queue";
        without.push(text.into());
    }
    without
}

fn exit(report: &PathReport) -> Exit {
    let answers = |hop: &PathHop| hop.address.is_some();
    if report.cut_short.is_some() {
        Exit::Failed
    } else if report.hops.iter().any(answers) {
        Exit::Done
    } else {
        Exit::Peer
    }
}

fn no_socket(target: &ResolvedTarget, cause: &std::io::Error) -> Failure {
    let exit = match cause.kind() {
        std::io::ErrorKind::PermissionDenied => Exit::NotPermitted,
        std::io::ErrorKind::AddrNotAvailable => Exit::Usage,
        _ => Exit::Peer,
    };
    Failure::new(
        exit,
        format!("cannot probe {}: {cause}", target.address),
        "see `ip route get`, and give --bind an address of this machine",
    )
}

fn failure(target: &ResolvedTarget, error: &ProbeError) -> Failure {
    match error {
        ProbeError::NoRoute(cause) => Failure::new(
            Exit::Peer,
            format!(
                "there is no route to {} by {}: {cause}",
                target.address, target.route.interface
            ),
            "see `ip route get`",
        ),
        ProbeError::Channel(cause) => {
            let exit = match cause.kind() {
                std::io::ErrorKind::PermissionDenied => Exit::NotPermitted,
                _ => Exit::Failed,
            };
            Failure::new(
                exit,
                format!("cannot probe {}: {cause}", target.address),
                "see whether a firewall of this machine refuses UDP",
            )
        }
    }
}
