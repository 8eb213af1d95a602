//! The client's half of a round-trip test: every connection a thread, all at the same size at the same time.

use super::live_rows::LiveRows;
use super::outcome::{RttConnection, RttOutcome};
use crate::options::LocalOptions;
use crate::workload::elapsed::time_since;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, EndedDialogue, OpenFlow};
use caudal_analysis::echo::{EchoRecord, EchoSeries, Reply};
use caudal_core::echo::{ClockOffset, ClockOffsetLine};
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::EchoPlan;
use caudal_core::text::ExternalText;
use caudal_flow::rtt::{ConnectionResult, ConnectionThread, Prober, SharedProgress, SizeBarrier};
use caudal_flow::socket::DataSocket;
use caudal_flow::{RunError, Wakeup};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::timestamps;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The time that messages with timestamps may take after a test whose time is over, ns.
const TIMESTAMPING_NS: u64 = 500_000_000;

/// Minimum time without replies at the end of a test that ends it.
const MIN_LAST_SILENCE: Duration = Duration::from_secs(3);
/// Minimum number of messages in it.
const MIN_UNANSWERED: usize = 3;
/// Maximum chance of it by the losses before.
const MAX_CHANCE: f64 = 1e-3;

/// The client's half of a round-trip test.
pub(super) struct RttClientHalf {
    plan: EchoPlan,
    connections: Vec<ConnectionThread>,
    shared: SharedProgress,
    is_started: bool,
    start_ns: u64,
    /// The time after which no more messages are sent.
    time: Option<Duration>,
    /// Set when that time is over, where some more messages are then timestamped by the kernel.
    time_over: Arc<AtomicBool>,
    end_ns: Option<u64>,
    /// The time from the start until all connections were over.
    elapsed: Option<Duration>,
    /// Readable when a connection has completed a size, or has ended.
    progress: Wakeup,
    sizes: Receiver<Event>,
    timestamps_missing: Option<String>,
    /// The time at which a reply arrived last on any connection, ns of the monotonic clock.
    heard_ns: Arc<AtomicU64>,
    /// The live view of a test of one size, where one is asked for.
    live: Option<LiveRows>,
    /// The time at which that is to be read next.
    live_due_ns: Option<u64>,
}

impl RttClientHalf {
    /// Starts a thread on each connection; all wait for the start.
    pub(super) fn spawn(
        plan: &EchoPlan,
        flows: Vec<OpenFlow>,
        tag: u32,
        options: &LocalOptions,
    ) -> Result<Self, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let progress = Wakeup::new().map_err(pipe)?;
        let (events, sizes) = channel();
        let timestamps = enable_timestamps(plan, &flows, options);
        let mut half = Self {
            plan: plan.clone(),
            connections: Vec::with_capacity(flows.len()),
            shared: SharedProgress {
                barrier: Arc::new(SizeBarrier::new(flows.len() as u32 + 1)),
                start_ns: Arc::default(),
                events,
            },
            is_started: false,
            start_ns: 0,
            time: options.echo.time,
            time_over: Arc::default(),
            end_ns: None,
            elapsed: None,
            progress,
            sizes,
            timestamps_missing: timestamps.err(),
            heard_ns: Arc::default(),
            live: match (options.echo.interval, plan.sizes.as_slice()) {
                (Some(interval), [size]) => Some(LiveRows::new(*size, plan.clients, interval)),
                _ => None,
            },
            live_due_ns: None,
        };
        let plan = Arc::new(plan.clone());
        for open in flows {
            let client = open.flow.id;
            let mut prober = Prober::new(
                client,
                Arc::clone(&plan),
                Arc::new(open.socket),
                tag,
                options.echo.seed,
                half.timestamps_missing.is_none(),
            );
            if options.echo.report_replies {
                prober.report_replies(half.shared.events.clone());
            }
            prober.end_with(Arc::clone(&half.time_over));
            prober.report_arrivals(Arc::clone(&half.heard_ns));
            if let Some(live) = &mut half.live {
                prober.feed(live.feed());
            }
            half.connections.push(ConnectionThread::spawn(
                prober,
                open.connect_time,
                options.cpu(client as usize),
                &half.shared,
                half.progress.waker().map_err(pipe)?,
            )?);
        }
        Ok(half)
    }

    /// Lets all connections go at once.
    fn start(&mut self) {
        self.start_ns = monotonic_ns();
        self.shared.start_ns.store(self.start_ns, Relaxed);
        if let Some(live) = &mut self.live {
            live.start(self.start_ns);
            self.live_due_ns = Some(live.due_ns(self.start_ns));
        }
        self.leave_barrier();
        self.end_ns = self.time.map(|time| {
            self.start_ns
                .saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        });
    }

    fn leave_barrier(&mut self) {
        if !std::mem::replace(&mut self.is_started, true) {
            self.shared.barrier.leave();
        }
    }

    /// Ends the live view: what arrives from now on is in the result alone.
    fn end_live(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        self.live_due_ns = None;
        if let Some(mut live) = self.live.take() {
            live.finish(now_ns, events);
        }
    }

    fn stop_connections(&mut self) {
        self.connections.iter().for_each(ConnectionThread::stop);
        self.leave_barrier();
    }

    /// The series of all connections that measured anything, by size in the plan's order, then by client.
    fn take_series(&self, results: &mut [ConnectionResult]) -> Vec<EchoSeries> {
        let mut series: Vec<EchoSeries> = results
            .iter_mut()
            .flat_map(|result| std::mem::take(&mut result.series))
            .filter(|one| one.first.is_some())
            .collect();
        let sizes = &self.plan.sizes;
        series.sort_by_key(|one| {
            let position = sizes.iter().position(|size| *size == one.size);
            (position, one.client)
        });
        series
    }

    /// The time without replies that lasted to the end of a test of `elapsed`, whose server was heard all the same: one that the losses
    /// before it do not explain.
    fn last_silence(&self, series: &[EchoSeries], elapsed: Duration) -> Option<Episode> {
        let last_ns = self.heard_ns.load(Relaxed).checked_sub(self.start_ns)?;
        let silent = elapsed.saturating_sub(Duration::from_nanos(last_ns));
        let size = series.last()?.size;
        let replies = series.iter().filter(|one| one.size == size);
        let unanswered: Vec<(usize, f64)> = replies.map(last_unanswered).collect();
        let is_silence =
            |(count, chance): &(usize, f64)| *count >= MIN_UNANSWERED && *chance < MAX_CHANCE;
        (silent >= MIN_LAST_SILENCE && unanswered.iter().all(is_silence)).then(|| Episode {
            kind: EpisodeKind::DataSilent,
            from_s: last_ns as f64 / 1e9,
            to_s: None,
            direction: None,
            evidence: "messages were due, and the server was heard on the control connection"
                .to_owned(),
        })
    }

    /// The error of a test in which no reply came.
    fn nothing_measured(&self, ended: EndedDialogue, failure: Option<ExternalText>) -> RunError {
        match ended.error {
            Some(
                error @ (RunError::Protocol(_)
                | RunError::Interrupted
                | RunError::Silent { .. }
                | RunError::Lost { .. }),
            ) => return error,
            Some(RunError::Refused { message, .. }) => return RunError::Flows(message),
            Some(error) => return RunError::Flows(error.to_string().into()),
            None => {}
        }
        match (ended.cut_short, failure) {
            (Some(CutShort::Interrupted), _) => RunError::Interrupted,
            (Some(reason), _) => RunError::Flows(reason.to_string().into()),
            (None, Some(failure)) => RunError::Flows(failure),
            (None, None) => RunError::Flows(
                format!("no reply came within {} s", self.plan.timeout.as_secs_f64()).into(),
            ),
        }
    }
}

