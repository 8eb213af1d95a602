//! The sending end of a UDP flow: after its payload it announces the end, and awaits the other end's report.

use super::datagram_format::Iperf2Format;
use super::opening_turns::OpeningTurn;
use caudal_core::plan::{DatagramSizes, MAX_DATAGRAM, Pacing};
use caudal_core::units::BitRate;
use caudal_flow::{
    DatagramFormat, DatagramLimit, DatagramPace, DatagramSender, FlowContext, FlowWork, MAX_BATCH,
    SendGrouping, TaskOutcome, UnsentDatagrams,
};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::{self, GroReceiver, Wait};
use caudal_wire::iperf2::{HeaderLayout, ServerReport};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// The time a sender waits for the answer to each of its last datagrams, ms.
const ATTEMPTS_MS: [u64; 18] = [
    10, 10, 10, 20, 20, 20, 50, 50, 50, 100, 100, 250, 250, 250, 250, 250, 250, 250,
];
/// The interval at which a sender looks whether its turn to open the flow has come, ns.
const TURN_CHECK_NS: u64 = 500_000;
/// The number of datagrams in a row that the other end's host may refuse before a flow that expects no report ends.
const MAX_REFUSALS: u32 = 20;

/// The announcement of the end of a flow.
#[derive(Debug, Clone)]
pub(super) enum EndAnnouncement {
    /// With one last datagram.
    Once,
    /// With a last datagram that is repeated until the other end reports.
    UntilReported(Sender<EndAnswer>),
}

/// The answer of the other end to the end of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndAnswer {
    pub(super) flow: u32,
    /// The datagrams that were sent.
    pub(super) sent: u64,
    /// The report; otherwise the number of attempts.
    pub(super) report: Result<ServerReport, u32>,
}

/// The sending end of a UDP flow.
pub(super) struct Iperf2DatagramSender {
    flow: u32,
    sender: DatagramSender<Iperf2Format>,
    announcement: EndAnnouncement,
    opening: FlowOpening,
    turn: Option<OpeningTurn>,
    /// The time the flow lasts from its turn on; without one it ends when the test does.
    time: Option<Duration>,
}

/// The way in which a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowOpening {
    /// With its first datagram.
    FirstDatagram,
    /// With a datagram of number 0 before the first: receivers up to 2.0.13 take a flow's first datagram for its opening and
    /// do not count it, later ones count none of that number.
    NumberZero,
}

impl Iperf2DatagramSender {
    /// A sender of datagrams of `length` bytes: `bytes` in total, or as long as the test lasts; at `rate` bit/s, or as fast as
    /// possible.
    pub(super) fn new(
        flow: u32,
        format: Iperf2Format,
        length: u32,
        rate: Option<u64>,
        bytes: Option<u64>,
        announcement: EndAnnouncement,
    ) -> Self {
        let header = format.layout.header() as u32;
        let length = length.max(header).min(MAX_DATAGRAM);
        let max_refusals = match announcement {
            EndAnnouncement::Once => MAX_REFUSALS,
            EndAnnouncement::UntilReported(_) => u32::MAX,
        };
        let rate = rate.filter(|rate| *rate > 0).map(BitRate::from_bps);
        Self {
            flow,
            sender: DatagramSender {
                format,
                length,
                sizes: bytes.map_or(DatagramSizes::whole(length, None), |bytes| {
                    DatagramSizes::with_short_last(length, bytes, header)
                }),
                pace: DatagramPace::from_rate(rate),
                pacing: Pacing::Balanced,
                grouping: SendGrouping::Batches,
                unsent: UnsentDatagrams::Resend { max_refusals },
                limit: DatagramLimit::Unlimited,
            },
            announcement,
            opening: FlowOpening::FirstDatagram,
            turn: None,
            time: None,
        }
    }

    /// This sender with another way to begin.
    pub(super) const fn with_opening(mut self, opening: FlowOpening) -> Self {
        self.opening = opening;
        self
    }

    /// This sender with a turn in which it opens the flow.
    pub(super) fn with_turn(mut self, turn: Option<OpeningTurn>) -> Self {
        self.turn = turn;
        self
    }

    /// This sender in a flow that is not answered before its end: its turn ends when it has opened, and it lasts for `time` from
    /// then on.
    pub(super) const fn with_time_of_its_own(mut self, time: Option<Duration>) -> Self {
        self.time = time;
        self
    }

    /// This sender with another way to wait for departures.
    pub(super) const fn with_pacing(mut self, pacing: Pacing) -> Self {
        self.sender.pacing = pacing;
        self
    }

    /// This sender with another pace, where one is given.
    pub(super) fn with_pace(mut self, pace: Option<DatagramPace>) -> Self {
        self.sender.pace = pace.unwrap_or(self.sender.pace);
        self
    }

    /// This sender with a limit: the other end's address is not validated.
    pub(super) fn with_limit(mut self, limit: DatagramLimit) -> Self {
        self.sender.limit = limit;
        self
    }

    /// The task of the flow's thread.
    pub(super) fn into_task(self) -> FlowWork {
        FlowWork::new(MAX_BATCH, move |flow| {
            let Some(socket) = flow.socket.udp() else {
                return TaskOutcome::default();
            };
            flow.gate.wait(&flow.signals);
            if let Some(turn) = &self.turn {
                while !flow.signals.is_stopped() && !turn.has_come(monotonic_ns()) {
                    sleep_until(monotonic_ns() + TURN_CHECK_NS);
                }
            }
            if self.opening == FlowOpening::NumberZero && !flow.signals.is_stopped() {
                self.open(socket);
            }
            self.end_own_turn(flow);
            let spacing = match self.sender.send(socket, flow) {
                Ok(spacing) => spacing,
                // Nobody receives any more.
                Err(cause) if self.is_end(&cause) => None,
                Err(cause) => return TaskOutcome::from_result(Err(cause)),
            };
            flow.counters.set_ended(monotonic_ns());
            TaskOutcome {
                spacing,
                ..TaskOutcome::from_result(self.announce_end(socket, flow))
            }
        })
    }

