//! Both ends of a TCP connection.

use caudal_analysis::framing::Framing;
use caudal_link::time::SimTime;

use super::outgoing::OutgoingPacket;
use crate::packet::{FlowSide, PacketBody};
use crate::tcp::{TcpConnection, TcpSegment, TcpSettings};

/// Both ends of a TCP connection, which the initiator opens.
#[derive(Debug)]
pub(super) struct ConnectionPair {
    ends: Box<[TcpConnection; 2]>,
    framing: Framing,
    /// Segments on their way to [`Self::flush`], kept to save allocations.
    segments: Vec<TcpSegment>,
}

impl ConnectionPair {
    /// A connection over a path with an MTU of `mtu` bytes; `None` when headers leave no room for payload.
    pub(super) fn new(settings: &TcpSettings, mtu: u32) -> Option<Self> {
        let framing = Framing {
            mtu: settings.framing.mtu.min(mtu),
            ..settings.framing
        };
        let mss = framing.tcp_payload_per_frame();
        let end = || TcpConnection::new(settings, mss);
        (mss > 0).then(|| Self {
            ends: Box::new([end(), end()]),
            framing,
            segments: Vec::new(),
        })
    }

    pub(super) const fn framing(&self) -> &Framing {
        &self.framing
    }

    pub(super) fn initiator(&self) -> &TcpConnection {
        &self.ends[0]
    }

    pub(super) fn responder(&self) -> &TcpConnection {
        &self.ends[1]
    }

    /// Opens the connection.
    pub(super) fn open(&mut self, now: SimTime) {
        self.ends[0].open(now, &mut self.segments);
    }

    /// Writes `bytes` at one side.
    pub(super) fn write(&mut self, side: FlowSide, now: SimTime, bytes: u64) {
        self.ends[side as usize].write(now, bytes, &mut self.segments);
    }

    /// The application of the initiator writes nothing more.
    pub(super) fn stop(&mut self) {
        self.ends[0].stop();
    }

    /// Treats one side as one that answers what it receives.
    pub(super) fn enter_pingpong_mode(&mut self, side: FlowSide) {
        self.ends[side as usize].enter_pingpong_mode();
    }

    /// Delivers a segment to one side; gives the number of bytes received by its application.
    pub(super) fn receive(&mut self, side: FlowSide, now: SimTime, segment: &TcpSegment) -> u64 {
        self.ends[side as usize].receive(now, segment, &mut self.segments)
    }

    /// The earliest deadline of both ends.
    pub(super) fn deadline(&self) -> Option<SimTime> {
        let due = self.ends.iter().map(TcpConnection::deadline);
        due.flatten().min()
    }

    /// Processes the timers that are due, and sends the resulting segments.
    pub(super) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        for side in [FlowSide::Initiator, FlowSide::Responder] {
            let connection = &mut self.ends[side as usize];
            if connection.deadline().is_some_and(|due| due <= now) {
                connection.wake(now, &mut self.segments);
                self.flush(side, out);
            }
        }
    }

    /// Sends all new segments, which come from one side.
    pub(super) fn flush(&mut self, from: FlowSide, out: &mut Vec<OutgoingPacket>) {
        // IP headers are 20 or 40 bytes.
        let ip_bytes = self.framing.ip.header_bytes() as u32;
        let to = from.opposite();
        for segment in self.segments.drain(..) {
            let tcp_bytes = segment.header_bytes(self.framing.timestamps);
            let bytes = ip_bytes + tcp_bytes + segment.length;
            let body = PacketBody::Segment(segment);
            out.push(OutgoingPacket { to, body, bytes });
        }
    }
}
