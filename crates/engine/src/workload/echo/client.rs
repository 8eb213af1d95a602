//! The client's half of a round-trip test: every connection a thread, all at the same size at the same time.

use super::barrier::SizeBarrier;
use super::connection::{ConnectionResult, ConnectionThread, SharedProgress};
use super::live_rows::LiveRows;
use super::outcome::{EchoConnection, EchoOutcome};
use super::prober::Prober;
use crate::error::RunError;
use crate::options::LocalOptions;
use crate::socket::DataSocket;
use crate::wakeup::Wakeup;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, EndedDialogue, OpenFlow};
use caudal_core::echo::{ClockOffset, ClockOffsetLine, EchoRecord, EchoSeries};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::EchoPlan;
use caudal_core::text::ExternalText;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::timestamps;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The time that messages with timestamps may take after a test whose time is over, ns.
const TIMESTAMPING_NS: u64 = 500_000_000;

/// The client's half of a round-trip test.
pub(super) struct EchoClientHalf {
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
    /// The live view of a test of one size, where one is asked for.
    live: Option<LiveRows>,
    /// The time at which that is to be read next.
    live_due_ns: Option<u64>,
}

impl EchoClientHalf {
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

    /// The error of a test in which no reply came.
    fn nothing_measured(&self, ended: EndedDialogue, failure: Option<ExternalText>) -> RunError {
        match ended.error {
            Some(error @ (RunError::Protocol(_) | RunError::Interrupted)) => return error,
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

impl ClientHalf for EchoClientHalf {
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

    fn stop(&mut self) {
        self.stop_connections();
    }

    fn finish(mut self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let elapsed = self
            .elapsed
            .unwrap_or_else(|| Duration::from_nanos(monotonic_ns() - self.start_ns));
        self.stop_connections();
        let connections = std::mem::take(&mut self.connections);
        let mut results: Vec<ConnectionResult> = connections
            .into_iter()
            .map(ConnectionThread::join)
            .collect();
        let client_usage = ended.meter.read();
        let series = self.take_series(&mut results);
        let has_reply = |one: &EchoSeries| one.first.is_some_and(|first| first.ns().is_some());
        let failure = results.iter().find_map(|result| result.failure.clone());
        if !series.iter().any(has_reply) {
            return Err(self.nothing_measured(ended, failure));
        }
        let mut cut_short = ended.cut_short.take();
        if let (None, false, Some(error)) = (&cut_short, ended.was_over, &ended.error) {
            cut_short = Some(CutShort::Lost(error.to_string().into()));
        }
        let all_failed = results.iter().all(|result| result.failure.is_some());
        if cut_short.is_none() && all_failed {
            cut_short = failure.map(CutShort::Lost);
        }
        let has_timestamps = series.iter().any(|one| !one.stamped.is_empty());
        let timestamps_missing = self.timestamps_missing.take();
        let reported = ended.report.unwrap_or_default().flows;
        Ok(Outcome::Echo(Box::new(EchoOutcome {
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
            elapsed,
            client_usage,
            server_usage: ended.server_usage,
            cut_short,
        })))
    }
}

impl Drop for EchoClientHalf {
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
) -> impl FnMut((u32, ConnectionResult)) -> EchoConnection + '_ {
    move |(client, result)| EchoConnection {
        client,
        connect_time: result.connect_time,
        granted: result.granted,
        server: reported.iter().find(|end| end.flow == client).cloned(),
        failure: result.failure,
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
