//! The output of iperf3 as people know it, line for line.

use super::figures::StreamFigures;
use super::report::{IntervalFigures, StreamGroup, TestReport};
use super::units::{bytes, percent, rate};
use caudal_core::event::{CpuPercent, DataConnection, Event};
use caudal_core::sample::Role;
use caudal_wire::iperf3::TransportProtocol;

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";
/// The lines that show a test.
#[derive(Debug, Clone)]
pub struct Iperf3Text {
    /// The test.
    pub report: TestReport,
    /// The unit of rates.
    format: char,
    /// `true` when more is shown.
    verbose: bool,
    /// The number of intervals shown.
    intervals: u32,
}

impl Iperf3Text {
    /// The output of a test that has not begun.
    #[must_use]
    pub fn new(report: TestReport, format: Option<char>, verbose: bool) -> Self {
        Self {
            report,
            format: format.unwrap_or('a'),
            verbose,
            intervals: 0,
        }
    }

    /// The lines that show an event.
    pub fn lines(&mut self, event: &Event) -> Vec<String> {
        let interval = self.report.take(event);
        let mut lines = match event {
            Event::Agreed(_) => self.agreed(),
            Event::Opened(stream) => self.opened(stream),
            _ => Vec::new(),
        };
        if let Some(interval) = interval {
            lines.extend(self.interval(&interval));
        }
        if let Event::Ended(_) = event {
            lines.extend(self.summary());
        }
        lines
    }

    fn agreed(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(session) = &self.report.session else {
            return lines;
        };
        if self.report.is_server {
            lines.push(format!(
                "Accepted connection from {}, port {}",
                session.peer.ip(),
                session.peer.port()
            ));
        }
        if self.verbose {
            lines.push(format!("      Cookie: {}", session.cookie.text()));
            lines.extend(self.target());
        }
        lines
    }

    fn opened(&self, stream: &DataConnection) -> Vec<String> {
        let mut lines = vec![format!(
            "[{:3}] local {} port {} connected to {} port {}",
            stream.descriptor,
            stream.local.ip(),
            stream.local.port(),
            stream.peer.ip(),
            stream.peer.port()
        )];
        if self.report.is_open() {
            if self.verbose {
                lines.push(self.starting());
            }
            lines.push(self.header());
        }
        lines
    }

    fn target(&self) -> Vec<String> {
        let parameters = &self.report.parameters;
        let mut lines = Vec::new();
        if parameters.protocol == TransportProtocol::Tcp {
            let mss = self.report.session.as_ref().and_then(|session| session.mss);
            lines.push(match (parameters.mss, mss) {
                (Some(mss), _) => format!("      TCP MSS: {mss}"),
                (None, mss) => format!("      TCP MSS: {} (default)", mss.unwrap_or(0)),
            });
        }
        if parameters.rate_bps > 0 {
            lines.push(format!("      Target Bitrate: {}", parameters.rate_bps));
        }
        lines
    }

    fn starting(&self) -> String {
        let parameters = &self.report.parameters;
        let end = match (parameters.bytes, parameters.blocks) {
            (0, 0) => format!("{} second test", parameters.time_s),
            (0, blocks) => format!("{blocks} blocks to send"),
            (bytes, _) => format!("{bytes} bytes to send"),
        };
        format!(
            "Starting Test: protocol: {}, {} streams, {} byte blocks, omitting {} seconds, {end}, tos {}",
            parameters.protocol.name(),
            parameters.parallel,
            parameters.length,
            parameters.omit_s,
            parameters.tos.unwrap_or(0)
        )
    }

    fn is_udp(&self) -> bool {
        self.report.is_udp()
    }

    fn sends(&self) -> bool {
        let mut streams = self.report.streams.iter();
        streams.any(|stream| stream.role == Role::Sender)
    }

