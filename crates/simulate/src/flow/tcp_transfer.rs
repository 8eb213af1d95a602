//! TCP transfers.

use caudal_analysis::framing::Framing;
use caudal_core::units::ByteCount;
use caudal_link::time::SimTime;

use super::connection_pair::ConnectionPair;
use super::outgoing::OutgoingPacket;
use crate::packet::FlowSide;
use crate::result::FlowDetails;
use crate::tcp::{ApplicationHandshake, TcpSegment, TcpSettings};

/// The bytes of a transfer without an end: more than any simulation sends.
const UNLIMITED: u64 = u64::MAX / 4;

/// A TCP transfer from the initiator to the responder, after an application handshake.
#[derive(Debug)]
pub(super) struct TcpTransfer {
    connection: ConnectionPair,
    /// The bytes to be transferred; `None` without an end.
    bytes: Option<u64>,
    handshake: ApplicationHandshake,
    /// The time at which the payload started, after the handshake.
    payload_start: Option<SimTime>,
    stopped: bool,
}

impl TcpTransfer {
    /// `None` when headers leave no room for payload on a path with an MTU of `mtu` bytes.
    pub(super) fn new(settings: &TcpSettings, bytes: Option<ByteCount>, mtu: u32) -> Option<Self> {
        Some(Self {
            connection: ConnectionPair::new(settings, mtu)?,
            bytes: bytes.map(ByteCount::get),
            handshake: settings.handshake,
            payload_start: None,
            stopped: false,
        })
    }

    pub(super) const fn framing(&self) -> &Framing {
        self.connection.framing()
    }

    pub(super) fn start(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        let request_bytes = u64::from(self.handshake.request_bytes);
        self.connection.open(now);
        self.connection
            .write(FlowSide::Initiator, now, request_bytes);
        self.connection.flush(FlowSide::Initiator, out);
        self.start_payload(now, out);
    }

    pub(super) fn stop(&mut self) {
        self.connection.stop();
        self.stopped = true;
    }

    pub(super) fn deadline(&self) -> Option<SimTime> {
        self.connection.deadline()
    }

    pub(super) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        self.connection.wake(now, out);
    }

    /// Delivers a segment to one side; gives the payload that has arrived at the responder with it.
    pub(super) fn receive(
        &mut self,
        now: SimTime,
        side: FlowSide,
        segment: &TcpSegment,
        out: &mut Vec<OutgoingPacket>,
    ) -> u64 {
        let request_bytes = u64::from(self.handshake.request_bytes);
        let response_bytes = u64::from(self.handshake.response_bytes);
        let responder = self.connection.responder();
        let (before, before_arrived) = (responder.received(), responder.arrived());
        self.connection.receive(side, now, segment);
        let responder = self.connection.responder();
        let (received, arrived) = (responder.received(), responder.arrived());
        if before < request_bytes && received >= request_bytes && response_bytes > 0 {
            self.connection.enter_pingpong_mode(FlowSide::Responder);
            self.connection
                .write(FlowSide::Responder, now, response_bytes);
        }
        self.connection.flush(side, out);
        self.start_payload(now, out);
        arrived.max(request_bytes) - before_arrived.max(request_bytes)
    }

    /// Starts the payload when the handshake is complete.
    fn start_payload(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        let initiator = self.connection.initiator();
        if self.payload_start.is_some()
            || self.stopped
            || initiator.acknowledged() < u64::from(self.handshake.request_bytes)
            || initiator.received() < u64::from(self.handshake.response_bytes)
        {
            return;
        }
        self.payload_start = Some(now);
        let bytes = self.bytes.unwrap_or(UNLIMITED);
        self.connection.write(FlowSide::Initiator, now, bytes);
        self.connection.flush(FlowSide::Initiator, out);
    }

    pub(super) const fn payload_start(&self) -> Option<SimTime> {
        self.payload_start
    }

    /// `true` when all bytes have been received.
    pub(super) fn is_finished(&self) -> bool {
        let received = self.connection.responder().received();
        let payload = received.saturating_sub(u64::from(self.handshake.request_bytes));
        self.payload_start.is_some() && self.bytes == Some(payload)
    }

    /// The bytes of payload sent, without retransmissions.
    pub(super) fn sent(&self) -> u64 {
        let sent = self.connection.initiator().sent();
        sent.saturating_sub(u64::from(self.handshake.request_bytes))
    }

    pub(super) fn details(&self, end: SimTime) -> FlowDetails {
        let sender = self.connection.initiator();
        FlowDetails::Tcp {
            counts: *sender.counts(),
            rtt: sender.rtt().clone(),
            cwnd: sender.cwnd_over_time(end),
        }
    }
}
