//! The printer: takes the events of all sessions of a command, and prints each as iperf 2 does.

use super::banner::{client_banner, server_banner};
use super::connection_line::connection_line;
use super::counts::{FlowReading, SpanCounts};
use super::csv::{CsvSubject, csv_line};
use super::flow::{ShownFlow, shown_id};
use super::group_sums::GroupSums;
use super::header::HeadedText;
use super::histogram::{histogram_between, histogram_line};
use super::line::{write_line, write_out_of_order};
use super::mtu::mtu_from_mss;
use super::sum::GroupSum;
use crate::iperf2::options::Options;
use caudal_core::event::{
    ConnectingSocket, DataConnection, EndedFlow, Event, FlowTotals, ListeningSocket, ReportingEnd,
    View,
};
use caudal_core::plan::Transport;
use caudal_core::sample::{Role, Sample};
use caudal_foreign::iperf2::{HistogramCounts, Iperf2Session};
use caudal_sys::clock::LocalTime;
use caudal_wire::iperf2::TestMode;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

/// A flow: the number of its session, and its number there.
type FlowKey = (u32, u32);

/// A flow that was opened, with its last reading.
#[derive(Debug)]
struct PrintedFlow {
    flow: Rc<ShownFlow>,
    last: FlowReading,
    /// The segments retransmitted, when the kernel last said.
    retransmits: u64,
    /// The histogram of one-way times at the last reading.
    histogram: HistogramCounts,
}

/// The part of a flow that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Interval,
    /// What follows the last whole interval.
    LastInterval,
    WholeTest,
}

/// Minimum part of an interval that the last one is shown for.
const MIN_LAST_INTERVAL: f64 = 0.25;

/// Prints events as iperf 2 does.
pub struct Iperf2Printer {
    options: Options,
    text: HeadedText,
    flows: BTreeMap<FlowKey, PrintedFlow>,
    /// The sums over the flows of each client.
    group_sums: GroupSums,
    /// The sums over the two directions of each connection.
    connection_sums: GroupSums,
    /// The maximum segment sizes that are still to be printed, by connection.
    mss: BTreeMap<u32, u32>,
    /// The connect times of a client's connections, µs.
    connect_times_us: Vec<f64>,
    /// The histogram of one-way times of the flow of the next event.
    histogram: Option<HistogramCounts>,
    pid: u32,
    device: fn(SocketAddr) -> Option<String>,
    now: fn() -> u64,
}

/// The printer as the view of one session.
pub struct SessionPrinter<'a> {
    printer: &'a mut Iperf2Printer,
    session: &'a Iperf2Session,
}

impl View for SessionPrinter<'_> {
    fn event(&mut self, event: &Event) {
        let printer = &mut *self.printer;
        match event {
            Event::Listening(socket) => printer.listening(socket),
            Event::Connecting(socket) => printer.connecting(self.session, socket),
            Event::Opened(connection) => printer.opened(self.session, connection),
            Event::Sampled(sample) => printer.sampled(self.session, sample),
            Event::FlowEnded(ended) => printer.ended(self.session, ended),
            Event::Reported(report) if report.end == ReportingEnd::Peer => {
                for totals in &report.flows {
                    printer.reported(self.session, totals);
                }
            }
            Event::NotReported { flow, attempts } => {
                printer.not_reported(self.session, *flow, *attempts);
            }
            Event::ReportDiscarded { flow, report } => {
                printer.warn(self.session, *flow, &report.to_string());
            }
            _ => {}
        }
    }
}

impl Iperf2Printer {
    /// A printer; `device` names the interface of an address, `now` is the wall clock in seconds.
    #[must_use]
    pub fn new(
        options: &Options,
        pid: u32,
        device: fn(SocketAddr) -> Option<String>,
        now: fn() -> u64,
    ) -> Self {
        Self {
            options: options.clone(),
            text: HeadedText::default(),
            flows: BTreeMap::new(),
            group_sums: GroupSums::default(),
            connection_sums: GroupSums::default(),
            mss: BTreeMap::new(),
            connect_times_us: Vec::new(),
            histogram: None,
            pid,
            device,
            now,
        }
    }

    /// Takes the options once their defaults are known.
    pub fn set_options(&mut self, options: &Options) {
        self.options = options.clone();
    }

