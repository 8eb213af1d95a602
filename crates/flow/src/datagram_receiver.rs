//! The receiving end of a UDP flow.

use super::datagram_account::{DatagramAccount, DatagramRun, ExpectedDatagrams};
use super::datagram_format::SenderClock;
use super::datagram_reader::{DatagramReader, ReceiveStep, ReceiverView};
use super::receive_nap::ReceiveNap;
use super::test_limit::TestLimit;
use super::thread::{FlowContext, FlowWork, TaskOutcome};
use crate::socket::is_no_datagram;
use caudal_core::plan::DatagramSizes;
use caudal_sys::buffers;
use caudal_sys::clock::{monotonic_ns, realtime_ns, set_timer_slack_ns};
use caudal_sys::udp::{self, GroReceiver, ReceivedBatch, Wait};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum number of messages taken from the kernel in one call.
const SLOTS: usize = 16;
/// Maximum length of one message from the kernel, bytes.
const MAX_MESSAGE: usize = 1 << 16;
/// Interval at which a receiver without arrivals checks its signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Time without arrivals that ends the wait for a sender that has finished, ns.
const LINGER_NS: u64 = 300_000_000;
/// Maximum age of a kernel timestamp: an older one means that the wall clock was set.
const MAX_AGE_NS: u64 = 1_000_000_000;

/// The receiving end of a UDP flow.
pub struct DatagramReceiver<R> {
    reader: R,
    expected: ExpectedDatagrams,
}

