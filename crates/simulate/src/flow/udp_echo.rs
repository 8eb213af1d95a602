//! Echo over UDP.

use caudal_analysis::framing::Framing;
use caudal_link::time::SimTime;

use super::exchange::{EchoExchange, Reliability};
use super::outgoing::{OutgoingPacket, send_datagram};
use crate::packet::{DatagramFragment, FlowSide};
use crate::result::FlowDetails;
use crate::scenario::EchoClient;
use crate::udp::{Fragmentation, Reassembly};

/// An echo client and server over UDP.
#[derive(Debug)]
pub(super) struct UdpEcho {
    exchange: EchoExchange,
    /// The reassembly at the initiator and at the responder.
    reassembly: [Reassembly; 2],
    fragmentation: Fragmentation,
    framing: Framing,
    message_bytes: u64,
}

impl UdpEcho {
    /// `None` when messages do not fit into packets of `framing`.
    pub(super) fn new(client: &EchoClient, framing: Framing) -> Option<Self> {
        Some(Self {
            exchange: EchoExchange::new(client, Reliability::Unreliable),
            reassembly: Default::default(),
            fragmentation: Fragmentation::new(&framing, client.message)?,
            framing,
            message_bytes: u64::from(client.message),
        })
    }

    pub(super) const fn framing(&self) -> &Framing {
        &self.framing
    }

    pub(super) fn start(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        self.exchange.start(now);
        self.wake(now, out);
    }

    pub(super) fn stop(&mut self) {
        self.exchange.stop();
    }

    pub(super) fn deadline(&self) -> Option<SimTime> {
        self.exchange.deadline()
    }

    pub(super) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        if let Some(number) = self.exchange.wake(now) {
            send_datagram(self.fragmentation, number, now, FlowSide::Responder, out);
        }
    }

    /// Delivers a fragment to one side; gives the payload received by the client's application.
    pub(super) fn receive(
        &mut self,
        now: SimTime,
        side: FlowSide,
        fragment: &DatagramFragment,
        out: &mut Vec<OutgoingPacket>,
    ) -> u64 {
        if !self.reassembly[side as usize].completes(fragment) {
            return 0;
        }
        let number = fragment.datagram;
        match side {
            FlowSide::Responder => {
                send_datagram(self.fragmentation, number, now, FlowSide::Initiator, out);
                0
            }
            FlowSide::Initiator if self.exchange.answer(now, number) => self.message_bytes,
            FlowSide::Initiator => 0,
        }
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
