//! A test of iperf3 as figures, from which its output is made as text and as JSON.

use super::figures::{StreamFigures, TcpExtremes};
use super::transferred_file::TransferredFile;
use caudal_core::event::{CutShort, DataConnection, EndReport, Event, ReportingEnd};
use caudal_core::plan::Ticks;
use caudal_core::sample::{Role, Sample};
use caudal_foreign::iperf3::Iperf3Session;
use caudal_wire::iperf3::{Parameters, TransportProtocol};
use std::path::PathBuf;
use std::time::Duration;

/// The interval of the readings where none is asked for: no test is longer.
const NO_INTERVAL: Duration = Duration::from_secs(7 * 86_400);

/// The figures of all streams between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalFigures {
    /// One for each stream, in their order.
    pub streams: Vec<StreamFigures>,
    /// `true` in the warm-up.
    pub omitted: bool,
}

/// Both ends' figures of one stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamAccount {
    /// Those of its sender; `None` when they are not known.
    pub sent: Option<StreamFigures>,
    /// Those of its receiver; `None` when they are not known.
    pub received: Option<StreamFigures>,
}

/// The streams of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamGroup {
    /// Those on which this end sends.
    Sending,
    /// Those on which this end receives.
    Receiving,
}

impl From<Role> for StreamGroup {
    fn from(role: Role) -> Self {
        match role {
            Role::Sender => Self::Sending,
            Role::Receiver => Self::Receiving,
        }
    }
}

/// The end of a test.
#[derive(Debug, Clone, Default)]
pub struct TestClosing {
    /// The report of this end.
    pub local: Option<EndReport>,
    /// The report of the other end.
    pub peer: Option<EndReport>,
    /// The reason why the test ended before its time.
    pub cut_short: Option<CutShort>,
    /// The file that was sent or written.
    pub file: Option<TransferredFile>,
}

/// The account of a test so far.
#[derive(Debug, Clone, Default)]
pub struct TestReport {
    /// `true` at the server.
    pub is_server: bool,
    /// The test; `None` before both ends have agreed on it.
    pub session: Option<Iperf3Session>,
    /// The parameters; the default ones before both ends have agreed.
    pub parameters: Parameters,
    /// The streams.
    pub streams: Vec<DataConnection>,
    /// The intervals so far.
    pub intervals: Vec<IntervalFigures>,
    /// The extremes of each stream's TCP state so far.
    pub extremes: Vec<TcpExtremes>,
    /// The end of the test, once it is over.
    pub closing: Option<TestClosing>,
    /// The reporting interval; `None` for the end only.
    pub interval: Option<Duration>,
    /// The name of the file that is sent or written.
    file_name: Option<PathBuf>,
    /// The readings of the current tick so far.
    tick: Vec<Sample>,
    /// The readings at the end of the warm-up.
    base: Vec<Sample>,
    /// The latest readings of all streams.
    latest: Vec<Sample>,
    /// The readings at the ends of the streams.
    last: Vec<Sample>,
    local: Option<EndReport>,
    peer: Option<EndReport>,
}

impl TestReport {
    /// The report of a test at the client.
    #[must_use]
    pub fn at_client(interval: Option<Duration>) -> Self {
        Self {
            interval,
            ..Self::default()
        }
    }

    /// The report of a test at the server.
    #[must_use]
    pub fn at_server(interval: Option<Duration>) -> Self {
        Self {
            is_server: true,
            ..Self::at_client(interval)
        }
    }

    /// The same report of a test that sends or writes a file.
    #[must_use]
    pub fn with_file(mut self, name: Option<PathBuf>) -> Self {
        self.file_name = name;
        self
    }

    /// Takes the test that both ends agree on.
    pub fn agree(&mut self, session: &Iperf3Session) {
        self.parameters = session.parameters.clone();
        self.session = Some(session.clone());
    }

    /// Takes an event: the figures of the interval that it completes.
    pub fn take(&mut self, event: &Event) -> Option<IntervalFigures> {
        match event {
            Event::Opened(connection) => {
                self.streams.push(connection.clone());
                self.extremes.push(TcpExtremes::default());
                None
            }
            Event::Sampled(sample) => {
                self.tick.push(*sample);
                if self.tick.len() < self.streams.len() {
                    return None;
                }
                let samples = std::mem::take(&mut self.tick);
                self.read(samples)
            }
            Event::FlowEnded(ended) => {
                self.last.push(Sample {
                    flow: ended.end.flow,
                    tick: u64::MAX,
                    at_ns: ended.at_ns,
                    counters: ended.end.counters,
                });
                None
            }
            Event::Reported(report) => {
                match report.end {
                    ReportingEnd::Local => self.local = Some(report.clone()),
                    ReportingEnd::Peer => self.peer = Some(report.clone()),
                }
                None
            }
            Event::Ended(ended) => {
                let rest = self.rest();
                self.closing = Some(TestClosing {
                    local: self.local.take(),
                    peer: self.peer.take(),
                    cut_short: ended.cut_short.clone(),
                    file: self.file_name.as_ref().and_then(TransferredFile::measured),
                });
                rest
            }
            _ => None,
        }
    }

