//! Several tests of one host: from the request to the run.

use super::families::families;
use super::parts::{self, PartTimes};
use crate::bulk_recorder::seconds_to_the_microsecond;
use crate::control::{MeasureControl, SilentObserver};
use crate::error::MeasureError;
use crate::file::RunPart;
use crate::measured::{MeasuredRun, RunEnding};
use crate::observation::ObservationRequest;
use crate::path::PathRequest;
use crate::test_peer::{PeerRequest, ServerChoice, TestPeer};
use caudal_analysis::check::{CheckedRuns, assess};
use caudal_core::check::{CheckPart, CheckReport, PartNotMeasured};
use caudal_core::plan::{CheckPlanRecord, Directions, PlanRecord};
use caudal_core::run::{Run, RunOutcome, RunResult};
use caudal_core::text::ExternalText;
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::{RunError, StartedRun, Target};
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The parts that move as many bytes as the network carries.
const LOADING_PARTS: u64 = 4;

/// Several tests of one host that are asked for.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// The host as people name it.
    pub host: String,
    /// The server.
    pub server: ServerChoice,
    /// The server whose address families are compared; `None` where one was asked for.
    pub families: Option<Target>,
    /// The probing of the path.
    pub path: ProbedPathRequest,
    /// `true` for 15 s instead of a minute.
    pub quick: bool,
    /// The flows of the tests with several.
    pub parallel: u32,
    /// The bytes that all tests together may move.
    pub max_bytes: Option<ByteCount>,
    /// The confidence of intervals.
    pub confidence: f64,
}

/// The probing of the path, or why it is left out.
#[derive(Debug, Clone)]
pub enum ProbedPathRequest {
    /// It is probed so.
    Probed(Box<PathRequest>),
    /// It cannot be, for this reason.
    Impossible(String),
}

/// Who is told what happens.
pub trait CheckObserver {
    /// Takes the beginning of a test, with its duration where that is known.
    fn part_begins(&mut self, part: CheckPart, time: Option<Duration>);

    /// Takes the end of a test, with what all tests so far say together.
    fn part_ended(&mut self, part: CheckPart, report: &CheckReport);

    /// `true` when nobody reads the result any more.
    fn is_unread(&self) -> bool {
        false
    }
}

/// Several tests that were carried out.
#[derive(Debug)]
pub struct MeasuredCheck {
    /// Their common document.
    pub measured: MeasuredRun,
    /// Their own runs.
    pub parts: Vec<RunPart>,
}

/// The tests while they are carried out.
struct CheckProgress<'a> {
    request: &'a CheckRequest,
    started: &'a StartedRun,
    observer: &'a mut dyn CheckObserver,
    interrupt: &'static Interrupt,
    times: PartTimes,
    checked: CheckedRuns,
    parts: Vec<RunPart>,
    /// The server, with its protocol once that is known: to recognise one takes seconds.
    server: ServerChoice,
    peer: Option<IpAddr>,
    /// Why no further connection to the server is tried.
    no_server: Option<ExternalText>,
    /// The first error of the server, which is that of the check where nothing was measured.
    first_error: Option<MeasureError>,
}

impl CheckRequest {
    /// Carries the tests out, one after another.
    ///
    /// # Errors
    /// When nothing could be measured, or nobody reads the result any more.
    pub fn measure(
        &self,
        started: &StartedRun,
        observer: &mut dyn CheckObserver,
        interrupt: &'static Interrupt,
    ) -> Result<MeasuredCheck, MeasureError> {
        let began_ns = realtime_ns();
        let mut progress = CheckProgress {
            request: self,
            started,
            observer,
            interrupt,
            times: PartTimes::new(self.quick),
            checked: CheckedRuns {
                several: self.parallel,
                ..CheckedRuns::default()
            },
            parts: Vec::new(),
            server: self.server.clone(),
            peer: None,
            no_server: None,
            first_error: None,
        };
        for part in self.order() {
            if progress.observer.is_unread() {
                return Err(MeasureError::Unread);
            }
            if interrupt.count() > 0 {
                progress.checked.cut_short = Some("interrupted".into());
                break;
            }
            progress.carry_out(part);
        }
        progress.finish(self, began_ns)
    }

    /// The tests in their order: what nothing else disturbs first.
    fn order(&self) -> Vec<CheckPart> {
        let mut order = Vec::new();
        if self.families.is_some() {
            order.push(CheckPart::Families);
        }
        order.push(CheckPart::RoundTrips);
        if !self.quick {
            order.push(CheckPart::Path);
        }
        order.extend([
            CheckPart::Download,
            CheckPart::Upload,
            CheckPart::DownloadSeveral,
            CheckPart::UploadSeveral,
            CheckPart::UdpDownload,
            CheckPart::UdpUpload,
            CheckPart::UnderLoad,
        ]);
        order
    }

