//! The datagrams of the native protocol.

use caudal_flow::{
    CreditGrant, CreditId, DatagramFormat, DatagramReader, ReceiveStep, ReceiverView, SenderClock,
    Stamp, reply_to_proof,
};
use caudal_wire::datagram::{
    DatagramHeader, DatagramKind, HEADER_BYTES, OpeningDatagram, fill_payload,
};
use std::io;
use std::net::UdpSocket;

/// The layout of a native flow's datagrams.
#[derive(Debug, Clone, Copy)]
pub(super) struct NativeFormat {
    /// The flow's number.
    pub(super) flow: u32,
    /// The tag of the test.
    pub(super) tag: u32,
}

impl DatagramFormat for NativeFormat {
    fn fill(&self, datagram: &mut [u8]) {
        if let Some(payload) = datagram.get_mut(HEADER_BYTES..) {
            fill_payload(payload, self.tag);
        }
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64) {
        if let Some(room) = datagram.first_chunk_mut::<HEADER_BYTES>() {
            let header = DatagramHeader {
                kind: DatagramKind::Data,
                flow: self.flow,
                sequence,
                sent_ns,
                tag: self.tag,
            };
            header.write(room);
        }
    }
}

/// The reader of a native flow's datagrams.
pub(super) struct NativeReader {
    format: NativeFormat,
    /// `true` at the server, which answers a repeated proof of the opening dialogue.
    is_server: bool,
    credit: Option<CreditGrant>,
}

impl NativeReader {
    pub(super) fn new(
        format: NativeFormat,
        is_server: bool,
        credit: Option<CreditId>,
        length: u32,
    ) -> Self {
        Self {
            format,
            is_server,
            credit: credit.map(|id| CreditGrant::new(id, length)),
        }
    }
}

impl DatagramReader for NativeReader {
    const CLOCK: SenderClock = SenderClock::Monotonic;

    #[inline]
    fn read(&mut self, datagram: &[u8], _due: u64, _arrived_ns: u64) -> Option<Stamp> {
        let header = DatagramHeader::read(datagram)?;
        let is_payload = header.kind == DatagramKind::Data
            && header.tag == self.format.tag
            && header.flow == self.format.flow;
        is_payload.then_some(Stamp {
            sequence: header.sequence,
            sent_ns: Some(header.sent_ns),
        })
    }

    #[cold]
    fn control(&mut self, socket: &UdpSocket, datagram: &[u8]) -> bool {
        match OpeningDatagram::decode(datagram) {
            Some(opening) => {
                if self.is_server {
                    reply_to_proof(socket, &opening);
                }
                true
            }
            None => false,
        }
    }

    fn step(&mut self, view: &ReceiverView<'_>) -> io::Result<ReceiveStep> {
        if let (Some(credit), true) = (&mut self.credit, view.has_arrivals) {
            credit.grant(view.socket, view.account.due());
        }
        Ok(ReceiveStep::Continue)
    }
}
