//! A path as it is probed: from its request to its run.

use super::ends::{EndsRequest, EndsRun, measure, own_duplex};
use super::flows::{self, FlowsRequest};
use super::idle_peer::IdlePeer;
use super::names::{LiveNames, names};
use super::observer::RoundObserver;
use crate::bulk_recorder::seconds_to_the_microsecond;
use crate::control::MeasureControl;
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::test_peer::TestPeer;
use caudal_core::event::{Agreement, Event};
use caudal_core::marks::Ecn;
use caudal_core::path::{MarkTrace, PathHop, PathReport, PathResult, ProbeMarks};
use caudal_core::plan::{PathPlanRecord, Plan, PlanRecord, PlannedTrains, TrainsPlan, Transport};
use caudal_core::quality::QualityReport;
use caudal_core::run::{Environment, Run, RunResult};
use caudal_core::text::ExternalText;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::RunError;
use caudal_probe::mark_probe::MarkProbing;
use caudal_probe::prober::{
    PROBE_PORT, PathSettings, ProbeError, ProbedPath, UdpChannel, probe_path,
};
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use std::net::IpAddr;

/// A path that is to be measured.
#[derive(Debug, Clone)]
pub struct PathRequest {
    /// The host as it was named.
    pub host: String,
    /// The index of the interface of a link-local address; 0 for any other.
    pub scope: u32,
    /// The interface by which probes leave.
    pub interface: String,
    /// The local address to send from.
    pub bind: Option<IpAddr>,
    /// What is probed from this end, to which address.
    pub probing: PathSettings,
    /// `true` to look up the names of hops.
    pub names: bool,
    /// The flows to try; `None` for none.
    pub flows: Option<FlowsRequest>,
    /// The DSCP of the probes that show what becomes of marks; `None` for none.
    pub marks: Option<u8>,
    /// What both ends are to measure; `None` for nothing.
    pub ends: Option<EndsRequest>,
}

/// Maximum TTL of probes that show what becomes of marks.
const MAX_MARK_TTL: usize = 64;
/// What cannot be done without privileges.
const NO_QUOTES: &str = "reading what ICMP quotes, which takes CAP_NET_RAW (root; the kernel gives programs without it no quoted header),";

/// The marks that are tried: a DSCP with ECT(0), and the default one with ECT(1), which L4S uses.
fn marks_to_try(dscp: u8) -> Vec<ProbeMarks> {
    let of = |dscp, ecn| ProbeMarks { dscp, ecn };
    vec![of(dscp, Ecn::Ect0), of(0, Ecn::Ect1)]
}

/// What became of a measurement between both ends.
#[derive(Debug, Default)]
struct BothEnds {
    environment: Option<Environment>,
    /// Latency under load.
    quality: Option<Box<QualityReport>>,
    /// How it ended where it did not complete.
    ending: Option<RunEnding>,
}

impl PathRequest {
    /// Connects to the other end where nothing is to be measured without it: a server that is not there is told before a minute has
    /// passed.
    ///
    /// # Errors
    /// When no server of caudal answers there, or one of a version that sends no trains.
    pub fn prepare(&self, interrupt: &'static Interrupt) -> Result<Option<TestPeer>, MeasureError> {
        let required = self.ends.as_ref().filter(|ends| ends.is_required);
        required.map(|ends| connect(ends, interrupt)).transpose()
    }

    /// Probes the path, and measures with the other end where that is asked for.
    ///
    /// # Errors
    /// When nothing could be probed.
    pub fn measure(
        &self,
        peer: Option<TestPeer>,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let plan = self.plan();
        control.observer.event(&Event::Agreed(Agreement {
            repeat: None,
            plan: plan.clone(),
            changed: Vec::new(),
        }));
        let began_ns = realtime_ns();
        let mut peer = IdlePeer::new(peer);
        let probed = self.probe(&mut peer, control);
        if control.observer.is_unread() {
            return Err(MeasureError::Unread);
        }
        let mut probed = match probed {
            Ok(probed) => probed,
            Err(error) => {
                control.observer.abandoned();
                return Err(error);
            }
        };
        let is_whole = probed.report.cut_short.is_none();
        if let Some(request) = self.flows.as_ref().filter(|_| is_whole) {
            let report = &mut probed.report;
            report.flows = flows::flows(request, self.bind, report, &mut peer, control.interrupt)?;
            let warnings = flows::warnings(&report.flows);
            probed.warnings.extend(warnings);
        }
        if let Some(dscp) = self.marks.filter(|_| is_whole) {
            let probing = MarkProbing {
                host: self.probing.target,
                local: self.bind,
                max_ttl: probed.report.hops.len().clamp(1, MAX_MARK_TTL) as u8,
                marks: marks_to_try(dscp),
            };
            let interrupt = control.interrupt;
            let found = probing.carry_out(|| {
                peer.keep_alive();
                interrupt.count() > 0
            });
            let found = found.map_err(|cause| RunError::local(NO_QUOTES, cause))?;
            let warnings = found.iter().flat_map(MarkTrace::warnings);
            probed.warnings.extend(warnings);
            probed.report.marks = found;
        }
        let ends = match self.ends.as_ref().filter(|_| is_whole) {
            Some(request) => both_ends(request, peer.into_connected(), &mut probed, control),
            None => BothEnds::default(),
        };
        if control.observer.is_unread() {
            return Err(MeasureError::Unread);
        }
        let ending = ends.ending.unwrap_or_else(|| ending(&probed.report));
        let run = Run {
            began_s: Some(seconds_to_the_microsecond(began_ns)),
            environment: ends.environment,
            result: Some(RunResult::Path(Box::new(PathResult {
                report: probed.report,
                under_load: ends.quality,
            }))),
            warnings: probed.warnings,
            ..Run::new(control.started.header.clone(), plan)
        };
        Ok(MeasuredRun {
            run,
            ending,
            peer: self.probing.target,
            arrivals: Vec::new(),
        })
    }