    /// `true` when all streams are open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.streams.len() == self.parameters.streams() as usize
    }

    /// `true` when datagrams are sent.
    #[must_use]
    pub fn is_udp(&self) -> bool {
        self.parameters.protocol == TransportProtocol::Udp
    }

    /// Takes the readings of all streams at one tick.
    fn read(&mut self, samples: Vec<Sample>) -> Option<IntervalFigures> {
        if self.latest.is_empty() {
            self.base.clone_from(&samples);
            self.latest = samples;
            return None;
        }
        let first = samples.first().copied();
        let omitted = first.is_some_and(|sample| sample.tick <= self.first_measured());
        let interval = self.figures_until(&samples, omitted);
        if first.is_some_and(|sample| omitted && self.is_warm_up_over(&sample)) {
            self.base.clone_from(&samples);
        }
        self.latest = samples;
        // An interval that is too short to be shown is left to the summary.
        if interval.streams.first()?.seconds() < self.min_interval_s() && !self.intervals.is_empty()
        {
            return None;
        }
        for (extremes, figures) in self.extremes.iter_mut().zip(&interval.streams) {
            if let (Some(tcp), false) = (figures.tcp, omitted) {
                extremes.take(&tcp);
            }
        }
        self.intervals.push(interval.clone());
        Some(interval)
    }

    /// The duration below which an interval is not shown, s.
    fn min_interval_s(&self) -> f64 {
        self.interval
            .map_or(0.0, |interval| interval.as_secs_f64() * 0.1)
    }

    /// The tick at the end of the warm-up.
    fn first_measured(&self) -> u64 {
        let omit = Duration::from_secs(u64::from(self.parameters.omit_s));
        Ticks::new(self.interval.unwrap_or(NO_INTERVAL), omit, None).first_measured()
    }

    fn is_warm_up_over(&self, sample: &Sample) -> bool {
        let omit_ns = u64::from(self.parameters.omit_s) * 1_000_000_000;
        sample.at_ns + 1_000_000 >= omit_ns
    }

    /// The figures between the last interval and the end, where they are shown.
    fn rest(&mut self) -> Option<IntervalFigures> {
        self.interval?;
        let rest = self.figures_until(&self.last, false);
        let is_long = rest.streams.first()?.seconds() >= self.min_interval_s();
        // A test that is over before its first reading is one interval.
        let is_shown = is_long && self.is_server || self.intervals.is_empty();
        is_shown.then(|| {
            self.intervals.push(rest.clone());
            rest
        })
    }

    fn figures_until(&self, samples: &[Sample], omitted: bool) -> IntervalFigures {
        let base_ns = self.base.first().map_or(0, |sample| sample.at_ns);
        let streams = self
            .latest
            .iter()
            .zip(samples)
            .map(|(earlier, later)| StreamFigures::between(base_ns, earlier, later))
            .collect();
        IntervalFigures { streams, omitted }
    }

    /// The figures this end has counted of the stream at position `nth`.
    #[must_use]
    pub fn own(&self, nth: usize) -> Option<StreamFigures> {
        let stream = self.streams.get(nth)?;
        let closing = self.closing.as_ref()?;
        let base = self.base.get(nth)?;
        let flow = stream.flow.id;
        let last = self.last.iter().find(|sample| sample.flow == flow)?;
        let mut figures = StreamFigures::between(base.at_ns, base, last);
        figures.start_s = 0.0;
        if let Some(reported) = closing.local.as_ref().and_then(|report| report.flow(flow))
            && stream.role == Role::Receiver
            && self.is_udp()
        {
            // With the datagrams lost behind the last that arrived.
            figures.packets = reported.datagrams.unwrap_or(0);
            figures.lost = reported.lost.unwrap_or(0);
        }
        Some(figures)
    }

    /// Both ends' figures of the stream at position `nth`.
    #[must_use]
    pub fn account(&self, nth: usize) -> StreamAccount {
        let own = self.own(nth);
        let stream = self.streams.get(nth);
        let reported = stream
            .zip(self.peer_report())
            .and_then(|(stream, report)| report.flow(stream.flow.id))
            .map(StreamFigures::from);
        if stream.is_some_and(|stream| stream.role == Role::Sender) {
            StreamAccount {
                sent: own,
                received: reported,
            }
        } else {
            StreamAccount {
                sent: reported,
                received: own,
            }
        }
    }

    /// The report of the other end.
    #[must_use]
    pub fn peer_report(&self) -> Option<&EndReport> {
        self.closing.as_ref()?.peer.as_ref()
    }

    /// The file that was sent or written, once the test is over.
    #[must_use]
    pub fn file(&self) -> Option<&TransferredFile> {
        self.closing.as_ref()?.file.as_ref()
    }

    /// The report of this end.
    #[must_use]
    pub fn local_report(&self) -> Option<&EndReport> {
        self.closing.as_ref()?.local.as_ref()
    }

    /// The positions of a group's streams in their list.
    #[must_use]
    pub fn members(&self, group: StreamGroup) -> Vec<usize> {
        (0..self.streams.len())
            .filter(|nth| StreamGroup::from(self.streams[*nth].role) == group)
            .collect()
    }

    /// The groups of this test, in the order they are shown.
    #[must_use]
    pub fn groups(&self) -> Vec<StreamGroup> {
        let order = if self.is_server {
            [StreamGroup::Receiving, StreamGroup::Sending]
        } else {
            [StreamGroup::Sending, StreamGroup::Receiving]
        };
        order
            .into_iter()
            .filter(|group| !self.members(*group).is_empty())
            .collect()
    }

    /// The mark of a stream's role in its line, in tests of both directions.
    #[must_use]
    pub const fn role_mark(&self, group: StreamGroup) -> &'static str {
        match (self.parameters.bidirectional, group, self.is_server) {
            (false, _, _) => "",
            (true, StreamGroup::Sending, false) => "[TX-C]",
            (true, StreamGroup::Receiving, false) => "[RX-C]",
            (true, StreamGroup::Sending, true) => "[TX-S]",
            (true, StreamGroup::Receiving, true) => "[RX-S]",
        }
    }
}
