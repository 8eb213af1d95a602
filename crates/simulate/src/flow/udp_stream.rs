//! UDP streams.

use caudal_analysis::framing::Framing;
use caudal_link::random::Rng;
use caudal_link::time::SimTime;

use super::outgoing::{OutgoingPacket, send_datagram};
use crate::packet::{DatagramFragment, FlowSide};
use crate::result::FlowDetails;
use crate::scenario::UdpSource;
use crate::udp::{DatagramSink, DatagramSource, Fragmentation};

/// Datagrams from the initiator to the responder.
#[derive(Debug)]
pub(super) struct UdpStream {
    source: DatagramSource,
    sink: DatagramSink,
    fragmentation: Fragmentation,
    framing: Framing,
    payload_bytes: u64,
}

impl UdpStream {
    /// `None` when datagrams do not fit into packets of `framing`.
    pub(super) fn new(source: &UdpSource, framing: Framing, rng: Rng) -> Option<Self> {
        Some(Self {
            source: DatagramSource::new(source.pattern, source.payload, rng),
            sink: DatagramSink::default(),
            fragmentation: Fragmentation::new(&framing, source.payload)?,
            framing,
            payload_bytes: u64::from(source.payload),
        })
    }

    pub(super) const fn framing(&self) -> &Framing {
        &self.framing
    }

    pub(super) fn start(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        self.source.start(now);
        self.wake(now, out);
    }

    pub(super) fn stop(&mut self) {
        self.source.stop();
    }

    pub(super) fn deadline(&self) -> Option<SimTime> {
        self.source.deadline()
    }

    pub(super) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        if let Some(number) = self.source.depart(now) {
            send_datagram(self.fragmentation, number, now, FlowSide::Responder, out);
        }
    }

    /// Delivers a fragment to the sink; gives the payload received by its application.
    pub(super) fn receive(&mut self, now: SimTime, fragment: &DatagramFragment) -> u64 {
        u64::from(self.sink.receive(now, fragment)) * self.payload_bytes
    }

    /// The bytes of payload sent.
    pub(super) fn sent(&self) -> u64 {
        self.source.sent.saturating_mul(self.payload_bytes)
    }

    pub(super) fn details(&self) -> FlowDetails {
        FlowDetails::Udp {
            counts: self.sink.counts(self.source.sent),
            delay: self.sink.delay().clone(),
            jitter_ns: self.sink.jitter_ns(),
        }
    }
}
