//! The client's half of a bulk transfer.

use super::arrivals::ArrivalRecorder;
use super::flows::BulkFlows;
use super::outcome::{BulkOutcome, flow_records};
use super::peer_samples::PeerSamples;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, EndedDialogue};
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{BulkPlan, Direction, Plan, PlannedFlow, Ticks};
use caudal_core::sample::{FlowEnd, Sample};
use caudal_flow::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The flows of one direction, and the readings of their counters.
struct DirectionHalf {
    flows: BulkFlows,
    /// The number of the next reading.
    tick: u64,
    /// What arrives; `None` where this end sends.
    arrivals: Option<ArrivalRecorder>,
}

/// The client's half of a bulk transfer.
pub(crate) struct BulkClientHalf {
    plan: Plan,
    planned: Vec<PlannedFlow>,
    ticks: Ticks,
    directions: Vec<DirectionHalf>,
    samples: Vec<Sample>,
    peer_samples: PeerSamples,
    /// The time at which the start was asked for, ns of the monotonic clock.
    asked_ns: u64,
    /// The time after which flows that have not ended are given up, ns after the start.
    patience_ns: Option<u64>,
    give_up_ns: Option<u64>,
}

impl BulkClientHalf {
    /// The half whose flows have these threads; `trailing_ns` is the time data may arrive after the end of the plan.
    pub(crate) fn new(
        plan: Plan,
        bulk: &BulkPlan,
        directions: Vec<BulkFlows>,
        trailing_ns: u64,
    ) -> Self {
        let ticks = bulk.ticks();
        let directions = directions.into_iter().map(|flows| DirectionHalf {
            tick: 0,
            arrivals: (flows.direction == Direction::Down)
                .then(|| ArrivalRecorder::new(Direction::Down)),
            flows,
        });
        let planned = plan.flows();
        Self {
            peer_samples: PeerSamples::new(&planned, ticks),
            planned,
            directions: directions.collect(),
            samples: Vec::new(),
            asked_ns: monotonic_ns(),
            patience_ns: ticks
                .total()
                .map(|total| total.as_nanos() as u64 + trailing_ns),
            give_up_ns: None,
            ticks,
            plan,
        }
    }

    fn is_upload_only(&self) -> bool {
        self.directions.iter().all(DirectionHalf::is_sender)
    }

    /// Starts the directions in which this end sends, or the others.
    fn start(&mut self, senders: bool, events: &mut dyn FnMut(Event)) {
        let ready = |half: &DirectionHalf| !half.flows.set.is_started();
        for half in &mut self.directions {
            if half.is_sender() == senders && ready(half) {
                half.flows.set.start();
                half.read(&mut self.samples, events);
            }
        }
    }

    fn has_progress(&self) -> bool {
        self.directions
            .iter()
            .any(|half| half.flows.set.progress() > 0)
    }

    /// The reason why a test without a report of the server was cut short.
    ///
    /// # Errors
    /// When nothing could be measured: the error that ended the dialogue, or that the report did not come.
    fn cut_short_without_report(
        ended: &mut EndedDialogue,
        has_progress: bool,
    ) -> Result<Option<CutShort>, RunError> {
        const MISSING: &str = "the peer's last counts did not come in time";
        if let Some(error) = ended.error.take() {
            if !has_progress {
                return Err(error);
            }
            let lost = || CutShort::Lost(error.to_string().into());
            return Ok(Some(ended.cut_short.take().unwrap_or_else(lost)));
        }
        if ended.cut_short.is_some() || ended.report.is_some() {
            return Ok(ended.cut_short.take());
        }
        if has_progress {
            return Ok(Some(CutShort::Lost(MISSING.into())));
        }
        Err(RunError::Silent {
            waiting_for: "the peer's last counts",
            seconds: 3,
        })
    }
}

impl DirectionHalf {
    /// `true` when this end sends.
    const fn is_sender(&self) -> bool {
        matches!(self.flows.direction, Direction::Up)
    }

    /// Reads the counters.
    fn read(&mut self, samples: &mut Vec<Sample>, events: &mut dyn FnMut(Event)) {
        for sample in self.flows.set.sample(self.tick) {
            samples.push(sample);
            events(Event::Sampled(sample));
        }
        self.tick += 1;
    }

    fn tick_due_ns(&self, ticks: &Ticks) -> Option<u64> {
        let at = ticks
            .at(self.tick)
            .filter(|_| self.flows.set.is_started())?;
        Some(self.flows.set.start_ns() + at.as_nanos() as u64)
    }

