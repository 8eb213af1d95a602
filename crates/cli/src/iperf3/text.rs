//! The output of iperf3 as people know it, line for line.

use super::report::{Figures, Group, Report, Row};
use super::units::{bytes, percent, rate};
use caudal_engine::iperf3::{Iperf3Event, Output, Scribe};
use caudal_wire::iperf3::Protocol;

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";
/// The line around a server's banner.
pub const DASHES: &str = "-----------------------------------------------------------";

/// Makes lines of what happens.
#[derive(Debug, Clone)]
pub struct Text {
    /// What has happened.
    pub report: Report,
    /// The unit of rates.
    pub format: char,
    /// Whether more is told.
    pub verbose: bool,
    intervals: u32,
}

impl Text {
    /// The output of a test that has not begun.
    #[must_use]
    pub const fn new(report: Report, format: Option<char>, verbose: bool) -> Self {
        Self {
            report,
            format: match format {
                Some(format) => format,
                None => 'a',
            },
            verbose,
            intervals: 0,
        }
    }

    /// The lines an event makes.
    pub fn note(&mut self, event: &Iperf3Event) -> Vec<String> {
        let row = self.report.note(event);
        let mut lines = Vec::new();
        match event {
            Iperf3Event::Agreed { peer, cookie, .. } => {
                if self.report.is_server {
                    lines.push(format!(
                        "Accepted connection from {}, port {}",
                        peer.ip(),
                        peer.port()
                    ));
                }
                if self.verbose {
                    lines.push(format!("      Cookie: {}", cookie.text()));
                    lines.extend(self.target());
                }
            }
            Iperf3Event::Opened { streams } => {
                lines.extend(streams.iter().map(|stream| {
                    format!(
                        "[{:3}] local {} port {} connected to {} port {}",
                        stream.descriptor,
                        stream.local.ip(),
                        stream.local.port(),
                        stream.remote.ip(),
                        stream.remote.port()
                    )
                }));
                if self.verbose {
                    lines.push(self.starting());
                }
                lines.push(self.header());
            }
            Iperf3Event::Sampled { .. } => {}
            Iperf3Event::Ended(_) => {}
        }
        if let Some(row) = row {
            lines.extend(self.interval(&row));
        }
        if let Iperf3Event::Ended(_) = event {
            lines.extend(self.summary());
        }
        lines
    }

