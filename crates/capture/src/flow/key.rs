//! The identity of a flow.

use crate::dissect::PackedAddress;
use crate::model::{CapturedEnd, CapturedTransport};

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TupleEnd {
    pub(crate) address: PackedAddress,
    pub(crate) port: u16,
}

/// Both ends and the protocol, the smaller end first, so that both directions have one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FlowTuple {
    pub(crate) low: TupleEnd,
    pub(crate) high: TupleEnd,
    pub(crate) protocol: u8,
}

impl FlowTuple {
    /// The key of a packet, and whether it went from the smaller end to the larger.
    #[inline]
    pub(crate) fn of(source: TupleEnd, destination: TupleEnd, protocol: u8) -> (Self, bool) {
        let from_low = source <= destination;
        let (low, high) = match from_low {
            true => (source, destination),
            false => (destination, source),
        };
        let tuple = Self {
            low,
            high,
            protocol,
        };
        (tuple, from_low)
    }

    /// The transport.
    pub(crate) const fn transport(&self) -> CapturedTransport {
        match self.protocol {
            6 => CapturedTransport::Tcp,
            17 => CapturedTransport::Udp,
            1 | 58 => CapturedTransport::Icmp,
            _ => CapturedTransport::Other,
        }
    }

    /// An end as documents have it.
    pub(crate) fn end(&self, low: bool) -> CapturedEnd {
        let end = if low { self.low } else { self.high };
        let has_ports = matches!(self.protocol, 6 | 17);
        CapturedEnd {
            address: end.address.ip(),
            port: has_ports.then_some(end.port),
        }
    }
}
