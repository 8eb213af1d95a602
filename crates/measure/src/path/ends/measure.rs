//! The steps of a measurement between both ends.

use super::ends_run::EndsRun;
use super::request::{EndsRequest, WindowTestRequest};
use super::settings::settings;
use super::throughput::{ThroughputSettings, measure_throughput};
use crate::control::{MeasureControl, SilentObserver};
use crate::error::MeasureError;
use crate::quality::{PhaseRequest, QualityRequest};
use caudal_analysis::echo::EchoSummaryOptions;
use caudal_analysis::framing::Framing;
use caudal_analysis::link::timestamps;
use caudal_analysis::window::{PathRate, WindowPath, next_step_of_settings};
use caudal_core::event::CutShort;
use caudal_core::path::{PathBetweenEnds, PathDirection, PathDuplex, PathPhase, PathReport};
use caudal_core::plan::{Direction, EchoPlan, EchoSchedule, Plan, Transport};
use caudal_core::quality::QualityReport;
use caudal_core::run::Run;
use caudal_core::units::BitRate;
use caudal_core::warning::Warning;
use caudal_core::window::{PathRateSource, WindowReport};
use caudal_engine::{EchoLocalOptions, LinkReader, LocalOptions, RunError};
use caudal_probe::duplex::{DuplexReadings, EachWay};
use caudal_probe::end_to_end::{
    DuplexEnd, DuplexMeasurement, EndToEndCapacity, EndToEndSettings, measure_available,
    measure_duplex,
};
use std::net::IpAddr;
use std::time::Duration;

/// The messages from which round trips without load are read, their size, and the mean time between two.
const MESSAGES: u64 = 200;
const MESSAGE_BYTES: u32 = 64;
const MESSAGE_PERIOD: Duration = Duration::from_millis(20);
/// The time allowed for a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// What was measured between both ends.
#[derive(Debug)]
pub struct EndsMeasured {
    pub found: PathBetweenEnds,
    pub duplex: Option<PathDuplex>,
    /// Latency under load.
    pub quality: Option<Box<QualityReport>>,
    /// The doubts about it.
    pub warnings: Vec<Warning>,
    /// The error that ended it.
    pub failure: Option<RunError>,
}

/// Measures between both ends; what was found stands when the other end is lost.
pub fn measure(run: EndsRun<'_>, request: &EndsRequest) -> EndsMeasured {
    let mut measuring = Measuring {
        settings: settings(
            run.report,
            run.peer.info(),
            request.confidence,
            request.seed,
        ),
        run,
        capacities: Vec::new(),
    };
    let failure = measuring.steps(request).err();
    let mut run = measuring.run;
    match &failure {
        Some(RunError::Interrupted) => run.cut_short(&CutShort::Interrupted),
        Some(error) => run.cut_short(&CutShort::Lost(error.to_string().into())),
        None if run.interrupt.count() > 0 => run.cut_short(&CutShort::Interrupted),
        None => {}
    }
    run.show();
    EndsMeasured {
        found: run.found,
        duplex: run.duplex,
        quality: run.quality,
        warnings: run.warnings,
        failure,
    }
}

/// The duplex mode as far as this end's own interface tells.
#[must_use]
pub fn own_duplex(report: &PathReport) -> PathDuplex {
    let readings = DuplexReadings {
        is_one_hop: report.hops.len() == 1,
        ..DuplexReadings::default()
    };
    let near = own_end(report.target.address);
    (&DuplexMeasurement::from_readings(readings, near, DuplexEnd::default())).into()
}

/// This end's link towards an address.
fn own_end(address: Option<IpAddr>) -> DuplexEnd {
    let reader = address.and_then(|address| LinkReader::towards(address, None));
    let link = reader.and_then(|reader| reader.link());
    DuplexEnd::of_link(link)
}

struct Measuring<'a> {
    run: EndsRun<'a>,
    settings: EndToEndSettings,
    capacities: Vec<(Direction, EndToEndCapacity)>,
}