    /// The rate that the budget of bytes leaves to each test of TCP.
    fn rate(&self, time: Duration) -> Option<BitRate> {
        let share = self.max_bytes?.get() / LOADING_PARTS;
        let bps = share as f64 * 8.0 / time.as_secs_f64();
        Some(BitRate::from_bps((bps as u64).max(1000)))
    }
}

impl CheckProgress<'_> {
    fn carry_out(&mut self, part: CheckPart) {
        if part == CheckPart::UnderLoad && self.request.max_bytes.is_some() {
            self.checked.left_out.push(part);
            self.not_measured(part, "it loads the network without a limit of bytes".into());
            return;
        }
        self.observer.part_begins(part, self.times.of(part));
        match part {
            CheckPart::Families => {
                let target = self.request.families.as_ref();
                self.checked.families = target.map_or_else(Vec::new, families);
            }
            CheckPart::Path => self.path(),
            _ => self.with_server(part),
        }
        let report = assess(&self.checked);
        self.observer.part_ended(part, &report);
    }

    fn not_measured(&mut self, part: CheckPart, reason: ExternalText) {
        let missing = PartNotMeasured { part, reason };
        self.checked.not_measured.push(missing);
    }

    /// The identity of the run of a test; `words` are the command that repeats it.
    fn started(&self, words: &str) -> StartedRun {
        let tool = self.started.header.tool.clone();
        StartedRun::now(tool, words.replacen("HOST", &self.request.host, 1))
    }

    fn path(&mut self) {
        let request = match &self.request.path {
            ProbedPathRequest::Probed(request) => request,
            ProbedPathRequest::Impossible(reason) => {
                return self.not_measured(CheckPart::Path, reason.clone().into());
            }
        };
        let started = self.started("path HOST --no-capacity --no-routes");
        let mut observer = SilentObserver;
        let mut control = MeasureControl {
            started: &started,
            observer: &mut observer,
            interrupt: self.interrupt,
        };
        let measured = request.measure(None, &mut control);
        self.record(CheckPart::Path, started, measured);
    }

    /// Carries out a test with the server.
    fn with_server(&mut self, part: CheckPart) {
        if let Some(reason) = &self.no_server {
            return self.not_measured(part, reason.clone());
        }
        let request = PeerRequest {
            server: self.server.clone(),
            observation: ObservationRequest::default(),
        };
        let mut peer = match TestPeer::connect(&request, self.interrupt) {
            Ok(peer) => peer,
            Err(error) => {
                let reason: ExternalText = error.to_string().into();
                self.no_server = Some(reason.clone());
                self.first_error.get_or_insert(error);
                return self.not_measured(part, reason);
            }
        };
        self.peer = Some(peer.info().address.ip());
        if let ServerChoice::Recognised(target) = &self.server {
            self.server = ServerChoice::Speaking(peer.info().protocol, target.clone());
        }
        let (words, several) = (command(part), self.request.parallel);
        let started = self.started(&words.replace("SEVERAL", &several.to_string()));
        let mut observer = SilentObserver;
        let mut control = MeasureControl {
            started: &started,
            observer: &mut observer,
            interrupt: self.interrupt,
        };
        let (times, confidence) = (self.times, self.request.confidence);
        let measured = match part {
            CheckPart::RoundTrips => {
                let mut request = parts::round_trips(times.echo, confidence);
                request
                    .prepare(&mut peer)
                    .and_then(|()| request.measure(&mut peer, &mut control))
                    .map(|measured| measured.measured)
            }
            CheckPart::UnderLoad => {
                let request = parts::under_load(times, confidence);
                request
                    .prepare(&mut peer)
                    .and_then(|phases| request.measure(&phases, &mut peer, &mut control))
            }
            _ => {
                let mut request = self.bulk(part);
                request
                    .prepare(&mut peer)
                    .and_then(|()| request.measure(&mut peer, &mut control))
            }
        };
        drop(peer);
        self.record(part, started, measured);
    }

    /// The transfer of a test.
    fn bulk(&self, part: CheckPart) -> crate::throughput::ThroughputRequest {
        let (times, confidence) = (self.times, self.request.confidence);
        let directions = match part {
            CheckPart::Upload | CheckPart::UploadSeveral | CheckPart::UdpUpload => Directions::Up,
            _ => Directions::Down,
        };
        match part {
            CheckPart::UdpDownload | CheckPart::UdpUpload => {
                let of_tcp = match directions {
                    Directions::Up => CheckPart::Upload,
                    _ => CheckPart::Download,
                };
                let run = self.checked.run(of_tcp);
                let goodput = run.and_then(|run| run.directions().first()?.goodput_mean());
                parts::udp(directions, times.udp, goodput, confidence)
            }
            CheckPart::DownloadSeveral | CheckPart::UploadSeveral => {
                let rate = self.request.rate(times.tcp);
                parts::tcp(
                    directions,
                    self.request.parallel,
                    times.tcp,
                    rate,
                    confidence,
                )
            }
            _ => parts::tcp(
                directions,
                1,
                times.tcp,
                self.request.rate(times.tcp),
                confidence,
            ),
        }
    }

    /// Keeps what became of a test.
    fn record(
        &mut self,
        part: CheckPart,
        started: StartedRun,
        measured: Result<MeasuredRun, MeasureError>,
    ) {
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => {
                let reason = error.to_string().into();
                self.first_error.get_or_insert(error);
                return self.not_measured(part, reason);
            }
        };
        let outcome = match &measured.ending {
            RunEnding::Complete | RunEnding::CaptureCutShort => RunOutcome::Done,
            RunEnding::Failed | RunEnding::Unanswered => RunOutcome::Failed,
            _ => RunOutcome::CutShort,
        };
        let has_result = match part {
            CheckPart::RoundTrips => measured.run.round_trips().is_some(),
            CheckPart::UnderLoad => measured.run.quality().is_some(),
            CheckPart::Path => measured
                .run
                .path()
                .is_some_and(|path| path.host().is_some()),
            _ => {
                let mut directions = measured.run.directions().iter();
                directions.any(|direction| direction.goodput_bps.is_some())
            }
        };
        if !has_result {
            self.not_measured(part, no_result(&measured).into());
        }
        self.peer.get_or_insert(measured.peer);
        self.parts.push(RunPart {
            started,
            run: measured.run.clone(),
            outcome,
        });
        self.checked.runs.push((part, measured.run));
    }

    /// The run of all tests.
    fn finish(self, request: &CheckRequest, began_ns: u64) -> Result<MeasuredCheck, MeasureError> {
        let is_empty = self.checked.runs.is_empty();
        if is_empty && self.checked.cut_short.is_some() {
            return Err(RunError::Interrupted.into());
        }
        let peer = match (self.peer, self.first_error) {
            (None, Some(error)) => return Err(error),
            (Some(_), Some(error)) if is_empty => return Err(error),
            (peer, _) => peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
        };
        let mut report = assess(&self.checked);
        let ids = self.parts.iter().map(|part| part.started.header.id.clone());
        report.runs = ids.collect();
        let ending = match &report.cut_short {
            Some(_) => RunEnding::CutShort,
            None => RunEnding::Complete,
        };
        let plan = PlanRecord::Check(CheckPlanRecord {
            peer: Some(request.host.clone().into()),
            quick: Some(request.quick),
            parallel: Some(request.parallel),
            max_bytes: request.max_bytes.map(ByteCount::get),
        });
        let environments = self.checked.runs.iter();
        let environment = environments
            .filter_map(|(_, run)| run.environment.clone())
            .next();
        let run = Run {
            began_s: Some(seconds_to_the_microsecond(began_ns)),
            environment,
            result: Some(RunResult::Check(Box::new(report))),
            ..Run::new(self.started.header.clone(), plan)
        };
        Ok(MeasuredCheck {
            measured: MeasuredRun {
                run,
                ending,
                peer,
                arrivals: Vec::new(),
            },
            parts: self.parts,
        })
    }
}