impl ClientHalf for RttClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.progress.fd()]
    }

    fn due_ns(&self) -> Option<u64> {
        [self.end_ns, self.live_due_ns].into_iter().flatten().min()
    }

    fn start_requested(&mut self, _events: &mut dyn FnMut(Event)) {}

    fn started(&mut self, events: &mut dyn FnMut(Event)) {
        self.start();
        events(Event::Started { repeat: None });
    }

    fn receive(
        &mut self,
        message: ToClient,
        _events: &mut dyn FnMut(Event),
    ) -> Result<(), RunError> {
        Err(RunError::unexpected(message, "the end of the test"))
    }

    fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        self.progress.reset();
        for event in self.sizes.try_iter() {
            events(event);
        }
        if self.live_due_ns.is_some_and(|due| now_ns >= due)
            && let Some(live) = &mut self.live
        {
            live.advance(now_ns, events);
            self.live_due_ns = Some(live.due_ns(now_ns));
        }
        if self.end_ns.is_some_and(|end| now_ns >= end) {
            // The test ends as it was asked to: nothing is cut short.
            let is_first = !self.time_over.swap(true, Relaxed);
            self.end_live(now_ns, events);
            if is_first && self.timestamps_missing.is_none() {
                self.end_ns = Some(now_ns.saturating_add(TIMESTAMPING_NS));
            } else {
                self.end_ns = None;
                self.stop_connections();
            }
        }
        if self.elapsed.is_none() && self.is_over() {
            self.elapsed = Some(Duration::from_nanos(now_ns - self.start_ns));
            // After a time that is over, the server still waits for the rest of the messages.
            if self.time_over.load(Relaxed) {
                self.stop_connections();
            }
            self.end_live(now_ns, events);
        }
    }

    fn is_over(&self) -> bool {
        self.is_started && self.shared.barrier.members() == 0
    }

    fn heard_ns(&self) -> Option<u64> {
        Some(self.heard_ns.load(Relaxed))
    }

    fn stop(&mut self) {
        self.stop_connections();
    }

    fn finish(mut self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let elapsed = self
            .elapsed
            .unwrap_or_else(|| time_since(self.start_ns, monotonic_ns()));
        self.stop_connections();
        let connections = std::mem::take(&mut self.connections);
        let mut results: Vec<ConnectionResult> = connections
            .into_iter()
            .map(ConnectionThread::join)
            .collect();
        let client_usage = ended.meter.read();
        let mut series = self.take_series(&mut results);
        for episode in ended.episodes.iter_mut().filter(|one| one.is_stop()) {
            leave_out(&mut series, episode);
        }
        if ended.error.is_none() && ended.cut_short.is_none() {
            let silence = self.last_silence(&series, elapsed);
            ended.cut_short = silence
                .as_ref()
                .map(|silence| CutShort::Lost(silence.text().into()));
            ended.episodes.extend(silence);
        }
        let failure = results.iter().find_map(|result| result.failure.clone());
        if !series.iter().any(EchoSeries::has_reply) {
            return Err(self.nothing_measured(ended, failure));
        }
        let mut cut_short = ended.cut_short.take();
        if let (None, false, Some(error)) = (&cut_short, ended.was_over, &ended.error) {
            cut_short = Some(CutShort::Lost(error.to_string().into()));
        }
        let all_failed = results.iter().all(|result| result.failure.is_some());
        if cut_short.is_none() && all_failed {
            let elapsed_s = elapsed.as_secs_f64();
            cut_short = failure.map(|failure| {
                CutShort::Lost(format!("{failure}, {elapsed_s:.1} s after the start").into())
            });
        }
        let has_timestamps = series.iter().any(|one| !one.stamped.is_empty());
        let timestamps_missing = self.timestamps_missing.take();
        let reported = ended.report.map(FinalReport::into_flows);
        let reported = reported.unwrap_or_default().flows;
        Ok(Outcome::Rtt(Box::new(RttOutcome {
            connections: (0..).zip(results).map(connection(&reported)).collect(),
            record: EchoRecord {
                series,
                clock: ended.clock.map(|(before, after)| ClockOffsetLine {
                    before: since(before, self.start_ns),
                    after: since(after, self.start_ns),
                }),
            },
            timestamps_missing: timestamps_missing
                .or_else(|| (!has_timestamps).then(|| "the kernel took none".to_owned())),
            plan: self.plan.clone(),
            changed: ended.changed,
            episodes: ended.episodes,
            elapsed,
            client_usage,
            server_usage: ended.server_usage,
            cut_short,
        })))
    }
}

