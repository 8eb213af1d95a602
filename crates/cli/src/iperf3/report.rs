//! A test of iperf3 as figures: what its output is made of, as text and as JSON.

use caudal_core::sample::{Counters, Sample, TcpSnapshot};
use caudal_engine::iperf3::{Ending, Iperf3Event, Stream};
use caudal_wire::iperf3::{Cookie, Parameters, Protocol, StreamResult};
use std::net::SocketAddr;
use std::time::Duration;

/// One stream, or several, over some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// When it begins, s after the start or the end of the warm-up.
    pub start_s: f64,
    /// When it ends, s.
    pub end_s: f64,
    /// Payload bytes.
    pub bytes: u64,
    /// Segments retransmitted (TCP sender).
    pub retransmits: Option<u64>,
    /// TCP at its end (TCP sender).
    pub tcp: Option<TcpSnapshot>,
    /// Datagrams (UDP).
    pub packets: u64,
    /// Datagrams lost (UDP receiver).
    pub lost: u64,
    /// Datagrams out of order (UDP receiver).
    pub out_of_order: u64,
    /// Jitter, s (UDP receiver).
    pub jitter_s: f64,
}

impl Figures {
    /// How long it took, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// Bytes a second.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds().max(1e-9)
    }

    /// Datagrams lost, %.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        if self.packets == 0 {
            0.0
        } else {
            self.lost as f64 * 100.0 / self.packets as f64
        }
    }

    /// The sum of several streams: jitter is the mean, time that of the first.
    #[must_use]
    pub fn sum(all: &[Self]) -> Self {
        let mut sum = all.first().copied().unwrap_or_default();
        for one in all.iter().skip(1) {
            sum.bytes += one.bytes;
            sum.packets += one.packets;
            sum.lost += one.lost;
            sum.out_of_order += one.out_of_order;
            sum.jitter_s += one.jitter_s;
            sum.end_s = sum.end_s.max(one.end_s);
            sum.retransmits = match (sum.retransmits, one.retransmits) {
                (Some(sum), Some(one)) => Some(sum + one),
                (sum, one) => sum.or(one),
            };
        }
        sum.jitter_s /= all.len().max(1) as f64;
        sum.tcp = None;
        sum
    }
}

/// All streams between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// One for each stream, in their order.
    pub streams: Vec<Figures>,
    /// Whether it is warm-up.
    pub omitted: bool,
}

/// Both ends' account of one stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// What its sender has counted; `None` when that is not known.
    pub sent: Option<Figures>,
    /// What its receiver has counted; `None` when that is not known.
    pub received: Option<Figures>,
}

/// The largest and least that TCP said of itself at the ends of intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Extremes {
    /// Largest congestion window, bytes.
    pub cwnd: u64,
    /// Largest window of the receiver, bytes.
    pub window: u64,
    /// Smallest, largest and sum of round-trip times, µs, and how many.
    pub rtt: (u32, u32, u64, u64),
    /// Reordering seen.
    pub reordering: Option<u64>,
}

/// What has been told of a test so far.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Whether this end is the server.
    pub is_server: bool,
    /// The other end of the control connection.
    pub peer: Option<SocketAddr>,
    /// Its name.
    pub cookie: Option<Cookie>,
    /// What is done.
    pub parameters: Parameters,
    /// The largest segment of the control connection, bytes.
    pub mss: Option<u32>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// The intervals so far.
    pub rows: Vec<Row>,
    /// TCP of each stream so far.
    pub extremes: Vec<Extremes>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// How often is reported; `None` for the end only.
    pub interval: Option<Duration>,
    base: Vec<Sample>,
    last: Vec<Sample>,
}

/// The sum of one direction's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Those on which this end sends.
    Sending,
    /// Those on which this end receives.
    Receiving,
}