    /// The time of the next reading, ns of the monotonic clock.
    fn due_ns(&self, ticks: &Ticks) -> Option<u64> {
        let arrivals = self.arrivals.as_ref();
        let arrivals_ns = arrivals.and_then(|arrivals| arrivals.due_ns(&self.flows.set));
        self.tick_due_ns(ticks).into_iter().chain(arrivals_ns).min()
    }

    fn is_over(&self) -> bool {
        self.flows.set.is_started() && self.flows.set.is_all_over()
    }
}

impl ClientHalf for BulkClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.directions
            .iter()
            .map(|half| half.flows.set.ended_fd())
            .collect()
    }

    fn due_ns(&self) -> Option<u64> {
        let ticks = self
            .directions
            .iter()
            .filter_map(|half| half.due_ns(&self.ticks));
        ticks.chain(self.give_up_ns).min()
    }

    fn start_requested(&mut self, events: &mut dyn FnMut(Event)) {
        self.asked_ns = monotonic_ns();
        self.give_up_ns = self.patience_ns.map(|patience| self.asked_ns + patience);
        // Uploads begin with the request to start: their data arrives right behind it.
        self.start(true, events);
        if self.is_upload_only() {
            events(Event::Started { repeat: None });
        }
    }

    fn started(&mut self, events: &mut dyn FnMut(Event)) {
        self.start(false, events);
        if !self.is_upload_only() {
            events(Event::Started { repeat: None });
        }
    }

    fn receive(
        &mut self,
        message: ToClient,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), RunError> {
        match message {
            ToClient::Samples { samples } => {
                let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(self.asked_ns));
                for sample in samples {
                    if self.peer_samples.check(&sample, elapsed)? {
                        self.samples.push(sample);
                        events(Event::Sampled(sample));
                    }
                }
                Ok(())
            }
            ToClient::Sent { sent } => {
                for (flow, datagrams) in sent {
                    for half in self.directions.iter().filter(|half| !half.is_sender()) {
                        half.flows.set.expect_datagrams(flow, datagrams);
                    }
                }
                Ok(())
            }
            other => Err(RunError::unexpected(other, "the end of the test")),
        }
    }

    fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        for half in &mut self.directions {
            half.flows.set.reset_ended();
            if let Some(arrivals) = &mut half.arrivals {
                arrivals.advance(now_ns, &half.flows.set);
            }
            if half
                .tick_due_ns(&self.ticks)
                .is_some_and(|due| now_ns >= due)
            {
                half.read(&mut self.samples, events);
                if self.ticks.at(half.tick).is_none() {
                    half.flows.set.stop_senders();
                }
            }
        }
        if self.give_up_ns.is_some_and(|at| now_ns >= at) {
            // What has not arrived by now is given up; the counts at the end of the time stand.
            self.give_up_ns = None;
            for half in self.directions.iter().filter(|half| !half.is_over()) {
                half.flows.set.stop_all();
            }
        }
    }

    fn arrived_bytes(&self) -> u64 {
        let each = self.directions.iter();
        each.map(|half| half.flows.set.received_bytes()).sum()
    }

    fn is_over(&self) -> bool {
        self.directions.iter().all(DirectionHalf::is_over)
    }

    fn heard_ns(&self) -> Option<u64> {
        let arrivals = self.directions.iter();
        arrivals.map(|half| half.flows.set.last_arrival_ns()).max()
    }

    fn stop(&mut self) {
        for half in &self.directions {
            half.flows.set.stop_senders();
        }
    }

    fn sent_datagrams(&self) -> Vec<(u32, u64)> {
        self.directions
            .iter()
            .flat_map(|half| half.flows.set.sent_datagrams())
            .collect()
    }

    fn finish(self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let has_progress = self.has_progress();
        let mut ends: Vec<FlowEnd> = Vec::new();
        let mut arrivals: Vec<ArrivalSeries> = Vec::new();
        for half in self.directions {
            half.flows.set.stop_all();
            ends.extend(half.flows.set.finish());
            arrivals.extend(half.arrivals.map(ArrivalRecorder::into_series));
        }
        let client_usage = ended.meter.read();
        let cut_short = Self::cut_short_without_report(&mut ended, has_progress)?;
        if let Some(report) = ended.report.map(FinalReport::into_flows) {
            let uploads = |series: &ArrivalSeries| series.direction() == Direction::Up;
            arrivals.extend(report.arrivals.filter(uploads));
            ends.extend(report.flows);
        }
        Ok(Outcome::Bulk(Box::new(BulkOutcome {
            plan: self.plan,
            changed: ended.changed,
            server_set_rate: ended.server_set_rate,
            flows: flow_records(&self.planned, &ends),
            samples: self.samples,
            arrivals,
            episodes: ended.episodes,
            client_usage,
            server_usage: ended.server_usage,
            cut_short,
        })))
    }
}
