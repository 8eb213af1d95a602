//! The receiver's credit: on one machine the sender keeps the receiver's buffer from overflowing.

use super::counters::FlowCounters;
use super::signals::FlowSignals;
use crate::socket::is_no_datagram;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::{self, GroReceiver, Wait};
use caudal_wire::datagram::{DatagramHeader, DatagramKind, HEADER_BYTES};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum wait for credit; then the outstanding datagrams count as lost.
const CREDIT_TIMEOUT: Duration = Duration::from_millis(10);
/// The payload any receive buffer holds, bytes: the window until the receiver has reported its own.
const INITIAL_WINDOW_BYTES: u64 = 64 << 10;

/// The flow and the test that credit datagrams name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditId {
    /// The flow.
    pub flow: u32,
    /// The tag of the test.
    pub tag: u32,
}

/// The sender's side: the receiver's progress and its capacity.
pub(super) struct CreditWindow {
    id: CreditId,
    read: u64,
    window: u64,
    receiver: GroReceiver,
}

impl CreditWindow {
    /// The window before any credit, for datagrams of `length` bytes that leave in batches of up to `batch`.
    pub(super) fn new(id: CreditId, length: u32, batch: u64) -> io::Result<Self> {
        let window = INITIAL_WINDOW_BYTES / u64::from(length).max(1);
        Ok(Self {
            id,
            read: 0,
            window: window.max(batch),
            receiver: GroReceiver::new(4)?,
        })
    }

    /// Waits until the receiver has room for `next` more datagrams than the `sent` so far, or the flow is stopped.
    pub(super) fn wait_for_room(
        &mut self,
        socket: &UdpSocket,
        sent: u64,
        next: u64,
        counters: &FlowCounters,
        signals: &FlowSignals,
    ) -> io::Result<()> {
        let mut began_ns = None;
        while sent + next > self.read + self.window.max(next) && !signals.is_stopped() {
            // What has arrived already is read before waiting.
            if !self.receive(socket)? {
                let began_ns = *began_ns.get_or_insert_with(monotonic_ns);
                let ready = poll_readable(&[socket.as_fd()], Some(CREDIT_TIMEOUT))?;
                if !ready.contains(&true)
                    && monotonic_ns() - began_ns >= CREDIT_TIMEOUT.as_nanos() as u64
                {
                    // The outstanding datagrams or their credit were lost.
                    self.read = sent;
                }
            }
        }
        if let Some(began_ns) = began_ns {
            counters
                .credit_wait_ns
                .fetch_add(monotonic_ns() - began_ns, Relaxed);
        }
        Ok(())
    }

    /// Reads the credit that has arrived; `false` when there is none.
    fn receive(&mut self, socket: &UdpSocket) -> io::Result<bool> {
        match self.receiver.receive(socket, Wait::Never) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(cause) if is_no_datagram(&cause) => return Ok(false),
            Err(cause) => return Err(cause),
        }
        for message in self.receiver.messages() {
            for datagram in message.data.chunks(message.segment.max(HEADER_BYTES)) {
                if let Some(header) = DatagramHeader::read(datagram)
                    && header.kind == DatagramKind::Credit
                    && header.tag == self.id.tag
                    && header.flow == self.id.flow
                {
                    self.read = self.read.max(header.sequence);
                    self.window = header.sent_ns.max(1);
                }
            }
        }
        Ok(true)
    }
}

/// The receiver's side: grants credit every quarter of a window.
pub struct CreditGrant {
    id: CreditId,
    length: u32,
    /// Datagrams the receive buffer holds; 0 until that was asked for.
    window: u64,
    granted: u64,
}

impl CreditGrant {
    /// A receiver of datagrams of `length` bytes that has granted nothing yet.
    pub const fn new(id: CreditId, length: u32) -> Self {
        Self {
            id,
            length,
            window: 0,
            granted: 0,
        }
    }

    /// Sends credit where it is due, having read up to number `read`.
    pub fn grant(&mut self, socket: &UdpSocket, read: u64) {
        if self.window == 0 {
            let buffer = udp::meminfo(socket).map_or(212_992, |memory| u64::from(memory.rcvbuf));
            // Half the buffer, because the kernel accounts more for a datagram than its payload.
            self.window = (buffer / 2 / u64::from(self.length.max(1))).max(1);
        }
        if read >= self.granted + self.window / 4 || self.granted == 0 {
            self.send(socket, read);
            self.granted = read.max(1);
        }
    }

    fn send(&self, socket: &UdpSocket, read: u64) {
        let mut bytes = [0; HEADER_BYTES];
        DatagramHeader {
            kind: DatagramKind::Credit,
            flow: self.id.flow,
            sequence: read,
            sent_ns: self.window,
            tag: self.id.tag,
        }
        .write(&mut bytes);
        // A credit that cannot be sent is replaced by the next one, or by the sender's timeout.
        let _ = udp::send_segments(socket, &bytes, HEADER_BYTES as u16);
    }
}
