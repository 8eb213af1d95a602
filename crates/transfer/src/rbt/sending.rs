//! The loop of the sending end.

use super::drive::{Refusals, wait};
use super::transmitter::{TransmitError, Transmitter};
use crate::{ContentSource, MoverControl, TransferFailure};
use caudal_flow::TestLimit;
use caudal_rbt::{AbortCode, AcceptedSession, BlockSender, DATA_HEADER_BYTES, SenderStatus};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::options::set_ecn_capable;
use caudal_sys::udp::{self, GroReceiver, ReceivedBatch, Wait};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;

/// Batches sent between two checks for acknowledgements.
const BATCHES: usize = 4;
/// Room for a batch: the largest payload that one call takes.
const BATCH_BYTES: usize = 65_536;
/// Interval at which a source of unknown length is polled, ns.
const SOURCE_POLL_NS: u64 = 500_000;
/// Probe timeouts before the first acknowledgement for ECN to be disabled.
const ECN_PROBES: u64 = 3;
/// Headers of IPv6 and UDP.
const LOWER_HEADERS: u32 = 48;

/// The times of a sending end, ns of the monotonic clock; 0 before they have come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SendingTimes {
    /// The first data datagram was sent.
    pub(super) first_byte: u64,
    /// The last block was sent for the first time.
    pub(super) last_byte: u64,
    /// Every block is acknowledged.
    pub(super) acknowledged: u64,
    /// The receiver has compared the digest.
    pub(super) verified: u64,
}

/// A sending end under way.
pub(super) struct SendingLoop<'a, S: ?Sized> {
    pub(super) socket: &'a UdpSocket,
    pub(super) sender: &'a mut BlockSender,
    pub(super) source: &'a mut S,
    pub(super) transmitter: &'a mut Transmitter,
    pub(super) control: MoverControl<'a>,
    pub(super) packet_bytes: u32,
    pub(super) times: SendingTimes,
    /// The handshake, where this end was the responder.
    pub(super) accepted: Option<&'a AcceptedSession>,
    /// The limits of a server, where this is one.
    pub(super) limit: Option<&'a TestLimit>,
    /// Whether datagrams are sent as those of an ECN-capable transport.
    pub(super) is_ecn_capable: bool,
    start_bytes: u64,
    has_digest: bool,
    batch: Vec<u8>,
    replies: GroReceiver,
    refusals: Refusals,
}

impl<'a, S: ContentSource + ?Sized> SendingLoop<'a, S> {
    pub(super) fn new(
        socket: &'a UdpSocket,
        sender: &'a mut BlockSender,
        source: &'a mut S,
        transmitter: &'a mut Transmitter,
        control: MoverControl<'a>,
        packet_bytes: u32,
        start_bytes: u64,
    ) -> io::Result<Self> {
        Ok(Self {
            socket,
            sender,
            source,
            transmitter,
            control,
            packet_bytes,
            times: SendingTimes::default(),
            accepted: None,
            limit: None,
            is_ecn_capable: false,
            start_bytes,
            has_digest: false,
            batch: vec![0; BATCH_BYTES],
            replies: GroReceiver::new(4)?,
            refusals: Refusals::default(),
        })
    }

    /// Sends until the receiver has compared the digest.
    ///
    /// # Errors
    /// Why the transfer did not complete.
    pub(super) fn run(&mut self) -> Result<(), TransferFailure> {
        loop {
            if self.control.stop.load(Relaxed) {
                self.sender.abort(AbortCode::Stopped);
            }
            self.receive()?;
            let sent = self.transmit()?;
            let acked = self.sender.acked_bytes();
            self.control
                .bytes
                .store(acked.saturating_sub(self.start_bytes), Relaxed);
            let is_end_known = self.look_at_source()?;
            match self.sender.status() {
                SenderStatus::Sending => {}
                // Of no blocks nothing is acknowledged before the end of the content is.
                SenderStatus::AwaitingFinAck if self.sender.counts().sent == 0 => {}
                SenderStatus::AwaitingFinAck => note(&mut self.times.acknowledged),
                SenderStatus::Complete => {
                    note(&mut self.times.acknowledged);
                    note(&mut self.times.verified);
                    return Ok(());
                }
                SenderStatus::Failed(error) => return Err(error.into()),
            }
            // With the digest the end of the content is ready to be sent.
            if sent == 0 && !is_end_known {
                wait(self.socket, self.next_wake());
            }
            let now_ns = monotonic_ns();
            if self.sender.poll_timeout().is_some_and(|due| due <= now_ns) {
                self.sender.handle_timeout(now_ns);
                self.look_at_ecn(acked);
            }
        }
    }