impl Measuring<'_> {
    fn steps(&mut self, request: &EndsRequest) -> Result<(), RunError> {
        if !request.rough {
            self.baseline()?;
        }
        for direction in Direction::BOTH {
            self.run
                .found
                .directions
                .push(PathDirection::unknown(direction));
            if !self.run.is_over() {
                self.narrow(direction, request.rough)?;
            }
        }
        for direction in Direction::BOTH {
            if request.available && !self.run.is_over() {
                self.available(direction)?;
            }
        }
        if request.duplex && !self.run.is_over() {
            self.duplex()?;
        }
        if let Some(throughput) = request.throughput.as_ref().filter(|_| !self.run.is_over()) {
            self.throughput(throughput)?;
            if !self.run.is_over() {
                self.latency(throughput);
            }
        }
        Ok(())
    }

    /// Round trips without load, and the delay variation each way.
    fn baseline(&mut self) -> Result<(), RunError> {
        self.run.begin(PathPhase::Baseline);
        // A server may limit the time of a test; random gaps add up to a little more or less than their mean.
        let time = self.settings.max_time.unwrap_or(Duration::MAX) / 5 * 4;
        let fit = time.as_nanos() / MESSAGE_PERIOD.as_nanos();
        let plan = EchoPlan {
            transport: Transport::Udp,
            clients: 1,
            sizes: vec![MESSAGE_BYTES],
            count: MESSAGES.min(u64::try_from(fit).unwrap_or(MESSAGES)).max(1),
            schedule: EchoSchedule::Every {
                period: MESSAGE_PERIOD,
                poisson: true,
            },
            timeout: REPLY_TIMEOUT,
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        };
        let options = LocalOptions {
            echo: EchoLocalOptions {
                seed: self.settings.seed,
                kernel_timestamps: false,
                ..EchoLocalOptions::default()
            },
            ..LocalOptions::default()
        };
        let outcome = self.run.carry_out(&Plan::Echo(plan), &options)?;
        let Some(echo) = outcome.into_rtt() else {
            return Ok(());
        };
        let summaries = echo.record.summarise(EchoSummaryOptions {
            confidence: self.settings.confidence,
            include_first: false,
        });
        let Some(summary) = summaries.into_iter().next() else {
            return Ok(());
        };
        let replies = summary.pooled;
        let answered = replies.sent - replies.lost;
        self.run
            .count(replies.sent + answered, answered, u64::from(MESSAGE_BYTES));
        if let Some(rtt) = &replies.rtt_us {
            self.settings.rtt = Duration::from_secs_f64(rtt.p50.max(0.0) / 1e6);
        }
        self.run.found.baseline = Some(replies);
        Ok(())
    }

    fn narrow(&mut self, direction: Direction, rough: bool) -> Result<(), RunError> {
        self.run.begin(PathPhase::NarrowLink);
        let found = if rough {
            EndToEndCapacity::roughly(&mut self.run, direction, &self.settings)?
        } else {
            EndToEndCapacity::measure(&mut self.run, direction, &self.settings)?
        };
        let window = self.window(direction, &found);
        let of_direction = self.of_direction(direction);
        of_direction.narrow = Some((&found).into());
        of_direction.next_step = window
            .as_ref()
            .map(|window| next_step_of_settings(window).into());
        of_direction.window = window.map(Box::new);
        self.warn_of_limits(direction, &found);
        self.capacities.push((direction, found));
        Ok(())
    }

    /// Warns where the server allows less than the path carries: nothing above that is measured.
    fn warn_of_limits(&mut self, direction: Direction, capacity: &EndToEndCapacity) {
        let (Some(allowed), Some(found)) = (self.settings.max_rate, capacity.sustained()) else {
            return;
        };
        if found.rate > allowed {
            self.run.allows_less(&format!(
                "{}: the server allows {allowed}, and the path carries {}; what takes more is not measured: the available bandwidth \
                 above that, and runs that fill both directions",
                direction.in_text(),
                found.rate
            ));
        }
    }

    /// The window that a direction of this capacity needs; `None` where the rate or the round-trip time is not known.
    fn window(&self, direction: Direction, capacity: &EndToEndCapacity) -> Option<WindowReport> {
        let baseline = self.run.found.baseline_rtt()?;
        let info = self.run.peer.info();
        let framing = Framing {
            mtu: self.settings.packet_bytes,
            ip: info.ip_version(),
            timestamps: timestamps(&info.client),
            ..Framing::default()
        };
        let (sender, receiver) = match direction {
            Direction::Up => (&info.client, &info.server),
            Direction::Down => (&info.server, &info.client),
        };
        let path = WindowPath {
            baseline,
            rate: Some(PathRate {
                rate: match capacity.sustained() {
                    Some(sustained) => sustained.rate,
                    None => capacity.at_least()?,
                },
                source: PathRateSource::NarrowLink,
                is_lower_bound: capacity.sustained().is_none(),
            }),
            mss: Some(framing.tcp_payload_per_frame()),
            sender,
            receiver,
        };
        Some(path.idle_report())
    }

    fn available(&mut self, direction: Direction) -> Result<(), RunError> {
        let Some(capacity) = self.capacity(direction) else {
            return Ok(());
        };
        self.run.begin(PathPhase::AvailableBandwidth);
        let found = measure_available(&mut self.run, direction, &capacity, &self.settings)?;
        let of_direction = self.of_direction(direction);
        match found {
            Ok(found) => of_direction.available = Some((&found).into()),
            Err(cause) => of_direction.available_unknown = Some((&cause).into()),
        }
        Ok(())
    }

    fn duplex(&mut self) -> Result<(), RunError> {
        self.run.begin(PathPhase::Duplex);
        let sustained =
            |direction| -> Option<BitRate> { Some(self.capacity(direction)?.sustained()?.rate) };
        let near = own_end(self.run.report.target.address);
        let is_one_hop = self.run.report.hops.len() == 1;
        let both = sustained(Direction::Up).zip(sustained(Direction::Down));
        let capacity = both.map(|(forward, back)| EachWay { forward, back });
        let found = match capacity {
            Some(capacity) => {
                let ends = (near, DuplexEnd::default());
                measure_duplex(&mut self.run, capacity, is_one_hop, ends, &self.settings)?
            }
            None => DuplexMeasurement::from_readings(
                DuplexReadings {
                    is_one_hop,
                    ..DuplexReadings::default()
                },
                near,
                DuplexEnd::default(),
            ),
        };
        self.run.duplex = Some((&found).into());
        Ok(())
    }

    fn throughput(&mut self, asked: &WindowTestRequest) -> Result<(), RunError> {
        let Some(baseline) = self.run.found.baseline_rtt() else {
            return Ok(());
        };
        let each = Direction::BOTH.into_iter().filter_map(|direction| {
            let sustained = self.capacity(direction)?.sustained()?;
            Some((direction, sustained.rate))
        });
        let capacities: Vec<(Direction, BitRate)> = each.collect();
        let settings = ThroughputSettings {
            asked: asked.clone(),
            path_mtu: self.settings.packet_bytes,
            baseline_rtt: baseline.rtt,
            confidence: self.settings.confidence,
        };
        measure_throughput(&mut self.run, &settings, &capacities)
    }

    /// Latency under load; what goes wrong costs nothing else.
    fn latency(&mut self, asked: &WindowTestRequest) {
        self.run.begin(PathPhase::LatencyUnderLoad);
        match self.measure_latency(asked) {
            Ok(run) => {
                self.run.quality = run.quality().cloned().map(Box::new);
                self.run.warnings.extend(run.warnings);
            }
            Err(error) => {
                let why = CutShort::Lost(error.to_string().into());
                self.run.cut_short(&why);
            }
        }
    }

    fn measure_latency(&mut self, asked: &WindowTestRequest) -> Result<Run, MeasureError> {
        let request = QualityRequest {
            phases: PhaseRequest {
                idle: asked.run / 2,
                time: asked.run,
                omit: None,
                parallel: asked.flows,
                congestion: asked.congestion.clone(),
                dscp: None,
            },
            confidence: self.settings.confidence,
            via: None,
        };
        let phases = request.prepare(self.run.peer)?;
        let mut control = MeasureControl {
            started: self.run.started,
            observer: &mut SilentObserver,
            interrupt: self.run.interrupt,
        };
        Ok(request.measure(&phases, self.run.peer, &mut control)?.run)
    }

    fn capacity(&self, direction: Direction) -> Option<EndToEndCapacity> {
        let mut known = self.capacities.iter();
        let (_, found) = known.find(|(one, _)| *one == direction)?;
        Some(found.clone())
    }

    fn of_direction(&mut self, direction: Direction) -> &mut PathDirection {
        let directions = &mut self.run.found.directions;
        let at = directions
            .iter()
            .position(|one| one.direction == direction)
            .unwrap_or_else(|| {
                directions.push(PathDirection::unknown(direction));
                directions.len() - 1
            });
        &mut directions[at]
    }
}
