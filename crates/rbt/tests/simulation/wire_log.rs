//! What both ends counted, held against what went over the wire.

use crate::session::SessionEnd;
use crate::terms::{Incident, SessionTerms};
use caudal_rbt::{
    DATA_HEADER_BYTES, ReceiverStatus, SenderCounts, SenderStatus, TransferConfig, Transmit,
};
use std::collections::HashSet;

/// The kind of a data datagram.
const DATA_KIND: u8 = 1;
/// Probes leave in pairs, whatever the window.
const PROBES: usize = 2;

/// What went over the wire.
#[derive(Debug)]
pub struct WireLog {
    packet_bytes: u64,
    blocks_sent: HashSet<u32>,
    packet_numbers: HashSet<u32>,
    sent: u64,
    sent_bytes: u64,
    /// Datagrams of any kind that arrived.
    arrived: u64,
}

impl WireLog {
    pub fn new(config: &TransferConfig) -> Self {
        Self {
            packet_bytes: u64::from(config.packet_bytes),
            blocks_sent: HashSet::new(),
            packet_numbers: HashSet::new(),
            sent: 0,
            sent_bytes: 0,
            arrived: 0,
        }
    }

    /// A datagram of the sender leaves.
    pub fn left(&mut self, datagram: &[u8]) -> Result<(), String> {
        if datagram[4] != DATA_KIND {
            return Ok(());
        }
        let field = |at: usize| u32::from_le_bytes(datagram[at..at + 4].try_into().unwrap());
        self.sent += 1;
        self.sent_bytes += datagram.len() as u64;
        self.blocks_sent.insert(field(16));
        if !self.packet_numbers.insert(field(12)) {
            return Err(format!("packet number {} twice", field(12)));
        }
        if datagram.len() as u64 > self.packet_bytes + DATA_HEADER_BYTES as u64 {
            return Err("a datagram beyond the packet size".to_owned());
        }
        Ok(())
    }

    /// A datagram of the sender arrives.
    pub fn arrived(&mut self) {
        self.arrived += 1;
    }

    /// A receiver without memory takes the place of the other.
    pub fn forget_arrivals(&mut self) {
        self.arrived = 0;
    }

    /// Nothing leaves beyond the window and one batch, but for probes.
    pub fn check_window(
        &self,
        before: &SenderCounts,
        after: &SenderCounts,
        transmit: Transmit,
    ) -> Result<(), String> {
        let grown = after.sent - before.sent;
        let is_within = after.in_flight <= after.congestion_window + transmit.bytes as u64;
        if grown == 0 || is_within || transmit.datagrams <= PROBES {
            Ok(())
        } else {
            Err(format!(
                "in flight {} of {}",
                after.in_flight, after.congestion_window
            ))
        }
    }

    /// The counters of both ends agree with each other and with what was seen here.
    pub fn check_end(&self, end: &SessionEnd, terms: &SessionTerms) -> Result<(), String> {
        let (sent, received) = (&end.sent, &end.received);
        let has_sender = end.sender.is_some();
        let has_receiver = end.receiver.is_some();
        let forgets = matches!(terms.incident, Some((_, Incident::ReceiverForgets)));
        let is_complete = end.receiver == Some(ReceiverStatus::Complete { matches: true });
        let unusable = received.damaged + received.foreign;
        let repeated = self.sent - self.blocks_sent.len() as u64;
        let laws = [
            (!has_sender || sent.sent == self.sent, "sent"),
            (
                !has_sender || sent.sent_bytes == self.sent_bytes,
                "sent_bytes",
            ),
            (
                !has_sender || sent.retransmitted == repeated,
                "retransmitted",
            ),
            (sent.spurious <= sent.lost && sent.lost <= sent.sent, "lost"),
            (received.received + unusable <= self.arrived, "received"),
            (
                terms.handshake.is_some() || unusable <= end.arrived_damaged,
                "damaged",
            ),
            (
                !has_receiver || forgets || sent.peer_received <= received.received,
                "peer_received",
            ),
            (
                !is_complete || received.content_bytes == terms.total - end.start,
                "content_bytes",
            ),
            (!is_complete || end.taken == terms.total, "taken"),
            (
                end.sender != Some(SenderStatus::Complete)
                    || !has_receiver
                    || forgets
                    || is_complete,
                "the sender is complete and the receiver is not",
            ),
        ];
        match laws.iter().find(|(holds, _)| !holds) {
            None => Ok(()),
            Some((_, law)) => Err(format!("{law}: {end:?} {self:?}")),
        }
    }
}