    fn plan(&self) -> PlanRecord {
        PlanRecord::Path(PathPlanRecord {
            peer: Some(self.probing.target.to_string().into()),
            transport: Some(Transport::Udp),
            max_ttl: Some(self.probing.max_ttl),
            ..PathPlanRecord::default()
        })
    }

    /// Probes the path from this end.
    fn probe(
        &self,
        peer: &mut IdlePeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<ProbedPath, MeasureError> {
        let settings = &self.probing;
        let target = settings.target;
        let primers = (settings.primers, settings.local_mtu);
        let channel = UdpChannel::open((target, self.scope), self.bind, primers);
        let mut channel = channel.map_err(|cause| MeasureError::ProbeSocket { target, cause })?;
        let mut observer = RoundObserver {
            observer: &mut *control.observer,
            peer,
            interrupt: control.interrupt,
            names: LiveNames::new(self.names),
        };
        let probed = probe_path(&mut channel, settings, &mut observer);
        let probed = probed.map_err(|error| self.probe_error(error))?;
        Ok(self.completed(probed, channel.has_icmp_primers()))
    }

    fn probe_error(&self, error: ProbeError) -> MeasureError {
        let target = self.probing.target;
        match error {
            ProbeError::NoRoute(cause) => MeasureError::NoRouteToProbe {
                target,
                interface: self.interface.clone(),
                cause,
            },
            ProbeError::Channel(cause) => MeasureError::ProbeChannel { target, cause },
        }
    }

    /// The result with what only this machine knows: names, and what it did without.
    fn completed(&self, mut probed: ProbedPath, has_icmp_primers: bool) -> ProbedPath {
        let report = &mut probed.report;
        report.target.host = ExternalText::from(&self.host);
        report.target.port = PROBE_PORT;
        report.means.icmp_primers = has_icmp_primers;
        report.means.without = without(report);
        if self.names {
            let known = names(report.hops.iter().filter_map(|hop| hop.address));
            for hop in &mut report.hops {
                let name = hop.address.and_then(|address| known.get(&address));
                hop.name = name.map(ExternalText::from);
            }
        }
        probed
    }
}

/// Connects to the server at the address that is probed.
fn connect(ends: &EndsRequest, interrupt: &'static Interrupt) -> Result<TestPeer, MeasureError> {
    let peer = TestPeer::connect(&ends.server, interrupt)?;
    peer.check_support(&Plan::Trains(TrainsPlan {
        series: PlannedTrains {
            up: None,
            down: None,
        },
        dscp: None,
    }))?;
    Ok(peer)
}

/// Measures between both ends and adds what was found to the path.
fn both_ends(
    request: &EndsRequest,
    peer: Option<TestPeer>,
    probed: &mut ProbedPath,
    control: &mut MeasureControl<'_>,
) -> BothEnds {
    let peer = peer.map_or_else(|| connect(request, control.interrupt), Ok);
    let mut peer = match peer {
        Ok(peer) => peer,
        Err(error) => {
            if request.tells_own_duplex {
                probed.report.duplex = Some(own_duplex(&probed.report));
            }
            let message = format!("the other end took no part: {error}");
            let warning = Warning::new(WarningCode::CutShort, message);
            probed.warnings.push(warning);
            return BothEnds {
                ending: Some(RunEnding::PeerAbsent(error)),
                ..BothEnds::default()
            };
        }
    };
    let run = EndsRun::new(&mut peer, &probed.report, control, request);
    let measured = measure(run, request);
    if let Some(why) = &measured.found.cut_short {
        let message = format!("between both ends: {why}");
        probed
            .warnings
            .push(Warning::new(WarningCode::CutShort, message));
    }
    let is_cut_short = measured.found.cut_short.is_some();
    let ending = match measured.failure {
        Some(RunError::Interrupted) | None => RunEnding::CutShort,
        Some(error) => RunEnding::PartFailed(error.into()),
    };
    probed.report.between_ends = Some(Box::new(measured.found));
    probed.report.duplex = measured.duplex;
    probed.warnings.extend(measured.warnings);
    BothEnds {
        environment: Some(peer.info().environment()),
        quality: measured.quality,
        ending: is_cut_short.then_some(ending),
    }
}

/// How probing from this end alone ended.
fn ending(report: &PathReport) -> RunEnding {
    let answers = |hop: &PathHop| hop.address.is_some();
    if report.cut_short.is_some() {
        RunEnding::CutShort
    } else if report.refusal.is_some() || report.routing_loop.is_some() {
        RunEnding::Unanswered
    } else if report.hops.iter().any(answers) {
        RunEnding::Complete
    } else {
        RunEnding::Unanswered
    }
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
