//! The data: sent and received in buffers of the length asked for.

use super::datagram_sender::{END_MARKS, datagram_task};
use super::datagrams::{FILL, MarkTimes, NttcpFormat, NttcpReader};
use super::error::NttcpError;
use caudal_core::event::Event;
use caudal_core::plan::{DatagramSizes, Direction, MAX_DATAGRAM, Pacing, PlannedFlow, Ticks};
use caudal_core::sample::{Counters, FlowEnd, Role};
use caudal_core::units::BitRate;
use caudal_engine::admission::PlaceActivity;
use caudal_engine::server::{FlowLimits, FlowWatch, SampledFlows, StopReason};
use caudal_flow::socket::{DataSocket, granted_batched_udp, granted_tcp};
use caudal_flow::{
    BlockPolicy, ByteBudget, DatagramLimit, DatagramPace, DatagramReceiver, DatagramSender,
    FlowSet, FlowWork, LimitReached, NewFlow, Payload, PlannedEnd, ReceiveMode, SendGrouping,
    SessionLimits, StopAction, TcpClose, TcpReceiver, TcpSender, TestLimit, UnsentDatagrams,
    WritePace, await_close,
};
use caudal_sys::tcp::shutdown_write;
use caudal_wire::nttcp::{MARK_BYTES, ResultRow, TransferRequest};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Maximum length of a buffer, bytes: longer ones are sent in pieces.
const MAX_BUFFER: u32 = 1 << 20;
/// The time the receiver may take to close the data connection after its sender.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of datagrams in a row that the other end's host may refuse.
const MAX_REFUSALS: u32 = 20;

/// The limits of a transfer.
#[derive(Debug, Clone)]
pub(super) struct TransferLimits<'a> {
    /// The time without a byte after which it is given up.
    pub(super) idle_timeout: Duration,
    /// Its maximum duration.
    pub(super) max_time: Option<Duration>,
    /// The maximum rate to send at.
    pub(super) max_rate: Option<BitRate>,
    /// The limits of the server, where this end is one.
    pub(super) server: Option<&'a SessionLimits>,
    /// The activity of the client, where this end is a server.
    pub(super) activity: Option<&'a PlaceActivity>,
    /// Readable when it is to stop.
    pub(super) stop: Vec<BorrowedFd<'a>>,
}

/// The settings of a transfer that only a client of caudal's own tests has.
#[derive(Debug, Clone, Default)]
pub(super) struct TransferSettings<'a> {
    /// The times at which the flow is read.
    pub(super) ticks: Option<Ticks>,
    /// The time after which the sender stops.
    pub(super) send_time: Option<Duration>,
    /// `true` to let the kernel drop what is received.
    pub(super) discard: bool,
    /// The processor of the flow's thread.
    pub(super) cpu: Option<usize>,
    /// Set when the transfer is to stop.
    pub(super) quit: Option<&'a AtomicBool>,
}

/// One transfer over a data connection.
pub(super) struct Transfer<'a> {
    pub(super) request: &'a TransferRequest,
    pub(super) limits: &'a TransferLimits<'a>,
    pub(super) settings: &'a TransferSettings<'a>,
    /// The other end's address.
    pub(super) peer: IpAddr,
}

/// The measurements of a transfer.
#[derive(Debug, Clone)]
pub(super) struct Transferred {
    /// The row of this end.
    pub(super) row: ResultRow,
    /// The final report of this end.
    pub(super) end: FlowEnd,
    /// The reason why it was stopped.
    pub(super) reason: Option<StopReason>,
}

