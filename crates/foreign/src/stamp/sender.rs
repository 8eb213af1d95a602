//! The sender of a test: one thread that sends packets when they are due and takes the replies between them.

use super::own_clock::OwnClock;
use super::packet_layout::write_packet;
use super::packet_record::{PacketRecord, ReplyTimes, departure_delays, exchanges, series};
use super::received_replies::ReceivedReplies;
use super::stamp_rows::StampRows;
use caudal_analysis::echo::{DepartureProcess, EchoSeries, departure_times};
use caudal_analysis::stamp::{ReplyNumbers, SessionCounts, StampExchange};
use caudal_core::event::{CutShort, Event};
use caudal_core::loss::RefusedSends;
use caudal_core::marks::MarkCounter;
use caudal_core::plan::{StampPlan, Transport};
use caudal_core::stamp::{ExtensionAnswer, StampExtension};
use caudal_flow::socket::{SocketSettings, connect_udp, is_too_large};
use caudal_flow::{LocalBinding, RunError};
use caudal_sys::buffers::set_receive_buffer;
use caudal_sys::clock::{monotonic_ns, realtime_ns, set_timer_slack_ns};
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use caudal_sys::timestamps::{enable_departures, send_stamped};
use caudal_sys::udp::{self, GroReceiver, QueuedMessage, ReceivedBatch, Wait, receive_queued};
use caudal_wire::stamp::{
    ErrorEstimate, SENT_TTL, SenderStamp, StampKey, StampMode, TimeSource, TimestampFormat,
    decode_reply, verify_hmac_extension,
};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Replies that are read in one call.
const BATCH: usize = 16;
/// Maximum number of such calls before packets that are due are sent: whatever a peer sends, the test goes on and can be ended.
const MAX_BATCHES: u32 = 64;
/// Maximum number of replies to one packet that are taken: no path copies a packet more often.
const MAX_REPLIES: u8 = 16;
/// The time before a packet is due from which on its sender does not sleep, ns: timers are late by tens of µs.
const EARLY_NS: u64 = 100_000;
/// The time that reading some replies takes, ns: closer to a departure they wait.
const READING_NS: u64 = 20_000;
/// Maximum number of packets sent before replies are read.
const MAX_UNREAD: u32 = 8;
/// The receive buffer of the socket, bytes: some thousand replies.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Bytes from which on a reply has the number of its packet; a shorter one has it in the place of its own.
const NUMBERED_BYTES: usize = 28;
/// Maximum time for link addresses to be resolved.
const MAX_RESOLUTION: Duration = Duration::from_secs(1);
/// The round trips that nobody has heard of after which a test ends: that of a refused port.
const MAX_REFUSALS: u32 = 10;

/// The sender of a test.
#[derive(Debug, Clone)]
pub struct StampSender<'a> {
    /// The test.
    pub plan: &'a StampPlan,
    /// The key, where packets are authenticated.
    pub key: Option<&'a StampKey>,
    /// The seed of exponential gaps.
    pub seed: u64,
    /// The identifier of the session.
    pub ssid: u16,
    /// The local end.
    pub binding: &'a LocalBinding,
    /// The user's wish to end the test.
    pub interrupt: &'static Interrupt,
}

/// What a sender has measured.
#[derive(Debug)]
pub struct StampOutcome {
    /// The reflector's address and port.
    pub peer: SocketAddr,
    /// The packets as messages of a round-trip test.
    pub series: EchoSeries,
    /// The four times of those that were answered with both of the reflector's.
    pub exchanges: Vec<StampExchange>,
    /// Packets sent.
    pub sent: u64,
    /// The numbers of the replies in the order in which they arrived, duplicates included.
    pub numbers: Vec<ReplyNumbers>,
    /// The counts of the last reply that has any.
    pub counts: Option<SessionCounts>,
    /// The times for which the reflector kept packets, ns.
    pub kept_ns: Vec<u64>,
    /// The times from the timestamp in a reply until it left, by follow-up telemetry, ns.
    pub late_ns: Vec<u64>,
    /// The error estimate of the reflector's last reply; `None` of an invalid one.
    pub reflector_clock: Option<ErrorEstimate>,
    /// The format of its timestamps.
    pub format: Option<TimestampFormat>,
    /// The source of its clock.
    pub time_source: Option<TimeSource>,
    /// This end's clock.
    pub clock: ErrorEstimate,
    /// The address and port from which the reflector was reached.
    pub seen_from: Option<SocketAddr>,
    /// The TTL with which the last packet arrived at the reflector, and that of its reply here.
    pub ttl: (Option<u8>, Option<u8>),
    /// The marks of packets as the reflector received them.
    pub marks_up: MarkCounter,
    /// The extensions asked for.
    pub extensions: Vec<ExtensionAnswer>,
    /// Packets that arrived and are no replies of this test.
    pub discarded: u64,
    /// The reason why the kernel took no times.
    pub timestamps_missing: Option<String>,
    /// The duration of the test.
    pub elapsed: Duration,
    /// The reason why it ended early.
    pub cut_short: Option<CutShort>,
}