    /// Takes the histogram of one-way times of the flow of the next event, where they are counted.
    pub fn set_histogram(&mut self, histogram: Option<HistogramCounts>) {
        self.histogram = histogram;
    }

    /// The view of a session.
    pub const fn session<'a>(&'a mut self, session: &'a Iperf2Session) -> SessionPrinter<'a> {
        SessionPrinter {
            printer: self,
            session,
        }
    }

    /// Takes the text that was printed since the last call.
    pub fn take_text(&mut self) -> String {
        self.text.take()
    }

    /// Prints the settings of a server that listens.
    pub fn listening(&mut self, socket: &ListeningSocket) {
        if !self.options.csv && self.shows('S') {
            let banner = server_banner(&self.options, self.pid, socket);
            self.text.lines(&banner);
        }
    }

    fn shows(&self, letter: char) -> bool {
        !self.options.exclude.contains(letter)
    }

    fn local_time(&self) -> Option<LocalTime> {
        LocalTime::at((self.now)(), self.options.utc)
    }

    fn connecting(&mut self, session: &Iperf2Session, socket: &ConnectingSocket) {
        if self.options.csv || !self.shows('S') {
            return;
        }
        let host = match &self.options.host {
            Some(host) if session.number == 0 => host.clone(),
            _ => socket.peer.ip().to_string(),
        };
        let banner = client_banner(&self.options, self.pid, &host, socket);
        self.text.lines(&banner);
    }

    fn opened(&mut self, session: &Iperf2Session, connection: &DataConnection) {
        let flow = Rc::new(ShownFlow::new(session, connection));
        let is_known = self.flows.iter().any(|((number, _), open)| {
            *number == session.number && open.flow.number == connection.number
        });
        let open = PrintedFlow {
            flow: Rc::clone(&flow),
            last: FlowReading::default(),
            retransmits: 0,
            histogram: HistogramCounts::default(),
        };
        self.flows
            .insert((session.number, connection.flow.id), open);
        if is_known {
            return;
        }
        self.connect_times_us.extend(flow.connect_us);
        if let Some(opening) = flow.opening {
            self.mss.insert(flow.number, opening.mss);
        }
        let flows = match flow.mode {
            // The sum over one connection is all there is.
            TestMode::FullDuplex if flow.members == 1 && self.shows_connection_sums(&flow) => 1,
            TestMode::FullDuplex => 2,
            // The sum has the connection with which this server connects back.
            TestMode::Dual if self.options.server => 2,
            _ => 1,
        };
        self.group_sums.expect(flow.group, flow.members * flows);
        if self.shows_connection_sums(&flow) {
            self.connection_sums.expect(u64::from(flow.number), 2);
        }
        if self.options.csv || !self.shows('C') || self.options.sum_only {
            return;
        }
        let device = flow
            .is_enhanced(&self.options)
            .then(|| (self.device)(flow.local))
            .flatten();
        let opened_at = self.local_time();
        let line = connection_line(&self.options, &flow, device.as_deref(), opened_at.as_ref());
        self.text.line(&line);
        self.text.forget_headers();
    }

    fn sampled(&mut self, session: &Iperf2Session, sample: &Sample) {
        let (Some(interval), 1..) = (self.options.interval, sample.tick) else {
            return;
        };
        let at_s = interval.as_secs_f64() * sample.tick as f64;
        let reading = FlowReading {
            at_s,
            counters: Some(sample.counters),
        };
        self.interval((session.number, sample.flow), reading, Span::Interval);
    }

    /// Prints the interval of a flow that ends with this reading.
    fn interval(&mut self, key: FlowKey, reading: FlowReading, span: Span) {
        let Some(open) = self.flows.get_mut(&key) else {
            return;
        };
        let counts = SpanCounts::between(&open.last, &reading, open.flow.is_udp());
        open.last = reading;
        open.retransmits = reading.retransmits().unwrap_or(open.retransmits);
        let flow = Rc::clone(&open.flow);
        let histogram = self.histogram.as_ref().map(|latest| {
            let histogram = histogram_between(&open.histogram, latest);
            open.histogram = latest.clone();
            histogram
        });
        self.counted(&flow, &counts, span, histogram.as_ref());
    }

