//! The text of iperf3, of either end: one test or, of a server, several.

use super::date;
use super::line::{self, LogRow, RowSubject};
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use std::collections::HashMap;

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    let mut reader = Iperf3TextReader::default();
    for line in text.lines() {
        reader.line(line.trim_end());
    }
    reader.close();
    reader.logs
}

/// `true` for a line that only iperf3 prints.
#[must_use]
pub fn is_sign(line: &str) -> bool {
    let has = |what| line.contains(what);
    has("Connecting to host ")
        || has("Accepted connection from ")
        || has("iperf Done.")
        || has(" connected to ") && has("local ")
        || has("iperf3: ")
        || has("]  ") && has("Bitrate")
        || has("/sec") && (line.ends_with("sender") || line.ends_with("receiver"))
}

/// The columns after the times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Columns {
    /// Unknown.
    #[default]
    Unknown,
    /// Retransmits and the congestion window.
    Sent,
    /// Datagrams sent.
    Datagrams,
    /// Jitter and loss.
    Losses,
    /// None.
    Nothing,
}

#[derive(Default)]
struct Iperf3TextReader {
    logs: Vec<Log>,
    log: Option<OpenIperf3Test>,
    command: Option<String>,
    version: Option<String>,
    started_ns: Option<i64>,
    is_in_server_output: bool,
}

/// A test being read.
struct OpenIperf3Test {
    log: Log,
    ids: HashMap<(u32, bool), usize>,
    columns: Columns,
    reverse: bool,
    is_summary: bool,
}

impl Iperf3TextReader {
    fn close(&mut self) {
        if let Some(mut open) = self.log.take() {
            // The log of a server is complete when its sums are there.
            if open.log.side == Some(ImportSide::Server) {
                open.log.is_complete |= open.is_summary;
            }
            open.log.forget_unknown_zeros();
            self.logs.push(open.log);
        }
        self.is_in_server_output = false;
    }

    fn begin(&mut self, side: ImportSide) -> &mut OpenIperf3Test {
        self.close();
        let open = self.new_test(Some(side));
        self.log.insert(open)
    }

    fn open(&mut self) -> &mut OpenIperf3Test {
        let open = self.log.take().unwrap_or_else(|| self.new_test(None));
        self.log.insert(open)
    }

    /// A test of which only the lines before it are known.
    fn new_test(&mut self, side: Option<ImportSide>) -> OpenIperf3Test {
        let mut log = Log::new(LogFormat::Iperf3Text);
        log.side = side;
        log.command = self.command.take();
        log.version.clone_from(&self.version);
        log.started_ns = self.started_ns.take();
        OpenIperf3Test {
            log,
            ids: HashMap::new(),
            columns: Columns::Unknown,
            reverse: false,
            is_summary: false,
        }
    }

