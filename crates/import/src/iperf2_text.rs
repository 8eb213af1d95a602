//! The text of iperf 2 (2.0.5 to 2.2), of either end, enhanced (`-e`) or not.
//!
//! Nothing marks the end of a test: connections with the same host that overlap are one test.

use super::date;
use super::line::{self, RowSubject};
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::Transport;
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use caudal_core::warning::WarningCode;
use std::collections::HashMap;

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    let mut reader = Iperf2TextReader::default();
    for line in text.lines() {
        reader.line(line.trim_end());
    }
    reader.close();
    reader.logs
}

/// `true` for a line that only iperf 2 prints.
#[must_use]
pub fn is_sign(line: &str) -> bool {
    let has = |what| line.contains(what);
    has("Client connecting to ")
        || has("Server listening on TCP port ")
        || has("Server listening on UDP port ")
        || has(" connected with ") && has("local ")
        || has("] Server Report:")
        || has("]  ") && has("Interval") && has("Bandwidth") && has("Transfer")
}

/// Maximum number of tests that are open for further lines.
const MAX_AT_ONCE: usize = 256;

/// A test being read.
struct OpenIperf2Test {
    log: Log,
    /// The other host.
    host: String,
    conns: Vec<LoggedConnection>,
}

impl OpenIperf2Test {
    /// `true` when every connection has its total; of very many, the last ones.
    fn is_over(&self) -> bool {
        let last = self.conns.iter().rev().take(MAX_AT_ONCE);
        last.into_iter().all(LoggedConnection::is_over)
    }
}

/// A connection with the flow of one direction, or of both.
struct LoggedConnection {
    starred: bool,
    accepted: Option<bool>,
    is_reverse: bool,
    is_duplex: bool,
    local_port: u16,
    remote_port: u16,
    directions: [LoggedDirection; 2],
}

/// The lines of a log about one direction of a connection.
#[derive(Default)]
struct LoggedDirection {
    rows: Vec<LogCounts>,
    total: Option<LogCounts>,
    report: Option<LogCounts>,
    is_reported_next: bool,
    sent: Option<f64>,
    reordered: Option<f64>,
    is_there: bool,
}

impl LoggedConnection {
    fn is_over(&self) -> bool {
        self.directions
            .iter()
            .any(|direction| direction.total.is_some())
            && self
                .directions
                .iter()
                .all(|direction| !direction.is_there || direction.total.is_some())
    }
}

#[derive(Default)]
struct Iperf2TextReader {
    logs: Vec<Log>,
    open: Vec<OpenIperf2Test>,
    ids: HashMap<u32, (usize, usize)>,
    command: Option<String>,
    protocol: Option<Transport>,
    port: Option<u16>,
    side: Option<ImportSide>,
    length: Option<f64>,
    error: Option<String>,
}

