//! One connection with the buffers of its messages, on any schedule.

use super::kernel_account::KernelAccounts;
use super::reply_feed::ReplyFeed;
use crate::FlowSignals;
use crate::send_refusal::SendRefusal;
use crate::socket::{DataSocket, is_too_large};
use caudal_analysis::echo::Reply;
use caudal_core::event::Event;
use caudal_core::loss::RefusedSends;
use caudal_core::plan::EchoPlan;
use caudal_wire::datagram::fill_payload;
use caudal_wire::echo::{ANNOUNCEMENT_BYTES, Announcement};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// Bytes a reply buffer has beyond the longest message, so that longer datagrams are seen to be longer.
const SPARE_BYTES: usize = 1;

/// Minimum wait after which a message counts as not answered at the end of a test, ns.
const MIN_UNANSWERED_NS: u64 = 1_000_000_000;
/// The same in round trips, of the longest.
const UNANSWERED_ROUND_TRIPS: u64 = 3;

/// One connection with its buffers.
pub(super) struct Probe {
    pub(super) client: u32,
    pub(super) plan: Arc<EchoPlan>,
    pub(super) socket: Arc<DataSocket>,
    pub(super) signals: Arc<FlowSignals>,
    /// The kernel's account of long round trips.
    pub(super) accounts: KernelAccounts,
    /// The seed of a random schedule.
    pub(super) seed: u64,
    /// `true` when some more messages are sent that the kernel timestamps.
    pub(super) takes_timestamps: bool,
    pub(super) message: Vec<u8>,
    pub(super) reply: Vec<u8>,
    /// The number of the next message.
    pub(super) number: u64,
    /// Takes an event for each reply on a schedule, where that was asked for.
    pub(super) events: Option<Sender<Event>>,
    /// Set when the time of the test is over: what remains is a few messages that the kernel timestamps.
    pub(super) time_over: Arc<AtomicBool>,
    /// Takes each reply for the live view, where there is one.
    pub(super) feed: Option<Arc<ReplyFeed>>,
    /// Takes the time of each reply, ns of the monotonic clock.
    pub(super) heard_ns: Arc<AtomicU64>,
}

/// `true` for a message that has waited for its reply for so long that it counts as lost, also where the test ends before its time
/// limit: beside `longest_ns`, the longest round trip before it.
pub(super) fn is_unanswered(waited_ns: u64, longest_ns: u64) -> bool {
    waited_ns >= MIN_UNANSWERED_NS.max(longest_ns.saturating_mul(UNANSWERED_ROUND_TRIPS))
}

/// The longest round trip of a series, ns; 0 without replies.
pub(super) fn longest_ns(replies: &[Reply]) -> u64 {
    let answered = replies.iter().filter_map(|reply| reply.ns());
    answered.max().unwrap_or(0)
}

impl Probe {
    pub(super) fn new(
        client: u32,
        plan: Arc<EchoPlan>,
        socket: Arc<DataSocket>,
        tag: u32,
        seed: u64,
    ) -> Self {
        let max_size = plan.sizes.iter().max().copied().unwrap_or(1) as usize;
        let mut message = vec![0; max_size];
        fill_payload(&mut message, tag);
        let accounts = match &*socket {
            DataSocket::Tcp(stream) => KernelAccounts::of_tcp(stream),
            DataSocket::Udp(socket) => KernelAccounts::of_udp(socket),
        };
        Self {
            client,
            plan,
            socket,
            signals: Arc::default(),
            accounts,
            seed: seed.wrapping_add(u64::from(client) << 32),
            takes_timestamps: false,
            message,
            reply: vec![0; max_size + SPARE_BYTES],
            number: 0,
            events: None,
            time_over: Arc::default(),
            feed: None,
            heard_ns: Arc::default(),
        }
    }
}

/// Messages refused by a firewall before any has left after which the connection fails.
const MAX_FIRST_REFUSALS: u64 = 10;

/// Announces messages to the server and waits until it is ready for them.
///
/// Without this wait, the announcement would still be in flight at the first message, which Nagle's
/// algorithm would hold back until the server acknowledged.
pub(super) fn announce(
    mut stream: &TcpStream,
    what: Announcement,
    plan: &EchoPlan,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(plan.timeout))?;
    stream.set_write_timeout(Some(plan.timeout))?;
    stream.write_all(&what.encode())?;
    let mut answer = [0; ANNOUNCEMENT_BYTES];
    stream.read_exact(&mut answer)?;
    if answer != what.encode() {
        return Err(altered());
    }
    stream.set_nodelay(plan.no_delay)
}

/// The error for a reply that differs from its message.
pub(super) fn altered() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the reply differs from the message")
}

/// Sends a message; a report of a router about an earlier one, which a call returns in place of sending, does not stop it.
///
/// # Errors
/// Those of the kernel.
pub fn send_udp(socket: &UdpSocket, message: &[u8]) -> io::Result<usize> {
    match socket.send(message) {
        Err(cause) if is_too_large(&cause) => socket.send(message),
        outcome => outcome,
    }
}

/// The messages of one size that this host's kernel refused to send.
#[derive(Debug, Default)]
pub(super) struct RefusedMessages {
    counts: RefusedSends,
    has_sent: bool,
}

impl RefusedMessages {
    /// Notes a message that was sent.
    #[inline]
    pub(super) const fn sent(&mut self) {
        self.has_sent = true;
    }

    /// Takes the error of a message that was not sent, which is lost in this host's own queue or firewall; `is_counted` where it is
    /// one of those that count.
    ///
    /// # Errors
    /// The same error, where it is the end of the connection, or where this host sends none at all.
    #[cold]
    pub(super) fn not_sent(&mut self, cause: io::Error, is_counted: bool) -> io::Result<Reply> {
        if is_too_large(&cause) {
            return Ok(Reply::LOST);
        }
        let Some(refusal) = SendRefusal::of_message(&cause) else {
            return Err(cause);
        };
        let is_forbidden = refusal == SendRefusal::Forbidden;
        self.counts += RefusedSends {
            refused: u64::from(is_counted),
            forbidden: u64::from(is_counted && is_forbidden),
        };
        if is_forbidden && !self.has_sent && self.counts.forbidden >= MAX_FIRST_REFUSALS {
            return Err(cause);
        }
        thread::sleep(Duration::from_millis(1));
        Ok(Reply::LOST)
    }

    /// The messages refused so far.
    pub(super) const fn counts(&self) -> RefusedSends {
        self.counts
    }
}
