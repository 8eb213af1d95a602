//! A kind of test, and the half of it that each end of a native test carries out.

use super::connection_answer::ConnectionAnswer;
use super::limits::ServerLimits;
use super::outcome::Outcome;
use crate::admission::PlaceActivity;
use crate::options::LocalOptions;
use caudal_core::echo::ClockOffset;
use caudal_core::episode::Episode;
use caudal_core::event::{CutShort, EndedTest, Event};
use caudal_core::host::Usage;
use caudal_core::plan::{Plan, PlannedFlow};
use caudal_core::text::ExternalText;
use caudal_flow::socket::{DataSocket, SocketSettings};
use caudal_flow::{LimitReached, LocalBinding, RunError};
use caudal_host::UsageMeter;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use caudal_wire::preamble::TestToken;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A flow whose data socket is open.
pub(crate) struct OpenFlow {
    /// The flow.
    pub(crate) flow: PlannedFlow,
    /// Its socket.
    pub(crate) socket: DataSocket,
    /// The time it took to connect, where this end connected over TCP.
    pub(crate) connect_time: Option<Duration>,
}

/// The connection of a test at its client.
pub(crate) struct ClientLink<'a> {
    /// The token of the data connections.
    pub(crate) token: TestToken,
    /// The server.
    pub(crate) peer: SocketAddr,
    /// The local end of connections to it.
    pub(crate) binding: &'a LocalBinding,
    /// The time data may arrive after the end of the test, ns.
    pub(crate) trailing_ns: u64,
}

/// A kind of test with its plan. Data sockets, one for each flow of the plan, are opened for it.
pub(crate) trait Workload {
    /// The plan.
    fn plan(&self) -> Plan;

    /// Changes the plan to fit a server's limits: the changes, as text for the client.
    fn limit(&mut self, limits: &ServerLimits) -> Vec<String>;

    /// Completes the plan that a client offers with what only the server knows, within its limits: the changes, as text for the client.
    ///
    /// # Errors
    /// Why the server refuses it.
    fn accept(&mut self, limits: &ServerLimits) -> Result<Vec<String>, RunError> {
        Ok(self.limit(limits))
    }

    /// The settings of a flow's data socket.
    fn socket_settings(&self, flow: &PlannedFlow) -> SocketSettings;

    /// `true` when the client needs the offset of the server's clock before and after the test.
    fn needs_clock_offset(&self) -> bool {
        false
    }

    /// The client's half.
    ///
    /// # Errors
    /// When this machine does not grant what it needs.
    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError>;

    /// The server's half, within the server's limits.
    ///
    /// # Errors
    /// When this machine does not grant what it needs.
    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError>;
}

/// The end of the dialogue of a test at the client.
pub(crate) struct EndedDialogue {
    /// The changes the server made to the plan.
    pub(crate) changed: Vec<ExternalText>,
    /// `true` when the server lowered the rate that was asked for.
    pub(crate) server_set_rate: bool,
    /// The meter of this machine, to be read when all threads have ended.
    pub(crate) meter: UsageMeter,
    /// The reason why the test ended early, as far as the dialogue knows.
    pub(crate) cut_short: Option<CutShort>,
    /// Outages and programs that stood still, with times after the start of the test.
    pub(crate) episodes: Vec<Episode>,
    /// The error that ended the dialogue.
    pub(crate) error: Option<RunError>,
    /// The server's report; `None` when it did not come.
    pub(crate) report: Option<FinalReport>,
    /// The resources the server used; `None` when it did not report.
    pub(crate) server_usage: Option<Usage>,
    /// `true` when this end's part was over before the dialogue ended.
    pub(crate) was_over: bool,
    /// The server's clock before and after the test, where the workload needs it.
    pub(crate) clock: Option<(ClockOffset, ClockOffset)>,
}

/// The client's half of a running test.
pub(crate) trait ClientHalf {
    /// The descriptors that are readable when [`Self::advance`] is to be called.
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>>;

    /// The time at which [`Self::advance`] is to be called, ns of the monotonic clock.
    fn due_ns(&self) -> Option<u64>;

    /// Begins what does not wait for the server: the request to start has been sent.
    fn start_requested(&mut self, events: &mut dyn FnMut(Event));

    /// Begins everything else: the server has started.
    fn started(&mut self, events: &mut dyn FnMut(Event));

