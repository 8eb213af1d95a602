//! What iperf3 prints for people, at either end: one test or, of a server, several after one another.

use super::date;
use super::line::{self, Line, Whose};
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use std::collections::HashMap;

/// Reads all tests that a text holds.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line.trim_end());
    }
    reader.close();
    reader.logs
}

/// Whether a line is one that only iperf3 prints.
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

/// What follows a time in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Columns {
    /// Not said.
    #[default]
    Unknown,
    /// Retransmits and the congestion window.
    Sent,
    /// The datagrams sent.
    Datagrams,
    /// Jitter and loss.
    Losses,
    /// Nothing.
    Nothing,
}

#[derive(Default)]
struct Reader {
    logs: Vec<Log>,
    log: Option<Open>,
    command: Option<String>,
    version: Option<String>,
    started_ns: Option<i64>,
    is_in_server_output: bool,
}

/// A test being read.
struct Open {
    log: Log,
    ids: HashMap<(u32, bool), usize>,
    columns: Columns,
    reverse: bool,
    is_summary: bool,
}

impl Reader {
    fn close(&mut self) {
        if let Some(mut open) = self.log.take() {
            // A server's log of a test is whole when the next one begins or its sums are there.
            if open.log.side == Some(ImportSide::Server) {
                open.log.is_complete |= open.is_summary;
            }
            open.log.forget_unknown_zeros();
            self.logs.push(open.log);
        }
        self.is_in_server_output = false;
    }

    fn begin(&mut self, side: ImportSide) -> &mut Open {
        self.close();
        let open = self.fresh(Some(side));
        self.log.insert(open)
    }

    fn open(&mut self) -> &mut Open {
        let open = self.log.take().unwrap_or_else(|| self.fresh(None));
        self.log.insert(open)
    }

    /// A test of which nothing is known but what stood before it.
    fn fresh(&mut self, side: Option<ImportSide>) -> Open {
        let mut log = Log::new(LogFormat::Iperf3Text);
        log.side = side;
        log.command = self.command.take();
        log.version.clone_from(&self.version);
        log.started_ns = self.started_ns.take();
        Open {
            log,
            ids: HashMap::new(),
            columns: Columns::Unknown,
            reverse: false,
            is_summary: false,
        }
    }