impl StampSender<'_> {
    /// Carries the test out with the reflector at `peer`.
    ///
    /// # Errors
    /// When no packet can be sent, or none was answered.
    pub fn run(
        &self,
        peer: SocketAddr,
        events: &mut dyn FnMut(Event),
    ) -> Result<StampOutcome, RunError> {
        self.resolve_neighbours(peer)?;
        let socket = self.socket(peer)?;
        let timestamps =
            prepare(&socket).map_err(|cause| RunError::local("setting up a UDP socket", cause))?;
        let process = match self.plan.poisson {
            true => DepartureProcess::Poisson { seed: self.seed },
            false => DepartureProcess::Periodic,
        };
        let test = SentTest {
            sender: self,
            peer,
            due: departure_times(self.plan.period, process, self.plan.count),
            start_ns: 0,
            packets: Vec::with_capacity(self.plan.count as usize),
            is_stamped: timestamps.is_ok(),
            received: ReceivedReplies::default(),
            refused: RefusedSends::default(),
            refusals: 0,
            clock: OwnClock::read(),
            rows: StampRows::default(),
            packet: Vec::new(),
            socket,
        };
        let receiver =
            GroReceiver::new(BATCH).map_err(|cause| RunError::local("mapping memory", cause))?;
        let _ = set_timer_slack_ns(1);
        test.run(receiver, timestamps.err(), events)
    }
}

impl StampSender<'_> {
    fn socket(&self, peer: SocketAddr) -> Result<UdpSocket, RunError> {
        let settings = SocketSettings {
            dscp: self.plan.dscp,
            is_bulk: false,
            ..SocketSettings::new(Transport::Udp)
        };
        connect_udp(peer, self.binding, &settings)
    }

    /// Sends a packet from a port of its own, which makes it one of another session, and waits for the reply: the hosts and routers on the
    /// way then know one another's link addresses, and the first packets of the test do not wait for that. Where there is no reply the test
    /// tells. A sender that is to have a certain port has no other.
    fn resolve_neighbours(&self, peer: SocketAddr) -> Result<(), RunError> {
        if self.binding.port.is_some() {
            return Ok(());
        }
        let socket = self.socket(peer)?;
        let sender = SenderStamp {
            sequence: 0,
            timestamp: TimestampFormat::Ntp.encode(realtime_ns()),
            error: OwnClock::read().estimate().encode(),
            ssid: self.ssid,
        };
        let mut packet = Vec::new();
        write_packet(self.plan, self.key, &sender, &mut packet);
        let sent = socket.send(&packet);
        let fds = [socket.as_fd(), self.interrupt.fd()];
        if sent.is_ok() {
            poll_readable(&fds, Some(self.plan.timeout.min(MAX_RESOLUTION)))
                .map_err(|cause| RunError::local("waiting for a reply", cause))?;
        }
        Ok(())
    }
}

/// Sets a sender's socket up; the inner error where the kernel takes no times.
fn prepare(socket: &UdpSocket) -> io::Result<Result<(), String>> {
    socket.set_nonblocking(true)?;
    let _ = set_receive_buffer(socket, RECEIVE_BUFFER, true);
    udp::set_ttl(socket, SENT_TTL)?;
    udp::set_dont_fragment(socket, true)?;
    udp::enable_receive_tos(socket)?;
    udp::enable_receive_ttl(socket)?;
    let stamped = udp::enable_receive_timestamps(socket).and_then(|()| enable_departures(socket));
    Ok(stamped.map_err(|cause| cause.to_string()))
}