    fn target(&self) -> Vec<String> {
        let parameters = &self.report.parameters;
        let mut lines = Vec::new();
        if parameters.protocol == Protocol::Tcp {
            lines.push(match (parameters.mss, self.report.mss) {
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
        self.report.parameters.protocol == Protocol::Udp
    }

    fn sends(&self) -> bool {
        self.report.streams.iter().any(|stream| stream.sends)
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

    fn start(&self, name: &str, group: Group, figures: &Figures) -> String {
        format!(
            "[{name:>3}]{} {:6.2}-{:<6.2} sec  {}  {}",
            self.report.role(group),
            figures.start_s,
            figures.end_s,
            bytes(figures.bytes as f64),
            rate(figures.bytes_per_s(), self.format)
        )
    }

    fn interval(&mut self, row: &Row) -> Vec<String> {
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
                let all: Vec<Figures> = members
                    .iter()
                    .filter_map(|nth| row.streams.get(*nth).copied())
                    .collect();
                lines.push(self.interval_line("SUM", group, &Figures::sum(&all), omitted));
            }
        }
        lines
    }

    fn interval_line(&self, name: &str, group: Group, figures: &Figures, omitted: &str) -> String {
        let start = self.start(name, group, figures);
        match (self.is_udp(), group) {
            (true, Group::Sending) => {
                let blank = if self.report.parameters.bidirectional {
                    "          "
                } else {
                    ""
                };
                format!("{start} {blank} {}  {omitted}", figures.packets)
            }
            (true, Group::Receiving) => self.datagrams(&start, figures, omitted),
            (false, Group::Sending) => match (figures.retransmits, figures.tcp) {
                (Some(retransmits), Some(tcp)) => format!(
                    "{start}  {retransmits:3}   {}       {omitted}",
                    bytes(tcp.cwnd_bytes as f64)
                ),
                (Some(retransmits), None) => {
                    format!("{start}  {retransmits:3}             {omitted}")
                }
                (None, _) => format!("{start}                  {omitted}"),
            },
            (false, Group::Receiving) => format!("{start}                  {omitted}"),
        }
    }

    #[expect(clippy::unused_self, reason = "one of a family of lines")]
    fn datagrams(&self, start: &str, figures: &Figures, last: &str) -> String {
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

    /// What is shown of a stream: a server does not show what it was told.
    fn shown(&self, group: Group, nth: usize) -> (Option<Figures>, Option<Figures>) {
        let account = self.report.account(nth);
        match (self.report.is_server, group) {
            (false, _) => (account.sent, account.received),
            (true, Group::Sending) => (account.sent, None),
            (true, Group::Receiving) => (None, account.received),
        }
    }

    fn summary_of(&self, group: Group) -> Vec<String> {
        let mut lines = Vec::new();
        let members = self.report.members(group);
        let (mut all_sent, mut all_received) = (Vec::new(), Vec::new());
        for nth in &members {
            let Some(stream) = self.report.streams.get(*nth) else {
                continue;
            };
            let name = stream.descriptor.to_string();
            let (sent, received) = self.shown(group, *nth);
            if let Some(sent) = sent {
                lines.push(self.sender_line(&name, group, &sent));
                all_sent.push(sent);
            }
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
                lines.push(self.sender_line("SUM", group, &Figures::sum(&all_sent)));
            }
            if !all_received.is_empty() {
                let sum = Figures::sum(&all_received);
                lines.push(self.receiver_line("SUM", group, &sum));
                if sum.out_of_order > 0 {
                    lines.push(out_of_order("SUM", &sum));
                }
            }
        }
        lines
    }

    fn sender_line(&self, name: &str, group: Group, sent: &Figures) -> String {
        let start = self.start(name, group, sent);
        match (self.is_udp(), sent.retransmits) {
            (true, _) => {
                let sent = Figures {
                    lost: 0,
                    jitter_s: 0.0,
                    ..*sent
                };
                self.datagrams(&start, &sent, "sender")
            }
            (false, Some(retransmits)) => format!("{start}  {retransmits:3}             sender"),
            (false, None) => format!("{start}                  sender"),
        }
    }

    fn receiver_line(&self, name: &str, group: Group, received: &Figures) -> String {
        let start = self.start(name, group, received);
        if self.is_udp() {
            self.datagrams(&start, received, "receiver")
        } else {
            format!("{start}                  receiver")
        }
    }

    fn closing(&self, is_first: bool, group: Group) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(ending) = &self.report.ending else {
            return lines;
        };
        let theirs = ending.theirs.as_ref();
        if group == Group::Sending && is_first {
            let roles: &[(&str, &str)] = if self.report.parameters.bidirectional {
                &[("sender", "receiver"), ("receiver", "sender")]
            } else {
                &[("sender", "receiver")]
            };
            for (local, remote) in roles {
                let [all, user, system] = ending.ours.cpu_percent;
                let [their_all, their_user, their_system] =
                    theirs.map_or([0.0; 3], |theirs| theirs.cpu_percent);
                lines.push(format!(
                    "CPU Utilization: local/{local} {all:.1}% ({user:.1}%u/{system:.1}%s), \
                     remote/{remote} {their_all:.1}% ({their_user:.1}%u/{their_system:.1}%s)"
                ));
            }
        }
        if !self.is_udp() {
            let ours = ending.ours.congestion.as_ref();
            let theirs = theirs.and_then(|theirs| theirs.congestion.as_ref());
            let (sender, receiver) = if group == Group::Sending {
                (ours, theirs)
            } else {
                (theirs, ours)
            };
            for (side, name) in [("snd", sender), ("rcv", receiver)] {
                if let Some(name) = name {
                    lines.push(format!("{side}_tcp_congestion {name}"));
                }
            }
        }
        lines
    }
}

fn out_of_order(name: &str, figures: &Figures) -> String {
    format!(
        "[{name}] {:4.1}-{:4.1} sec  {} datagrams received out-of-order",
        figures.start_s, figures.end_s, figures.out_of_order
    )
}

/// Writes down on a server what a client asks for as the server's output.
pub struct Transcript {
    text: Text,
    lines: String,
}

impl Transcript {
    /// An empty transcript.
    #[must_use]
    pub const fn new(text: Text) -> Self {
        Self {
            text,
            lines: String::new(),
        }
    }
}

impl Scribe for Transcript {
    fn note(&mut self, event: &Iperf3Event) {
        for line in self.text.note(event) {
            self.lines.push_str(&line);
            self.lines.push('\n');
        }
    }