    /// Payload bytes that have arrived at this end: a sign of the server, whose messages may be behind them in a queue.
    fn arrived_bytes(&self) -> u64 {
        0
    }

    /// Takes a message of the workload.
    ///
    /// # Errors
    /// When the message does not belong to it.
    fn receive(&mut self, message: ToClient, events: &mut dyn FnMut(Event))
    -> Result<(), RunError>;

    /// Does what is due at `now_ns` of the monotonic clock.
    fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event));

    /// `true` when this end's part is over.
    fn is_over(&self) -> bool;

    /// The time at which payload, or a reply, of the server's program arrived last, ns of the monotonic clock; `None` for a workload
    /// that is not watched for outages.
    fn heard_ns(&self) -> Option<u64> {
        None
    }

    /// Ends this end's sending.
    fn stop(&mut self);

    /// The datagrams this end has sent on each UDP flow, for the server's account: (flow, datagrams).
    fn sent_datagrams(&self) -> Vec<(u32, u64)> {
        Vec::new()
    }

    /// Ends all flows and gives the measurements.
    ///
    /// # Errors
    /// When nothing could be measured.
    fn finish(self: Box<Self>, ended: EndedDialogue) -> Result<Outcome, RunError>;
}

/// The times at which a server ends a test that its client does not end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerEnding {
    /// The time by which the client should have ended the test, ns after the start.
    pub(crate) overdue_ns: Option<u64>,
    /// The time the test may make no progress, ns.
    pub(crate) idle_ns: u64,
}

/// The payload of a running test so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionProgress {
    /// Payload bytes that arrived at the server.
    pub received_bytes: u64,
    /// Payload bytes that it sent, of tests that count bytes.
    pub sent_bytes: u64,
}

/// The measurements of the server's half.
pub(crate) struct FinishedServer {
    /// The report for the client.
    pub(crate) report: FinalReport,
    /// The same over all flows.
    pub(crate) ended: EndedTest,
}

/// The server's half of a running test.
pub(crate) trait ServerHalf {
    /// The descriptors that are readable when [`Self::advance`] is to be called.
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>>;

    /// The time at which [`Self::advance`] is to be called, ns of the monotonic clock.
    fn due_ns(&self) -> Option<u64>;

    /// Begins: the client has asked to start.
    fn start(&mut self);

    /// The limit of the server that the test has reached at `now_ns`.
    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached>;

    /// The time at which a limit of the server ends the test, ns of the monotonic clock.
    fn limit_due_ns(&self) -> Option<u64>;

    /// The times at which the server ends the test by itself.
    fn ending(&self, limits: &ServerLimits) -> ServerEnding;

    /// Does what is due at `now_ns` of the monotonic clock: the messages for the client.
    fn advance(&mut self, now_ns: u64) -> Vec<ToClient>;

    /// The messages for the client when the server is stopped.
    fn stopped(&mut self) -> Vec<ToClient> {
        Vec::new()
    }

    /// Takes note that the client's sending is over: `is_immediate` when the server's is to end now, `sent` as in
    /// [`ClientHalf::sent_datagrams`].
    fn client_stopped(&mut self, is_immediate: bool, sent: &[(u32, u64)]);

    /// `true` when the server's part is over, once the client's sending is.
    fn is_over(&self) -> bool;

    /// A number that grows as long as the test makes progress.
    fn progress(&self) -> u64;

    /// What this end has moved so far, and how much of it in ten seconds makes a test: bytes, or messages.
    fn moved(&self) -> (u64, u64) {
        (self.progress(), PlaceActivity::MIN_MESSAGES)
    }

    /// Payload bytes that have arrived at this end: a sign of the client, whose messages may be behind them in a queue.
    fn arrived_bytes(&self) -> u64 {
        0
    }

    /// The payload of this test so far.
    fn payload(&self) -> SessionProgress {
        SessionProgress {
            received_bytes: self.arrived_bytes(),
            sent_bytes: 0,
        }
    }

    /// The answer to connections that the client makes while the test runs; `None` where it makes none.
    fn connection_answer(&self) -> Option<ConnectionAnswer> {
        None
    }

    /// Ends all flows and gives the measurements.
    fn finish(self: Box<Self>) -> FinishedServer;
}