fn between(base_ns: u64, earlier: &Sample, later: &Sample) -> Figures {
    let seconds = |ns: u64| ns.saturating_sub(base_ns) as f64 / 1e9;
    let span = Figures {
        start_s: seconds(earlier.at_ns),
        end_s: seconds(later.at_ns),
        ..Figures::default()
    };
    match (earlier.counters, later.counters) {
        (Counters::Sender(earlier), Counters::Sender(later)) => Figures {
            bytes: later.bytes.saturating_sub(earlier.bytes),
            packets: later.datagrams.saturating_sub(earlier.datagrams),
            retransmits: later.tcp.map(|tcp| {
                let before = earlier.tcp.map_or(0, |tcp| tcp.retransmits);
                tcp.retransmits.saturating_sub(before)
            }),
            tcp: later.tcp,
            ..span
        },
        (Counters::Receiver(earlier), Counters::Receiver(later)) => {
            let seen = |counters: &caudal_core::sample::ReceiverCounters| {
                counters.datagrams + counters.lost
            };
            let packets = seen(&later).saturating_sub(seen(&earlier));
            Figures {
                bytes: later.bytes.saturating_sub(earlier.bytes),
                packets,
                lost: later.lost.saturating_sub(earlier.lost).min(packets),
                out_of_order: later.reordered.saturating_sub(earlier.reordered),
                jitter_s: later.jitter_rfc3550_ns as f64 / 1e9,
                ..span
            }
        }
        _ => span,
    }
}

/// What the other end has told; `omitted` datagrams were of the warm-up, where it does not say so itself.
fn told(result: &StreamResult, measured_s: f64, omitted: u64) -> Figures {
    Figures {
        start_s: 0.0,
        // Versions before 3.2 do not tell the time: the receiver's own is taken for it.
        end_s: result
            .end_s
            .map(|end| end - result.start_s.unwrap_or(0.0))
            .filter(|end| *end > 0.0)
            .unwrap_or(measured_s),
        bytes: result.bytes,
        retransmits: result.retransmits,
        packets: match result.omitted_packets {
            Some(_) => result.datagrams(),
            None => result.packets.saturating_sub(omitted),
        },
        lost: result.lost(),
        jitter_s: result.jitter_s,
        ..Figures::default()
    }
}

impl Report {
    /// A report of a test that has not begun.
    #[must_use]
    pub fn new(is_server: bool, interval: Option<Duration>) -> Self {
        Self {
            is_server,
            interval,
            ..Self::default()
        }
    }

    /// Takes note of an event; the interval that it completes.
    pub fn note(&mut self, event: &Iperf3Event) -> Option<Row> {
        match event {
            Iperf3Event::Agreed {
                peer,
                cookie,
                parameters,
                mss,
            } => {
                self.peer = Some(*peer);
                self.cookie = Some(*cookie);
                self.parameters = (**parameters).clone();
                self.mss = *mss;
                None
            }
            Iperf3Event::Opened { streams } => {
                self.streams.clone_from(streams);
                self.extremes = vec![Extremes::default(); streams.len()];
                None
            }
            Iperf3Event::Sampled { samples, omitted } => self.sampled(samples, *omitted),
            Iperf3Event::Ended(ending) => {
                let row = self.rest(&ending.last);
                self.ending = Some((**ending).clone());
                row
            }
        }
    }

    fn sampled(&mut self, samples: &[Sample], omitted: bool) -> Option<Row> {
        if self.last.is_empty() {
            self.base = samples.to_vec();
            self.last = samples.to_vec();
            return None;
        }
        let row = self.row(samples, omitted);
        let ends_warm_up = samples
            .first()
            .is_some_and(|sample| omitted && self.warm_up_ends(sample));
        if ends_warm_up {
            self.base = samples.to_vec();
        }
        self.last = samples.to_vec();
        // What is too short to mean anything is left to the summary.
        let shortest = self
            .interval
            .map_or(0.0, |interval| interval.as_secs_f64() * 0.1);
        let first = row.streams.first()?;
        if first.seconds() < shortest && !self.rows.is_empty() {
            return None;
        }
        for (extremes, figures) in self.extremes.iter_mut().zip(&row.streams) {
            if let (Some(tcp), false) = (figures.tcp, omitted) {
                extremes.take(&tcp);
            }
        }
        self.rows.push(row.clone());
        Some(row)
    }

    fn warm_up_ends(&self, sample: &Sample) -> bool {
        let omit_ns = u64::from(self.parameters.omit_s) * 1_000_000_000;
        sample.at_ns + 1_000_000 >= omit_ns
    }

