//! The client's half of trains.

use super::outcome::TrainsOutcome;
use super::threads::{TrainThreads, TrainsEnd};
use crate::workload::elapsed::time_since;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, EndedDialogue};
use caudal_core::event::{CutShort, Event};
use caudal_flow::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::io;
use std::os::fd::BorrowedFd;

/// The times as long as planned that trains may take: a sender is held by its own slow link.
const MAX_TIMES: u64 = 8;
/// Minimum time that trains may take besides, ns.
const PATIENCE_NS: u64 = 5_000_000_000;

/// The client's half of trains.
pub(super) struct TrainsClientHalf {
    end: TrainsEnd,
    threads: Result<TrainThreads, RunError>,
    trailing_ns: u64,
    start_ns: u64,
    give_up_ns: Option<u64>,
    /// The end of this end's part, ns of the monotonic clock; 0 before.
    end_ns: u64,
}

impl TrainsClientHalf {
    pub(super) fn new(end: TrainsEnd, trailing_ns: u64) -> Self {
        Self {
            threads: TrainThreads::new(&end),
            end,
            trailing_ns,
            start_ns: 0,
            give_up_ns: None,
            end_ns: 0,
        }
    }

    /// Begins with a thread; the half goes on without one where there is none.
    fn begin(&mut self, start: impl FnOnce(&mut TrainThreads, &TrainsEnd) -> io::Result<()>) {
        if let Ok(threads) = &mut self.threads
            && let Err(cause) = start(threads, &self.end)
        {
            self.threads = Err(RunError::local("starting a thread", cause));
        }
    }

    fn is_done(&self) -> bool {
        self.threads.as_ref().map_or(true, |threads| {
            threads.is_sending_over(&self.end) && threads.is_receiving_over(&self.end)
        })
    }
}

impl ClientHalf for TrainsClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        let threads = self.threads.as_ref().ok().filter(|_| self.end_ns == 0);
        threads.map(TrainThreads::fd).into_iter().collect()
    }

    fn due_ns(&self) -> Option<u64> {
        self.give_up_ns.filter(|_| self.end_ns == 0)
    }

    fn start_requested(&mut self, _events: &mut dyn FnMut(Event)) {
        self.begin(TrainThreads::start_receiving);
    }

    fn started(&mut self, events: &mut dyn FnMut(Event)) {
        self.start_ns = monotonic_ns();
        let planned_ns = self.end.plan.duration().as_nanos() as u64;
        self.give_up_ns =
            Some(self.start_ns + planned_ns * MAX_TIMES + PATIENCE_NS + self.trailing_ns);
        self.begin(TrainThreads::start_sending);
        events(Event::Started { repeat: None });
    }

    fn receive(
        &mut self,
        message: ToClient,
        _events: &mut dyn FnMut(Event),
    ) -> Result<(), RunError> {
        match message {
            ToClient::Sent { sent } => {
                let of_flow = sent.iter().find(|(flow, _)| *flow == self.end.flow);
                if let (Some((_, datagrams)), Ok(threads)) = (of_flow, &self.threads) {
                    threads.signals().expect(*datagrams);
                }
                Ok(())
            }
            other => Err(RunError::unexpected(other, "the end of the trains")),
        }
    }

    fn advance(&mut self, now_ns: u64, _events: &mut dyn FnMut(Event)) {
        let Ok(threads) = &self.threads else { return };
        threads.reset();
        if self.give_up_ns.is_some_and(|at_ns| now_ns >= at_ns) {
            self.give_up_ns = None;
            threads.signals().stop_sending();
            threads.signals().stop_receiving();
        }
        if self.start_ns > 0 && self.end_ns == 0 && self.is_done() {
            self.end_ns = now_ns;
        }
    }

    fn is_over(&self) -> bool {
        self.start_ns > 0 && self.is_done()
    }

    fn stop(&mut self) {
        if let Ok(threads) = &self.threads {
            threads.signals().stop_sending();
            threads.signals().stop_receiving();
        }
    }

    fn sent_datagrams(&self) -> Vec<(u32, u64)> {
        match &self.threads {
            Ok(threads) => vec![(self.end.flow, threads.signals().sent())],
            Err(_) => Vec::new(),
        }
    }

    fn finish(self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let local_port = self.end.socket.local_address().ok();
        let client = self.threads?.finish();
        let end_ns = match self.end_ns {
            0 => monotonic_ns(),
            end_ns => end_ns,
        };
        let client_usage = ended.meter.read();
        let mut cut_short = ended.cut_short.take();
        if let Some(error) = ended.error.take() {
            let arrived = client
                .received
                .as_ref()
                .is_some_and(|all| all.datagrams > 0);
            if !arrived {
                return Err(error);
            }
            cut_short = cut_short.or_else(|| Some(CutShort::Lost(error.to_string().into())));
        }
        let server = ended.report.take().and_then(FinalReport::into_trains);
        Ok(Outcome::Trains(Box::new(TrainsOutcome {
            plan: self.end.plan,
            changed: ended.changed,
            client,
            server,
            elapsed: time_since(self.start_ns, end_ns),
            local_port: local_port.map(|address| address.port()),
            client_usage,
            server_usage: ended.server_usage,
            cut_short,
        })))
    }
}