/// A test while it runs.
struct SentTest<'a> {
    sender: &'a StampSender<'a>,
    peer: SocketAddr,
    socket: UdpSocket,
    /// The times at which packets are due, ns after the start.
    due: Vec<u64>,
    /// The start, ns of the monotonic clock.
    start_ns: u64,
    packets: Vec<PacketRecord>,
    /// `true` while the kernel is asked for departures, which it numbers: not after a packet that it refused, whose number is unknown.
    is_stamped: bool,
    received: ReceivedReplies,
    refused: RefusedSends,
    /// Reports that the port is closed.
    refusals: u32,
    clock: OwnClock,
    rows: StampRows,
    packet: Vec<u8>,
}

impl SentTest<'_> {
    fn run(
        mut self,
        mut receiver: GroReceiver,
        timestamps_missing: Option<String>,
        events: &mut dyn FnMut(Event),
    ) -> Result<StampOutcome, RunError> {
        self.start_ns = monotonic_ns() + EARLY_NS;
        self.rows = StampRows::new(self.sender.plan, self.start_ns);
        events(Event::Started { repeat: None });
        let mut cut_short = None;
        // Packets sent since replies were read.
        let mut unread = 0;
        loop {
            let now_ns = monotonic_ns();
            if self.sender.interrupt.count() > 0 {
                cut_short = Some(CutShort::Interrupted);
                break;
            }
            if self.refusals >= MAX_REFUSALS && self.received.answered == 0 {
                break;
            }
            self.rows.until(now_ns, &self.packets, events);
            let next_ns = self
                .due
                .get(self.packets.len())
                .map(|due| self.start_ns.saturating_add(*due));
            match next_ns {
                Some(due_ns) if now_ns >= due_ns => {
                    self.send(due_ns)?;
                    unread += 1;
                    // Packets that follow one another closely leave no other time for their replies.
                    if unread >= MAX_UNREAD {
                        self.receive(&mut receiver)?;
                        unread = 0;
                    }
                }
                Some(due_ns) if due_ns - now_ns <= EARLY_NS => {
                    if unread > 0 && due_ns - now_ns > READING_NS {
                        self.receive(&mut receiver)?;
                        unread = 0;
                    } else {
                        std::hint::spin_loop();
                    }
                }
                Some(due_ns) => {
                    self.receive(&mut receiver)?;
                    self.wait(due_ns - EARLY_NS)?;
                }
                None => {
                    self.receive(&mut receiver)?;
                    let until_ns = self
                        .packets
                        .last()
                        .map_or(0, |last| last.sent_ns.saturating_add(self.timeout_ns()));
                    if self.received.answered >= self.packets.len() as u64
                        || monotonic_ns() >= until_ns
                    {
                        break;
                    }
                    self.wait(until_ns)?;
                }
            }
        }
        self.receive(&mut receiver)?;
        let end_ns = monotonic_ns();
        self.rows.last(end_ns, &self.packets, events);
        self.finish(end_ns, timestamps_missing, cut_short)
    }

    fn timeout_ns(&self) -> u64 {
        u64::try_from(self.sender.plan.timeout.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sends the next packet.
    fn send(&mut self, due_ns: u64) -> Result<(), RunError> {
        let plan = self.sender.plan;
        let (sent_ns, stamp_ns) = (monotonic_ns(), realtime_ns());
        let sequence = self.packets.len() as u32;
        let sender = SenderStamp {
            sequence,
            timestamp: TimestampFormat::Ntp.encode(stamp_ns),
            error: self.clock.estimate().encode(),
            ssid: self.sender.ssid,
        };
        write_packet(plan, self.sender.key, &sender, &mut self.packet);
        self.packets.push(PacketRecord {
            due_ns: due_ns - self.start_ns,
            late_ns: sent_ns.saturating_sub(due_ns),
            sent_ns,
            stamp_ns,
            departed_ns: None,
            replies: 0,
            reply: None,
        });
        let sent = match self.is_stamped {
            true => send_stamped(&self.socket, &self.packet),
            false => self.socket.send(&self.packet),
        };
        if self.is_stamped {
            self.take_departures();
            self.is_stamped = sent.is_ok();
        }
        match sent {
            Ok(_) => {}
            Err(cause) if is_too_large(&cause) => {
                if self.received.answered == 0 {
                    let wanted = format!("sending packets of {} bytes", plan.length);
                    return Err(RunError::local(wanted, cause));
                }
                self.refused.refused += 1;
            }
            Err(cause) if cause.kind() == ErrorKind::ConnectionRefused => self.refusals += 1,
            Err(cause) => {
                let is_forbidden = cause.kind() == ErrorKind::PermissionDenied;
                self.refused.refused += 1;
                self.refused.forbidden += u64::from(is_forbidden);
                // Nothing leaves this host.
                if self.received.answered == 0
                    && self.refused.refused >= MAX_REFUSALS.into()
                    && self.refused.refused >= self.packets.len() as u64
                {
                    return Err(RunError::local(format!("sending to {}", self.peer), cause));
                }
            }
        }
        Ok(())
    }

    /// Notes the departures that the kernel tells of.
    fn take_departures(&mut self) {
        while let Ok(Some(queued)) = receive_queued(&self.socket, &mut []) {
            let QueuedMessage::Departed { number, at_ns } = queued else {
                continue;
            };
            // One that cannot be true belongs to a packet that was counted otherwise.
            if let Some(packet) = self.packets.get_mut(number as usize)
                && at_ns >= packet.stamp_ns
                && at_ns <= realtime_ns()
            {
                packet.departed_ns = Some(at_ns);
            }
        }
    }

    /// Waits for replies until `until_ns`, or until a row is due.
    fn wait(&self, until_ns: u64) -> Result<(), RunError> {
        let until_ns = until_ns.min(self.rows.end_ns());
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        if left.is_zero() {
            return Ok(());
        }
        let fds = [self.socket.as_fd(), self.sender.interrupt.fd()];
        poll_readable(&fds, Some(left))
            .map(|_| ())
            .map_err(|cause| RunError::local("waiting for replies", cause))
    }

    /// Takes the replies that have arrived.
    fn receive(&mut self, receiver: &mut GroReceiver) -> Result<(), RunError> {
        self.take_departures();
        for _ in 0..MAX_BATCHES {
            match receiver.receive(&self.socket, Wait::Never) {
                Ok(count) => {
                    let (read_ns, read_wall_ns) = (monotonic_ns(), realtime_ns());
                    for message in receiver.messages() {
                        self.take(&message, read_ns, read_wall_ns);
                    }
                    if count < BATCH {
                        return Ok(());
                    }
                }
                Err(cause) => match cause.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted => {}
                    ErrorKind::ConnectionRefused => self.refusals += 1,
                    // A report about a packet on its way, which is lost.
                    _ if is_report(&cause) => {}
                    _ => return Err(RunError::local("receiving replies", cause)),
                },
            }
        }
        Ok(())
    }

    /// Takes a reply.
    fn take(&mut self, message: &ReceivedBatch<'_>, read_ns: u64, read_wall_ns: u64) {
        let key = self.sender.key;
        let mode = key.map_or(StampMode::Open, StampMode::Authenticated);
        let data = message.data;
        let Ok(reply) = decode_reply(data, mode) else {
            self.received.discarded += 1;
            return;
        };
        let number = match data.len() {
            // Where the packets have room for a number, a reply without one has been cut off.
            short if short < NUMBERED_BYTES => {
                let is_short = (self.sender.plan.length as usize) < NUMBERED_BYTES;
                is_short.then_some(reply.sequence)
            }
            _ => reply.sender_sequence,
        };
        let Some((number, packet)) =
            number.and_then(|number| Some((number, self.packets.get_mut(number as usize)?)))
        else {
            self.received.discarded += 1;
            return;
        };
        let stamp = TimestampFormat::Ntp.encode(packet.stamp_ns);
        let after = data.get(mode.fixed_bytes()..).unwrap_or_default();
        let is_intact =
            key.is_none_or(|key| verify_hmac_extension(after, reply.sequence, key).unwrap_or(true));
        let is_foreign = reply.sender_timestamp.is_some_and(|echoed| echoed != stamp);
        if is_foreign || !is_intact || packet.replies >= MAX_REPLIES {
            self.received.discarded += 1;
            return;
        }
        packet.replies += 1;
        let received = &mut self.received;
        received.numbers.push(ReplyNumbers {
            packet: number,
            reply: reply.sequence,
        });
        received.reflector_clock = reply.error;
        received.format = Some(reply.format);
        received.ttl = (reply.sender_ttl, message.ttl);
        if let Some(tos) = message.tos {
            received.marks_down.add(tos, 1);
        }
        received.without_kernel_time |= message.kernel_time_ns.is_none();
        received.take_extensions(after, reply.sequence, reply.format, read_wall_ns);
        let waited_ns = read_ns.saturating_sub(packet.sent_ns);
        if packet.reply.is_some() {
            received.duplicate += 1;
        } else if waited_ns > u64::try_from(self.sender.plan.timeout.as_nanos()).unwrap_or(u64::MAX)
        {
            received.late += 1;
        } else {
            let decode = |bytes| reply.format.decode(bytes, read_wall_ns);
            packet.reply = Some(ReplyTimes {
                number: reply.sequence,
                at_reflector: reply
                    .received
                    .map(|bytes| (decode(bytes), decode(reply.timestamp))),
                arrived_ns: message.kernel_time_ns.unwrap_or(read_wall_ns),
                read_ns,
            });
            received.answered += 1;
            if let Some(trip) = packet.trip() {
                self.rows.add(trip.rtt_ns);
            }
        }
    }

    /// What was measured. Packets that are still under way when the test ends are not lost.
    fn finish(
        mut self,
        end_ns: u64,
        timestamps_missing: Option<String>,
        cut_short: Option<CutShort>,
    ) -> Result<StampOutcome, RunError> {
        if self.received.answered == 0 {
            return Err(self.nothing_measured(cut_short.as_ref()));
        }
        let timeout_ns = self.timeout_ns();
        let sent = self.packets.len() as u64;
        if cut_short.is_some() {
            let is_under_way = |packet: &PacketRecord| {
                packet.reply.is_none() && end_ns.saturating_sub(packet.sent_ns) < timeout_ns
            };
            while self.packets.last().is_some_and(is_under_way) {
                self.packets.pop();
            }
        }
        let received = self.received;
        let late_ns = departure_delays(&self.packets, &received.departed_ns);
        let plan = self.sender.plan;
        let honoured = received.honoured;
        let answer = |extension: &StampExtension| ExtensionAnswer {
            extension: *extension,
            is_answered: honoured.contains(&super::packet_layout::kind(*extension)),
        };
        let no_times = received
            .without_kernel_time
            .then(|| "the kernel took none".to_owned());
        Ok(StampOutcome {
            peer: self.peer,
            series: EchoSeries {
                refused: self.refused,
                late: received.late,
                duplicate: received.duplicate,
                marks: received.marks_down,
                ..series(&self.packets, plan.length)
            },
            exchanges: exchanges(&self.packets),
            sent: match cut_short {
                Some(_) => self.packets.len() as u64,
                None => sent,
            },
            numbers: received.numbers,
            counts: received.counts.map(|(_, counts)| counts),
            kept_ns: self
                .packets
                .iter()
                .filter_map(|packet| packet.trip()?.kept_ns)
                .collect(),
            late_ns,
            reflector_clock: received.reflector_clock,
            format: received.format,
            time_source: received.time_source,
            clock: self.clock.estimate(),
            seen_from: received.seen_from,
            ttl: received.ttl,
            marks_up: received.marks_up,
            extensions: plan.extensions.iter().map(answer).collect(),
            discarded: received.discarded,
            timestamps_missing: timestamps_missing.or(no_times),
            elapsed: Duration::from_nanos(end_ns.saturating_sub(self.start_ns)),
            cut_short,
        })
    }

    /// The error of a test in which no reply came.
    fn nothing_measured(&self, cut_short: Option<&CutShort>) -> RunError {
        if cut_short.is_some() {
            return RunError::Interrupted;
        }
        if self.refusals > 0 {
            return RunError::Connect {
                peer: self.peer,
                cause: ErrorKind::ConnectionRefused.into(),
            };
        }
        if self.received.discarded > 0 && self.sender.key.is_some() {
            return RunError::Protocol("no reply is authentic by this key".into());
        }
        RunError::Silent {
            waiting_for: "a reply of a reflector of STAMP",
            seconds: self.sender.plan.timeout.as_secs().max(1),
        }
    }
}

/// `true` for a report of a router or host about a packet that was sent.
fn is_report(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::PermissionDenied
    ) || is_too_large(cause)
        || matches!(cause.raw_os_error(), Some(libc::EPROTO | libc::ENOPROTOOPT))
}
