//! The client's half of a test of the connection rate.

use super::attempt::AttemptSettings;
use super::opening_run::{OpeningRun, conditions};
use super::outcome::ConnectOutcome;
use crate::options::LocalOptions;
use crate::workload::outcome::Outcome;
use crate::workload::workload::{ClientHalf, ClientLink, EndedDialogue};
use caudal_core::connect::ConnectServer;
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::ConnectPlan;
use caudal_flow::RunError;
use caudal_transfer::TlsClient;
use caudal_wire::message::ToClient;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The client's half of a test of the connection rate.
pub(super) struct ConnectClientHalf {
    plan: ConnectPlan,
    settings: AttemptSettings,
    options: LocalOptions,
    run: Option<Result<OpeningRun, RunError>>,
}

impl ConnectClientHalf {
    pub(super) fn new(
        plan: &ConnectPlan,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Self, RunError> {
        let tls = match (plan.tls, &plan.certificate) {
            (false, _) => None,
            (true, Some(fingerprint)) => Some(TlsClient::of_session(fingerprint)),
            (true, None) => {
                let message = "the server announced no certificate";
                return Err(RunError::Protocol(message.into()));
            }
        };
        let tls = tls
            .transpose()
            .map_err(|failure| RunError::Protocol(failure.to_string().into()))?;
        Ok(Self {
            settings: AttemptSettings {
                peer: link.peer,
                binding: link.binding.clone(),
                dscp: plan.dscp,
                timeout: plan.timeout,
                tls,
                token: Some(link.token),
            },
            plan: plan.clone(),
            options: options.clone(),
            run: None,
        })
    }

    fn running(&self) -> Option<&OpeningRun> {
        self.run.as_ref()?.as_ref().ok()
    }
}

impl ClientHalf for ConnectClientHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn due_ns(&self) -> Option<u64> {
        self.running().and_then(OpeningRun::due_ns)
    }

    fn start_requested(&mut self, _events: &mut dyn FnMut(Event)) {}

    fn started(&mut self, events: &mut dyn FnMut(Event)) {
        let (options, settings) = (&self.options, self.settings.clone());
        let run = OpeningRun::start(&self.plan, settings, |nth| options.cpu(nth));
        self.run = Some(run);
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
        if let Some(Ok(run)) = &mut self.run {
            run.advance(now_ns, events);
        }
    }

    fn is_over(&self) -> bool {
        match &self.run {
            None => false,
            Some(Ok(run)) => run.is_over(),
            Some(Err(_)) => true,
        }
    }

    fn heard_ns(&self) -> Option<u64> {
        self.running().map(OpeningRun::heard_ns)
    }

    fn stop(&mut self) {
        if let Some(run) = self.running() {
            run.stop();
        }
    }

    fn finish(self: Box<Self>, mut ended: EndedDialogue) -> Result<Outcome, RunError> {
        let run = self.run.unwrap_or(Err(RunError::Interrupted));
        let (tally, elapsed, last_failure) = match run {
            Ok(run) => run.finish(),
            // A test that could not begin ended with the error of its dialogue, where there is one.
            Err(error) => return Err(ended.error.take().unwrap_or(error)),
        };
        let client_usage = ended.meter.read();
        let (completed, failed) = tally.ended();
        let mut cut_short = ended.cut_short.take();
        if let Some(error) = ended.error.take().filter(|_| !ended.was_over) {
            if completed + failed == 0 {
                return Err(error);
            }
            cut_short = cut_short.or_else(|| Some(CutShort::Lost(error.to_string().into())));
        }
        if completed + failed == 0 && cut_short.is_some() {
            return Err(RunError::Interrupted);
        }
        Ok(Outcome::Connect(Box::new(ConnectOutcome {
            conditions: conditions(&self.plan),
            plan: self.plan,
            server: ConnectServer::Caudal,
            changed: ended.changed,
            tally: Arc::new(tally),
            answered: ended
                .report
                .and_then(|report| Some(report.connect()?.answered)),
            elapsed,
            last_failure,
            episodes: ended.episodes,
            client_usage,
            server_usage: ended.server_usage,
            cut_short,
        })))
    }
}