    fn id(&self) -> &'static str {
        if self.report.parameters.bidirectional {
            "[ ID][Role]"
        } else {
            "[ ID]"
        }
    }

    fn header(&self) -> String {
        let columns = match (self.is_udp(), self.sends()) {
            (true, _) if self.report.parameters.bidirectional => {
                "         Jitter    Lost/Total Datagrams"
            }
            (true, true) => "         Total Datagrams",
            (true, false) => "         Jitter    Lost/Total Datagrams",
            (false, true) => "         Retr  Cwnd",
            // A client shows both columns in any direction.
            (false, false) if !self.report.is_server => "         Retr  Cwnd",
            (false, false) => "",
        };
        format!(
            "{} Interval           Transfer     Bitrate{columns}",
            self.id()
        )
    }

    fn start(&self, name: &str, group: StreamGroup, figures: &StreamFigures) -> String {
        format!(
            "[{name:>3}]{} {:6.2}-{:<6.2} sec  {}  {}",
            self.report.role_mark(group),
            figures.start_s,
            figures.end_s,
            bytes(figures.bytes as f64),
            rate(figures.bytes_per_s(), self.format)
        )
    }

    fn interval(&mut self, row: &IntervalFigures) -> Vec<String> {
        let mut lines = Vec::new();
        if self.intervals > 0 && self.report.parameters.parallel > 1 {
            lines.push(SEPARATOR.to_owned());
        }
        self.intervals += 1;
        let omitted = if row.omitted { "(omitted)" } else { "" };
        for group in self.report.groups() {
            let members = self.report.members(group);
            for nth in &members {
                if let (Some(stream), Some(figures)) =
                    (self.report.streams.get(*nth), row.streams.get(*nth))
                {
                    let name = stream.descriptor.to_string();
                    lines.push(self.interval_line(&name, group, figures, omitted));
                }
            }
            if members.len() > 1 {
                let all: Vec<StreamFigures> = members
                    .iter()
                    .filter_map(|nth| row.streams.get(*nth).copied())
                    .collect();
                lines.push(self.interval_line("SUM", group, &StreamFigures::sum(&all), omitted));
            }
        }
        lines
    }

    fn interval_line(
        &self,
        name: &str,
        group: StreamGroup,
        figures: &StreamFigures,
        omitted: &str,
    ) -> String {
        let start = self.start(name, group, figures);
        match (self.is_udp(), group) {
            (true, StreamGroup::Sending) => {
                let blank = if self.report.parameters.bidirectional {
                    "          "
                } else {
                    ""
                };
                format!("{start} {blank} {}  {omitted}", figures.packets)
            }
            (true, StreamGroup::Receiving) => Self::datagrams(&start, figures, omitted),
            (false, StreamGroup::Sending) => match (figures.retransmits, figures.tcp) {
                (Some(retransmits), Some(tcp)) => format!(
                    "{start}  {retransmits:3}   {}       {omitted}",
                    bytes(tcp.cwnd_bytes as f64)
                ),
                (Some(retransmits), None) => {
                    format!("{start}  {retransmits:3}             {omitted}")
                }
                (None, _) => format!("{start}                  {omitted}"),
            },
            (false, StreamGroup::Receiving) => format!("{start}                  {omitted}"),
        }
    }

    fn datagrams(start: &str, figures: &StreamFigures, last: &str) -> String {
        format!(
            "{start}  {:5.3} ms  {}/{} ({}%)  {last}",
            figures.jitter_s * 1e3,
            figures.lost,
            figures.packets,
            percent(figures.lost_percent())
        )
    }

    fn summary(&self) -> Vec<String> {
        let mut lines = vec![SEPARATOR.to_owned()];
        if self.verbose {
            lines.push("Test Complete. Summary Results:".to_owned());
        }
        let retransmits = self.report.groups().iter().any(|group| {
            self.report.members(*group).iter().any(|nth| {
                self.shown(*group, *nth)
                    .0
                    .is_some_and(|sent| sent.retransmits.is_some())
            })
        });
        let columns = match (self.is_udp(), retransmits) {
            (true, _) => "         Jitter    Lost/Total Datagrams",
            (false, true) => "         Retr",
            (false, false) => "",
        };
        lines.push(format!(
            "{} Interval           Transfer     Bitrate{columns}",
            self.id()
        ));
        for (nth, group) in self.report.groups().into_iter().enumerate() {
            lines.extend(self.summary_of(group));
            if self.verbose {
                lines.extend(self.closing(nth == 0, group));
            }
        }
        lines
    }

    /// The amounts that are shown of a stream: a server shows its own counts alone.
    fn shown(
        &self,
        group: StreamGroup,
        nth: usize,
    ) -> (Option<StreamFigures>, Option<StreamFigures>) {
        let account = self.report.account(nth);
        match (self.report.is_server, group) {
            (false, _) => (account.sent, account.received),
            (true, StreamGroup::Sending) => (account.sent, None),
            (true, StreamGroup::Receiving) => (None, account.received),
        }
    }

    fn summary_of(&self, group: StreamGroup) -> Vec<String> {
        let mut lines = Vec::new();
        let members = self.report.members(group);
        let (mut all_sent, mut all_received) = (Vec::new(), Vec::new());
        for nth in &members {
            let Some(stream) = self.report.streams.get(*nth) else {
                continue;
            };
            let name = stream.descriptor.to_string();
            let is_sending = group == StreamGroup::Sending;
            let (sent, received) = self.shown(group, *nth);
            if let Some(sent) = sent {
                lines.push(self.sender_line(&name, group, &sent));
                all_sent.push(sent);
            }
            lines.extend(self.file_line(sent.filter(|_| is_sending).or(received)));
            if let Some(received) = received {
                lines.push(self.receiver_line(&name, group, &received));
                if received.out_of_order > 0 {
                    lines.push(out_of_order(&format!("{name:>3}"), &received));
                }
                all_received.push(received);
            }
        }
        if members.len() > 1 {
            if !all_sent.is_empty() {
                lines.push(self.sender_line("SUM", group, &StreamFigures::sum(&all_sent)));
            }
            if !all_received.is_empty() {
                let sum = StreamFigures::sum(&all_received);
                lines.push(self.receiver_line("SUM", group, &sum));
                if sum.out_of_order > 0 {
                    lines.push(out_of_order("SUM", &sum));
                }
            }
        }
        lines
    }

    /// The line that shows how much of a file was sent or written, where one was.
    fn file_line(&self, moved: Option<StreamFigures>) -> Option<String> {
        let (file, moved) = self.report.file().zip(moved)?;
        Some(format!(
            "        Sent {} / {} ({}%) of {}",
            bytes(moved.bytes as f64),
            bytes(file.size as f64),
            file.percent(moved.bytes),
            file.path.display()
        ))
    }

    fn sender_line(&self, name: &str, group: StreamGroup, sent: &StreamFigures) -> String {
        let start = self.start(name, group, sent);
        match (self.is_udp(), sent.retransmits) {
            (true, _) => {
                let sent = StreamFigures {
                    lost: 0,
                    jitter_s: 0.0,
                    ..*sent
                };
                Self::datagrams(&start, &sent, "sender")
            }
            (false, Some(retransmits)) => format!("{start}  {retransmits:3}             sender"),
            (false, None) => format!("{start}                  sender"),
        }
    }

    fn receiver_line(&self, name: &str, group: StreamGroup, received: &StreamFigures) -> String {
        let start = self.start(name, group, received);
        if self.is_udp() {
            Self::datagrams(&start, received, "receiver")
        } else {
            format!("{start}                  receiver")
        }
    }

    /// The lines below the summary of a group, where more is shown.
    fn closing(&self, is_first: bool, group: StreamGroup) -> Vec<String> {
        let mut lines = Vec::new();
        if self.report.closing.is_none() {
            return lines;
        }
        if group == StreamGroup::Sending && is_first {
            lines.extend(self.cpu_lines());
        }
        if !self.is_udp() {
            lines.extend(self.congestion_lines(group));
        }
        lines
    }

    fn cpu_lines(&self) -> Vec<String> {
        let roles: &[(&str, &str)] = if self.report.parameters.bidirectional {
            &[("sender", "receiver"), ("receiver", "sender")]
        } else {
            &[("sender", "receiver")]
        };
        let percents =
            |cpu: CpuPercent| format!("{:.1}% ({:.1}%u/{:.1}%s)", cpu.total, cpu.user, cpu.system);
        let [local, remote] = [self.report.local_report(), self.report.peer_report()]
            .map(|report| percents(report.and_then(|report| report.cpu).unwrap_or_default()));
        roles
            .iter()
            .map(|(here, there)| {
                format!("CPU Utilization: local/{here} {local}, remote/{there} {remote}")
            })
            .collect()
    }

    fn congestion_lines(&self, group: StreamGroup) -> Vec<String> {
        let [local, peer] = [self.report.local_report(), self.report.peer_report()]
            .map(|report| report.and_then(|report| report.congestion.as_ref()));
        let (sender, receiver) = match group {
            StreamGroup::Sending => (local, peer),
            StreamGroup::Receiving => (peer, local),
        };
        [("snd", sender), ("rcv", receiver)]
            .into_iter()
            .filter_map(|(side, name)| Some(format!("{side}_tcp_congestion {}", name?)))
            .collect()
    }
}