impl Iperf2TextReader {
    fn close(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.logs.push(finish(open, self.port));
        }
        self.ids.clear();
        if let Some(error) = self.error.take() {
            let mut log = Log::new(LogFormat::Iperf2Text);
            log.error = Some(error);
            self.logs.push(log);
        }
    }

    fn banner(&mut self, after: &str, side: ImportSide) {
        let words: Vec<&str> = after
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .collect();
        let at = words.iter().position(|word| *word == "port");
        let protocol = match words.as_slice() {
            words if words.contains(&"UDP") => Some(Transport::Udp),
            words if words.contains(&"TCP") => Some(Transport::Tcp),
            _ => None,
        };
        let has_counts = self.open.iter().any(|open| {
            let directions = open.conns.iter().flat_map(|conn| &conn.directions);
            directions
                .into_iter()
                .any(|direction| !direction.rows.is_empty() || direction.total.is_some())
        });
        // A server that connects back prints this in the middle of a test; a client begins with it.
        let is_back = side == ImportSide::Client
            && self.side == Some(ImportSide::Server)
            && !self.open.is_empty();
        if has_counts && !is_back {
            self.close();
        }
        if !is_back {
            self.side = Some(side);
        }
        self.protocol = protocol.or(self.protocol);
        let port = at.and_then(|at| words.get(at + 1)?.parse().ok());
        self.port = port.or(self.port);
        for open in &mut self.open {
            open.log.protocol = open.log.protocol.or(self.protocol);
        }
    }

    fn line(&mut self, text: &str) {
        if let Some(after) = line::text_after(text, "Client connecting to ") {
            self.banner(after, ImportSide::Client);
        } else if let Some(after) = line::text_after(text, "Server listening on ") {
            self.banner(after, ImportSide::Server);
        } else if let Some(length) = text.strip_prefix("Sending ") {
            self.length = line::number(length).map(|(length, _)| length);
            for open in &mut self.open {
                open.log.length = open.log.length.or(self.length);
            }
        } else if text.contains("connect failed: ") {
            self.error = Some(text.trim().to_owned());
        } else if let Some(line) = line::bracketed(text) {
            let RowSubject::Stream { id, is_starred } = line.subject else {
                return;
            };
            if let Some((local, remote, rest)) = line::connection(line.rest) {
                self.connect(id, is_starred, local, remote, rest);
            } else {
                self.counted(id, is_starred, line.rest);
            }
        } else if let Some(command) = line::command(text, "iperf") {
            self.command = Some(command.to_owned());
            self.close();
            (self.protocol, self.port, self.side, self.length) = (None, None, None, None);
        }
    }

    fn connect(
        &mut self,
        id: u32,
        starred: bool,
        local: line::HostPort<'_>,
        remote: line::HostPort<'_>,
        rest: &str,
    ) {
        if local.port == 0 {
            return;
        }
        let is_taken = self
            .ids
            .get(&id)
            .is_some_and(|(open, conn)| !self.open[*open].conns[*conn].is_over());
        let going_on = self
            .open
            .iter()
            .rposition(|open| open.host == remote.host && !open.is_over());
        if self.open.len() > MAX_AT_ONCE && !is_taken && going_on.is_none() {
            self.close();
        }
        let at = match going_on.filter(|_| !is_taken) {
            Some(at) => at,
            None => {
                let mut log = Log::new(LogFormat::Iperf2Text);
                log.command = self.command.take();
                log.protocol = self.protocol;
                log.length = self
                    .length
                    .filter(|_| self.side == Some(ImportSide::Client));
                log.side = self.side;
                self.open.push(OpenIperf2Test {
                    log,
                    host: remote.host.to_owned(),
                    conns: Vec::new(),
                });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[at];
        let words = |what: &str| rest.contains(what);
        if let Some(peer) = rest
            .split_once("(peer ")
            .and_then(|(_, rest)| rest.split_once(')'))
        {
            open.log.version.get_or_insert(peer.0.to_owned());
        }
        if let Some((_, on)) = rest.split_once(") on ").or_else(|| rest.split_once(" on ")) {
            open.log.started_ns = open.log.started_ns.or(date::iso(on));
        }
        let mut directions = [LoggedDirection::default(), LoggedDirection::default()];
        directions[0].is_there = true;
        directions[1].is_there = words("(full-duplex)");
        open.conns.push(LoggedConnection {
            starred,
            accepted: self.port.map(|port| local.port == port),
            is_reverse: words("(reverse)") && !starred,
            is_duplex: words("(full-duplex)"),
            local_port: local.port,
            remote_port: remote.port,
            directions,
        });
        self.ids.insert(id, (at, open.conns.len() - 1));
    }

    fn counted(&mut self, id: u32, is_starred: bool, text: &str) {
        if !self.ids.contains_key(&id) {
            // A log without the line of the connection: its rows are valid all the same.
            if line::timed_row(text).is_none() {
                return;
            }
            let nowhere = line::HostPort { host: "", port: 1 };
            let before = self.port.take();
            self.connect(id, is_starred, nowhere, nowhere, "");
            self.port = before;
        }
        let Some(&(open, conn)) = self.ids.get(&id) else {
            return;
        };
        let OpenIperf2Test { log, conns, .. } = &mut self.open[open];
        let conn = &mut conns[conn];
        let second = usize::from(conn.is_duplex && is_starred);
        let direction = &mut conn.directions[second];
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["Server", "Report:"] => direction.is_reported_next = true,
            ["Sent", count, "datagrams"] => {
                direction.sent = count.parse::<u64>().ok().map(|count| count as f64);
                log.protocol = Some(Transport::Udp);
            }
            ["WARNING:", "did", "not", "receive", "ack", ..] => {
                let what =
                    "the report of the server is missing: only what was sent is known".to_owned();
                if !log
                    .warnings
                    .iter()
                    .any(|(code, _)| *code == WarningCode::NoServerReport)
                {
                    log.warnings.push((WarningCode::NoServerReport, what));
                }
            }
            _ => {
                let Some((mut count, rest)) = line::timed_row(text) else {
                    return;
                };
                if let Some(datagrams) = line::reordered(rest) {
                    direction.out_of_order(count, datagrams);
                    return;
                }
                let Some(rest) = line::amount_and_rate(&mut count, rest) else {
                    return;
                };
                if more(&mut count, rest) {
                    log.protocol = Some(Transport::Udp);
                }
                direction.take(count);
            }
        }
    }
}

