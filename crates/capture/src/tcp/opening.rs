//! The handshake of a connection as it is captured.

use super::half::TcpHalf;
use super::segment::TrackedSegment;
use crate::dissect::TcpFlags;
use crate::model::{FrameDirection, HandshakeKind, TcpHandshake, TcpOffer};

/// What was captured of a handshake.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpeningTimes {
    syn: Option<(u64, u64)>,
    syn_ack: Option<(u64, u64)>,
    ack: Option<(u64, u64)>,
    /// The last of several SYNs.
    last_syn_ns: u64,
    last_syn_ack_ns: u64,
    syn_repeats: u64,
    syn_ack_repeats: u64,
    /// Both ends sent a SYN without ACK.
    simultaneous: bool,
    refused: bool,
    /// The flags of both asked for ECN.
    syn_ecn: bool,
    ecn: bool,
    /// The clock was set before it was complete.
    is_stepped: bool,
    /// The client acknowledged something, though no SYN-ACK was captured.
    goes_on: bool,
}

/// The options of a SYN.
pub(crate) fn offer(segment: &TrackedSegment<'_>) -> TcpOffer {
    let options = &segment.header.options;
    TcpOffer {
        mss_bytes: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        timestamps: options.timestamps.is_some(),
        fast_open: options.fast_open,
        multipath: options.multipath,
        window_bytes: segment.header.window,
        option_bytes: (segment.header.header_bytes - 20) as u8,
        dscp: segment.ip.tos >> 2,
        ttl: segment.ip.ttl,
    }
}

impl OpeningTimes {
    /// Takes in a segment before the handshake is complete.
    pub(crate) fn segment(&mut self, direction: FrameDirection, segment: &TrackedSegment<'_>) {
        let flags = segment.header.flags;
        let seen = Some((segment.frame, segment.at_ns));
        let both = TcpFlags::ECE | TcpFlags::CWR;
        match (
            flags.any(TcpFlags::SYN),
            flags.any(TcpFlags::ACK),
            direction,
        ) {
            (true, false, FrameDirection::ToServer) => {
                self.syn_repeats += u64::from(self.syn.is_some());
                self.syn = self.syn.or(seen);
                self.last_syn_ns = segment.at_ns;
                self.syn_ecn = flags.0 & both == both;
            }
            (true, false, FrameDirection::ToClient) => self.simultaneous = true,
            (true, true, _) => {
                self.syn_ack_repeats += u64::from(self.syn_ack.is_some());
                self.syn_ack = self.syn_ack.or(seen);
                self.last_syn_ack_ns = segment.at_ns;
                // RFC 3168 section 6.1.1: ECE without CWR.
                self.ecn = self.syn_ecn && flags.0 & both == TcpFlags::ECE;
            }
            (false, true, FrameDirection::ToServer)
                if self.syn_ack.is_some() && !flags.any(TcpFlags::RST) =>
            {
                self.ack = self.ack.or(seen);
            }
            (false, true, FrameDirection::ToServer) if self.syn.is_some() => {
                self.goes_on |= !flags.any(TcpFlags::RST);
            }
            _ => {}
        }
        let unanswered = self.syn_ack.is_none() && direction == FrameDirection::ToClient;
        self.refused |= flags.any(TcpFlags::RST) && self.syn.is_some() && unanswered;
    }

    /// The clock was set: the times of a handshake under way are not known.
    pub(crate) fn forget_times(&mut self) {
        self.is_stepped |= self.ack.is_none();
    }

    /// `true` when nothing more is to come.
    #[inline]
    pub(crate) const fn is_complete(&self) -> bool {
        self.ack.is_some()
    }

    /// The round-trip time of the handshake in ns; `None` when a part was repeated or not captured.
    pub(crate) fn rtt_ns(&self) -> Option<u64> {
        let (_, syn) = self.syn?;
        let (_, ack) = self.ack?;
        (self.syn_repeats == 0 && self.syn_ack_repeats == 0 && !self.is_stepped)
            .then(|| ack.saturating_sub(syn))
    }

    const fn kind(&self) -> HandshakeKind {
        match (self.syn, self.syn_ack, self.ack) {
            _ if self.simultaneous => HandshakeKind::Simultaneous,
            (Some(_), Some(_), Some(_)) => HandshakeKind::Complete,
            (Some(_), Some(_), None) => HandshakeKind::NotCompleted,
            (Some(_), None, _) if self.refused => HandshakeKind::Refused,
            (Some(_), None, _) if self.goes_on => HandshakeKind::AnswerNotCaptured,
            (Some(_), None, _) => HandshakeKind::NoAnswer,
            (None, Some(_), _) => HandshakeKind::SynNotCaptured,
            (None, None, _) => HandshakeKind::NotCaptured,
        }
    }

    /// The handshake as documents have it.
    pub(crate) fn document(&self, client: &TcpHalf, server: &TcpHalf) -> TcpHandshake {
        let us = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3;
        let answered = self.syn.zip(self.syn_ack).filter(|_| !self.is_stepped);
        let completed = self.syn_ack.zip(self.ack).filter(|_| !self.is_stepped);
        // Only the first SYN-ACK of several belongs to a SYN without doubt.
        TcpHandshake {
            kind: self.kind(),
            syn_frame: self.syn.map(|seen| seen.0),
            syn_ack_frame: self.syn_ack.map(|seen| seen.0),
            ack_frame: self.ack.map(|seen| seen.0),
            syn_to_syn_ack_us: answered
                .filter(|_| self.syn_ack_repeats == 0)
                .map(|(_, syn_ack)| us(self.last_syn_ns, syn_ack.1)),
            syn_ack_to_ack_us: completed.map(|(_, ack)| us(self.last_syn_ack_ns, ack.1)),
            rtt_us: self.rtt_ns().map(|ns| ns as f64 / 1e3),
            syn_retransmits: self.syn_repeats,
            syn_ack_retransmits: self.syn_ack_repeats,
            ecn: self.ecn,
            client: client.offer.clone(),
            server: server.offer.clone(),
        }
    }
}