    fn line(&mut self, text: &str) {
        if let Some(after) = line::text_after(text, "Connecting to host ") {
            let host = after.split(", port ").collect::<Vec<_>>();
            let title = text.split("Connecting to host ").next().unwrap_or("");
            let started = date::at_start(title);
            let open = self.begin(ImportSide::Client);
            open.log.peer = match host.as_slice() {
                [host, port] => Some(line::with_port(host.trim(), port.trim())),
                _ => None,
            };
            open.log.started_ns = open.log.started_ns.or(started);
            if started.is_none() {
                let title = title.trim().trim_end_matches(':');
                open.log.title = (!title.is_empty()).then(|| title.to_owned());
            }
            return;
        }
        if text.starts_with("Server output:") {
            self.is_in_server_output = true;
            return;
        }
        if text.ends_with("iperf Done.") {
            self.is_in_server_output = false;
            if let Some(open) = &mut self.log {
                open.log.is_complete = true;
            }
            return;
        }
        if self.is_in_server_output {
            return;
        }
        if let Some(after) = line::text_after(text, "Accepted connection from ") {
            let host = after.split(", port ").next().unwrap_or("").trim();
            let host = (!host.is_empty()).then(|| host.to_owned());
            self.begin(ImportSide::Server).log.peer = host;
        } else if text.contains("Reverse mode, remote host ") {
            self.open().reverse = true;
        } else if text.contains("Server listening on ") {
            self.close();
        } else if let Some(after) = line::text_after(text, "Starting Test: ") {
            self.open().start(after);
        } else if let Some(after) = line::text_after(text, "Time: ") {
            match &mut self.log {
                // A server prints the time after the address of the client, a client before it connects.
                Some(open)
                    if open.log.flows.is_empty() && open.log.side == Some(ImportSide::Server) =>
                {
                    open.log.started_ns = date::rfc1123(after);
                }
                _ => self.started_ns = date::rfc1123(after),
            }
        } else if let Some(after) = line::text_after(text, "snd_tcp_congestion ") {
            self.open().log.congestion = Some(after.trim().to_owned());
        } else if let Some(after) = line::text_after(text, "iperf3: error - ") {
            self.open().log.error = Some(after.to_owned());
        } else if text.contains("iperf3: OUT OF ORDER") || text.starts_with("iperf3:") {
        } else if let Some(line) = line::bracketed(text) {
            self.open().bracketed(&line);
        } else if let Some(after) = line::text_after(text, "iperf 3.") {
            self.version = Some(format!("3.{}", line::word(after).0));
            let version = self.version.clone();
            if let Some(open) = self.log.as_mut().filter(|open| !open.log.has_counts()) {
                open.log.version = version;
            }
        } else if let Some(command) = line::command(text, "iperf3") {
            self.command = Some(command.to_owned());
        }
    }
}

impl OpenIperf3Test {
    /// `protocol: TCP, 1 streams, 131072 byte blocks, omitting 1 seconds, 2 second test, tos 0`.
    fn start(&mut self, text: &str) {
        for part in text.split(',') {
            let part = part.trim();
            let value = line::number(part).map(|(value, _)| value);
            if let Some(name) = part.strip_prefix("protocol: ") {
                self.protocol(match name {
                    "TCP" => Transport::Tcp,
                    "UDP" => Transport::Udp,
                    _ => continue,
                });
            } else if part.ends_with("byte blocks") {
                self.log.length = value;
            } else if let Some(omit) = part.strip_prefix("omitting ") {
                self.log.omit_s = line::number(omit).map(|(value, _)| value);
            } else if part.ends_with("second test") {
                self.log.time_s = value;
            } else if part.ends_with("bytes to send") {
                self.log.bytes = value;
            }
        }
    }

    fn protocol(&mut self, protocol: Transport) {
        self.log.protocol.get_or_insert(protocol);
    }

    fn bracketed(&mut self, line: &LogRow<'_>) {
        if let Some((_, remote, _)) = line::connection(line.rest) {
            if self.log.peer.is_none() {
                self.log.peer = Some(remote.host.to_owned());
            }
            return;
        }
        if line.subject == RowSubject::Heading {
            let has = |what| line.rest.contains(what);
            self.columns = if has("Retr") {
                Columns::Sent
            } else if has("Total Datagrams") && !has("Jitter") {
                Columns::Datagrams
            } else if has("Jitter") {
                Columns::Losses
            } else {
                Columns::Nothing
            };
            return;
        }
        let Some((mut count, rest)) = line::timed_row(line.rest) else {
            self.untimed_row(line);
            return;
        };
        if let Some(datagrams) = line::reordered(rest) {
            self.reordered(line, datagrams);
            return;
        }
        let Some(rest) = line::amount_and_rate(&mut count, rest) else {
            return;
        };
        if self.log.started_ns.is_none() {
            // A row has the time of its end.
            let began = date::at_start(line.before);
            self.log.started_ns = began.map(|at| at - (count.end_s * 1e9) as i64);
        }
        self.counted(line, count, rest.trim());
    }

