//! The server's half of a bulk transfer.

use super::arrivals::ArrivalRecorder;
use super::flows::BulkFlows;
use crate::admission::PlaceActivity;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, ServerEnding, ServerHalf, SessionProgress};
use caudal_core::event::EndedTest;
use caudal_core::plan::{Direction, Ticks};
use caudal_core::sample::Role;
use caudal_flow::LimitReached;
use caudal_wire::final_report::{FinalReport, FlowsReport};
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;

/// The time after its planned end at which a test is ended by the server, ns.
const OVERDUE_NS: u64 = 15_000_000_000;

/// The server's half of a bulk transfer.
pub(crate) struct BulkServerHalf {
    flows: BulkFlows,
    ticks: Ticks,
    /// The number of the next reading.
    tick: u64,
    /// The arrivals of uploads; `None` where there are none.
    arrivals: Option<ArrivalRecorder>,
    /// `true` when the number of datagrams sent is reported to the client at the end.
    reports_sent: bool,
}

impl BulkServerHalf {
    /// The half whose flows have these threads; `is_udp` when the client needs the number of datagrams sent.
    pub(crate) fn new(flows: BulkFlows, is_udp: bool) -> Self {
        let uploads = flows.bulk.directions.each().contains(&Direction::Up);
        Self {
            ticks: flows.bulk.ticks(),
            flows,
            tick: 0,
            arrivals: uploads.then(|| ArrivalRecorder::new(Direction::Up)),
            reports_sent: is_udp,
        }
    }

    /// The time of the next reading, ns of the monotonic clock.
    fn tick_due_ns(&self) -> Option<u64> {
        let at = self.ticks.at(self.tick)?;
        Some(self.flows.set.start_ns() + at.as_nanos() as u64)
    }

    fn samples(&self) -> ToClient {
        ToClient::Samples {
            samples: self.flows.set.sample(self.tick),
        }
    }
}

impl ServerHalf for BulkServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.flows.set.ended_fd()]
    }

    fn due_ns(&self) -> Option<u64> {
        let tick_ns = self.tick_due_ns()?;
        let arrivals = self.arrivals.as_ref();
        let arrivals_ns = arrivals.and_then(|arrivals| arrivals.due_ns(&self.flows.set));
        Some(arrivals_ns.map_or(tick_ns, |due_ns| due_ns.min(tick_ns)))
    }

    fn start(&mut self) {
        self.flows.set.start();
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.flows.set.limit_reached(now_ns)
    }

    fn limit_due_ns(&self) -> Option<u64> {
        self.flows.set.limit_due_ns()
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        let ns = |time: std::time::Duration| time.as_nanos() as u64;
        ServerEnding {
            overdue_ns: self.ticks.total().map(|total| ns(total) + OVERDUE_NS),
            idle_ns: ns(limits.idle_timeout),
        }
    }

    fn advance(&mut self, now_ns: u64) -> Vec<ToClient> {
        self.flows.set.reset_ended();
        let mut messages = Vec::new();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.advance(now_ns, &self.flows.set);
        }
        if self.tick_due_ns().is_some_and(|due| now_ns >= due) {
            messages.push(self.samples());
            self.tick += 1;
            if self.ticks.at(self.tick).is_none() {
                self.flows.set.stop_senders();
            }
        }
        if self.reports_sent && self.flows.set.is_over(Role::Sender) {
            self.reports_sent = false;
            messages.push(ToClient::Sent {
                sent: self.flows.set.sent_datagrams(),
            });
        }
        messages
    }

    fn stopped(&mut self) -> Vec<ToClient> {
        vec![self.samples()]
    }

    fn client_stopped(&mut self, is_immediate: bool, sent: &[(u32, u64)]) {
        for (flow, datagrams) in sent {
            self.flows.set.expect_datagrams(*flow, *datagrams);
        }
        if is_immediate {
            self.flows.set.stop_senders();
        }
    }

    fn is_over(&self) -> bool {
        self.flows.set.is_all_over()
    }

    fn arrived_bytes(&self) -> u64 {
        self.flows.set.received_bytes()
    }

    fn progress(&self) -> u64 {
        self.flows.set.progress()
    }

    fn payload(&self) -> SessionProgress {
        SessionProgress {
            received_bytes: self.flows.set.received_bytes(),
            sent_bytes: self.flows.set.sent_bytes(),
        }
    }

    fn moved(&self) -> (u64, u64) {
        (self.progress(), PlaceActivity::MIN_BYTES)
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        self.flows.set.stop_all();
        let flows = self.flows.set.finish();
        let counters = flows.iter().map(|flow| &flow.counters);
        FinishedServer {
            ended: EndedTest::from_counters(counters, 0.0, None),
            report: FinalReport::Flows(FlowsReport {
                flows,
                arrivals: self.arrivals.map(ArrivalRecorder::into_series),
            }),
        }
    }
}
