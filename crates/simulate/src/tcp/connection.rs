//! One end of a connection: the handshake and both halves.

use caudal_link::occupancy::OccupancySummary;
use caudal_link::time::SimTime;

use super::receiver::{AckTiming, Receiver};
use super::rtt::{RTO_INITIAL_NS, RTO_MAX_NS};
use super::segment::{SackBlocks, SegmentRange, TcpSegment};
use super::sender::Sender;
use super::settings::TcpSettings;
use crate::result::{DelayStatistics, TcpCounts};

/// The state of the connection at one end (RFC 9293 section 3.3.2), without its closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Listen,
    /// SYN-SENT at the client, SYN-RECEIVED at the server.
    Synchronising {
        /// When the first SYN was sent.
        since: SimTime,
        /// The number of SYNs sent.
        syns: u32,
        /// When the next is sent.
        retransmit_at: SimTime,
    },
    Established,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct TcpConnection {
    state: ConnectionState,
    /// Set at the end that opened the connection.
    is_client: bool,
    sender: Sender,
    receiver: Receiver,
    /// The segments that the sender chose, kept to save allocations.
    chosen: Vec<SegmentRange>,
}

impl TcpConnection {
    pub(crate) fn new(settings: &TcpSettings, mss: u32) -> Self {
        let timestamps = settings.framing.timestamps;
        Self {
            state: ConnectionState::Listen,
            is_client: false,
            sender: Sender::new(mss, settings.send_window.get(), settings.congestion),
            receiver: Receiver::new(mss, settings.receive_window.get(), timestamps),
            chosen: Vec::new(),
        }
    }

    /// Opens the connection.
    pub(crate) fn open(&mut self, now: SimTime, out: &mut Vec<TcpSegment>) {
        self.is_client = true;
        self.send_syn(now, now, 0, out);
    }

    /// Sends a SYN, at the server with an ACK (RFC 9293 section 3.5).
    fn send_syn(&mut self, now: SimTime, since: SimTime, syns: u32, out: &mut Vec<TcpSegment>) {
        let wait = (RTO_INITIAL_NS << syns.min(7)).min(RTO_MAX_NS);
        self.state = ConnectionState::Synchronising {
            since,
            syns: syns + 1,
            retransmit_at: now.plus_ns(wait),
        };
        let mut syn = self.segment(now, 0, 0);
        syn.syn = true;
        if !self.is_client {
            self.receiver.fill_ack(&mut syn);
            syn.sack = SackBlocks::default();
        }
        out.push(syn);
    }

    fn segment(&self, now: SimTime, sequence: u64, length: u32) -> TcpSegment {
        TcpSegment {
            sequence,
            length,
            acknowledgment: 0,
            window: self.receiver.window(),
            timestamp: now,
            timestamp_echo: None,
            syn: false,
            ack: false,
            psh: false,
            sack: SackBlocks::default(),
        }
    }

    fn establish(&mut self, now: SimTime, window: u64) {
        if let ConnectionState::Synchronising { since, syns, .. } = self.state {
            let handshake = (syns == 1).then(|| now.ns_since(since));
            self.sender.establish(now, window, handshake);
            self.state = ConnectionState::Established;
        }
    }

    /// The application writes `bytes`.
    pub(crate) fn write(&mut self, now: SimTime, bytes: u64, out: &mut Vec<TcpSegment>) {
        self.sender.write(bytes);
        self.send(now, out);
    }

    /// The application writes nothing more; data not yet sent is discarded.
    pub(crate) fn stop(&mut self) {
        self.sender.stop();
    }

    /// Treats this end as one that answers what it receives.
    pub(crate) fn enter_pingpong_mode(&mut self) {
        self.receiver.enter_pingpong_mode();
    }

    /// Sends data as far as the sender allows.
    fn send(&mut self, now: SimTime, out: &mut Vec<TcpSegment>) {
        if self.state == ConnectionState::Established {
            let mut chosen = std::mem::take(&mut self.chosen);
            self.sender.transmit(now, &mut chosen);
            self.chosen = chosen;
            self.send_chosen(now, out);
        }
    }