impl LoggedDirection {
    fn take(&mut self, count: LogCounts) {
        if std::mem::take(&mut self.is_reported_next) {
            self.report = Some(count);
        } else if count.start_s == 0.0 && !self.rows.is_empty() && self.total.is_none() {
            self.total = Some(count);
        } else if self.total.is_some() {
            // In old versions the report of a server has no heading of its own.
            if count.start_s == 0.0 && count.jitter_ms.is_some() {
                self.report = Some(count);
            }
        } else {
            self.rows.push(count);
        }
    }

    fn out_of_order(&mut self, of: LogCounts, datagrams: f64) {
        let is = |count: &LogCounts| (count.start_s, count.end_s) == (of.start_s, of.end_s);
        if let Some(report) = self.report.as_mut().filter(|count| is(count)) {
            report.reordered = Some(datagrams);
        } else if let Some(total) = self.total.as_mut().filter(|count| is(count)) {
            total.reordered = Some(datagrams);
        } else if let Some(row) = self.rows.last_mut().filter(|count| is(count)) {
            row.reordered = Some(datagrams);
        } else {
            self.reordered = Some(datagrams);
        }
    }
}

/// Parses the columns after the rate; `true` for those of UDP.
fn more(count: &mut LogCounts, rest: &str) -> bool {
    if rest.contains(" ms") && line::losses(count, rest).is_some() {
        return true;
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    // Enhanced, a TCP client: writes/errors, retries, window/round trip.
    if let [writes, retries, window, ..] = words.as_slice()
        && let (true, Ok(retries)) = (writes.contains('/'), retries.parse::<u64>())
        && let Some((cwnd, rtt)) = window.rsplit_once('/')
        && let Some(cwnd) = kilobytes(cwnd)
    {
        count.retransmits = Some(retries as f64);
        count.cwnd_bytes = Some(cwnd);
        count.rtt_us = line::number(rtt)
            .map(|(rtt, _)| rtt)
            .filter(|rtt| *rtt > 0.0);
        return false;
    }
    // Enhanced, a UDP client: writes/errors, datagrams per second.
    words.as_slice().get(2) == Some(&"pps")
}

/// `416K` or, with packets, `0K(0)/416K(12)`: the congestion window, the last of them.
fn kilobytes(text: &str) -> Option<f64> {
    let last = text.rsplit('/').next()?;
    let (value, unit) = line::number(last)?;
    unit.starts_with('K').then_some(value * 1024.0)
}

fn finish(open: OpenIperf2Test, port: Option<u16>) -> Log {
    let mut log = open.log;
    log.is_complete = true;
    let is_accepted = |conn: &LoggedConnection| {
        conn.accepted.unwrap_or(match port {
            Some(port) => conn.local_port == port,
            None if conn.remote_port == 5001 => false,
            None => conn.local_port < conn.remote_port,
        })
    };
    // The client opens the first connection of a test.
    let first = open.conns.iter().find(|conn| !conn.starred);
    if log.side.is_none() {
        log.side = first.map(|conn| match is_accepted(conn) {
            true => ImportSide::Server,
            false => ImportSide::Client,
        });
    }
    let side = log.side.unwrap_or(ImportSide::Client);
    if !open.host.is_empty() {
        let port = first
            .filter(|_| side == ImportSide::Client)
            .map(|conn| conn.remote_port);
        log.peer = Some(match port {
            Some(port) => line::with_port(&open.host, port),
            None => open.host.clone(),
        });
    }
    for conn in open.conns {
        let receives = is_accepted(&conn) != conn.is_reverse;
        for (nth, mut direction) in conn.directions.into_iter().enumerate() {
            let end = if receives == (nth == 0) {
                Role::Receiver
            } else {
                Role::Sender
            };
            if direction.total.is_none() && direction.rows.len() == 1 {
                direction.total = direction.rows.pop();
            } else if direction.total.is_none() {
                log.is_complete &= direction.rows.is_empty();
            }
            if direction.rows.is_empty() && direction.total.is_none() && direction.report.is_none()
            {
                log.is_complete &= !direction.is_there;
                continue;
            }
            let mut flow = LogFlow::new(side.direction(end), end);
            flow.intervals = direction.rows;
            if let Some(mut total) = direction.total {
                match end {
                    Role::Sender => total.datagrams = direction.sent.or(total.datagrams),
                    Role::Receiver => total.reordered = total.reordered.or(direction.reordered),
                }
                *flow.end_mut(end) = Some(total);
            }
            if let Some(mut report) = direction.report.filter(|_| end == Role::Sender) {
                report.reordered = report.reordered.or(direction.reordered);
                flow.receiver = Some(report);
            }
            log.flows.push(flow);
        }
    }
    log.protocol = log.protocol.or_else(|| {
        let lossy = |flow: &LogFlow| flow.receiver.is_some_and(|count| count.jitter_ms.is_some());
        log.flows.iter().any(lossy).then_some(Transport::Udp)
    });
    log
}