    fn output(&self) -> Output {
        Output::Text(self.lines.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::Direction;
    use caudal_core::sample::{Counters, ReceiverCounters, Sample, SenderCounters, TcpSnapshot};
    use caudal_engine::iperf3::{Ending, Stream};
    use caudal_wire::iperf3::{Cookie, Parameters, Results, StreamResult, stream_id};
    use std::time::Duration;

    fn stream(flow: u32, descriptor: i32, sends: bool, direction: Direction) -> Stream {
        Stream {
            flow,
            id: stream_id(flow),
            descriptor,
            local: "127.0.0.1:41764".parse().unwrap(),
            remote: "127.0.0.1:5201".parse().unwrap(),
            direction,
            sends,
            mss: None,
            buffers: (16_384, 131_072),
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

    fn result(flow: u32, bytes: u64, packets: u64, errors: u64) -> StreamResult {
        StreamResult {
            id: stream_id(flow),
            bytes,
            jitter_s: 0.000_023,
            errors,
            packets,
            omitted_errors: Some(0),
            omitted_packets: Some(0),
            end_s: Some(1.0),
            retransmits: None,
            start_s: Some(0.0),
        }
    }

    /// The lines of a test of one second.
    fn lines(
        is_server: bool,
        parameters: Parameters,
        streams: &[Stream],
        begin: &[Sample],
        end: &[Sample],
        theirs: Vec<StreamResult>,
    ) -> String {
        let report = Report::new(is_server, Some(Duration::from_secs(1)));
        let mut text = Text::new(report, None, false);
        let events = [
            Iperf3Event::Agreed {
                peer: "127.0.0.1:41754".parse().unwrap(),
                cookie: Cookie::from_random([0; 36]),
                parameters: Box::new(parameters),
                mss: Some(32_768),
            },
            Iperf3Event::Opened {
                streams: streams.to_vec(),
            },
            Iperf3Event::Sampled {
                samples: begin.to_vec(),
                omitted: false,
            },
            Iperf3Event::Sampled {
                samples: end.to_vec(),
                omitted: false,
            },
            Iperf3Event::Ended(Box::new(Ending {
                last: end.to_vec(),
                theirs: Some(Results {
                    streams: theirs,
                    ..Results::default()
                }),
                ..Ending::default()
            })),
        ];
        let all: Vec<String> = events.iter().flat_map(|event| text.note(event)).collect();
        all.join("\n")
    }

    #[test]
    fn a_tcp_upload_looks_as_it_does_in_iperf3() {
        let shown = lines(
            false,
            Parameters::default(),
            &[stream(0, 5, true, Direction::Up)],
            &[sent(0, 0, 0, 0, true)],
            &[sent(0, 1, 2_530_000_000, 0, true)],
            vec![result(0, 2_529_000_000, 0, 0)],
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
            protocol: Protocol::Udp,
            parallel: 2,
            ..Parameters::default()
        };
        let shown = lines(
            false,
            parameters,
            &[
                stream(0, 5, true, Direction::Up),
                stream(1, 7, true, Direction::Up),
            ],
            &[sent(0, 0, 0, 0, false), sent(1, 0, 0, 0, false)],
            &[sent(0, 1, 131_072, 4, false), sent(1, 1, 131_072, 4, false)],
            vec![result(0, 131_072, 4, 0), result(1, 98_304, 4, 1)],
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
            protocol: Protocol::Udp,
            bidirectional: true,
            ..Parameters::default()
        };
        let shown = lines(
            false,
            parameters,
            &[
                stream(0, 5, true, Direction::Up),
                stream(1, 7, false, Direction::Down),
            ],
            &[sent(0, 0, 0, 0, false), received(1, 0, 0, 0, 0)],
            &[sent(0, 1, 131_072, 4, false), received(1, 1, 163_840, 5, 0)],
            vec![result(0, 131_072, 4, 0), result(1, 163_840, 5, 0)],
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
            true,
            Parameters::default(),
            &[stream(0, 5, false, Direction::Up)],
            &[received(0, 0, 0, 0, 0)],
            &[received(0, 1, 2_530_000_000, 0, 0)],
            vec![result(0, 2_530_000_000, 0, 0)],
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
