//! The client's half of a file transfer.

use super::mover::TransferMover;
use super::mover_thread::{MovedContent, MoverThread, MoverWork};
use super::outcome::TransferOutcome;
use crate::workload::elapsed::time_since;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, EndedDialogue};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::TransferPlan;
use caudal_core::text::ExternalText;
use caudal_core::transfer::{TransferEnd, TransferProgress};
use caudal_core::units::ByteCount;
use caudal_flow::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_transfer::TransferFailure;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;

/// The client's half of a file transfer.
pub(super) struct TransferClientHalf {
    plan: TransferPlan,
    /// `None` while it is being started.
    mover: Option<TransferMover>,
    start_ns: u64,
    /// The end of this end's part, ns of the monotonic clock; 0 before.
    end_ns: u64,
    /// The time of the next report of progress, ns of the monotonic clock.
    report_ns: u64,
}

impl TransferClientHalf {
    pub(super) fn new(work: MoverWork) -> Self {
        Self {
            plan: work.plan.clone(),
            mover: Some(TransferMover::new(work)),
            start_ns: 0,
            end_ns: 0,
            report_ns: 0,
        }
    }

    fn thread(&self) -> Option<&MoverThread> {
        self.mover.as_ref()?.thread()
    }

    /// The progress at `now_ns`.
    fn progress(&self, now_ns: u64) -> TransferProgress {
        let moved = self.thread().map_or(0, MoverThread::arrived_bytes);
        TransferProgress {
            at_ns: now_ns.saturating_sub(self.start_ns),
            bytes: self.plan.resume_from.get() + moved,
            total_bytes: self.plan.content.bytes().map(ByteCount::get),
        }
    }

    fn interval_ns(&self) -> u64 {
        self.plan.interval.as_nanos() as u64
    }
}

impl ClientHalf for TransferClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        let thread = self.thread().filter(|_| self.end_ns == 0);
        thread.map(MoverThread::fd).into_iter().collect()
    }

    fn due_ns(&self) -> Option<u64> {
        (self.start_ns > 0 && self.end_ns == 0).then_some(self.report_ns)
    }

    fn start_requested(&mut self, events: &mut dyn FnMut(Event)) {
        self.start_ns = monotonic_ns();
        self.report_ns = self.start_ns + self.interval_ns();
        self.mover = self.mover.take().map(TransferMover::started);
        events(Event::Started { repeat: None });
    }

    fn started(&mut self, _events: &mut dyn FnMut(Event)) {}

    fn receive(
        &mut self,
        message: ToClient,
        _events: &mut dyn FnMut(Event),
    ) -> Result<(), RunError> {
        Err(RunError::unexpected(message, "the end of the transfer"))
    }

    fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        if let Some(thread) = self.thread() {
            thread.reset();
        }
        if self.start_ns == 0 || self.end_ns > 0 {
            return;
        }
        if self.is_over() {
            self.end_ns = now_ns;
            events(Event::Transfer(self.progress(now_ns)));
        } else if now_ns >= self.report_ns {
            events(Event::Transfer(self.progress(now_ns)));
            let behind = (now_ns - self.report_ns) / self.interval_ns().max(1);
            self.report_ns += (behind + 1) * self.interval_ns();
        }
    }

    fn is_over(&self) -> bool {
        self.mover.as_ref().is_none_or(TransferMover::is_over)
    }

    fn stop(&mut self) {
        if let Some(mover) = &self.mover {
            mover.stop();
        }
    }

    fn finish(self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let end_ns = match self.end_ns {
            0 => monotonic_ns(),
            end_ns => end_ns,
        };
        let moved = self.mover.map_or_else(
            || MovedContent::failed(TransferFailure::Stopped),
            TransferMover::finish,
        );
        let client_usage = ended.meter.read();
        let error = ended.error.take();
        if let Some(error) = error {
            if moved.failure.is_some() && moved.account.bytes == 0 {
                return Err(error);
            }
            let lost = || CutShort::Lost(error.to_string().into());
            ended.cut_short = Some(ended.cut_short.take().unwrap_or_else(lost));
        }
        let server = ended.report.take().and_then(FinalReport::into_transfer);
        let failure = failure(&moved, server.as_ref(), ended.cut_short.as_ref());
        Ok(Outcome::Transfer(Box::new(TransferOutcome {
            plan: self.plan,
            changed: ended.changed,
            server_set_rate: ended.server_set_rate,
            client: moved.account,
            server,
            elapsed: time_since(self.start_ns, end_ns),
            client_usage,
            server_usage: ended.server_usage,
            cut_short: ended.cut_short,
            failure,
        })))
    }
}

/// The reason why a transfer did not complete: that of the end where it began.
fn failure(
    moved: &MovedContent,
    server: Option<&TransferEnd>,
    cut_short: Option<&CutShort>,
) -> Option<ExternalText> {
    let at_server = server.and_then(|end| end.failure.as_ref());
    let own = moved.failure.as_ref();
    match (own, at_server, cut_short) {
        (None, None, _) => None,
        // The server says why it ended the test.
        (_, _, Some(CutShort::ByServer(reason))) => Some(reason.clone()),
        (Some(own), None, _) => Some(own.to_string().into()),
        // A connection that broke is what the end sees that did not break it.
        (Some(own), Some(_), _) if !own.is_of_connection() => Some(own.to_string().into()),
        (_, Some(theirs), _) => Some(format!("at the server: {}", theirs.as_received()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(
        own: Option<TransferFailure>,
        server: Option<&str>,
        cut_short: Option<&CutShort>,
    ) -> Option<String> {
        let moved = match own {
            Some(failure) => MovedContent::failed(failure),
            None => MovedContent {
                account: TransferEnd::default(),
                failure: None,
            },
        };
        let server = TransferEnd {
            failure: server.map(Into::into),
            ..TransferEnd::default()
        };
        failure(&moved, Some(&server), cut_short).map(|reason| reason.to_string())
    }

    #[test]
    fn a_failure_is_told_as_the_end_saw_it_where_it_began() {
        let broken = || TransferFailure::Connection("the connection broke".to_owned());
        assert_eq!(shown(None, None, None), None);
        assert_eq!(
            shown(Some(broken()), Some("no space"), None).unwrap(),
            "at the server: no space"
        );
        assert_eq!(
            shown(Some(broken()), None, None).unwrap(),
            "the connection broke"
        );
        let shrank = TransferFailure::Storage("it shrank".to_owned());
        assert_eq!(
            shown(Some(shrank), Some("it closed"), None).unwrap(),
            "it shrank"
        );
        let limit = CutShort::ByServer("the server's time limit was reached".into());
        assert_eq!(
            shown(Some(broken()), Some("stopped"), Some(&limit)).unwrap(),
            "the server's time limit was reached"
        );
    }
}
