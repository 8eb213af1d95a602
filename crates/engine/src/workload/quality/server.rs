//! The server's half of a phase of a test of latency under load.

use super::parts::{FlowParts, PartWorkloads, ReportParts};
use super::queue_meter::QueueMeter;
use crate::workload::connection_answer::ConnectionAnswer;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, ServerEnding, ServerHalf, Workload};
use caudal_core::event::EndedTest;
use caudal_core::plan::QualityPlan;
use caudal_flow::{LimitReached, RunError};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::message::ToClient;
use caudal_wire::preamble::TestToken;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The time after its planned end at which a phase is ended by the server, ns.
const OVERDUE_NS: u64 = 15_000_000_000;

/// Sixteenths of the server's limits for the load.
pub(super) const LOAD_SHARE: u64 = 14;
/// Sixteenths of the server's limits for each of the two echo probes.
const PROBE_SHARE: u64 = 1;

/// The limits for a part of the test.
fn share(limits: &ServerLimits, sixteenths: u64) -> ServerLimits {
    ServerLimits {
        session: limits.session.share(sixteenths),
        ..limits.clone()
    }
}

/// The server's half of a phase.
pub(super) struct QualityServerHalf {
    plan: QualityPlan,
    /// The load; `None` in the idle phase.
    load: Option<Box<dyn ServerHalf>>,
    /// The UDP probe; `None` where UDP does not pass.
    udp: Option<Box<dyn ServerHalf>>,
    tcp: Box<dyn ServerHalf>,
    client: Option<SocketAddr>,
    /// The readings of this end's own queue, once the test was started.
    queue: Option<QueueMeter>,
}

impl QualityServerHalf {
    pub(super) fn new(
        plan: &QualityPlan,
        parts: &PartWorkloads,
        flows: FlowParts,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Self, RunError> {
        let client = flows.tcp.socket.peer_address().ok();
        let load = parts.load.as_ref();
        let load_limits = share(limits, LOAD_SHARE);
        let probe_limits = share(limits, PROBE_SHARE);
        Ok(Self {
            plan: plan.clone(),
            load: load
                .map(|load| load.server_half(flows.load, token, &load_limits))
                .transpose()?,
            udp: flows
                .udp
                .map(|flow| parts.udp.server_half(vec![flow], token, &probe_limits))
                .transpose()?,
            tcp: parts
                .tcp
                .server_half(vec![flows.tcp], token, &probe_limits)?,
            client,
            queue: None,
        })
    }

    fn parts(&self) -> impl Iterator<Item = &dyn ServerHalf> {
        let load = self.load.as_deref();
        let udp = self.udp.as_deref();
        load.into_iter().chain(udp).chain([&*self.tcp])
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn ServerHalf>> {
        let probes = self.udp.iter_mut().chain([&mut self.tcp]);
        self.load.iter_mut().chain(probes)
    }
}

impl ServerHalf for QualityServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.parts().flat_map(ServerHalf::wakeup_fds).collect()
    }

    fn due_ns(&self) -> Option<u64> {
        let parts = self.parts().filter_map(ServerHalf::due_ns);
        parts
            .chain(self.queue.as_ref().map(QueueMeter::due_ns))
            .min()
    }

    fn start(&mut self) {
        let ns = |time: Duration| time.as_nanos() as u64;
        self.queue = Some(QueueMeter::start(
            self.client,
            monotonic_ns(),
            ns(self.plan.ramp),
            ns(self.plan.interval),
        ));
        self.parts_mut().for_each(|part| part.start());
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.parts().find_map(|part| part.limit_reached(now_ns))
    }

    fn limit_due_ns(&self) -> Option<u64> {
        self.parts().filter_map(ServerHalf::limit_due_ns).min()
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        let idle_ns = self.parts().map(|part| part.ending(limits).idle_ns).max();
        ServerEnding {
            // The client waits for the reply to its last probe.
            overdue_ns: Some((self.plan.time + self.plan.timeout).as_nanos() as u64 + OVERDUE_NS),
            idle_ns: idle_ns.unwrap_or(OVERDUE_NS) + self.plan.patience().as_nanos() as u64,
        }
    }

    fn advance(&mut self, now_ns: u64) -> Vec<ToClient> {
        if let Some(queue) = &mut self.queue {
            queue.advance(now_ns);
        }
        self.parts_mut()
            .flat_map(|part| part.advance(now_ns))
            .collect()
    }

    fn stopped(&mut self) -> Vec<ToClient> {
        self.parts_mut().flat_map(|part| part.stopped()).collect()
    }

    fn client_stopped(&mut self, is_immediate: bool, sent: &[(u32, u64)]) {
        for part in self.parts_mut() {
            part.client_stopped(is_immediate, sent);
        }
    }

    fn is_over(&self) -> bool {
        self.parts().all(ServerHalf::is_over)
    }

    fn arrived_bytes(&self) -> u64 {
        self.parts().map(ServerHalf::arrived_bytes).sum()
    }

    fn progress(&self) -> u64 {
        self.parts().map(ServerHalf::progress).sum()
    }

    fn connection_answer(&self) -> Option<ConnectionAnswer> {
        Some(ConnectionAnswer::UntilClosed)
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        let load = self.load.map(ServerHalf::finish);
        let (udp, tcp) = (self.udp.map(ServerHalf::finish), self.tcp.finish());
        let finished = [load.as_ref(), udp.as_ref(), Some(&tcp)];
        let sum = |bytes: fn(&FinishedServer) -> u64| {
            finished.iter().flatten().map(|part| bytes(part)).sum()
        };
        let (received_bytes, sent_bytes) = (
            sum(|part| part.ended.received_bytes),
            sum(|part| part.ended.sent_bytes),
        );
        let flows = |part: FinishedServer| part.report.into_flows();
        let reports = ReportParts {
            load: load.map(flows).unwrap_or_default(),
            udp: udp.map(flows).unwrap_or_default(),
            tcp: flows(tcp),
            sender_queue: self.queue.and_then(QueueMeter::finish),
        };
        FinishedServer {
            report: reports.join(&self.plan),
            ended: EndedTest {
                received_bytes,
                sent_bytes,
                ..EndedTest::default()
            },
        }
    }
}
