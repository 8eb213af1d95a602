//! A flow of any kind in progress.

use caudal_analysis::framing::Framing;
use caudal_link::random::Rng;
use caudal_link::time::SimTime;

use super::outgoing::OutgoingPacket;
use super::tcp_echo::TcpEcho;
use super::tcp_transfer::TcpTransfer;
use super::udp_echo::UdpEcho;
use super::udp_stream::UdpStream;
use crate::error::SimulateError;
use crate::packet::{FlowSide, PacketBody};
use crate::result::FlowDetails;
use crate::scenario::{EchoTransport, SimFlow, Traffic};

/// Both sides of a flow by its kind of traffic.
#[derive(Debug)]
enum Sides {
    TcpTransfer(Box<TcpTransfer>),
    TcpEcho(Box<TcpEcho>),
    UdpStream(Box<UdpStream>),
    UdpEcho(Box<UdpEcho>),
}

/// A flow in progress.
#[derive(Debug)]
pub(crate) struct ActiveFlow {
    sides: Sides,
    started: bool,
}

impl ActiveFlow {
    /// Flow `number` of a scenario with seed `seed`, over a path with an MTU of `mtu` bytes.
    pub(crate) fn new(
        flow: &SimFlow,
        number: usize,
        mtu: u32,
        seed: u64,
    ) -> Result<Self, SimulateError> {
        let limited = |framing: Framing| Framing {
            mtu: framing.mtu.min(mtu),
            ..framing
        };
        let sides = match &flow.traffic {
            Traffic::Tcp { settings, bytes } => TcpTransfer::new(settings, *bytes, mtu)
                .map(|transfer| Sides::TcpTransfer(Box::new(transfer))),
            Traffic::Udp(source) => {
                let (rate, payload) = (source.pattern.rate(), source.payload);
                if rate.bps() == 0 || payload == 0 {
                    return Err(SimulateError::EmptySource {
                        flow: number,
                        rate,
                        payload,
                    });
                }
                let rng = Rng::new(seed, number as u64);
                UdpStream::new(source, limited(source.framing), rng)
                    .map(|stream| Sides::UdpStream(Box::new(stream)))
            }
            Traffic::Echo(client) => {
                if client.message == 0 {
                    return Err(SimulateError::EmptyMessage(number));
                }
                match &client.transport {
                    EchoTransport::Tcp(settings) => TcpEcho::new(client, settings, mtu)
                        .map(|echo| Sides::TcpEcho(Box::new(echo))),
                    EchoTransport::Udp(framing) => UdpEcho::new(client, limited(*framing))
                        .map(|echo| Sides::UdpEcho(Box::new(echo))),
                }
            }
        };
        Ok(Self {
            sides: sides.ok_or(SimulateError::NoRoom { flow: number, mtu })?,
            started: false,
        })
    }

    pub(crate) fn framing(&self) -> &Framing {
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.framing(),
            Sides::TcpEcho(echo) => echo.framing(),
            Sides::UdpStream(stream) => stream.framing(),
            Sides::UdpEcho(echo) => echo.framing(),
        }
    }

    pub(crate) fn start(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        self.started = true;
        match &mut self.sides {
            Sides::TcpTransfer(transfer) => transfer.start(now, out),
            Sides::TcpEcho(echo) => echo.start(now, out),
            Sides::UdpStream(stream) => stream.start(now, out),
            Sides::UdpEcho(echo) => echo.start(now, out),
        }
    }

    /// Stops the application: it sends nothing more.
    pub(crate) fn stop(&mut self) {
        match &mut self.sides {
            Sides::TcpTransfer(transfer) => transfer.stop(),
            Sides::TcpEcho(echo) => echo.stop(),
            Sides::UdpStream(stream) => stream.stop(),
            Sides::UdpEcho(echo) => echo.stop(),
        }
    }

    /// The time of the next timer; `None` before the start.
    pub(crate) fn deadline(&self) -> Option<SimTime> {
        if !self.started {
            return None;
        }
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.deadline(),
            Sides::TcpEcho(echo) => echo.deadline(),
            Sides::UdpStream(stream) => stream.deadline(),
            Sides::UdpEcho(echo) => echo.deadline(),
        }
    }

    /// Processes the timers that are due.
    pub(crate) fn wake(&mut self, now: SimTime, out: &mut Vec<OutgoingPacket>) {
        match &mut self.sides {
            Sides::TcpTransfer(transfer) => transfer.wake(now, out),
            Sides::TcpEcho(echo) => echo.wake(now, out),
            Sides::UdpStream(stream) => stream.wake(now, out),
            Sides::UdpEcho(echo) => echo.wake(now, out),
        }
    }

    /// Delivers a packet to one side; gives the payload that counts as received.
    pub(crate) fn receive(
        &mut self,
        now: SimTime,
        side: FlowSide,
        body: &PacketBody,
        out: &mut Vec<OutgoingPacket>,
    ) -> u64 {
        match (&mut self.sides, body) {
            (Sides::TcpTransfer(transfer), PacketBody::Segment(segment)) => {
                transfer.receive(now, side, segment, out)
            }
            (Sides::TcpEcho(echo), PacketBody::Segment(segment)) => {
                echo.receive(now, side, segment, out)
            }
            (Sides::UdpStream(stream), PacketBody::Datagram(fragment)) => {
                stream.receive(now, fragment)
            }
            (Sides::UdpEcho(echo), PacketBody::Datagram(fragment)) => {
                echo.receive(now, side, fragment, out)
            }
            _ => 0,
        }
    }

    /// The time at which the payload started, for a flow that started at `start`; `None` before.
    pub(crate) fn payload_start(&self, start: SimTime) -> Option<SimTime> {
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.payload_start(),
            Sides::TcpEcho(_) | Sides::UdpStream(_) | Sides::UdpEcho(_) => Some(start),
        }
    }

    /// `true` when nothing is left to be received.
    pub(crate) fn is_finished(&self) -> bool {
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.is_finished(),
            Sides::TcpEcho(echo) => echo.is_finished(),
            Sides::UdpStream(_) => false,
            Sides::UdpEcho(echo) => echo.is_finished(),
        }
    }

    /// The bytes of payload sent, without retransmissions.
    pub(crate) fn sent(&self) -> u64 {
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.sent(),
            Sides::TcpEcho(echo) => echo.sent(),
            Sides::UdpStream(stream) => stream.sent(),
            Sides::UdpEcho(echo) => echo.sent(),
        }
    }

    /// The counters at `end`.
    pub(crate) fn details(&self, end: SimTime) -> FlowDetails {
        match &self.sides {
            Sides::TcpTransfer(transfer) => transfer.details(end),
            Sides::TcpEcho(echo) => echo.details(),
            Sides::UdpStream(stream) => stream.details(),
            Sides::UdpEcho(echo) => echo.details(),
        }
    }
}
