//! The loop of the receiving end.

use super::drive::{Refusals, wait};
use crate::{MoverControl, RunSink, TransferFailure};
use caudal_core::marks::Ecn;
use caudal_flow::TestLimit;
use caudal_rbt::{AbortCode, AcceptedSession, BlockReceiver, ReceiverStatus};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::udp::{GroReceiver, Wait};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;

/// Messages of one receive, each of up to 64 KiB.
const MESSAGES: usize = 16;
/// Bytes handed to the sink at once.
const RUN_BYTES: usize = 1 << 20;
/// Interval at which the digest is checked for, ns.
const VERIFICATION_POLL_NS: u64 = 100_000;
/// Room for a reply.
const REPLY_BYTES: usize = 2048;

/// The times of a receiving end, ns of the monotonic clock; 0 before they have come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceivingTimes {
    /// The first data datagram arrived.
    pub(super) first_byte: u64,
    /// The last block arrived.
    pub(super) last_byte: u64,
    /// Every byte was handed to the sink.
    pub(super) written: u64,
    /// The digest was compared.
    pub(super) verified: u64,
}

/// A receiving end under way.
pub(super) struct ReceivingLoop<'a> {
    pub(super) socket: &'a UdpSocket,
    pub(super) receiver: &'a mut BlockReceiver,
    pub(super) sink: &'a mut dyn RunSink,
    pub(super) control: MoverControl<'a>,
    pub(super) times: ReceivingTimes,
    pub(super) calls: u64,
    /// The handshake, where this end was the responder.
    pub(super) accepted: Option<&'a AcceptedSession>,
    /// The limits of a server, where this is one.
    pub(super) limit: Option<&'a TestLimit>,
    /// The bytes that are handed to the sink at once.
    run_bytes: usize,
    batches: GroReceiver,
    reply: Vec<u8>,
    refusals: Refusals,
    is_verifying: bool,
}

impl<'a> ReceivingLoop<'a> {
    pub(super) fn new(
        socket: &'a UdpSocket,
        receiver: &'a mut BlockReceiver,
        sink: &'a mut dyn RunSink,
        control: MoverControl<'a>,
        window_bytes: u64,
    ) -> io::Result<Self> {
        Ok(Self {
            socket,
            receiver,
            sink,
            control,
            times: ReceivingTimes::default(),
            calls: 0,
            accepted: None,
            limit: None,
            run_bytes: RUN_BYTES.min((window_bytes / 4) as usize).max(1),
            batches: GroReceiver::new(MESSAGES)?,
            reply: vec![0; REPLY_BYTES],
            refusals: Refusals::default(),
            is_verifying: false,
        })
    }

    /// Receives until the digest was compared and the sender has, or may be taken to have, the answer.
    ///
    /// # Errors
    /// Why the transfer did not complete.
    pub(super) fn run(&mut self) -> Result<(), TransferFailure> {
        let mut is_idle = false;
        loop {
            if self.control.stop.load(Relaxed) {
                self.receiver.abort(AbortCode::Stopped);
            }
            let received = self.receive()?;
            if received == 0 {
                self.receiver.on_idle();
            }
            if let Err(reason) = self.store(is_idle) {
                self.receiver.abort(AbortCode::Sink);
                let _ = self.reply();
                return Err(TransferFailure::Storage(reason));
            }
            self.reply()?;
            match self.receiver.status() {
                ReceiverStatus::Complete { matches: true } => return Ok(()),
                ReceiverStatus::Complete { matches: false } => {
                    return Err(TransferFailure::DigestMismatch);
                }
                ReceiverStatus::Failed(error) => return Err(error.into()),
                _ => {}
            }
            is_idle = received == 0 && !self.wait();
            let now_ns = monotonic_ns();
            let due_ns = self.receiver.poll_timeout();
            if due_ns.is_some_and(|due| due <= now_ns) {
                self.receiver.handle_timeout(now_ns);
            }
        }
    }

    /// Waits for a datagram, or until something else is to be done: whether one has arrived.
    fn wait(&self) -> bool {
        let until_ns = match self.receiver.status() {
            // The digest is computed on another thread, which cannot wake this one.
            ReceiverStatus::Verifying => Some(monotonic_ns() + VERIFICATION_POLL_NS),
            _ => self.receiver.poll_timeout(),
        };
        wait(self.socket, until_ns)
    }

