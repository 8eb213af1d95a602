//! Echo over TCP.

use caudal_analysis::framing::Framing;
use caudal_link::time::SimTime;

use super::connection_pair::ConnectionPair;
use super::exchange::{EchoExchange, Reliability};
use super::outgoing::OutgoingPacket;
use crate::packet::FlowSide;
use crate::result::FlowDetails;
use crate::scenario::EchoClient;
use crate::tcp::{TcpSegment, TcpSettings};

/// An echo client and server on one TCP connection.
#[derive(Debug)]
pub(super) struct TcpEcho {
    connection: ConnectionPair,
    exchange: EchoExchange,
    message_bytes: u64,
    /// The bytes received by the initiator and by the responder.
    received: [u64; 2],
}

impl TcpEcho {
    /// `None` when headers leave no room for payload on a path with an MTU of `mtu` bytes.
    pub(super) fn new(client: &EchoClient, settings: &TcpSettings, mtu: u32) -> Option<Self> {
        let mut connection = ConnectionPair::new(settings, mtu)?;
        connection.enter_pingpong_mode(FlowSide::Initiator);
        connection.enter_pingpong_mode(FlowSide::Responder);
        Some(Self {
            connection,
            exchange: EchoExchange::new(client, Reliability::Reliable),
            message_bytes: u64::from(client.message),
            received: [0; 2],
        })
    }

    pub(super) const fn framing(&self) -> &Framing {
        self.connection.framing()
    }

    pub(super) fn start(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        self.connection.open(now);
        self.exchange.start(now);
        self.connection.flush(FlowSide::Initiator, out);
        self.wake(now, out);
    }

    pub(super) fn stop(&mut self) {
        self.exchange.stop();
    }

    pub(super) fn deadline(&self) -> Option<SimTime> {
        let due = [self.connection.deadline(), self.exchange.deadline()];
        due.into_iter().flatten().min()
    }

    pub(super) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        if self.exchange.wake(now).is_some() {
            self.connection
                .write(FlowSide::Initiator, now, self.message_bytes);
            self.connection.flush(FlowSide::Initiator, out);
        }
        self.connection.wake(now, out);
    }

    /// Delivers a segment to one side; gives the payload received by the client's application.
    pub(super) fn receive(
        &mut self,
        now: SimTime,
        side: FlowSide,
        segment: &TcpSegment,
        out: &mut Vec<OutgoingPacket>,
    ) -> u64 {
        // Data written before the flush is sent with the acknowledgement of the data it answers.
        let bytes = self.connection.receive(side, now, segment);
        let received = &mut self.received[side as usize];
        let before = *received / self.message_bytes;
        *received += bytes;
        let messages = *received / self.message_bytes - before;
        let mut payload = 0;
        match side {
            FlowSide::Responder if messages > 0 => {
                let bytes = messages * self.message_bytes;
                self.connection.write(FlowSide::Responder, now, bytes);
            }
            FlowSide::Responder => {}
            FlowSide::Initiator => {
                payload = bytes;
                for number in before..before + messages {
                    self.exchange.answer(now, number);
                }
            }
        }
        self.connection.flush(side, out);
        payload
    }

    pub(super) fn is_finished(&self) -> bool {
        self.exchange.is_finished()
    }

    /// The bytes of the messages sent.
    pub(super) fn sent(&self) -> u64 {
        self.exchange.sent().saturating_mul(self.message_bytes)
    }

    pub(super) fn details(&self) -> FlowDetails {
        self.exchange.details()
    }
}