impl Drop for RttClientHalf {
    fn drop(&mut self) {
        self.stop_connections();
        for connection in self.connections.drain(..) {
            connection.join();
        }
    }
}

/// Makes a connection of its measurements and of what the server reported.
fn connection(
    reported: &[caudal_core::sample::FlowEnd],
) -> impl FnMut((u32, ConnectionResult)) -> RttConnection + '_ {
    move |(client, result)| RttConnection {
        client,
        connect_time: result.connect_time,
        granted: result.granted,
        server: reported.iter().find(|end| end.flow == client).cloned(),
        failure: result.failure,
    }
}

/// The number of messages at the end of a series that were not answered, and the chance of that by the losses before them.
fn last_unanswered(series: &EchoSeries) -> (usize, f64) {
    let replies = &series.replies;
    let answered = replies.iter().rposition(|reply| *reply != Reply::LOST);
    let before = answered.map_or(0, |last| last + 1);
    let lost = replies
        .iter()
        .take(before)
        .filter(|reply| **reply == Reply::LOST);
    let share = (lost.count() + 1) as f64 / (before + 2) as f64;
    let count = replies.len() - before;
    (count, share.powf(count as f64))
}

/// Leaves out the messages that a program at either end delayed by standing still, and says so.
fn leave_out(series: &mut [EchoSeries], episode: &mut Episode) {
    let ns = |s: f64| (s * 1e9) as u64;
    let from_ns = ns(episode.from_s);
    let to_ns = ns(episode.to_s.unwrap_or(f64::MAX));
    let count: usize = series
        .iter_mut()
        .map(|one| one.leave_out(from_ns, to_ns))
        .sum();
    if count > 0 {
        let messages = if count == 1 { "message" } else { "messages" };
        episode.evidence += &format!("; {count} {messages} of that time left out");
    }
}

/// The same point with its time counted from the start of the test.
fn since(point: ClockOffset, start_ns: u64) -> ClockOffset {
    ClockOffset {
        at_ns: point.at_ns - start_ns as i64,
        ..point
    }
}

/// Checks that the kernel takes timestamps on these connections: the reason why it does not.
fn enable_timestamps(
    plan: &EchoPlan,
    flows: &[OpenFlow],
    options: &LocalOptions,
) -> Result<(), String> {
    if !options.echo.kernel_timestamps {
        return Err("not asked for".to_owned());
    }
    if plan.is_scheduled() {
        return Err("taken without a schedule only".to_owned());
    }
    for open in flows {
        match &open.socket {
            DataSocket::Tcp(stream) => {
                timestamps::enable(stream).and_then(|()| timestamps::disable(stream))
            }
            DataSocket::Udp(socket) => {
                timestamps::enable(socket).and_then(|()| timestamps::disable(socket))
            }
        }
        .map_err(|cause| format!("this kernel does not take timestamps: {cause}"))?;
    }
    Ok(())
}
