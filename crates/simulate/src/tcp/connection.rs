//! One end of a connection: both halves and the handshake.

use caudal_link::moment::Moment;
use caudal_link::occupancy::Occupancy;

use super::TcpSettings;
use super::receiver::{Answer, Receiver};
use super::rtt::{RTO_INITIAL_NS, RTO_MAX_NS};
use super::segment::{Blocks, Segment};
use super::sender::{Pieces, Sender};
use crate::outcome::{RttSummary, TcpCounts};
use crate::span::{after, ns_between};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits to be called.
    Listening,
    /// Has sent its SYN, for the number of times, and asks again at the moment.
    Calling {
        since: Moment,
        times: u32,
        again: Moment,
    },
    Established,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    phase: Phase,
    /// Whether this end opened the connection.
    caller: bool,
    sender: Sender,
    receiver: Receiver,
    pieces: Pieces,
}

impl Connection {
    pub(crate) fn new(settings: &TcpSettings, mss: u32) -> Self {
        let timestamps = settings.framing.timestamps;
        Self {
            phase: Phase::Listening,
            caller: false,
            sender: Sender::new(mss, settings.send_window.get(), settings.congestion),
            receiver: Receiver::new(mss, settings.receive_window.get(), timestamps),
            pieces: Pieces::new(),
        }
    }

    /// Calls the other end.
    pub(crate) fn open(&mut self, now: Moment, out: &mut Vec<Segment>) {
        self.caller = true;
        self.call(now, now, 0, out);
    }

    /// Sends a SYN, or as the end that was called its answer (RFC 9293 section 3.5).
    fn call(&mut self, now: Moment, since: Moment, times: u32, out: &mut Vec<Segment>) {
        let wait = (RTO_INITIAL_NS << times.min(7)).min(RTO_MAX_NS);
        self.phase = Phase::Calling {
            since,
            times: times + 1,
            again: after(now, wait),
        };
        let mut syn = self.segment(now, 0, 0);
        syn.syn = true;
        if !self.caller {
            self.receiver.tell(&mut syn);
            syn.blocks = Blocks::default();
        }
        out.push(syn);
    }

    fn segment(&self, now: Moment, sequence: u64, length: u32) -> Segment {
        Segment {
            sequence,
            length,
            acknowledged: 0,
            window: self.receiver.window(),
            sent: now,
            echoed: None,
            syn: false,
            acknowledges: false,
            pushed: false,
            blocks: Blocks::default(),
        }
    }

    fn establish(&mut self, now: Moment, window: u64) {
        if let Phase::Calling { since, times, .. } = self.phase {
            let handshake = (times == 1).then(|| ns_between(since, now));
            self.sender.establish(now, window, handshake);
            self.phase = Phase::Established;
        }
    }

    /// The application has `bytes` more to send.
    pub(crate) fn write(&mut self, now: Moment, bytes: u64, out: &mut Vec<Segment>) {
        self.sender.write(bytes);
        self.send(now, out);
    }

    /// The application has no more to send than what left.
    pub(crate) fn stop(&mut self) {
        self.sender.stop();
    }

    /// This end answers messages rather than taking a stream.
    pub(crate) fn converses(&mut self) {
        self.receiver.answers();
    }

    fn send(&mut self, now: Moment, out: &mut Vec<Segment>) {
        if self.phase == Phase::Established {
            let mut pieces = std::mem::take(&mut self.pieces);
            self.sender.transmit(now, &mut pieces);
            self.pieces = pieces;
            self.leave(now, out);
        }
    }

    /// Lets leave what the sending half chose, with what the receiving half has to say.
    fn leave(&mut self, now: Moment, out: &mut Vec<Segment>) {
        let mut pieces = std::mem::take(&mut self.pieces);
        for (sequence, length) in pieces.drain(..) {
            let mut segment = self.segment(now, sequence, length);
            segment.pushed = self.sender.pushes(sequence + u64::from(length));
            self.receiver.tell(&mut segment);
            out.push(segment);
        }
        self.pieces = pieces;
    }

    /// Takes a segment; gives the bytes that came to the application.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        segment: &Segment,
        out: &mut Vec<Segment>,
    ) -> u64 {
        if segment.syn {
            self.receive_syn(now, segment, out);
            return 0;
        }
        if !segment.acknowledges || self.phase == Phase::Listening {
            return 0;
        }
        self.establish(now, segment.window);
        let before = self.receiver.next();
        let answer = if segment.length > 0 {
            self.receiver.accept(now, segment)
        } else {
            self.receiver.note(segment);
            Answer::Later
        };
        let mut pieces = std::mem::take(&mut self.pieces);
        self.sender.acknowledge(now, segment, &mut pieces);
        let silent = pieces.is_empty();
        self.pieces = pieces;
        self.leave(now, out);
        if answer == Answer::Now && silent {
            self.say(now, out);
        }
        self.receiver.next() - before
    }

    fn receive_syn(&mut self, now: Moment, segment: &Segment, out: &mut Vec<Segment>) {
        self.receiver.note(segment);
        match self.phase {
            Phase::Listening => self.call(now, now, 0, out),
            Phase::Calling { since, times, .. } if !self.caller => {
                self.call(now, since, times, out);
            }
            Phase::Calling { .. } => {
                self.establish(now, segment.window);
                self.say(now, out);
                self.send(now, out);
            }
            // The answer to the last acknowledgement of the handshake was lost.
            Phase::Established => self.say(now, out),
        }
    }

    /// Sends an acknowledgement without data.
    fn say(&mut self, now: Moment, out: &mut Vec<Segment>) {
        let mut segment = self.segment(now, self.sender.next(), 0);
        self.receiver.tell(&mut segment);
        out.push(segment);
    }

    /// When something will happen without another segment.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match self.phase {
            Phase::Listening => None,
            Phase::Calling { again, .. } => Some(again),
            Phase::Established => {
                let due = [self.sender.deadline(), self.receiver.deadline()];
                due.into_iter().flatten().min()
            }
        }
    }

    /// Does what is due.
    pub(crate) fn wake(&mut self, now: Moment, out: &mut Vec<Segment>) {
        match self.phase {
            Phase::Listening => {}
            Phase::Calling {
                since,
                times,
                again,
            } => {
                if again <= now {
                    self.call(now, since, times, out);
                }
            }
            Phase::Established => {
                let mut pieces = std::mem::take(&mut self.pieces);
                self.sender.wake(now, &mut pieces);
                self.pieces = pieces;
                self.leave(now, out);
                if self.receiver.wake(now) == Answer::Now {
                    self.say(now, out);
                }
            }
        }
    }

    /// Bytes the other end acknowledged.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Bytes that came in order.
    pub(crate) const fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// Bytes sent at least once.
    pub(crate) const fn sent(&self) -> u64 {
        self.sender.next()
    }

    pub(crate) const fn counts(&self) -> &TcpCounts {
        self.sender.counts()
    }

    pub(crate) const fn rtt(&self) -> &RttSummary {
        self.sender.rtt_summary()
    }

    pub(crate) fn cwnd_over_time(&self, end: Moment) -> Occupancy {
        self.sender.cwnd_over_time(end)
    }
}