    fn ended(&mut self, session: &Iperf2Session, ended: &EndedFlow) {
        let key = (session.number, ended.end.flow);
        let reading = FlowReading {
            at_s: ended.at_ns as f64 / 1e9,
            counters: Some(ended.end.counters),
        };
        let Some(open) = self.flows.get(&key) else {
            return;
        };
        if self.is_last_interval(open, &reading) {
            self.interval(key, reading, Span::LastInterval);
        }
        let Some(open) = self.flows.get(&key) else {
            return;
        };
        let flow = Rc::clone(&open.flow);
        let mut counts = SpanCounts::between(&FlowReading::default(), &reading, flow.is_udp());
        counts.retransmits = reading.retransmits().unwrap_or(open.retransmits);
        let histogram = self.histogram.take();
        self.counted(&flow, &counts, Span::WholeTest, histogram.as_ref());
        // A sender of datagrams may still be reported on.
        let awaits_report = flow.is_udp() && flow.role == Role::Sender && !flow.no_udp_fin;
        if !awaits_report {
            self.flows.remove(&key);
        }
    }

    /// `true` when what a flow carried after its last interval, up to its end, has a line of its own: a sender of datagrams has
    /// none.
    fn is_last_interval(&self, open: &PrintedFlow, end: &FlowReading) -> bool {
        let is_sender_of_datagrams = open.flow.is_udp() && open.flow.role == Role::Sender;
        !is_sender_of_datagrams
            && end.bytes() > open.last.bytes()
            && self.is_long_enough(end.at_s - open.last.at_s)
    }

    /// `true` when a time after the last interval is long enough for a line of its own: a quarter of an interval.
    fn is_long_enough(&self, seconds: f64) -> bool {
        let interval = self.options.interval;
        interval.is_some_and(|interval| seconds > MIN_LAST_INTERVAL * interval.as_secs_f64())
    }

    /// Prints the counts of a flow, and the sums that are complete with them.
    fn counted(
        &mut self,
        flow: &ShownFlow,
        counts: &SpanCounts,
        span: Span,
        histogram: Option<&HistogramCounts>,
    ) {
        if self.shows('D') && !self.options.sum_only {
            if self.options.csv {
                self.csv(flow, counts, CsvSubject::Flow);
            } else {
                write_line(&mut self.text, &self.options, flow, counts);
                if let (Some(histogram), Some(options)) = (histogram, &self.options.histograms) {
                    let is_final = span == Span::WholeTest;
                    let line = histogram_line(options, flow, counts, histogram, is_final);
                    self.text.line(&line);
                }
                if span == Span::WholeTest {
                    self.write_totals(flow, counts);
                }
            }
        }
        self.connection_sum(flow, counts, span);
        match span {
            Span::Interval => {
                let sum = self.group_sums.add_interval(flow.group, flow, counts);
                self.group_sum(flow, sum, Span::Interval);
            }
            Span::LastInterval => {}
            Span::WholeTest => {
                let Some(sum) = self.group_sums.add_total(flow.group, flow, counts) else {
                    return;
                };
                let has_rest = !flow.is_udp() && self.has_rest(&sum.rest);
                self.group_sum(flow, has_rest.then_some(sum.rest), Span::LastInterval);
                self.group_sum(flow, Some(sum.total), Span::WholeTest);
            }
        }
    }

    fn has_rest(&self, rest: &GroupSum) -> bool {
        let counts = rest.counts();
        counts.bytes > 0 && self.is_long_enough(counts.end_s - counts.start_s)
    }

    /// Prints the sum over the flows of a client, where it is complete.
    fn group_sum(&mut self, flow: &ShownFlow, sum: Option<GroupSum>, span: Span) {
        let Some(sum) = sum.filter(|_| self.shows('D')) else {
            return;
        };
        if self.options.csv {
            return self.csv(flow, &sum.counts(), CsvSubject::Sum);
        }
        let is_final = span == Span::WholeTest;
        sum.write(&mut self.text, &self.options, is_final);
        if is_final && self.options.enhanced && self.options.host.is_some() {
            self.text.lines(&connect_times(&self.connect_times_us));
        }
    }

    /// `true` when the two directions of a flow's connection have a sum.
    fn shows_connection_sums(&self, flow: &ShownFlow) -> bool {
        let options = &self.options;
        flow.mode == TestMode::FullDuplex
            && flow.is_enhanced(options)
            && self.shows('D')
            && !options.csv
            && !options.sum_only
    }