    /// Lets the next flow open, where nothing that arrives does, and begins the time of this one.
    fn end_own_turn(&self, flow: &FlowContext) {
        if let (Some(turn), Some(time)) = (&self.turn, self.time) {
            let now_ns = monotonic_ns();
            turn.end(now_ns);
            flow.signals
                .stop_at(now_ns.saturating_add(time.as_nanos() as u64));
        }
    }

    fn is_end(&self, cause: &io::Error) -> bool {
        matches!(self.announcement, EndAnnouncement::Once)
            && cause.kind() == io::ErrorKind::ConnectionRefused
    }

    /// Sends the datagram that opens the flow: its header alone where little may be sent.
    fn open(&self, socket: &UdpSocket) {
        let length = match &self.sender.limit {
            DatagramLimit::Unlimited => self.sender.length as usize,
            _ => self.sender.format.layout.header(),
        };
        let mut datagram = vec![0; length];
        self.sender.format.fill(&mut datagram);
        self.sender.format.write_number(&mut datagram, 0);
        self.send_within_limit(socket, &datagram);
    }

    /// Sends the last datagram, and awaits the report where there is one.
    fn announce_end(&self, socket: &UdpSocket, flow: &FlowContext) -> io::Result<()> {
        let format = &self.sender.format;
        let sent = flow.counters.datagrams.load(Relaxed);
        let Some(length) = self.last_length(sent) else {
            return Ok(());
        };
        let mut last = vec![0; length];
        format.fill(&mut last);
        if format.layout != HeaderLayout::Twelve {
            // The last datagram counts like any other.
            let bytes = flow.counters.bytes.load(Relaxed) + last.len() as u64;
            flow.counters.datagrams.store(sent + 1, Relaxed);
            flow.counters.bytes.store(bytes, Relaxed);
        }
        let number = format.first + sent as i64;
        match &self.announcement {
            EndAnnouncement::Once => {
                format.write_number(&mut last, -number);
                self.send_within_limit(socket, &last);
            }
            EndAnnouncement::UntilReported(answers) => {
                let report = self.await_report(socket, &mut last, number)?;
                // The test may have been given up meanwhile.
                let _ = answers.send(EndAnswer {
                    flow: self.flow,
                    sent: flow.counters.datagrams.load(Relaxed),
                    report,
                });
            }
        }
        Ok(())
    }

    /// The length of the last datagram, after `sent` others: as long as they are, where the limit has room; `None` when an address
    /// that is not validated was sent none.
    fn last_length(&self, sent: u64) -> Option<usize> {
        let length = self.sender.length as usize;
        match &self.sender.limit {
            DatagramLimit::AntiAmplification(_) if sent == 0 => None,
            DatagramLimit::AntiAmplification(limit) if limit.room() < length as u64 => {
                let header = self.sender.format.layout.header();
                (limit.room() >= header as u64).then_some(header)
            }
            _ => Some(length),
        }
    }

    /// Sends a datagram; to an address that is not validated only while as much has arrived from it.
    fn send_within_limit(&self, socket: &UdpSocket, datagram: &[u8]) {
        if let DatagramLimit::AntiAmplification(limit) = &self.sender.limit
            && !limit.claim(datagram.len() as u64)
        {
            return;
        }
        let _ = udp::send_segments(socket, datagram, datagram.len() as u16);
    }

    /// Repeats the last datagram until the report arrives; otherwise the number of attempts.
    fn await_report(
        &self,
        socket: &UdpSocket,
        last: &mut [u8],
        number: i64,
    ) -> io::Result<Result<ServerReport, u32>> {
        let mut receiver = GroReceiver::new(4)?;
        for (nth, patience_ms) in (0_i64..).zip(ATTEMPTS_MS) {
            self.sender.format.write_number(last, -(number + nth));
            self.send_within_limit(socket, last);
            let until_ns = monotonic_ns() + patience_ms * 1_000_000;
            if let Some(report) = next_report(socket, &mut receiver, until_ns) {
                return Ok(Ok(report));
            }
        }
        Ok(Err(ATTEMPTS_MS.len() as u32))
    }
}

/// The next report that arrives before `until_ns`.
fn next_report(
    socket: &UdpSocket,
    receiver: &mut GroReceiver,
    until_ns: u64,
) -> Option<ServerReport> {
    loop {
        let now_ns = monotonic_ns();
        if now_ns >= until_ns {
            return None;
        }
        let left = Duration::from_nanos(until_ns - now_ns);
        if !poll_readable(&[socket.as_fd()], Some(left)).is_ok_and(|ready| ready.contains(&true)) {
            continue;
        }
        if receiver.receive(socket, Wait::Never).is_err() {
            // Refused: nobody receives there, or not any more.
            sleep_until((monotonic_ns() + 1_000_000).min(until_ns));
            continue;
        }
        let mut datagrams = receiver
            .messages()
            .flat_map(caudal_sys::udp::ReceivedBatch::datagrams);
        if let Some(report) = datagrams.find_map(ServerReport::decode) {
            return Some(report);
        }
    }
}