fn out_of_order(name: &str, figures: &StreamFigures) -> String {
    format!(
        "[{name}] {:4.1}-{:4.1} sec  {} datagrams received out-of-order",
        figures.start_s, figures.end_s, figures.out_of_order
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::event::{
        Agreement, EndReport, EndedFlow, EndedTest, FlowTotals, ReportingEnd,
    };
    use caudal_core::plan::{Direction, PlanRecord, PlannedFlow, Transport};
    use caudal_core::sample::{
        Counters, FlowEnd, ReceiverCounters, Sample, SenderCounters, TcpSnapshot,
    };
    use caudal_foreign::iperf3::Iperf3Session;
    use caudal_wire::iperf3::{Cookie, Parameters};
    use std::time::Duration;

    fn stream(id: u32, descriptor: i32, role: Role, direction: Direction) -> DataConnection {
        DataConnection {
            flow: PlannedFlow { id, direction },
            number: id + 1,
            role,
            transport: Transport::Tcp,
            local: "127.0.0.1:41764".parse().unwrap(),
            peer: "127.0.0.1:5201".parse().unwrap(),
            descriptor,
            send_buffer_bytes: 16_384,
            receive_buffer_bytes: 131_072,
            mss: None,
            initial_window_bytes: None,
            handshake_rtt_us: None,
            connect_us: None,
        }
    }

    fn sent(flow: u32, tick: u64, bytes: u64, datagrams: u64, tcp: bool) -> Sample {
        Sample {
            flow,
            tick,
            at_ns: tick * 1_000_000_000,
            counters: Counters::Sender(SenderCounters {
                bytes,
                datagrams,
                tcp: tcp.then(|| TcpSnapshot {
                    cwnd_bytes: 916_762,
                    retransmits: tick * 6,
                    ..TcpSnapshot::default()
                }),
                ..SenderCounters::default()
            }),
        }
    }

    fn received(flow: u32, tick: u64, bytes: u64, datagrams: u64, lost: u64) -> Sample {
        Sample {
            flow,
            tick,
            at_ns: tick * 1_000_000_000,
            counters: Counters::Receiver(ReceiverCounters {
                bytes,
                datagrams,
                lost,
                jitter_rfc3550_ns: 23_000,
                ..ReceiverCounters::default()
            }),
        }
    }

    fn totals(flow: u32, role: Role, bytes: u64, packets: u64, lost: u64) -> FlowTotals {
        FlowTotals {
            flow,
            role,
            elapsed_s: 1.0,
            bytes,
            retransmits: None,
            datagrams: Some(packets),
            lost: Some(lost),
            reordered: None,
            jitter_s: Some(0.000_023),
            transit: None,
        }
    }

    /// The lines of a test of one second.
    fn lines(
        report: TestReport,
        parameters: Parameters,
        streams: &[DataConnection],
        begin: &[Sample],
        end: &[Sample],
        reported: Vec<FlowTotals>,
    ) -> String {
        let mut text = Iperf3Text::new(report, None, false);
        text.report.agree(&Iperf3Session {
            peer: "127.0.0.1:41754".parse().unwrap(),
            cookie: Cookie::from_random([0; 36]),
            parameters,
            mss: Some(32_768),
        });
        let mut events = vec![Event::Agreed(Agreement {
            repeat: None,
            plan: PlanRecord::default(),
            changed: Vec::new(),
        })];
        events.extend(streams.iter().cloned().map(Event::Opened));
        events.extend(begin.iter().chain(end).copied().map(Event::Sampled));
        events.extend(end.iter().map(|sample| {
            Event::FlowEnded(EndedFlow {
                end: FlowEnd::from_counters(sample.flow, sample.counters),
                at_ns: sample.at_ns,
            })
        }));
        events.push(Event::Reported(EndReport {
            end: ReportingEnd::Peer,
            flows: reported,
            cpu: None,
            congestion: None,
            output: None,
        }));
        events.push(Event::Ended(EndedTest::default()));
        let all: Vec<String> = events.iter().flat_map(|event| text.lines(event)).collect();
        all.join("\n")
    }

    fn at_client() -> TestReport {
        TestReport::at_client(Some(Duration::from_secs(1)))
    }

    #[test]
    fn a_tcp_upload_looks_as_it_does_in_iperf3() {
        let shown = lines(
            at_client(),
            Parameters::default(),
            &[stream(0, 5, Role::Sender, Direction::Up)],
            &[sent(0, 0, 0, 0, true)],
            &[sent(0, 1, 2_530_000_000, 0, true)],
            vec![totals(0, Role::Receiver, 2_529_000_000, 0, 0)],
        );
        let expected = "\
[  5] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  2.36 GBytes  20.2 Gbits/sec    6    895 KBytes       
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec  2.36 GBytes  20.2 Gbits/sec    6             sender
[  5]   0.00-1.00   sec  2.36 GBytes  20.2 Gbits/sec                  receiver";
        assert_eq!(shown, expected);
    }

    #[test]
    fn parallel_udp_streams_are_summed_as_in_iperf3() {
        let parameters = Parameters {
            protocol: TransportProtocol::Udp,
            parallel: 2,
            ..Parameters::default()
        };
        let shown = lines(
            at_client(),
            parameters,
            &[
                stream(0, 5, Role::Sender, Direction::Up),
                stream(1, 7, Role::Sender, Direction::Up),
            ],
            &[sent(0, 0, 0, 0, false), sent(1, 0, 0, 0, false)],
            &[sent(0, 1, 131_072, 4, false), sent(1, 1, 131_072, 4, false)],
            vec![
                totals(0, Role::Receiver, 131_072, 4, 0),
                totals(1, Role::Receiver, 98_304, 4, 1),
            ],
        );
        let expected = "\
[  5] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[  7] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  4  
[  7]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  4  
[SUM]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  8  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.000 ms  0/4 (0%)  sender
[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.023 ms  0/4 (0%)  receiver
[  7]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.000 ms  0/4 (0%)  sender
[  7]   0.00-1.00   sec  96.0 KBytes   786 Kbits/sec  0.023 ms  1/4 (25%)  receiver
[SUM]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.000 ms  0/8 (0%)  sender
[SUM]   0.00-1.00   sec   224 KBytes  1.84 Mbits/sec  0.023 ms  1/8 (12%)  receiver";
        assert_eq!(shown, expected);
    }

    #[test]
    fn both_directions_name_their_roles_as_in_iperf3() {
        let parameters = Parameters {
            protocol: TransportProtocol::Udp,
            bidirectional: true,
            ..Parameters::default()
        };
        let shown = lines(
            at_client(),
            parameters,
            &[
                stream(0, 5, Role::Sender, Direction::Up),
                stream(1, 7, Role::Receiver, Direction::Down),
            ],
            &[sent(0, 0, 0, 0, false), received(1, 0, 0, 0, 0)],
            &[sent(0, 1, 131_072, 4, false), received(1, 1, 163_840, 5, 0)],
            vec![
                totals(0, Role::Receiver, 131_072, 4, 0),
                totals(1, Role::Receiver, 163_840, 5, 0),
            ],
        );
        let expected = "\
[  5] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[  7] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec            4  
[  7][RX-C]   0.00-1.00   sec   160 KBytes  1.31 Mbits/sec  0.023 ms  0/5 (0%)  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.000 ms  0/4 (0%)  sender
[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.023 ms  0/4 (0%)  receiver
[  7][RX-C]   0.00-1.00   sec   160 KBytes  1.31 Mbits/sec  0.000 ms  0/5 (0%)  sender
[  7][RX-C]   0.00-1.00   sec   160 KBytes  1.31 Mbits/sec  0.023 ms  0/5 (0%)  receiver";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_server_shows_what_it_has_counted_itself() {
        let shown = lines(
            TestReport::at_server(Some(Duration::from_secs(1))),
            Parameters::default(),
            &[stream(0, 5, Role::Receiver, Direction::Up)],
            &[received(0, 0, 0, 0, 0)],
            &[received(0, 1, 2_530_000_000, 0, 0)],
            vec![totals(0, Role::Receiver, 2_530_000_000, 0, 0)],
        );
        let expected = "\
Accepted connection from 127.0.0.1, port 41754
[  5] local 127.0.0.1 port 41764 connected to 127.0.0.1 port 5201
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  2.36 GBytes  20.2 Gbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  2.36 GBytes  20.2 Gbits/sec                  receiver";
        assert_eq!(shown, expected);
    }
}