    /// What lies between the last interval and the end.
    fn rest(&mut self, last: &[Sample]) -> Option<Row> {
        let shortest = self.interval?.as_secs_f64() * 0.1;
        let row = self.row(last, false);
        let first = row.streams.first()?;
        // A test that is over before its first reading is one interval.
        let worth = first.seconds() >= shortest && self.is_server || self.rows.is_empty();
        if !worth {
            return None;
        }
        self.rows.push(row.clone());
        Some(row)
    }

    fn row(&self, samples: &[Sample], omitted: bool) -> Row {
        let base_ns = self.base.first().map_or(0, |sample| sample.at_ns);
        let streams = self
            .last
            .iter()
            .zip(samples)
            .map(|(earlier, later)| between(base_ns, earlier, later))
            .collect();
        Row { streams, omitted }
    }

    /// What this end has counted of the stream at `nth`.
    #[must_use]
    pub fn own(&self, nth: usize) -> Option<Figures> {
        let stream = self.streams.get(nth)?;
        let ending = self.ending.as_ref()?;
        let base = self.base.get(nth)?;
        let last = ending
            .last
            .iter()
            .find(|sample| sample.flow == stream.flow)?;
        let mut figures = between(base.at_ns, base, last);
        figures.start_s = 0.0;
        if let Some(ours) = ending.ours.stream(stream.id)
            && !stream.sends
            && self.parameters.protocol == Protocol::Udp
        {
            // With what was lost behind the last datagram that came.
            (figures.packets, figures.lost) = (ours.datagrams(), ours.lost());
        }
        Some(figures)
    }

    /// Datagrams of the warm-up, as this end has counted them.
    fn omitted(&self, nth: usize) -> u64 {
        match self.base.get(nth).map(|sample| sample.counters) {
            Some(Counters::Sender(counters)) => counters.datagrams,
            Some(Counters::Receiver(counters)) => counters.datagrams + counters.lost,
            None => 0,
        }
    }

    /// Both ends' account of the stream at `nth`.
    #[must_use]
    pub fn account(&self, nth: usize) -> Account {
        let own = self.own(nth);
        let measured_s = own.map_or(0.0, |own| own.end_s);
        let theirs = self
            .streams
            .get(nth)
            .zip(self.ending.as_ref())
            .and_then(|(stream, ending)| ending.theirs.as_ref()?.stream(stream.id))
            .map(|result| told(result, measured_s, self.omitted(nth)));
        if self.streams.get(nth).is_some_and(|stream| stream.sends) {
            Account {
                sent: own,
                received: theirs,
            }
        } else {
            Account {
                sent: theirs,
                received: own,
            }
        }
    }

    /// Where the streams of a group stand in their list.
    #[must_use]
    pub fn members(&self, group: Group) -> Vec<usize> {
        (0..self.streams.len())
            .filter(|nth| self.streams[*nth].sends == (group == Group::Sending))
            .collect()
    }

    /// The groups of this test, in the order they are shown.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let order = if self.is_server {
            [Group::Receiving, Group::Sending]
        } else {
            [Group::Sending, Group::Receiving]
        };
        order
            .into_iter()
            .filter(|group| !self.members(*group).is_empty())
            .collect()
    }

    /// What a line says of a stream's role, in tests of both directions.
    #[must_use]
    pub const fn role(&self, group: Group) -> &'static str {
        match (self.parameters.bidirectional, group, self.is_server) {
            (false, _, _) => "",
            (true, Group::Sending, false) => "[TX-C]",
            (true, Group::Receiving, false) => "[RX-C]",
            (true, Group::Sending, true) => "[TX-S]",
            (true, Group::Receiving, true) => "[RX-S]",
        }
    }
}

impl Extremes {
    fn take(&mut self, tcp: &TcpSnapshot) {
        self.cwnd = self.cwnd.max(tcp.cwnd_bytes);
        self.window = self.window.max(tcp.receiver_window_bytes.unwrap_or(0));
        let (least, most, sum, count) = self.rtt;
        let rtt = tcp.rtt_us;
        self.rtt = (
            if count == 0 { rtt } else { least.min(rtt) },
            most.max(rtt),
            sum + u64::from(rtt),
            count + 1,
        );
        self.reordering = tcp.reordering_seen.or(self.reordering);
    }

    /// The mean of the round-trip times, µs.
    #[must_use]
    pub fn mean_rtt(&self) -> u64 {
        let (_, _, sum, count) = self.rtt;
        sum.checked_div(count).unwrap_or(0)
    }
}
