//! A measurement between both ends while it is under way: what is known so far, shown after every series of trains.

use super::remaining::RemainingSteps;
use super::request::EndsRequest;
use crate::control::{MeasureControl, Observer};
use crate::test_peer::TestPeer;
use caudal_core::event::{CutShort, Event};
use caudal_core::path::{
    PathBetweenEnds, PathDuplex, PathPhase, PathReport, PathRound, ProbingCost,
};
use caudal_core::plan::{Plan, PlannedTrains, TrainsPlan};
use caudal_core::quality::QualityReport;
use caudal_core::units::ByteCount;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::{LocalOptions, Outcome, RunError, StartedRun};
use caudal_probe::end_to_end::{EndReading, TrainChannel, TrainsReadings};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::trains::{SeriesReadings, TrainsAccount};
use std::sync::atomic::Ordering::Relaxed;

/// A measurement between both ends while it is under way.
pub struct EndsRun<'a> {
    pub(super) peer: &'a mut TestPeer,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) started: &'a StartedRun,
    pub(super) interrupt: &'static Interrupt,
    /// The path as this end alone found it.
    pub(super) report: &'a PathReport,
    /// What is known so far.
    pub(super) found: PathBetweenEnds,
    pub(super) duplex: Option<PathDuplex>,
    /// Latency under load.
    pub(super) quality: Option<Box<QualityReport>>,
    /// The doubts about it.
    pub(super) warnings: Vec<Warning>,
    phase: PathPhase,
    remaining: RemainingSteps,
    options: LocalOptions,
    /// The bytes of the IP and the UDP header.
    header_bytes: u64,
    began_ns: u64,
}

impl<'a> EndsRun<'a> {
    /// A measurement that begins now.
    pub fn new(
        peer: &'a mut TestPeer,
        report: &'a PathReport,
        control: &'a mut MeasureControl<'_>,
        request: &EndsRequest,
    ) -> Self {
        let address = peer.info().address;
        Self {
            observer: &mut *control.observer,
            started: control.started,
            interrupt: control.interrupt,
            report,
            found: PathBetweenEnds {
                peer: address.to_string().into(),
                baseline: None,
                directions: Vec::new(),
                throughput: None,
                cost: ProbingCost::default(),
                cut_short: None,
            },
            duplex: None,
            quality: None,
            warnings: Vec::new(),
            phase: PathPhase::Baseline,
            remaining: RemainingSteps::of(request),
            options: LocalOptions::default(),
            header_bytes: if address.is_ipv4() { 28 } else { 48 },
            began_ns: monotonic_ns(),
            peer,
        }
    }

    /// `true` when nothing more is to be measured.
    pub(super) fn is_over(&self) -> bool {
        self.interrupt.count() > 0 || self.observer.is_unread() || self.found.cut_short.is_some()
    }

    /// Carries out a plan; a test that was cut short, other than by a limit of the server, ends the measurement.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub(super) fn carry_out(
        &mut self,
        plan: &Plan,
        options: &LocalOptions,
    ) -> Result<Outcome, RunError> {
        let (observer, quit) = (&mut *self.observer, &options.quit);
        let outcome = self.peer.peer_mut().run(plan, options, &mut |_| {
            if observer.is_unread() {
                quit.store(true, Relaxed);
            }
        });
        match outcome.as_ref().ok().and_then(Outcome::cut_short) {
            // The server's limits are those of each test: the next one may be shorter. One that shuts down does not answer it.
            Some(CutShort::ByServer(why)) => {
                self.allows_less(&format!("a test ended early: {why}"));
            }
            Some(why) => self.cut_short(why),
            None => {}
        }
        outcome
    }

    /// Warns, once, that the server allows less than what was to be measured takes.
    pub(super) fn allows_less(&mut self, what: &str) {
        let code = WarningCode::ServerChangedPlan;
        if self.warnings.iter().all(|warning| warning.code != code) {
            self.warnings.push(Warning::new(code, what));
        }
    }

    /// Notes why the measurement ends early.
    pub(super) fn cut_short(&mut self, why: &CutShort) {
        let text = why.to_string().into();
        self.found.cut_short.get_or_insert(text);
    }

    /// Counts datagrams that were sent, by either end, and those that arrived.
    pub(super) fn count(&mut self, sent: u64, arrived: u64, payload: u64) {
        let cost = &mut self.found.cost;
        cost.packets += sent;
        cost.answers += arrived;
        let bytes = sent * (payload + self.header_bytes);
        cost.bytes = ByteCount::new(cost.bytes.get() + bytes);
        cost.elapsed_s = (monotonic_ns() - self.began_ns) as f64 / 1e9;
    }

    /// Begins the next step.
    pub(super) fn begin(&mut self, phase: PathPhase) {
        self.phase = phase;
        self.remaining.begin(monotonic_ns());
        self.show();
    }

    /// Shows what is known.
    pub(super) fn show(&mut self) {
        let now_ns = monotonic_ns();
        let elapsed_s = (now_ns - self.began_ns) as f64 / 1e9;
        self.found.cost.elapsed_s = elapsed_s;
        let round = PathRound {
            at_s: self.report.cost.elapsed_s + elapsed_s,
            phase: self.phase,
            remaining_s: self.remaining.left(now_ns).map(|left| left.as_secs_f64()),
            hops: self.report.hops.clone(),
            links: self.report.links.clone(),
            changes: Vec::new(),
            between_ends: Some(Box::new(self.found.clone())),
        };
        self.observer.event(&Event::PathRound { round });
    }

    fn count_series(&mut self, readings: Option<&SeriesReadings>) {
        let Some(readings) = readings else { return };
        let sent = readings.sent.as_ref().map_or(0, |sent| sent.datagrams);
        let arrived = readings.received.as_ref().map_or(0, |all| all.datagrams);
        self.count(sent, arrived, u64::from(readings.series.length));
    }
}

/// What an end says of its link.
fn end_reading(account: Option<&TrainsAccount>) -> EndReading {
    EndReading {
        link: account.and_then(|end| end.link.as_deref().cloned()),
        growth: account.and_then(|end| end.link_growth.as_deref().copied()),
    }
}

impl TrainChannel for EndsRun<'_> {
    type Error = RunError;

    fn run(&mut self, trains: &PlannedTrains) -> Result<TrainsReadings, RunError> {
        let plan = Plan::Trains(TrainsPlan {
            series: *trains,
            dscp: None,
        });
        let options = self.options.clone();
        let outcome = self.carry_out(&plan, &options)?;
        let outcome = outcome
            .into_trains()
            .ok_or_else(|| RunError::Protocol("no trains".into()))?;
        // The next series takes the same route.
        self.options.local_port = outcome.local_port;
        let near = end_reading(Some(&outcome.client));
        let far = end_reading(outcome.server.as_ref());
        let [up, down] = caudal_core::plan::Direction::BOTH.map(|one| outcome.series(one));
        self.count_series(up.as_ref());
        self.count_series(down.as_ref());
        self.show();
        Ok(TrainsReadings {
            up,
            down,
            near,
            far,
        })
    }

    fn is_stopped(&self) -> bool {
        self.is_over()
    }
}