    fn line(&mut self, text: &str) {
        if let Some(after) = line::behind(text, "Connecting to host ") {
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
        if let Some(after) = line::behind(text, "Accepted connection from ") {
            let host = after.split(", port ").next().unwrap_or("").trim();
            let host = (!host.is_empty()).then(|| host.to_owned());
            self.begin(ImportSide::Server).log.peer = host;
        } else if text.contains("Reverse mode, remote host ") {
            self.open().reverse = true;
        } else if text.contains("Server listening on ") {
            self.close();
        } else if let Some(after) = line::behind(text, "Starting Test: ") {
            self.open().start(after);
        } else if let Some(after) = line::behind(text, "Time: ") {
            match &mut self.log {
                // A server says the time behind the name of who asked, a client before it connects.
                Some(open)
                    if open.log.flows.is_empty() && open.log.side == Some(ImportSide::Server) =>
                {
                    open.log.started_ns = date::rfc1123(after);
                }
                _ => self.started_ns = date::rfc1123(after),
            }
        } else if let Some(after) = line::behind(text, "snd_tcp_congestion ") {
            self.open().log.congestion = Some(after.trim().to_owned());
        } else if let Some(after) = line::behind(text, "iperf3: error - ") {
            self.open().log.error = Some(after.to_owned());
        } else if text.contains("iperf3: OUT OF ORDER") || text.starts_with("iperf3:") {
        } else if let Some(line) = line::bracketed(text) {
            self.open().bracketed(&line);
        } else if let Some(after) = line::behind(text, "iperf 3.") {
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

impl Open {
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

    fn bracketed(&mut self, line: &Line<'_>) {
        if let Some((_, remote, _)) = line::connection(line.rest) {
            if self.log.peer.is_none() {
                self.log.peer = Some(remote.host.to_owned());
            }
            return;
        }
        if line.whose == Whose::Heading {
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
        let Some((mut count, rest)) = line::stretch(line.rest) else {
            self.remark(line);
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
            // Stamps of lines are those of their ends.
            let began = date::at_start(line.before);
            self.log.started_ns = began.map(|at| at - (count.end_s * 1e9) as i64);
        }
        self.counted(line, count, rest.trim());
    }

    /// The side that wrote this, and the direction of a flow that counted like this.
    fn placed(&mut self, role: Option<&str>, counted_by: Role) -> (Direction, Role) {
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

    fn counted(&mut self, line: &Line<'_>, mut count: LogCounts, rest: &str) {
        let rest = match rest.strip_suffix("(omitted)") {
            Some(rest) => {
                count.omitted = true;
                rest.trim_end()
            }
            None => rest,
        };
        let said_by = if rest.ends_with("sender") {
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
        let mut counted_by = None;
        if rest.contains(" ms") && line::losses(&mut count, rest).is_some() {
            self.protocol(Transport::Udp);
            counted_by = Some(Role::Receiver);
        } else if let Some((first, after)) = line::number(rest) {
            let window = line::amount(after).map(|(bytes, _)| bytes);
            counted_by = Some(Role::Sender);
            if window.is_some() || said_by.is_some() || self.columns == Columns::Sent {
                count.retransmits = Some(first);
                count.cwnd_bytes = window;
                self.protocol(Transport::Tcp);
            } else {
                count.datagrams = Some(first);
                self.protocol(Transport::Udp);
            }
        } else if self.columns == Columns::Nothing || self.columns == Columns::Sent {
            self.protocol(Transport::Tcp);
        }
        // A sum of a test that has not got its roles tells nothing of the end that counts.
        let near = match self.log.side {
            _ if counted_by.is_some() => counted_by,
            Some(ImportSide::Client) if self.reverse => Some(Role::Receiver),
            Some(ImportSide::Client) => Some(Role::Sender),
            Some(ImportSide::Server) => Some(Role::Receiver),
            None => match self.columns {
                Columns::Sent | Columns::Datagrams => Some(Role::Sender),
                Columns::Losses | Columns::Nothing | Columns::Unknown => Some(Role::Receiver),
            },
        };
        let near = near.unwrap_or(Role::Receiver);
        let known = match line.whose {
            Whose::Stream { id, returning } => self.ids.get(&(id, returning)).copied(),
            Whose::Sum | Whose::Heading => None,
        };
        let is_total = said_by.is_some()
            || known.is_some_and(|at| {
                let last = self.log.flows[at].intervals.last();
                count.start_s == 0.0
                    && !count.omitted
                    && last.is_some_and(|last| !last.omitted && last.end_s > 0.0)
            });
        self.is_summary |= is_total;
        if line.whose == Whose::Sum {
            if let Some(end) = said_by {
                let role = self.placed(line.role, self.usual_end(line.role, near));
                let sums = self.log.sums_in(role.0, role.1);
                keep_end(sums, end, count);
            }
            return;
        }
        let Whose::Stream { id, returning } = line.whose else {
            return;
        };
        let at = known.unwrap_or_else(|| {
            let end = if said_by.is_some() {
                self.usual_end(line.role, near)
            } else {
                near
            };
            let (direction, end) = self.placed(line.role, end);
            self.log.flows.push(LogFlow::new(direction, end));
            self.ids.insert((id, returning), self.log.flows.len() - 1);
            self.log.flows.len() - 1
        });
        let is_udp = self.log.protocol == Some(Transport::Udp);
        let flow = &mut self.log.flows[at];
        match said_by {
            Some(end) => keep_end(flow, end, count),
            None if is_total && is_udp && count.jitter_ms.is_some() => {
                // Old versions print one line for both ends: the bytes are those sent, the losses the receiver's.
                let sent = LogCounts {
                    lost: None,
                    jitter_ms: None,
                    ..count
                };
                keep_end(flow, Role::Sender, sent);
                let arrived = LogCounts {
                    bytes: None,
                    bps: None,
                    ..count
                };
                keep_end(flow, Role::Receiver, arrived);
            }
            None if is_total => keep_end(flow, flow.counted_by, count),
            None => flow.intervals.push(count),
        }
    }

    /// The end that this side is of a flow first met in the sums.
    fn usual_end(&self, role: Option<&str>, near: Role) -> Role {
        match (role, self.log.side) {
            (Some(_), _) | (_, None) => near,
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

    /// Lines in brackets that are no stretch of time.
    fn remark(&mut self, line: &Line<'_>) {
        let words: Vec<&str> = line.rest.split_whitespace().collect();
        if let (["Sent", count, "datagrams"], Whose::Stream { id, returning }) =
            (words.as_slice(), line.whose)
        {
            let at = self.ids.get(&(id, returning));
            if let (Some(&at), Ok(count)) = (at, count.parse::<u64>()) {
                let sender = self.log.flows[at].sender.get_or_insert_default();
                sender.datagrams = Some(count as f64);
            }
        }
    }

    fn reordered(&mut self, line: &Line<'_>, datagrams: f64) {
        match line.whose {
            // The sum of the only flow is that flow's.
            Whose::Sum if self.log.flows.len() == 1 => {
                let receiver = self.log.flows[0].receiver.get_or_insert_default();
                receiver.reordered = Some(datagrams);
            }
            Whose::Stream { id, returning } => {
                if let Some(&at) = self.ids.get(&(id, returning)) {
                    let receiver = self.log.flows[at].receiver.get_or_insert_default();
                    receiver.reordered = Some(datagrams);
                }
            }
            Whose::Sum | Whose::Heading => {}
        }
    }
}

fn keep_end(flow: &mut LogFlow, end: Role, count: LogCounts) {
    let count = match end {
        // What the sender's line says of losses is a zero of those who do not know.
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
