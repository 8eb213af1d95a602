//! One connection of a round-trip test: measures one message size after another.

use super::probe::Probe;
use super::reply_feed::ReplyFeed;
use super::scheduled::{ScheduleSettings, on_schedule};
use super::stop_and_wait;
use crate::FlowSignals;
use crate::socket::DataSocket;
use caudal_analysis::echo::EchoSeries;
use caudal_core::event::{Event, SizeProgress};
use caudal_core::plan::{EchoPlan, EchoSchedule};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;

/// One connection and the series it has measured.
pub struct Prober {
    probe: Probe,
    /// The measurements, one for each size, all allocated before the start.
    series: Vec<EchoSeries>,
    sizes_done: usize,
}

impl Prober {
    /// A connection that measures by `plan` over `socket`; `tag` fills its messages, and `seed` makes its schedule.
    #[must_use]
    pub fn new(
        client: u32,
        plan: Arc<EchoPlan>,
        socket: Arc<DataSocket>,
        tag: u32,
        seed: u64,
        takes_timestamps: bool,
    ) -> Self {
        let series = plan.sizes.iter().map(|size| EchoSeries {
            client,
            size: *size,
            replies: Vec::with_capacity(plan.count as usize),
            ..EchoSeries::default()
        });
        Self {
            series: series.collect(),
            sizes_done: 0,
            probe: Probe {
                takes_timestamps,
                ..Probe::new(client, plan, socket, tag, seed)
            },
        }
    }

    /// Makes each reply on a schedule an event.
    pub fn report_replies(&mut self, events: Sender<Event>) {
        self.probe.events = Some(events);
    }

    /// Ends the counted messages when `time_over` is set.
    pub fn end_with(&mut self, time_over: Arc<AtomicBool>) {
        self.probe.time_over = time_over;
    }

    /// Stores the time of each reply here, ns of the monotonic clock.
    pub fn report_arrivals(&mut self, heard_ns: Arc<AtomicU64>) {
        self.probe.heard_ns = heard_ns;
    }

    /// Passes each reply to a live view.
    pub fn feed(&mut self, feed: Arc<ReplyFeed>) {
        self.probe.feed = Some(feed);
    }

    pub(super) const fn client(&self) -> u32 {
        self.probe.client
    }

    pub(super) fn socket(&self) -> Arc<DataSocket> {
        Arc::clone(&self.probe.socket)
    }

    pub(super) fn signals(&self) -> Arc<FlowSignals> {
        Arc::clone(&self.probe.signals)
    }

    /// The measurements, without those of sizes that were not begun.
    pub(super) fn into_series(self) -> Vec<EchoSeries> {
        self.series
    }

    /// Measures the next size; `None` when there is none, or the test is being ended.
    ///
    /// # Errors
    /// The reason why the connection ended before its time, as text.
    pub(super) fn next_size(&mut self, start_ns: u64) -> Result<Option<SizeProgress>, String> {
        let is_ended = self.probe.signals.is_stopped() || self.probe.time_over.load(Relaxed);
        if self.sizes_done == self.series.len() || is_ended {
            return Ok(None);
        }
        let mut series = std::mem::take(&mut self.series[self.sizes_done]);
        let size_bytes = series.size;
        let result = self.measure(&mut series, start_ns);
        let (replies, sum_ns) = series
            .replies
            .iter()
            .filter_map(|reply| reply.ns())
            .fold((0_u64, 0_u64), |(n, sum), ns| {
                (n + 1, sum.saturating_add(ns))
            });
        self.series[self.sizes_done] = series;
        self.sizes_done += 1;
        match result {
            _ if self.probe.signals.is_stopped() => Ok(None),
            Err(cause) => Err(self.failure(&cause)),
            Ok(()) => Ok(Some(SizeProgress {
                client: self.probe.client,
                size_bytes,
                replies: replies as usize,
                mean_us: sum_ns as f64 / replies.max(1) as f64 / 1e3,
            })),
        }
    }

    fn measure(&mut self, series: &mut EchoSeries, start_ns: u64) -> io::Result<()> {
        let probe = &mut self.probe;
        let socket = Arc::clone(&probe.socket);
        match (&*socket, probe.plan.schedule) {
            (DataSocket::Tcp(stream), EchoSchedule::StopAndWait) => {
                stop_and_wait::over_tcp(probe, stream, series)
            }
            (DataSocket::Udp(socket), EchoSchedule::StopAndWait) => {
                stop_and_wait::over_udp(probe, socket, series)
            }
            (socket, EchoSchedule::Every { period, poisson }) => {
                let settings = ScheduleSettings {
                    period,
                    poisson,
                    // Each size has a schedule of its own.
                    seed: probe.seed.wrapping_add(self.sizes_done as u64),
                    start_ns,
                };
                on_schedule(probe, socket, series, settings)
            }
        }
    }

    fn failure(&self, cause: &io::Error) -> String {
        let client = self.probe.client;
        match cause.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                let seconds = self.probe.plan.timeout.as_secs_f64();
                format!("connection {client} had no reply for {seconds} s")
            }
            ErrorKind::UnexpectedEof => format!("the server closed connection {client}"),
            _ => format!("connection {client}: {cause}"),
        }
    }
}