    /// Sends the segments that the sender chose, with the acknowledgement of the receiver.
    fn send_chosen(&mut self, now: SimTime, out: &mut Vec<TcpSegment>) {
        let mut chosen = std::mem::take(&mut self.chosen);
        for SegmentRange { sequence, length } in chosen.drain(..) {
            let mut segment = self.segment(now, sequence, length);
            segment.psh = self.sender.pushes(sequence + u64::from(length));
            self.receiver.fill_ack(&mut segment);
            out.push(segment);
        }
        self.chosen = chosen;
    }

    /// Takes a segment; gives the number of bytes received by the application.
    pub(crate) fn receive(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        out: &mut Vec<TcpSegment>,
    ) -> u64 {
        if segment.syn {
            self.receive_syn(now, segment, out);
            return 0;
        }
        if !segment.ack || self.state == ConnectionState::Listen {
            return 0;
        }
        self.establish(now, segment.window);
        let before = self.receiver.next();
        let ack = if segment.length > 0 {
            self.receiver.receive(now, segment)
        } else {
            self.receiver.record_timestamp(segment);
            AckTiming::Delayed
        };
        let mut chosen = std::mem::take(&mut self.chosen);
        self.sender.acknowledge(now, segment, &mut chosen);
        let has_data = !chosen.is_empty();
        self.chosen = chosen;
        self.send_chosen(now, out);
        if ack == AckTiming::Now && !has_data {
            self.send_ack(now, out);
        }
        self.receiver.next() - before
    }

    fn receive_syn(&mut self, now: SimTime, segment: &TcpSegment, out: &mut Vec<TcpSegment>) {
        self.receiver.record_timestamp(segment);
        match self.state {
            ConnectionState::Listen => self.send_syn(now, now, 0, out),
            ConnectionState::Synchronising { since, syns, .. } if !self.is_client => {
                self.send_syn(now, since, syns, out);
            }
            ConnectionState::Synchronising { .. } => {
                self.establish(now, segment.window);
                self.send_ack(now, out);
                self.send(now, out);
            }
            // The last acknowledgement of the handshake was lost.
            ConnectionState::Established => self.send_ack(now, out),
        }
    }

    /// Sends an acknowledgement without data.
    fn send_ack(&mut self, now: SimTime, out: &mut Vec<TcpSegment>) {
        let mut segment = self.segment(now, self.sender.next(), 0);
        self.receiver.fill_ack(&mut segment);
        out.push(segment);
    }

    /// The time of the next timer.
    pub(crate) fn deadline(&self) -> Option<SimTime> {
        match self.state {
            ConnectionState::Listen => None,
            ConnectionState::Synchronising { retransmit_at, .. } => Some(retransmit_at),
            ConnectionState::Established => {
                let due = [self.sender.deadline(), self.receiver.deadline()];
                due.into_iter().flatten().min()
            }
        }
    }

    /// Processes the timers that are due.
    pub(crate) fn wake(&mut self, now: SimTime, out: &mut Vec<TcpSegment>) {
        match self.state {
            ConnectionState::Listen => {}
            ConnectionState::Synchronising {
                since,
                syns,
                retransmit_at,
            } => {
                if retransmit_at <= now {
                    self.send_syn(now, since, syns, out);
                }
            }
            ConnectionState::Established => {
                let mut chosen = std::mem::take(&mut self.chosen);
                self.sender.wake(now, &mut chosen);
                self.chosen = chosen;
                self.send_chosen(now, out);
                if self.receiver.wake(now) == AckTiming::Now {
                    self.send_ack(now, out);
                }
            }
        }
    }

    /// The number of bytes acknowledged by the other end.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// The number of bytes that have arrived, those included that wait behind a gap.
    pub(crate) const fn arrived(&self) -> u64 {
        self.receiver.arrived()
    }

    /// The number of bytes received in order.
    pub(crate) const fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// The number of bytes sent, without retransmissions.
    pub(crate) const fn sent(&self) -> u64 {
        self.sender.next()
    }

    pub(crate) const fn counts(&self) -> &TcpCounts {
        self.sender.counts()
    }

    pub(crate) const fn rtt(&self) -> &DelayStatistics {
        self.sender.rtt()
    }

    /// The congestion window in segments over time, until `end`.
    pub(crate) fn cwnd_over_time(&self, end: SimTime) -> OccupancySummary {
        self.sender.cwnd_over_time(end)
    }
}