    /// The direction of a flow, and the end that counted it.
    fn direction_and_end(&mut self, role: Option<&str>, counted_by: Role) -> (Direction, Role) {
        let from_role = role.and_then(|role| {
            Some(match role {
                "TX-C" => (ImportSide::Client, Role::Sender),
                "RX-C" => (ImportSide::Client, Role::Receiver),
                "TX-S" => (ImportSide::Server, Role::Sender),
                "RX-S" => (ImportSide::Server, Role::Receiver),
                _ => return None,
            })
        });
        if let Some((side, end)) = from_role {
            let side = *self.log.side.get_or_insert(side);
            return (side.direction(end), end);
        }
        if let Some(side) = self.log.side {
            return (side.direction(counted_by), counted_by);
        }
        let direction = if self.reverse {
            Direction::Down
        } else {
            Direction::Up
        };
        (direction, counted_by)
    }

    /// Adds a row with times to its flow or to the sums.
    fn counted(&mut self, line: &LogRow<'_>, mut count: LogCounts, rest: &str) {
        let rest = match rest.strip_suffix("(omitted)") {
            Some(rest) => {
                count.omitted = true;
                rest.trim_end()
            }
            None => rest,
        };
        let printed_end = if rest.ends_with("sender") {
            Some(Role::Sender)
        } else if rest.ends_with("receiver") {
            Some(Role::Receiver)
        } else {
            None
        };
        let rest = rest
            .trim_end_matches("sender")
            .trim_end_matches("receiver")
            .trim();
        let own_end = self
            .last_columns(&mut count, rest, printed_end)
            .unwrap_or_else(|| self.end_without_columns());
        match line.subject {
            RowSubject::Sum => {
                self.is_summary |= printed_end.is_some();
                if let Some(end) = printed_end {
                    let usual = self.usual_end(line.role, own_end);
                    let (direction, counted_by) = self.direction_and_end(line.role, usual);
                    set_end(self.log.sums_in(direction, counted_by), end, count);
                }
            }
            RowSubject::Stream { id, is_starred } => {
                let known = self.ids.get(&(id, is_starred)).copied();
                let is_total =
                    printed_end.is_some() || known.is_some_and(|at| self.is_total(at, &count));
                self.is_summary |= is_total;
                let at = known.unwrap_or_else(|| {
                    let end = match printed_end {
                        Some(_) => self.usual_end(line.role, own_end),
                        None => own_end,
                    };
                    let (direction, end) = self.direction_and_end(line.role, end);
                    self.log.flows.push(LogFlow::new(direction, end));
                    self.ids.insert((id, is_starred), self.log.flows.len() - 1);
                    self.log.flows.len() - 1
                });
                self.add_to_flow(at, count, printed_end, is_total);
            }
            RowSubject::Heading => self.is_summary |= printed_end.is_some(),
        }
    }

    /// Parses the columns after the rate; returns the end that has such columns, if it shows.
    fn last_columns(
        &mut self,
        count: &mut LogCounts,
        rest: &str,
        printed_end: Option<Role>,
    ) -> Option<Role> {
        if rest.contains(" ms") && line::losses(count, rest).is_some() {
            self.protocol(Transport::Udp);
            return Some(Role::Receiver);
        }
        if let Some((first, after)) = line::number(rest) {
            let window = line::amount(after).map(|(bytes, _)| bytes);
            if window.is_some() || printed_end.is_some() || self.columns == Columns::Sent {
                count.retransmits = Some(first);
                count.cwnd_bytes = window;
                self.protocol(Transport::Tcp);
            } else {
                count.datagrams = Some(first);
                self.protocol(Transport::Udp);
            }
            return Some(Role::Sender);
        }
        if self.columns == Columns::Nothing || self.columns == Columns::Sent {
            self.protocol(Transport::Tcp);
        }
        None
    }