impl<R: DatagramReader + Send + 'static> DatagramReceiver<R> {
    /// A receiver that takes datagrams of any length.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            expected: ExpectedDatagrams::default(),
        }
    }

    /// This receiver for datagrams of these sizes: any other length is damaged.
    pub fn with_sizes(mut self, sizes: DatagramSizes) -> Self {
        self.expected.sizes = Some(sizes);
        self
    }

    /// This receiver with every payload byte compared against `datagram`, whose header takes `header_bytes`.
    pub fn with_verification(mut self, mut datagram: Vec<u8>, header_bytes: usize) -> Self {
        datagram.drain(..header_bytes.min(datagram.len()));
        self.expected.payload = Some((datagram, header_bytes));
        self
    }

    /// The task of the flow's thread.
    pub fn into_task(self) -> FlowWork {
        FlowWork::new(SLOTS * MAX_MESSAGE, move |flow| match flow.socket.udp() {
            Some(socket) => self.run(socket, flow),
            None => TaskOutcome::default(),
        })
    }

    fn run(mut self, socket: &UdpSocket, flow: &FlowContext) -> TaskOutcome {
        let expected = std::mem::take(&mut self.expected);
        let mut account = DatagramAccount::new(expected, R::CLOCK, R::LATE_COUNTS);
        let result = self.receive(socket, flow, &mut account);
        account.publish(&flow.counters, self.reader.announced());
        self.end_at_limit(socket, flow, &account);
        let result = match result {
            Err(_) if flow.signals.is_stopped() => Ok(()),
            result => result,
        };
        let sent = flow.signals.expected_datagrams();
        let marks = account.marks();
        let (sequence, delay) = account.finish(sent.or(self.reader.announced()));
        TaskOutcome {
            sequence: Some(sequence),
            marks,
            delay: Some(delay),
            ..TaskOutcome::from_result(result)
        }
    }

    /// Has the reader report to the other end that a limit of the server has ended the test, if one has.
    fn end_at_limit(&mut self, socket: &UdpSocket, flow: &FlowContext, account: &DatagramAccount) {
        let now_ns = monotonic_ns();
        let limit = flow.limit.as_ref();
        if limit.is_some_and(|limit| limit.reached(now_ns).is_some()) {
            self.reader.cut_short(&ReceiverView {
                socket,
                account,
                counters: &flow.counters,
                has_arrivals: false,
                now_ns,
            });
        }
    }

    /// Receives until everything the sender reports as sent has arrived or had its time, or the flow is stopped.
    fn receive(
        &mut self,
        socket: &UdpSocket,
        flow: &FlowContext,
        account: &mut DatagramAccount,
    ) -> io::Result<()> {
        let (counters, signals) = (&flow.counters, &flow.signals);
        udp::set_receive_timeout(socket, Some(CHECK_INTERVAL))?;
        let mut receiver = GroReceiver::new(SLOTS)?;
        let limit = flow.amount_limit();
        let mut calls = 0;
        let mut quiet_since_ns = monotonic_ns();
        let buffer_bytes = buffers::receive_buffer(socket).unwrap_or(0);
        let mut nap = ReceiveNap::new(quiet_since_ns, buffer_bytes.into());
        // Naps end when they are to end, and not up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        loop {
            let mut has_arrivals = self.take_strays(socket, account, flow);
            let wait = if nap.is_on() {
                Wait::Never
            } else {
                Wait::ForOne
            };
            let now_ns = match receiver.receive(socket, wait) {
                Ok(_) => {
                    calls += 1;
                    counters.calls.store(calls, Relaxed);
                    // A socket that was shut down is read as one that has received nothing.
                    has_arrivals |= !signals.is_stopped();
                    let now_ns = self.take_batch(socket, &receiver, account, limit, &mut nap);
                    nap.received(now_ns);
                    now_ns
                }
                Err(cause) if is_no_datagram(&cause) => {
                    if wait == Wait::Never
                        && let Some(time) = nap.nap()
                    {
                        std::thread::sleep(time);
                    }
                    monotonic_ns()
                }
                Err(cause) => return Err(cause),
            };
            if has_arrivals {
                quiet_since_ns = now_ns;
                if account.counts().received > 0 {
                    if counters.first_ns.load(Relaxed) == 0 {
                        counters.first_ns.store(now_ns, Relaxed);
                    }
                    counters.last_ns.store(now_ns, Relaxed);
                }
                account.publish(counters, self.reader.announced());
                if let Some(exceeded) = limit.and_then(TestLimit::exceeded) {
                    return Err(io::Error::other(exceeded));
                }
            }
            let view = ReceiverView {
                socket,
                account,
                counters,
                has_arrivals,
                now_ns,
            };
            if self.reader.step(&view)? == ReceiveStep::Done || signals.is_stopped() {
                return Ok(());
            }
            if let Some(expected) = signals.expected_datagrams() {
                let counts = account.counts();
                let is_quiet = now_ns.saturating_sub(quiet_since_ns) >= LINGER_NS;
                if counts.received + counts.late >= expected || is_quiet {
                    return Ok(());
                }
            }
        }
    }

    /// Takes what one call to receive gave, as far as the limit goes: the monotonic time at which it was read, ns.
    #[inline]
    fn take_batch(
        &mut self,
        socket: &UdpSocket,
        receiver: &GroReceiver,
        account: &mut DatagramAccount,
        limit: Option<&TestLimit>,
        nap: &mut ReceiveNap,
    ) -> u64 {
        let clock = ArrivalClock::now();
        for message in receiver.messages() {
            nap.add(message.data.len(), message.kernel_time_ns.is_some());
            if self.reader.is_source(message.source) {
                let arrived_ns = clock.arrival_ns(R::CLOCK, &message);
                let before = account.bytes();
                let taken = self.take(socket, account, message.data, message.segment, arrived_ns);
                if let Some(tos) = message.tos {
                    account.add_marks(tos, taken);
                }
                if let Some(limit) = limit {
                    let (bytes, payload) = (message.data.len() as u64, account.bytes() - before);
                    if limit
                        .take_datagrams(bytes, payload, clock.monotonic_ns)
                        .is_err()
                    {
                        break;
                    }
                }
            }
        }
        clock.monotonic_ns
    }

    /// Takes the datagrams that arrived at another socket; `true` when there were any.
    #[inline]
    fn take_strays(
        &mut self,
        socket: &UdpSocket,
        account: &mut DatagramAccount,
        flow: &FlowContext,
    ) -> bool {
        let counters = &flow.counters;
        let mut has_strays = false;
        while let Some((datagram, arrived_ns)) = self.reader.next_stray() {
            has_strays = true;
            let before = account.bytes();
            self.take(socket, account, &datagram, datagram.len(), arrived_ns);
            if let Some(limit) = flow.amount_limit() {
                let (bytes, payload) = (datagram.len() as u64, account.bytes() - before);
                let _ = limit.take_datagrams(bytes, payload, monotonic_ns());
            }
        }
        // The next datagram may be long in coming.
        if has_strays && account.counts().received > 0 && counters.first_ns.load(Relaxed) == 0 {
            counters.first_ns.store(monotonic_ns(), Relaxed);
        }
        has_strays
    }

    /// Takes what the kernel handed over in one piece, one datagram or several of one length: the number of those that are the flow's.
    #[inline]
    fn take(
        &mut self,
        socket: &UdpSocket,
        account: &mut DatagramAccount,
        data: &[u8],
        segment: usize,
        arrived_ns: u64,
    ) -> u64 {
        let mut taken = 0;
        let mut run: Option<DatagramRun> = None;
        let mut is_timed = false;
        for datagram in data.chunks(segment.max(1)) {
            let due = account.due();
            let stamp = self
                .reader
                .read(datagram, due, arrived_ns)
                .filter(|stamp| account.is_intact(datagram, stamp));
            let Some(stamp) = stamp else {
                if !self.reader.control(socket, datagram) {
                    account.add_corrupt();
                }
                continue;
            };
            if let (false, Some(sent_ns)) = (is_timed, stamp.sent_ns) {
                // Datagrams that left and arrived together share one transit time.
                is_timed = true;
                account.add_transit(arrived_ns.wrapping_sub(sent_ns) as i64);
            }
            let (sequence, length) = (stamp.sequence, datagram.len());
            let extended = run.and_then(|run| run.extended(sequence, length));
            if let (None, Some(complete)) = (extended, run) {
                account.add_run(complete);
            }
            run = extended.or(Some(DatagramRun::new(sequence, length)));
            taken += 1;
        }
        if let Some(complete) = run {
            account.add_run(complete);
        }
        taken
    }
}

/// Both clocks at the time a batch was read.
#[derive(Clone, Copy)]
struct ArrivalClock {
    monotonic_ns: u64,
    wall_ns: u64,
}

impl ArrivalClock {
    fn now() -> Self {
        Self {
            monotonic_ns: monotonic_ns(),
            wall_ns: realtime_ns(),
        }
    }

    /// The time of arrival by the given clock. The kernel's timestamps are of the wall clock; their age carries over to the
    /// monotonic one.
    #[inline]
    fn arrival_ns(self, clock: SenderClock, message: &ReceivedBatch<'_>) -> u64 {
        match (clock, message.kernel_time_ns) {
            (SenderClock::Wall, at) => at.unwrap_or(self.wall_ns),
            (SenderClock::Monotonic, None) => self.monotonic_ns,
            (SenderClock::Monotonic, Some(at)) => {
                let age_ns = self.wall_ns.saturating_sub(at);
                if age_ns < MAX_AGE_NS {
                    self.monotonic_ns - age_ns
                } else {
                    self.monotonic_ns
                }
            }
        }
    }
}
