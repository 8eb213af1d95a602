//! The server's half of a file transfer.

use super::mover::TransferMover;
use super::mover_thread::{MovedContent, MoverTask, MoverThread, MoverWork};
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, ServerEnding, ServerHalf};
use caudal_core::event::{CutShort, EndedTest};
use caudal_core::plan::{Direction, TransferPlan, TransferVia};
use caudal_flow::{LimitReached, MemoryReservation, PlannedEnd, RunError, TestLimit};
use caudal_sys::clock::monotonic_ns;
use caudal_transfer::TransferFailure;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The runs that a sender reads ahead, or a receiver has to compute the digest of, bytes.
const RUN_BYTES: u64 = 9 << 20;
/// The window of a protocol that orders datagrams by itself, and the buffer of a connection in the kernel, bytes.
const WINDOW_BYTES: u64 = 16 << 20;
const SOCKET_BYTES: u64 = 6 << 20;
/// The memory of a transfer that has moved nothing, bytes.
const BEGINNING_BYTES: u64 = 1 << 20;

/// The server's half of a file transfer.
pub(super) struct TransferServerHalf {
    direction: Direction,
    /// `None` while it is being started.
    mover: Option<TransferMover>,
    limit: Arc<TestLimit>,
    /// The memory for what has moved, until that is all that it ever holds.
    memory: MemoryReservation,
    max_memory: u64,
}

impl TransferServerHalf {
    pub(super) fn new(work: MoverWork, limits: &ServerLimits) -> Result<Self, RunError> {
        let memory = limits.session.memory.reserve(BEGINNING_BYTES)?;
        let max_memory = buffer_bytes(&work.plan, &work.task);
        let limit = Arc::new(TestLimit::new(&limits.session, PlannedEnd::Unknown));
        limit.add_receiver();
        Ok(Self {
            direction: work.plan.direction,
            mover: Some(TransferMover::new(MoverWork {
                limit: Some(Arc::clone(&limit)),
                ..work
            })),
            limit,
            memory,
            max_memory,
        })
    }

    fn thread(&self) -> Option<&MoverThread> {
        self.mover.as_ref()?.thread()
    }
}

/// The buffers of an end and of its sockets at most, bytes.
fn buffer_bytes(plan: &TransferPlan, task: &MoverTask) -> u64 {
    let block = match (&plan.via, task) {
        (TransferVia::Tcp(tcp) | TransferVia::Tls(tcp), MoverTask::Send(_)) => {
            SOCKET_BYTES + u64::from(tcp.write_bytes)
        }
        (TransferVia::Tcp(_) | TransferVia::Tls(_), MoverTask::Receive(_)) => {
            SOCKET_BYTES + (1 << 20)
        }
        (TransferVia::Rbt(_) | TransferVia::Quic, _) => WINDOW_BYTES,
    };
    RUN_BYTES + block
}

impl ServerHalf for TransferServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.thread().map(MoverThread::fd).into_iter().collect()
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn start(&mut self) {
        self.limit.start(monotonic_ns());
        self.mover = self.mover.take().map(TransferMover::started);
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.limit.reached(now_ns)
    }

    fn limit_due_ns(&self) -> Option<u64> {
        self.limit.due_ns()
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        ServerEnding {
            overdue_ns: None,
            idle_ns: limits.idle_timeout.as_nanos() as u64,
        }
    }

    fn advance(&mut self, _now_ns: u64) -> Vec<ToClient> {
        let moved = self.thread().map(|thread| {
            thread.reset();
            thread.bytes()
        });
        // What a client claims takes no memory, and what it moves is held until it has gone on.
        let needed = moved.unwrap_or(0).saturating_add(BEGINNING_BYTES);
        if let Err(exhausted) = self.memory.grow_to(needed.min(self.max_memory)) {
            self.limit.reach(exhausted.into());
        }
        Vec::new()
    }

    fn client_stopped(&mut self, is_immediate: bool, _sent: &[(u32, u64)]) {
        if let (true, Some(mover)) = (is_immediate, &self.mover) {
            mover.stop();
        }
    }

    fn is_over(&self) -> bool {
        self.mover.as_ref().is_none_or(TransferMover::is_over)
    }

    fn progress(&self) -> u64 {
        match self.thread() {
            // A content that has begun to move is watched by its mover, which gives up a peer that moves nothing.
            Some(thread) if thread.bytes() > 0 && !thread.is_over() => monotonic_ns(),
            Some(thread) => thread.digested(),
            None => 0,
        }
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        let moved = self.mover.map_or_else(
            || MovedContent::failed(TransferFailure::Stopped),
            TransferMover::finish,
        );
        let bytes = moved.account.bytes;
        let failure = moved.failure.map(|failure| failure.to_string());
        let (received_bytes, sent_bytes) = match self.direction {
            Direction::Up => (bytes, 0),
            Direction::Down => (0, bytes),
        };
        FinishedServer {
            ended: EndedTest {
                received_bytes,
                sent_bytes,
                cut_short: failure.map(|reason| CutShort::ByServer(reason.into())),
                ..EndedTest::default()
            },
            report: FinalReport::Transfer(Box::new(moved.account)),
        }
    }
}