/// Why a test that ended has no result.
fn no_result(measured: &MeasuredRun) -> String {
    match &measured.ending {
        RunEnding::Error(error) | RunEnding::PeerAbsent(error) | RunEnding::PartFailed(error) => {
            error.to_string()
        }
        RunEnding::Unanswered => "the host did not answer".to_owned(),
        RunEnding::PeerLost => "the server was lost".to_owned(),
        RunEnding::CutShort => "it ended early".to_owned(),
        RunEnding::Complete | RunEnding::CaptureCutShort | RunEnding::Failed => {
            "nothing arrived".to_owned()
        }
    }
}

/// The command that measures what a test does closely.
#[must_use]
const fn command(part: CheckPart) -> &'static str {
    match part {
        CheckPart::Families => "connect HOST -4",
        CheckPart::RoundTrips => "rtt HOST",
        CheckPart::Path => "path HOST",
        CheckPart::Download => "tcp HOST -R",
        CheckPart::Upload => "tcp HOST",
        CheckPart::DownloadSeveral => "tcp HOST -R -P SEVERAL",
        CheckPart::UploadSeveral => "tcp HOST -P SEVERAL",
        CheckPart::UdpDownload => "udp HOST -R",
        CheckPart::UdpUpload => "udp HOST",
        CheckPart::UnderLoad => "quality HOST",
    }
}