    /// Sends without ECN when nothing at all arrives with it: some paths drop what has its bits set (RFC 9000, section 13.4.2).
    fn look_at_ecn(&mut self, acked: u64) {
        if self.is_ecn_capable
            && acked == self.start_bytes
            && self.sender.counts().ptos >= ECN_PROBES
        {
            self.is_ecn_capable = false;
            // A socket that cannot change it back did not take it either.
            let _ = set_ecn_capable(self.socket, false);
            let note = "nothing arrived with ECN: sent without it";
            self.transmitter.notes.push(note.to_owned());
        }
    }

    /// Takes over the digest of a source that knows it at its end only: `true` the one time that it does.
    ///
    /// # Errors
    /// When the content cannot be read; the receiver is informed.
    fn look_at_source(&mut self) -> Result<bool, TransferFailure> {
        if let Some(reason) = self.source.failure() {
            self.sender.abort(AbortCode::Source);
            self.transmit()?;
            return Err(TransferFailure::Storage(reason));
        }
        if !self.has_digest
            && let Some(digest) = self.source.digest()
        {
            self.has_digest = true;
            self.sender.set_digest(digest);
            return Ok(true);
        }
        Ok(false)
    }

    /// When the loop is to look again although nothing arrives.
    fn next_wake(&self) -> Option<u64> {
        let due_ns = self.sender.poll_timeout();
        if self.has_digest {
            return due_ns;
        }
        // The source is read on another thread, which cannot wake this one.
        let soon_ns = monotonic_ns() + SOURCE_POLL_NS;
        Some(due_ns.map_or(soon_ns, |due| due.min(soon_ns)))
    }

    /// Takes the datagrams that have arrived.
    fn receive(&mut self) -> Result<(), TransferFailure> {
        loop {
            match self.replies.receive(self.socket, Wait::Never) {
                Ok(_) => {
                    self.refusals.clear();
                    let now_ns = monotonic_ns();
                    for datagram in self.replies.messages().flat_map(ReceivedBatch::datagrams) {
                        if let Some(accepted) = self.accepted
                            && let Some(answer) = accepted.answer_to(datagram)
                        {
                            // The initiator does not have the answer yet.
                            let _ = self.socket.send(answer);
                            continue;
                        }
                        // What it leads to shows in the status, once the peer was told.
                        let _ = self.sender.handle_datagram(now_ns, datagram);
                    }
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => return Ok(()),
                    Some(libc::ECONNREFUSED) => self.refusals.count()?,
                    // A router reports it of a datagram sent before.
                    Some(libc::EMSGSIZE) => return Err(self.too_large()),
                    _ => {
                        return Err(TransferFailure::Kernel {
                            doing: "receive a datagram",
                            cause: error,
                        });
                    }
                },
            }
        }
    }

    /// The failure of packets that are larger than the path carries.
    fn too_large(&self) -> TransferFailure {
        TransferFailure::TooLarge {
            packet_bytes: self.packet_bytes,
            mtu: udp::path_mtu(self.socket).unwrap_or(self.packet_bytes + LOWER_HEADERS),
        }
    }

    /// Sends some batches: their number.
    fn transmit(&mut self) -> Result<usize, TransferFailure> {
        let segment = self.packet_bytes as usize + DATA_HEADER_BYTES;
        for sent in 0..BATCHES {
            let max = self.transmitter.max_datagrams(segment);
            let reached = self.limit.and_then(|limit| limit.room_to_send().err());
            if reached.is_some() {
                // What leaves next is the ABORT.
                self.sender.abort(AbortCode::Stopped);
            }
            let now_ns = monotonic_ns();
            let next = self
                .sender
                .poll_transmit(now_ns, self.source, &mut self.batch, max);
            let Some(transmit) = next else {
                return Ok(sent);
            };
            if self.times.first_byte == 0 {
                self.times.first_byte = now_ns;
            }
            if self.sender.status() == SenderStatus::Sending {
                self.times.last_byte = now_ns;
            }
            if let Some(limit) = self.limit {
                limit.add_sent(transmit.bytes as u64);
            }
            let outcome =
                self.transmitter
                    .send(self.socket, &self.batch[..transmit.bytes], transmit.segment);
            if let Err(TransmitError::TooLarge) = outcome {
                return Err(self.too_large());
            }
            self.refusals.check(outcome)?;
            if let Some(reached) = reached {
                return Err(TransferFailure::Connection(reached.to_string()));
            }
        }
        Ok(BATCHES)
    }
}

/// Notes the time, once.
fn note(time: &mut u64) {
    if *time == 0 {
        *time = monotonic_ns();
    }
}