    /// Takes the datagrams that have arrived: the number of messages.
    fn receive(&mut self) -> Result<usize, TransferFailure> {
        match self.batches.receive(self.socket, Wait::Never) {
            Ok(messages) => {
                self.calls += 1;
                self.refusals.clear();
                let now_ns = monotonic_ns();
                if self.times.first_byte == 0 {
                    self.times.first_byte = now_ns;
                }
                let before = self.receiver.counts().content_bytes;
                let mut bytes = 0;
                for batch in self.batches.messages() {
                    bytes += batch.data.len() as u64;
                    if let Some(accepted) = self.accepted
                        && let Some(answer) = accepted.answer_to(batch.data)
                    {
                        // The initiator does not have the answer yet.
                        let _ = self.socket.send(answer);
                        continue;
                    }
                    self.receiver.handle_datagrams(
                        now_ns,
                        batch.data,
                        batch.segment,
                        batch.tos.map_or(Ecn::NotEct, Ecn::from_tos),
                    );
                }
                let new = self.receiver.counts().content_bytes - before;
                if new > 0 {
                    self.times.last_byte = now_ns;
                }
                self.charge(now_ns, bytes, new)?;
                Ok(messages)
            }
            Err(error) => match error.raw_os_error() {
                // A router's report about an earlier datagram of this end's, which are small.
                Some(libc::EAGAIN | libc::EINTR | libc::EMSGSIZE) => Ok(0),
                Some(libc::ECONNREFUSED) => self.refusals.count().map(|()| 0),
                _ => Err(TransferFailure::Kernel {
                    doing: "receive a datagram",
                    cause: error,
                }),
            },
        }
    }

    /// Holds what has arrived against the server's limits.
    ///
    /// # Errors
    /// When one is reached; the sender is informed.
    fn charge(&mut self, now_ns: u64, bytes: u64, new: u64) -> Result<(), TransferFailure> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        limit
            .take_datagrams(bytes, new, now_ns)
            .map_err(|reached| {
                self.receiver.abort(AbortCode::Stopped);
                let _ = self.reply();
                TransferFailure::Connection(reached.to_string())
            })?;
        Ok(())
    }

    /// Hands what has arrived in order to the sink, in long runs unless nothing else is to be done, and has the digest compared at the
    /// end.
    fn store(&mut self, is_idle: bool) -> Result<(), String> {
        while let Some(segment) = self.receiver.take_segment() {
            let bytes = segment.len();
            if let Some(used) = self.sink.take(segment)? {
                self.receiver.give_back(used);
            }
            self.control.bytes.fetch_add(bytes as u64, Relaxed);
        }
        let claimed = self.receiver.claimed_digest();
        loop {
            let run = self.receiver.readable();
            let is_whole = run.len() >= self.run_bytes
                || self.receiver.is_run_complete()
                || claimed.is_some()
                || is_idle;
            if run.is_empty() || !is_whole {
                break;
            }
            let run = &run[..run.len().min(self.run_bytes)];
            let bytes = run.len();
            self.sink.write(run)?;
            self.receiver.consume(bytes);
            self.control.bytes.fetch_add(bytes as u64, Relaxed);
        }
        let Some(claimed) = claimed else {
            return Ok(());
        };
        if !self.is_verifying {
            self.is_verifying = true;
            self.times.written = monotonic_ns();
            self.sink.begin_verification(claimed);
        }
        if self.times.verified == 0
            && let Some(outcome) = self.sink.verification()
        {
            self.times.verified = monotonic_ns();
            self.times.written = self.sink.written_ns().unwrap_or(self.times.written);
            self.receiver.set_verified(self.times.verified, outcome?);
        }
        Ok(())
    }

    /// Sends the replies that are due.
    fn reply(&mut self) -> Result<(), TransferFailure> {
        let now_ns = monotonic_ns();
        while let Some(length) = self.receiver.poll_transmit(now_ns, &mut self.reply) {
            let outcome = self.socket.send(&self.reply[..length]);
            self.calls += 1;
            match outcome.map_err(|error| (error.raw_os_error(), error)) {
                Ok(_) => {}
                // A reply that is lost here is lost like any other on the way.
                Err((Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR | libc::EMSGSIZE), _)) => {}
                Err((Some(libc::ECONNREFUSED), _)) => self.refusals.count()?,
                Err((_, cause)) => {
                    return Err(TransferFailure::Kernel {
                        doing: "send a reply",
                        cause,
                    });
                }
            }
        }
        Ok(())
    }
}
