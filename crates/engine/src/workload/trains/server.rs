//! The server's half of trains.

use super::receiver::TrainReceiver;
use super::threads::{TrainThreads, TrainsEnd};
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, ServerEnding, ServerHalf};
use caudal_core::event::EndedTest;
use caudal_core::plan::TrainSeries;
use caudal_flow::{LimitReached, MemoryReservation, PlannedEnd, RunError, TestLimit};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The time after its planned end at which trains are ended by the server, ns.
const OVERDUE_NS: u64 = 15_000_000_000;
/// The times as long as planned that trains may take: a sender is held by its own slow link.
const MAX_TIMES: u64 = 8;
/// What a receiver holds besides, bytes: the room for messages of one call, of which a datagram uses what it takes.
const RECEIVER_BYTES: u64 = 32 * 9_216;

/// The server's half of trains.
pub(super) struct TrainsServerHalf {
    end: TrainsEnd,
    threads: TrainThreads,
    limit: Arc<TestLimit>,
    /// `true` once the client was told how many datagrams were sent.
    has_told: bool,
    _memory: MemoryReservation,
}

impl TrainsServerHalf {
    pub(super) fn new(end: TrainsEnd, limits: &ServerLimits) -> Result<Self, RunError> {
        let received = end.received_series().map_or(0, |series| {
            TrainReceiver::buffer_bytes(&series) + RECEIVER_BYTES
        });
        let sent = end.sent_series().map_or(0, sent_bytes);
        let memory = limits.session.memory.reserve(received + sent)?;
        let limit = Arc::new(TestLimit::new(&limits.session, PlannedEnd::ByItself));
        if received > 0 {
            limit.add_receiver();
        }
        let threads = TrainThreads::new(&end)?;
        Ok(Self {
            end: TrainsEnd {
                limit: Some(Arc::clone(&limit)),
                ..end
            },
            threads,
            limit,
            has_told: false,
            _memory: memory,
        })
    }
}

/// The bytes that an end holds for a series that it sends.
fn sent_bytes(series: TrainSeries) -> u64 {
    let times = if series.timed { series.total() * 12 } else { 0 };
    times + 64 * u64::from(series.length)
}

impl ServerHalf for TrainsServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.threads.fd()]
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn start(&mut self) {
        self.limit.start(monotonic_ns());
        // A thread that the kernel refuses leaves nothing to report: the client sees that nothing was sent or received.
        if self.threads.start_receiving(&self.end).is_err() {
            self.threads.signals().receiving_is_over();
        }
        if self.threads.start_sending(&self.end).is_err() {
            self.threads.signals().sending_is_over();
        }
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.limit.reached(now_ns)
    }

    fn limit_due_ns(&self) -> Option<u64> {
        self.limit.due_ns()
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        let planned_ns = self.end.plan.duration().as_nanos() as u64;
        ServerEnding {
            overdue_ns: Some(planned_ns * MAX_TIMES + OVERDUE_NS),
            idle_ns: limits.idle_timeout.as_nanos() as u64,
        }
    }

    fn advance(&mut self, _now_ns: u64) -> Vec<ToClient> {
        self.threads.reset();
        let is_told = self.end.sent_series().is_some()
            && !self.has_told
            && self.threads.is_sending_over(&self.end);
        if !is_told {
            return Vec::new();
        }
        self.has_told = true;
        vec![ToClient::Sent {
            sent: vec![(self.end.flow, self.threads.signals().sent())],
        }]
    }

    fn client_stopped(&mut self, is_immediate: bool, sent: &[(u32, u64)]) {
        let of_flow = sent.iter().find(|(flow, _)| *flow == self.end.flow);
        let sent = of_flow.map_or(0, |(_, datagrams)| *datagrams);
        self.threads.signals().expect(sent);
        if is_immediate {
            self.threads.signals().stop_sending();
        }
    }

    fn is_over(&self) -> bool {
        self.threads.is_sending_over(&self.end) && self.threads.is_receiving_over(&self.end)
    }

    fn progress(&self) -> u64 {
        self.threads.progress()
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        let (sent, received) = (self.end.sent_series(), self.end.received_series());
        let account = self.threads.finish();
        let payload = |datagrams: Option<u64>, series: Option<TrainSeries>| {
            datagrams.unwrap_or(0) * series.map_or(0, |series| u64::from(series.length))
        };
        let sent_datagrams = account.sent.as_ref().map(|sent| sent.datagrams);
        let arrived = account.received.as_ref().map(|received| received.datagrams);
        FinishedServer {
            ended: EndedTest {
                received_bytes: payload(arrived, received),
                sent_bytes: payload(sent_datagrams, sent),
                ..EndedTest::default()
            },
            report: FinalReport::Trains(Box::new(account)),
        }
    }
}