impl Transfer<'_> {
    fn role(&self) -> Role {
        if self.request.transmit {
            Role::Sender
        } else {
            Role::Receiver
        }
    }

    /// Carries out flow `flow` over `socket`.
    pub(super) fn run(
        &self,
        flow: PlannedFlow,
        socket: DataSocket,
        events: &mut dyn FnMut(Event),
    ) -> Result<Transferred, NttcpError> {
        let marks: Arc<MarkTimes> = Arc::default();
        let socket = Arc::new(socket);
        let limit = self
            .limits
            .server
            .map(|limits| TestLimit::new(limits, PlannedEnd::Unknown));
        let mut set = FlowSet::limited(StopAction::HalfClose, limit, 1)?;
        set.add(NewFlow {
            flow,
            role: self.role(),
            granted: match &*socket {
                DataSocket::Tcp(stream) => granted_tcp(stream, false),
                DataSocket::Udp(socket) => {
                    granted_batched_udp(socket, self.request.length.min(MAX_DATAGRAM))
                }
            },
            task: self.task(&socket, &marks),
            socket: Arc::clone(&socket),
            cpu: self.settings.cpu,
        })?;
        set.start();
        let mut ended_ns = 0;
        let (mut ends, reason) =
            FlowWatch::new(self.flow_limits(), &set).run(&mut set, &mut |event| {
                if let Event::FlowEnded(ended) = &event {
                    ended_ns = ended.at_ns;
                }
                events(event);
            });
        if let (Some(stream), Role::Sender) = (socket.tcp(), self.role()) {
            // What is on the way arrives before the connection is closed.
            let _ = shutdown_write(stream);
            let _ = await_close(stream, CLOSE_TIMEOUT);
        }
        let end = ends
            .pop()
            .ok_or_else(|| NttcpError::Flow("its thread did not end".into()))?;
        let elapsed = marks
            .elapsed()
            .unwrap_or_else(|| Duration::from_nanos(ended_ns));
        let transferred = Transferred {
            row: self.row(&end, elapsed, marks.elapsed().is_some()),
            end,
            reason,
        };
        self.check(transferred)
    }

    /// Checks how a transfer ended: one that was stopped counts up to that point, unless the point is unknown.
    fn check(&self, transferred: Transferred) -> Result<Transferred, NttcpError> {
        let is_datagrams_received = self.request.udp && !self.request.transmit;
        match transferred.reason {
            // All marks of the end may be lost: what arrived counts.
            Some(StopReason::Idle(_)) if is_datagrams_received && transferred.row.bytes > 0 => {}
            Some(StopReason::Idle(seconds)) => return Err(NttcpError::Idle(seconds)),
            Some(StopReason::Stopped) if is_datagrams_received => return Err(NttcpError::Stopped),
            // What this end sends is complete up to its limit.
            Some(StopReason::Limit(LimitReached::Time)) if self.request.transmit => {}
            Some(StopReason::Limit(reached)) => return Err(NttcpError::Limit(reached)),
            Some(StopReason::Stopped | StopReason::TimeOver) => {}
            None => {
                if let Some(failure) = &transferred.end.failure {
                    return Err(NttcpError::Flow(failure.clone()));
                }
            }
        }
        Ok(transferred)
    }

    fn flow_limits(&self) -> FlowLimits<'_> {
        FlowLimits {
            ticks: self.settings.ticks,
            sampled: SampledFlows::All,
            send_time: self.settings.send_time,
            total_time: self.limits.max_time,
            first_timeout: None,
            idle_timeout: Some(self.limits.idle_timeout),
            stop: self.limits.stop.clone(),
            quit: self
                .settings
                .quit
                .or_else(|| self.limits.activity.map(PlaceActivity::given_up)),
            stop_grace: Duration::ZERO,
            activity: self.limits.activity,
        }
    }

    /// The row of this end, which counts calls as nttcp does.
    fn row(&self, end: &FlowEnd, elapsed: Duration, has_end_mark: bool) -> ResultRow {
        let request = self.request;
        let (bytes, calls, cpu_ns) = match end.counters {
            Counters::Sender(sent) if request.udp => {
                (sent.bytes, sent.datagrams + END_MARKS, sent.cpu_ns)
            }
            Counters::Sender(sent) => {
                let buffer = u64::from(request.length.min(MAX_BUFFER)).max(1);
                (sent.bytes, sent.bytes.div_ceil(buffer), sent.cpu_ns)
            }
            Counters::Receiver(received) if request.udp => {
                let calls = received.datagrams + u64::from(has_end_mark);
                (received.bytes, calls, received.cpu_ns)
            }
            // The read that finds the end is one.
            Counters::Receiver(received) => (received.bytes, received.calls + 1, received.cpu_ns),
        };
        ResultRow {
            length: request.length,
            count: request.count,
            bytes,
            calls,
            real_s: elapsed.as_secs_f64(),
            cpu_s: cpu_ns as f64 / 1e9,
        }
    }

    fn task(&self, socket: &DataSocket, marks: &Arc<MarkTimes>) -> FlowWork {
        match (socket, self.role()) {
            (DataSocket::Tcp(_), Role::Sender) => self.tcp_sender().into_task(),
            (DataSocket::Tcp(_), Role::Receiver) => self.tcp_receiver().into_task(),
            (DataSocket::Udp(_), Role::Sender) => datagram_task(self.datagram_sender()),
            (DataSocket::Udp(_), Role::Receiver) => {
                let reader = NttcpReader::new(self.peer, Arc::clone(marks));
                DatagramReceiver::new(reader).into_task()
            }
        }
    }

    fn gap_ns(&self) -> u64 {
        u64::from(self.request.gap_us) * 1000
    }

    fn tcp_sender(&self) -> TcpSender {
        let length = self.request.length.min(MAX_BUFFER) as usize;
        let pace = WritePace {
            rate: self.limits.max_rate,
            burst: 1,
            gap_ns: self.gap_ns(),
            blocks: BlockPolicy::Pieces,
        };
        TcpSender {
            payload: Payload::Block(Arc::new(vec![FILL; length])),
            length,
            pace: (pace.rate.is_some() || pace.gap_ns > 0).then_some(pace),
            budget: ByteBudget::new(Some(self.request.bytes())),
            close: TcpClose::KeepOpen,
            peer_may_close: false,
            bytes_before: 0,
        }
    }

    fn tcp_receiver(&self) -> TcpReceiver {
        TcpReceiver::new(if self.settings.discard {
            ReceiveMode::Discard
        } else {
            ReceiveMode::Copy {
                buffer: self.request.length.min(MAX_BUFFER) as usize,
                coalesce: false,
            }
        })
    }

    fn datagram_sender(&self) -> DatagramSender<NttcpFormat> {
        // A datagram as short as a mark would be taken for one.
        let min = MARK_BYTES as u32 + 1;
        let length = self.request.length.clamp(min, MAX_DATAGRAM);
        let (gap_ns, rate) = (self.gap_ns(), self.limits.max_rate);
        let pace = match rate {
            Some(rate) if gap_ns > 0 => {
                let rate_gap_ns = u64::from(length) * 8_000_000_000 / rate.bps().max(1);
                DatagramPace::Gap(gap_ns.max(rate_gap_ns))
            }
            None if gap_ns > 0 => DatagramPace::Gap(gap_ns),
            rate => DatagramPace::from_rate(rate),
        };
        DatagramSender {
            format: NttcpFormat,
            length,
            sizes: DatagramSizes::with_short_last(length, self.request.bytes(), min),
            pace,
            pacing: Pacing::Precise,
            grouping: if pace == DatagramPace::Max {
                SendGrouping::Batches
            } else {
                SendGrouping::Single
            },
            unsent: UnsentDatagrams::Resend {
                max_refusals: MAX_REFUSALS,
            },
            limit: DatagramLimit::Unlimited,
        }
    }
}

/// The flow of a transfer that a client asks for.
pub(super) const fn client_flow(request: &TransferRequest) -> PlannedFlow {
    PlannedFlow {
        id: 0,
        direction: if request.transmit {
            Direction::Up
        } else {
            Direction::Down
        },
    }
}