    /// The end that counts a row without columns of its own: by the side of the log, else by the heading.
    fn end_without_columns(&self) -> Role {
        match self.log.side {
            Some(ImportSide::Client) if self.reverse => Role::Receiver,
            Some(ImportSide::Client) => Role::Sender,
            Some(ImportSide::Server) => Role::Receiver,
            // The sum of a test without roles does not show which end counts.
            None => match self.columns {
                Columns::Sent | Columns::Datagrams => Role::Sender,
                Columns::Losses | Columns::Nothing | Columns::Unknown => Role::Receiver,
            },
        }
    }

    /// `true` when a row begins at zero again after the intervals of its flow.
    fn is_total(&self, at: usize, count: &LogCounts) -> bool {
        let last = self.log.flows[at].intervals.last();
        count.start_s == 0.0
            && !count.omitted
            && last.is_some_and(|last| !last.omitted && last.end_s > 0.0)
    }

    /// Adds a row to a flow: an interval, or the total of an end.
    fn add_to_flow(
        &mut self,
        at: usize,
        count: LogCounts,
        printed_end: Option<Role>,
        is_total: bool,
    ) {
        let is_udp = self.log.protocol == Some(Transport::Udp);
        let flow = &mut self.log.flows[at];
        match printed_end {
            Some(end) => set_end(flow, end, count),
            None if is_total && is_udp && count.jitter_ms.is_some() => {
                // Old versions print one line for both ends: the bytes are those sent, the losses the receiver's.
                let sent = LogCounts {
                    lost: None,
                    jitter_ms: None,
                    ..count
                };
                set_end(flow, Role::Sender, sent);
                let arrived = LogCounts {
                    bytes: None,
                    bps: None,
                    ..count
                };
                set_end(flow, Role::Receiver, arrived);
            }
            None if is_total => set_end(flow, flow.counted_by, count),
            None => flow.intervals.push(count),
        }
    }

    /// The role of this side in a flow that occurs in the sums first.
    fn usual_end(&self, role: Option<&str>, own_end: Role) -> Role {
        match (role, self.log.side) {
            (Some(_), _) | (_, None) => own_end,
            (None, Some(side)) => {
                let down = self.reverse
                    || self
                        .log
                        .flows
                        .iter()
                        .any(|flow| flow.direction == Direction::Down);
                side.role(if down { Direction::Down } else { Direction::Up })
            }
        }
    }

    /// Reads a row without times.
    fn untimed_row(&mut self, line: &LogRow<'_>) {
        let words: Vec<&str> = line.rest.split_whitespace().collect();
        if let (["Sent", count, "datagrams"], RowSubject::Stream { id, is_starred }) =
            (words.as_slice(), line.subject)
        {
            let at = self.ids.get(&(id, is_starred));
            if let (Some(&at), Ok(count)) = (at, count.parse::<u64>()) {
                let sender = self.log.flows[at].sender.get_or_insert_default();
                sender.datagrams = Some(count as f64);
            }
        }
    }

    fn reordered(&mut self, line: &LogRow<'_>, datagrams: f64) {
        match line.subject {
            // The sum over a single flow is that of the flow.
            RowSubject::Sum if self.log.flows.len() == 1 => {
                let receiver = self.log.flows[0].receiver.get_or_insert_default();
                receiver.reordered = Some(datagrams);
            }
            RowSubject::Stream { id, is_starred } => {
                if let Some(&at) = self.ids.get(&(id, is_starred)) {
                    let receiver = self.log.flows[at].receiver.get_or_insert_default();
                    receiver.reordered = Some(datagrams);
                }
            }
            RowSubject::Sum | RowSubject::Heading => {}
        }
    }
}

fn set_end(flow: &mut LogFlow, end: Role, count: LogCounts) {
    let count = match end {
        // The loss in the line of a sender is unknown and printed as zero.
        Role::Sender => LogCounts {
            lost: None,
            jitter_ms: None,
            ..count
        },
        Role::Receiver => count,
    };
    let place = flow.end_mut(end);
    let reordered = place.and_then(|before| before.reordered);
    *place = Some(LogCounts { reordered, ..count });
}
