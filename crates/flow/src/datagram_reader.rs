//! The reading of datagrams in a protocol, so that one loop receives the datagrams of all protocols.

use super::counters::FlowCounters;
use super::datagram_account::DatagramAccount;
use super::datagram_format::{SenderClock, Stamp};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The next step of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveStep {
    /// To go on.
    Continue,
    /// To end: the flow is complete.
    Done,
}

/// A receiver between two batches, as a protocol sees it.
pub struct ReceiverView<'a> {
    /// Its socket.
    pub socket: &'a UdpSocket,
    /// The account of the datagrams received.
    pub account: &'a DatagramAccount,
    /// The counters of its flow.
    pub counters: &'a FlowCounters,
    /// `true` when datagrams arrived since the step before.
    pub has_arrivals: bool,
    /// The time, ns of the monotonic clock.
    pub now_ns: u64,
}

/// The reader of the datagrams of a protocol at the receiver of a flow, with what the protocol wants of the receiver besides.
pub trait DatagramReader {
    /// The clock of the times that datagrams carry.
    const CLOCK: SenderClock;
    /// `true` when datagrams that arrive after they had been given up count as payload.
    const LATE_COUNTS: bool = false;

    /// `true` for the source of this flow; a connected socket has no other.
    #[inline]
    fn is_source(&self, _source: Option<SocketAddr>) -> bool {
        true
    }

    /// Reads number and time; `due` is the number expected next, `arrived_ns` the time of arrival by [`Self::CLOCK`]. `None` for what
    /// is no payload of this flow.
    fn read(&mut self, datagram: &[u8], due: u64, arrived_ns: u64) -> Option<Stamp>;

    /// Takes a datagram that is no payload; `false` for one that is damaged.
    fn control(&mut self, socket: &UdpSocket, datagram: &[u8]) -> bool;

    /// The next datagram of this flow that arrived at another socket, with its time of arrival by [`Self::CLOCK`].
    #[inline]
    fn next_stray(&mut self) -> Option<(Vec<u8>, u64)> {
        None
    }

    /// The number of datagrams sent in total, once the sender has announced it within the flow.
    #[inline]
    fn announced(&self) -> Option<u64> {
        None
    }

    /// Tells the other end that a limit of the server has ended the flow, where the protocol can.
    fn cut_short(&mut self, _view: &ReceiverView<'_>) {}

    /// Does what the protocol wants after a batch, or after a wait without one.
    ///
    /// # Errors
    /// When the flow cannot go on.
    fn step(&mut self, _view: &ReceiverView<'_>) -> io::Result<ReceiveStep> {
        Ok(ReceiveStep::Continue)
    }
}