    /// Prints the sums over the two directions of a flow's connection that are complete with these counts.
    fn connection_sum(&mut self, flow: &ShownFlow, counts: &SpanCounts, span: Span) {
        if !self.shows_connection_sums(flow) {
            return;
        }
        let connection = u64::from(flow.number);
        let sums = &mut self.connection_sums;
        let sums = match span {
            Span::Interval => [sums.add_interval(connection, flow, counts), None],
            Span::LastInterval => [None, None],
            Span::WholeTest => match sums.add_total(connection, flow, counts) {
                Some(sum) => [
                    self.has_rest(&sum.rest).then_some(sum.rest),
                    Some(sum.total),
                ],
                None => [None, None],
            },
        };
        for sum in sums.into_iter().flatten() {
            sum.write_connection(&mut self.text, &self.options, flow);
        }
    }

    /// Appends the lines that follow that of a whole flow.
    fn write_totals(&mut self, flow: &ShownFlow, counts: &SpanCounts) {
        let number = flow.number;
        if let Some(received) = counts.received {
            write_out_of_order(
                &mut self.text,
                &flow.id(&self.options),
                counts,
                received.out_of_order,
            );
        }
        if flow.is_udp() && flow.role == Role::Sender {
            let id = shown_id(&self.options, "", number);
            let line = format!("{id} Sent {} datagrams", counts.datagrams);
            self.text.line(&line);
        }
        if self.options.print_mss
            && flow.transport == Transport::Tcp
            && !flow.is_starred
            && let Some(mss) = self.mss.remove(&number)
        {
            let (mtu, kind) = mtu_from_mss(mss);
            let id = shown_id(&self.options, "", number);
            let line = format!("{id} MSS size {mss} bytes (MTU {mtu} bytes, {kind})");
            self.text.line(&line);
        }
    }

    fn csv(&mut self, flow: &ShownFlow, counts: &SpanCounts, subject: CsvSubject) {
        let now = self.local_time();
        let line = csv_line(&self.options, now.as_ref(), flow, counts, subject);
        self.text.line(&line);
    }

    /// Prints the other end's report on a flow in which this end sent.
    fn reported(&mut self, session: &Iperf2Session, totals: &FlowTotals) {
        let Some(open) = self.flows.remove(&(session.number, totals.flow)) else {
            return;
        };
        if !self.shows('V') || self.options.sum_only {
            return;
        }
        let flow = ShownFlow {
            role: Role::Receiver,
            local: open.flow.peer,
            peer: open.flow.local,
            ..ShownFlow::clone(&open.flow)
        };
        let counts = SpanCounts::from(totals);
        if self.options.csv {
            return self.csv(&flow, &counts, CsvSubject::Flow);
        }
        let line = format!("[{:>3}] Server Report:", flow.number);
        self.text.line(&line);
        if !self.options.enhanced {
            self.text.forget_headers();
        }
        write_line(&mut self.text, &self.options, &flow, &counts);
        if let Some(received) = counts.received {
            write_out_of_order(
                &mut self.text,
                &flow.id(&self.options),
                &counts,
                received.out_of_order,
            );
        }
    }

    fn not_reported(&mut self, session: &Iperf2Session, flow: u32, attempts: u32) {
        let text = format!("did not receive ack of last datagram after {attempts} tries.");
        self.warn(session, flow, &text);
    }

    /// Prints a warning about a flow that ended without the other end's report.
    fn warn(&mut self, session: &Iperf2Session, flow: u32, text: &str) {
        if let Some(open) = self.flows.remove(&(session.number, flow)) {
            let line = format!("[{:>3}] WARNING: {text}", open.flow.number);
            self.text.line(&line);
        }
    }
}

/// The line of the connect times of several connections, with its end; empty without any.
fn connect_times(times_us: &[f64]) -> String {
    let count = times_us.len();
    if count == 0 {
        return String::new();
    }
    let mean = times_us.iter().sum::<f64>() / count as f64;
    let squares: f64 = times_us.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (squares / (count.max(2) - 1) as f64).sqrt();
    let min = times_us.iter().copied().fold(f64::INFINITY, f64::min);
    let max = times_us.iter().copied().fold(0.0, f64::max);
    format!(
        "[ CT] final connect times (min/avg/max/stdev) = {:.3}/{:.3}/{:.3}/{:.3} ms (tot/err) = {count}/0\n",
        min / 1e3,
        mean / 1e3,
        max / 1e3,
        deviation / 1e3
    )
}
